# SPDX-License-Identifier: Apache-2.0
"""How torch's softmax and normalisations become ops of this pack."""

from __future__ import annotations

from typing import Any

import numpy as np

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir.dtypes import DType
from ait_core.ir.graph import Value
from ait_ops_norm import normalise as n
from ait_ops_norm import probabilities as p
from ait_ops_norm.wide import wide
from ait_ops_tensor.lowerings.common import fit, fit_all, to


def _softmax(ctx: Any, op: Any, x: Value, dim: int, dtype: Any) -> Value:
    x = to(x, dtype) if isinstance(dtype, DType) else x
    return fit(ctx, op(x, axis=dim) if x.type.rank else op(t.reshape(x, shape=(1,)), axis=0))


@lowering("torch", "aten.softmax", "aten._softmax", "aten.special_softmax")
def softmax(ctx: Any, x: Value, dim: int, dtype: Any = None) -> Value:
    y = _softmax(ctx, p.softmax, x, dim, dtype)
    return y if x.type.rank else t.reshape(y, shape=())


@lowering("torch", "aten.log_softmax", "aten._log_softmax", "aten.special_log_softmax")
def log_softmax(ctx: Any, x: Value, dim: int, dtype: Any = None) -> Value:
    y = _softmax(ctx, p.log_softmax, x, dim, dtype)
    return y if x.type.rank else t.reshape(y, shape=())


@lowering("torch", "aten._safe_softmax")
def safe_softmax(ctx: Any, x: Value, dim: int, dtype: Any = None) -> Value:
    """Rows that are -inf throughout give 0 instead of NaN."""
    masked = t.all(t.eq(x, float("-inf")), axes=(x.type.axis(dim),), keepdim=True)
    return fit(ctx, t.where(masked, 0.0, _softmax(ctx, p.softmax, x, dim, dtype)))


@lowering("torch", "aten.layer_norm")
def layer_norm(ctx: Any, x: Value, shape: tuple, weight: Value | None = None, bias: Value | None = None,
               eps: float = 1e-5, *_: Any) -> Value:  # fmt: skip
    return fit(ctx, n.layer_norm(x, weight, bias, axes=len(shape), eps=eps))


@lowering("torch", "aten.native_layer_norm")
def native_layer_norm(ctx: Any, x: Value, shape: tuple, weight: Value | None, bias: Value | None,
                      eps: float) -> tuple[Value | None, ...]:  # fmt: skip
    mean, rstd = _moments(x, tuple(range(x.type.rank - len(shape), x.type.rank)), eps)
    return fit_all(ctx, (n.layer_norm(x, weight, bias, axes=len(shape), eps=eps), mean, rstd))


def _moments(x: Value, axes: tuple[int, ...], eps: float) -> tuple[Value, Value]:
    """Mean and ``1 / sqrt(var + eps)``, which torch's native norms also return."""
    v = wide(x)
    over = {"axes": axes, "keepdim": True}
    return t.mean(v, **over), t.rsqrt(t.add(t.var(v, correction=0, **over), eps))


def _rms_eps(x: Value, eps: float | None) -> float:
    """torch's default is the resolution of the dtype it computes in."""
    return float(np.finfo(np.float64 if x.dtype.name == "float64" else np.float32).eps) if eps is None else eps


@lowering("torch", "aten.rms_norm")
def rms_norm(ctx: Any, x: Value, shape: tuple, weight: Value | None = None, eps: float | None = None) -> Value:
    return fit(ctx, n.rms_norm(x, weight, axes=len(shape), eps=_rms_eps(x, eps)))


@lowering("torch", "aten._fused_rms_norm")
def fused_rms_norm(
    ctx: Any, x: Value, shape: tuple, weight: Value | None, eps: float | None
) -> tuple[Value | None, ...]:
    axes, eps = tuple(range(x.type.rank - len(shape), x.type.rank)), _rms_eps(x, eps)
    rstd = t.rsqrt(t.add(t.mean(t.square(wide(x)), axes=axes, keepdim=True), eps))
    return fit_all(ctx, (n.rms_norm(x, weight, axes=len(shape), eps=eps), rstd))


@lowering("torch", "aten.group_norm")
def group_norm(ctx: Any, x: Value, groups: int, weight: Value | None = None, bias: Value | None = None,
               eps: float = 1e-5, *_: Any) -> Value:  # fmt: skip
    return fit(ctx, n.group_norm(x, weight, bias, groups=groups, eps=eps))


@lowering("torch", "aten.native_group_norm")
def native_group_norm(ctx: Any, x: Value, weight: Value | None, bias: Value | None, batch: Any, channels: int,
                      rest: Any, groups: int, eps: float) -> tuple[Value | None, ...]:  # fmt: skip
    grouped = t.reshape(x, shape=(batch, groups, channels // groups, *x.shape[2:]))
    moments = _moments(grouped, tuple(range(2, x.type.rank + 1)), eps)
    mean, rstd = (t.reshape(m, shape=(batch, groups)) for m in moments)
    return fit_all(ctx, (n.group_norm(x, weight, bias, groups=groups, eps=eps), mean, rstd))


def _batch_norm(x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
                training: bool, eps: float) -> Value:  # fmt: skip
    if training or mean is None or var is None:
        axes = tuple(a for a in range(x.type.rank) if a != 1)
        mean, var = t.mean(wide(x), axes=axes), t.var(wide(x), axes=axes, correction=0)
    return n.batch_norm(x, mean, var, weight, bias, eps=eps)


@lowering("torch", "aten.batch_norm")
def batch_norm(ctx: Any, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
               training: bool, momentum: float, eps: float, *_: Any) -> Value:  # fmt: skip
    return fit(ctx, _batch_norm(x, weight, bias, mean, var, training, eps))


@lowering("torch", "aten._native_batch_norm_legit_no_training")
def native_batch_norm(ctx: Any, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value,
                      momentum: float, eps: float) -> tuple[Value | None, ...]:  # fmt: skip
    return fit(ctx, _batch_norm(x, weight, bias, mean, var, False, eps)), None, None


@lowering("torch", "aten._native_batch_norm_legit.no_stats")
def native_batch_norm_of_batch(ctx: Any, x: Value, weight: Value | None, bias: Value | None, training: bool,
                               momentum: float, eps: float) -> tuple[Value | None, ...]:  # fmt: skip
    return fit(ctx, _batch_norm(x, weight, bias, None, None, True, eps)), None, None


@lowering("torch", "aten.instance_norm")
def instance_norm(ctx: Any, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
                  use_input_stats: bool, momentum: float, eps: float, *_: Any) -> Value:  # fmt: skip
    if not use_input_stats:
        return fit(ctx, n.batch_norm(x, mean, var, weight, bias, eps=eps))
    return fit(ctx, n.instance_norm(x, weight, bias, eps=eps))
