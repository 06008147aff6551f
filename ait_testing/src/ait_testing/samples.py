# SPDX-License-Identifier: Apache-2.0
"""Sample calls of ops: operands and attributes, and which of their sizes may vary."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ait_core.declare import roles
from ait_core.declare.op import Op
from ait_core.errors import AITError
from ait_core.ir import dims
from ait_core.ir.dims import DimSymbol
from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import evaluate
from ait_core.ir.types import TensorType

AUTOMATIC = ((3, 17), (), (0, 5), (2, 1, 65))  # shapes of the samples of a pointwise op that has none


@dataclass(frozen=True)
class Sample:
    """One call of an op.

    Args:
        inputs: an array an operand; None where an optional one is absent.
        attrs: attributes; they may hold the symbols of ``sizes``.
        sizes: ``{ait.dim("n", 1, 64): 5}``: every 5 in a shape is ``n``. By default each size above 1 is a dim of its
            own; ``{}`` keeps all of them fixed, for an op that needs them so.
        loose: how many times the usual tolerance results may differ.
    """

    inputs: Sequence[np.ndarray | None]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[DimSymbol, int] | None = None
    loose: float = 1.0

    @property
    def dims(self) -> Mapping[DimSymbol, int]:
        """The dims and their values here."""
        if self.sizes is not None:
            return self.sizes
        found = sorted({n for a in self.inputs if a is not None for n in a.shape if n > 1})
        return {dims.dim(f"n{n}", 1, 4 * n): n for n in found}

    @property
    def values(self) -> dict[str, int]:
        """Values of the dims by name."""
        return {d.name: n for d, n in self.dims.items()}

    @property
    def numbers(self) -> dict[str, Any]:
        """The attributes without symbols."""
        return {k: evaluate(v, self.values) for k, v in self.attrs.items()}

    @property
    def types(self) -> list[TensorType | None]:
        """Types of the operands as they are."""
        return [None if a is None else TensorType(dtype(a.dtype), a.shape) for a in self.inputs]

    @property
    def symbolic_types(self) -> list[TensorType | None]:
        """Types of the operands with dims for the sizes that may vary."""
        swap = {n: d for d, n in self.dims.items()}
        return [None if t is None else t.of_shape(swap.get(n, n) for n in t.shape) for t in self.types]

    def __str__(self) -> str:
        shown = ", ".join("None" if t is None else str(t) for t in self.types)
        return "; ".join([shown, *(f"{k}={v}" for k, v in self.attrs.items())])


def samples_of(op: Op, given: Mapping[str, Iterable[Any]]) -> list[Sample]:
    """The samples of an op: those given as :class:`Sample` or ``(inputs, attrs)``; random ones for a pointwise op that
    can be called without attributes. Empty where there are none.

    Raises:
        AITError: if an entry is neither.
    """
    found = []
    for entry in given.get(op.name, ()):
        if not isinstance(entry, Sample):
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Mapping)):
                raise AITError(
                    f"A sample of {op.name} is a tuple (inputs, attributes) or an ait_testing.Sample; got {entry!r:.200}."
                )
            entry = Sample(*entry)
        found.append(entry)
    needs = any(a.default is inspect.Parameter.empty for a in op.attrs)
    if found or needs or not isinstance(op.role, roles.Pointwise):
        return found
    count = len(op.params) + (1 if op.params[-1].variadic else 0)
    return [Sample([random(shape, "float32", i) for i in range(count)]) for shape in AUTOMATIC]


def random(shape: Sequence[int], kind: str, seed: int = 0) -> np.ndarray:
    """Random numbers of a dtype: normal floats, small integers, truth values."""
    rng = np.random.default_rng(seed)
    to = dtype(kind)
    if to.name == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if to.is_int:
        return np.asarray(rng.integers(0 if to.name.startswith("u") else -9, 10, shape)).astype(to.numpy)
    return np.asarray(rng.normal(size=shape)).astype(to.numpy)
