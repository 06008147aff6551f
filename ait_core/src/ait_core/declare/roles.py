# SPDX-License-Identifier: Apache-2.0
"""What an op is to the compiler. Everything that fuses, places or generates code asks for the role, never the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ait_core.ir.types import TensorType
from ait_core.ir.views import View


class Role:
    """Base of the roles below."""


@dataclass(frozen=True)
class Pointwise(Role):
    """Each element of the result depends on the elements of the operands at the same (broadcast) place.

    ``fn(*operands, **attrs)`` over scalar primitives; operands are symbols or arrays.
    """

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Viewing(Role):
    """The result is the operand seen through ``steps(type, **attrs)``, a list of view primitives: moves no data."""

    steps: Callable[..., Sequence[View]]


@dataclass(frozen=True)
class Join(Role):
    """The operands side by side along ``axis(type, **attrs)``: moves no data where they can be written in place."""

    axis: Callable[..., int]


@dataclass(frozen=True)
class Indexed(Role):
    """The result is a function of its own coordinates: ``fn(at, *reads, **attrs)``.

    ``at`` is a tuple of coordinates; each read is called with coordinates, ``x(i, j)``, and has ``.shape``. Gathers,
    padding, ranges, triangles, rolls and nearest-neighbour resizing are all written so. Coordinates outside an operand
    are clamped, so a padded read may be written ``where(inside, x(i - 1), 0.0)``.
    """

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Reduction(Role):
    """Elements combined along the axes ``attrs["axes"]``; ``attrs["keepdim"]`` keeps them with size 1.

    ``argmax`` and ``argmin`` give the first index of the extreme value (NaN counts as extreme).
    """

    combine: Literal["sum", "prod", "maximum", "minimum", "any", "all", "argmax", "argmin"]


@dataclass(frozen=True)
class Contraction(Role):
    """A sum of products over shared axes: ``a[..., m, k] * b[..., k, n] -> [..., m, n]``, leading axes broadcast.
    Accumulates in fp32 (fp64 for float64; integers in themselves)."""


@dataclass(frozen=True)
class Composite(Role):
    """Made of other ops: ``build(*values, **attrs)`` returns values. A kernel template may claim the op whole; where
    none does, the compiler puts the ops it is made of in its place."""

    build: Callable[..., Any]


@dataclass(frozen=True)
class Opaque(Role):
    """Only a kernel template can compute it. Fusion with neighbours is what the template says it can absorb."""


InferFn = Callable[..., TensorType | Sequence[TensorType]]
