# SPDX-License-Identifier: Apache-2.0
"""The few ops the fusion engine itself adds to graphs. Private to the core; no frontend makes them."""

from __future__ import annotations

from ait_core import scalar
from ait_core.declare.op import join, pointwise, view
from ait_core.ir import dims, dtypes, views


@pointwise("core.copy")
def copy(x):
    """The operand in memory of its own."""
    return x


@pointwise("core.cast", result=lambda x, *, dtype: dtypes.dtype(dtype))
def cast(x, *, dtype: str):
    """The operand in another dtype."""
    return scalar.cast(x, dtype)


@join("core.join")
def joined(*xs, axis: int):
    """Operands side by side."""
    return axis


@view("core.part")
def part(x, *, axis: int, start: int, size: int):
    """``size`` elements of an axis."""
    return [views.Slice(axis, start, size)]


@view("core.permute")
def permute(x, *, axes: tuple):
    """Axes in another order."""
    return [views.Permute(axes)]


@view("core.expand")
def expand(x, *, shape: tuple):
    """Axes of size 1, and new leading ones, repeated."""
    return [views.Expand(dims.as_shape(shape))]
