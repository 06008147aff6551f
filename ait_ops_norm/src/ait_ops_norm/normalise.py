# SPDX-License-Identifier: Apache-2.0
"""Layer, RMS, group, instance, batch and vector norms. Variances take two passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import ait_ops_tensor as t
from ait_core.declare.op import composite
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.graph import Value
from ait_ops_norm.wide import exact, narrow, wide


def _expect(what: str, v: Value | None, shape: dims.Shape) -> None:
    if v is not None and not dims.same_shape(v.shape, shape):
        shown = ", ".join(map(dims.text, shape))
        raise GraphError(f"{what} must have the shape [{shown}]; got {v.type}.")


def _trailing(x: Value, axes: int) -> tuple[int, ...]:
    """The last ``axes`` axes."""
    if not 1 <= axes <= x.type.rank:
        raise GraphError(f"A norm over the last {axes} axes needs between 1 and {x.type.rank} of them: {x.type}.")
    return tuple(range(x.type.rank - axes, x.type.rank))


def _standardise(x: Value, axes: Sequence[int], eps: float) -> Value:
    """``(x - mean) / sqrt(var + eps)`` over ``axes``."""
    centred = t.sub(x, t.mean(x, axes=axes, keepdim=True))
    return t.mul(centred, t.rsqrt(t.add(t.mean(t.square(centred), axes=axes, keepdim=True), eps)))


def _affine(y: Value, weight: Value | None, bias: Value | None, shape: Sequence[dims.Dim] | None = None) -> Value:
    """``y * weight + bias``, both seen under ``shape`` if given."""
    for v, apply in ((weight, t.mul), (bias, t.add)):
        if v is not None:
            seen = v if shape is None else t.reshape(v, shape=tuple(shape))
            y = apply(y, wide(seen, y))
    return y


def _per_channel(x: Value, *vectors: tuple[str, Value | None]) -> tuple[dims.Dim, ...]:
    """The shape under which a vector of channels broadcasts against ``x[n, c, ...]``."""
    if x.type.rank < 2:
        raise GraphError(f"A norm over channels needs a batch and a channel axis; got {x.type}.")
    for what, v in vectors:
        _expect(what, v, x.shape[1:2])
    return (x.shape[1], *(1,) * (x.type.rank - 2))


def _ref_standardise(v: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + eps)


def _ref_affine(v: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    v = v if weight is None else v * weight
    return v if bias is None else v + bias


def _layer_norm(x, weight=None, bias=None, *, axes=1, eps=1e-5):
    over = tuple(range(x.ndim - axes, x.ndim))
    return exact(lambda v, w, b: _ref_affine(_ref_standardise(v, over, eps), w, b), x, weight, bias)


@composite("norm.layer_norm", reference=_layer_norm)
def layer_norm(x, weight=None, bias=None, *, axes: int = 1, eps: float = 1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last ``axes`` axes, whose shape weight and bias have
    (Ba et al. 2016)."""
    over = _trailing(x, axes)
    _expect("The weight of layer_norm", weight, x.shape[-axes:])
    _expect("The bias of layer_norm", bias, x.shape[-axes:])
    return narrow(_affine(_standardise(wide(x), over, eps), weight, bias), x)


def _rms_norm(x, weight=None, *, axes=1, eps=1e-6):
    over = tuple(range(x.ndim - axes, x.ndim))
    return exact(lambda v, w: _ref_affine(v / np.sqrt((v * v).mean(over, keepdims=True) + eps), w, None), x, weight)


@composite("norm.rms_norm", reference=_rms_norm)
def rms_norm(x, weight=None, *, axes: int = 1, eps: float = 1e-6):
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last ``axes`` axes (Zhang and Sennrich 2019)."""
    over = _trailing(x, axes)
    _expect("The weight of rms_norm", weight, x.shape[-axes:])
    v = wide(x)
    scale = t.rsqrt(t.add(t.mean(t.square(v), axes=over, keepdim=True), eps))
    return narrow(_affine(t.mul(v, scale), weight, None), x)


def _group_norm(x, weight=None, bias=None, *, groups, eps=1e-5):
    def fn(v, w, b):
        n, c, *rest = v.shape
        y = _ref_standardise(v.reshape(n, groups, c // groups, *rest), tuple(range(2, v.ndim + 1)), eps)
        lifted = (None if p is None else p.reshape(c, *(1,) * len(rest)) for p in (w, b))
        return _ref_affine(y.reshape(v.shape), *lifted)

    return exact(fn, x, weight, bias)


@composite("norm.group_norm", reference=_group_norm)
def group_norm(x, weight=None, bias=None, *, groups: int, eps: float = 1e-5):
    """``x[n, c, ...]`` standardised over each of ``groups`` runs of channels and everything after them, then scaled and
    shifted channel by channel (Wu and He 2018)."""
    shape = _per_channel(x, ("The weight of group_norm", weight), ("The bias of group_norm", bias))
    channels = x.shape[1]
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise GraphError(f"group_norm needs a static number of channels that {groups} groups divide; got {x.type}.")
    grouped = t.reshape(wide(x), shape=(x.shape[0], groups, channels // groups, *x.shape[2:]))
    y = _standardise(grouped, tuple(range(2, x.type.rank + 1)), eps)
    return narrow(_affine(t.reshape(y, shape=x.shape), weight, bias, shape), x)


def _instance_norm(x, weight=None, bias=None, *, eps=1e-5):
    return _group_norm(x, weight, bias, groups=max(x.shape[1], 1), eps=eps)


@composite("norm.instance_norm", reference=_instance_norm)
def instance_norm(x, weight=None, bias=None, *, eps: float = 1e-5):
    """``x[n, c, ...]`` standardised over the axes after the channels, then scaled and shifted channel by channel."""
    shape = _per_channel(x, ("The weight of instance_norm", weight), ("The bias of instance_norm", bias))
    return narrow(_affine(_standardise(wide(x), tuple(range(2, x.type.rank)), eps), weight, bias, shape), x)


def _batch_norm(x, mean, var, weight=None, bias=None, *, eps=1e-5):
    def fn(v, m, s, w, b):
        lift = [None if p is None else p.reshape(-1, *(1,) * (v.ndim - 2)) for p in (m, s, w, b)]
        return _ref_affine((v - lift[0]) / np.sqrt(lift[1] + eps), *lift[2:])

    return exact(fn, x, mean, var, weight, bias)


@composite("norm.batch_norm", reference=_batch_norm)
def batch_norm(x, mean, var, weight=None, bias=None, *, eps: float = 1e-5):
    """Inference: ``(x - mean) / sqrt(var + eps) * weight + bias``, channel by channel of ``x[n, c, ...]``. The
    weights alone decide one scale and one shift a channel, so that these are worked out once."""
    named = {"mean": mean, "var": var, "weight": weight, "bias": bias}
    shape = _per_channel(x, *((f"The {k} of batch_norm", v) for k, v in named.items()))
    scale = t.rsqrt(t.add(wide(var, x), eps))
    scale = scale if weight is None else t.mul(scale, wide(weight, x))
    shift = t.neg(t.mul(wide(mean, x), scale))
    shift = shift if bias is None else t.add(wide(bias, x), shift)
    return narrow(_affine(wide(x), scale, shift, shape), x)


def _l2_normalize(x, *, axis=-1, eps=1e-12):
    return exact(lambda v: v / np.maximum(np.sqrt((v * v).sum(axis, keepdims=True)), eps), x)


@composite("norm.l2_normalize", reference=_l2_normalize)
def l2_normalize(x, *, axis: int = -1, eps: float = 1e-12):
    """``x / max(||x||, eps)`` with the Euclidean norm along ``axis``."""
    v = wide(x)
    length = t.sqrt(t.sum(t.square(v), axes=(axis,), keepdim=True))
    return narrow(t.div(v, t.maximum(length, eps)), x)
