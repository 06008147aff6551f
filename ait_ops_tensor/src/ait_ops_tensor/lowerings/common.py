# SPDX-License-Identifier: Apache-2.0
"""What the lowerings of all packs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from ait_core.ir.dtypes import DType, int64
from ait_core.ir.graph import Value
from ait_ops_tensor.indexed import full
from ait_ops_tensor.logic import cast
from ait_ops_tensor.reductions import size_as_value
from ait_ops_tensor.views import expand, reshape


def to(x: Value, dtype: DType) -> Value:
    """``x`` in ``dtype``."""
    return x if x.dtype == dtype else cast(x, dtype=dtype.name)


def fit(ctx: Any, x: Value, i: int = 0) -> Value:
    """``x`` in the dtype that torch gives to result ``i``."""
    return to(x, ctx.types[i].dtype)


def fit_all(ctx: Any, xs: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """Several results in torch's dtypes; None where a result that nothing uses is left out."""
    return tuple(None if x is None else fit(ctx, x, i) for i, x in enumerate(xs))


def operand(x: Any) -> Any:
    """A tensor operand: sizes become data, numbers stay for the op to make constants of."""
    return size_as_value(x, int64) if isinstance(x, sympy.Expr) else x


def shaped(ctx: Any, x: Value) -> Value:
    """``x`` under the shape that torch gives to the result: the same elements."""
    return x if x.shape == ctx.type.shape else reshape(x, shape=ctx.type.shape)


def filled(ctx: Any, value: Any) -> Value:
    """The result filled with a number, a size or a tensor of one element."""
    kind = ctx.type.dtype
    if isinstance(value, Value):
        return expand(to(value if value.type.rank == 0 else reshape(value, shape=()), kind), shape=ctx.type.shape)
    if not isinstance(value, sympy.Expr):
        value = float(value) if kind.is_float else int(value) if kind.is_int else bool(value)
    return full(shape=ctx.type.shape, value=value, dtype=kind.name)


def axes_of(x: Value, dim: Any) -> tuple[int, ...]:
    """Axes to reduce: all where torch is given none."""
    if dim is None or dim == ():
        return tuple(range(x.type.rank))
    if x.type.rank == 0:  # torch takes axis 0 and -1 of a 0-d tensor, which has none
        return ()
    return tuple(x.type.axis(d) for d in ((dim,) if isinstance(dim, int) else dim))
