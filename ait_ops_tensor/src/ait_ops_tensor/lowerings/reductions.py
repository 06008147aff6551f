# SPDX-License-Identifier: Apache-2.0
"""torch's reductions and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import Lowering, lowering
from ait_core.ir.graph import Value
from ait_ops_tensor.lowerings.common import axes_of, fit, fit_all, to


def _reduce(op: Callable[..., Value]) -> Callable[..., Value]:
    """``op(x)``, ``op(x, dim)``, ``op(x, dims, keepdim, dtype=...)``."""

    def lower(ctx: Any, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
        return fit(ctx, op(x if dtype is None else to(x, dtype), axes=axes_of(x, dim), keepdim=keepdim))

    return lower


_NAMES = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "logsumexp", "count_nonzero",
          "max.default=amax", "min.default=amin", "special_logsumexp=logsumexp")  # fmt: skip
TABLE = [Lowering("torch", f"aten.{n.partition('=')[0]}", _reduce(getattr(t, n.rpartition("=")[2]))) for n in _NAMES]


def _extreme(value: Callable[..., Value], index: Callable[..., Value]) -> Callable[..., tuple[Value, ...]]:
    def lower(ctx: Any, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, ...]:
        over = {"axes": axes_of(x, dim), "keepdim": keepdim}
        return value(x, **over), index(x, **over)

    return lower


EXTREMES = [
    Lowering("torch", "aten.max.dim", _extreme(t.amax, t.argmax)),
    Lowering("torch", "aten.min.dim", _extreme(t.amin, t.argmin)),
]


@lowering("torch", "aten.aminmax")
def aminmax(ctx: Any, x: Value, dim: Any = None, keepdim: bool = False) -> tuple[Value, ...]:
    over = {"axes": axes_of(x, dim), "keepdim": keepdim}
    return t.amin(x, **over), t.amax(x, **over)


def _spread(ctx: Any, x: Value, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> tuple[Value, dict, dict]:
    """(x, axes and keepdim, correction) from the three spellings ``(unbiased)``, ``(dim, unbiased, keepdim)`` and
    ``(dim, *, correction, keepdim)``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = (1 if unbiased else 0) if correction is None else correction
    return x, {"axes": axes_of(x, dim), "keepdim": keepdim}, {"correction": correction}


@lowering("torch", "aten.var")
def var(
    ctx: Any, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None
) -> Value:
    x, over, by = _spread(ctx, x, dim, unbiased, keepdim, correction)
    return fit(ctx, t.var(x, **over, **by))


@lowering("torch", "aten.std")
def std(
    ctx: Any, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None
) -> Value:
    x, over, by = _spread(ctx, x, dim, unbiased, keepdim, correction)
    return fit(ctx, t.std(x, **over, **by))


@lowering("torch", "aten.var_mean")
def var_mean(ctx: Any, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
             correction: Any = None) -> tuple[Value | None, ...]:  # fmt: skip
    x, over, by = _spread(ctx, x, dim, unbiased, keepdim, correction)
    return fit_all(ctx, (t.var(x, **over, **by), t.mean(x, **over)))


@lowering("torch", "aten.std_mean")
def std_mean(ctx: Any, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
             correction: Any = None) -> tuple[Value | None, ...]:  # fmt: skip
    x, over, by = _spread(ctx, x, dim, unbiased, keepdim, correction)
    return fit_all(ctx, (t.std(x, **over, **by), t.mean(x, **over)))


@lowering("torch", "aten.linalg_vector_norm")
def vector_norm(ctx: Any, x: Value, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    x = x if dtype is None else to(x, dtype)
    return fit(ctx, t.norm(x, ord=float(ord), axes=axes_of(x, dim), keepdim=keepdim))


@lowering("torch", "aten.norm")
def norm(ctx: Any, x: Value, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return vector_norm_of(ctx, x, 2 if p is None else p, dim, keepdim, dtype)


vector_norm_of = vector_norm[0].fn
