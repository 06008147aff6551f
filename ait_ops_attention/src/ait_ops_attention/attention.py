# SPDX-License-Identifier: Apache-2.0
"""Scaled dot product attention (Vaswani et al. 2017), with the semantics of torch.nn.functional."""

from __future__ import annotations

import math

import numpy as np

from ait_core.declare.op import opaque
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.types import TensorType, broadcast


def _heads(q: dims.Shape, k: dims.Shape) -> bool:
    """Whether the leading axes fit: equal, but for the last of them, the heads, where k's number divides q's."""
    if len(q) != len(k) or not dims.same_shape(q[:-1], k[:-1]):
        return False
    if not q or dims.same(q[-1], k[-1]):
        return True
    return isinstance(q[-1], int) and isinstance(k[-1], int) and k[-1] > 0 and q[-1] % k[-1] == 0


def _attention_type(q: TensorType, k: TensorType, v: TensorType, mask: TensorType | None = None, *,
                    scale: float | None = None, causal: bool = False) -> TensorType:  # fmt: skip
    if not q.dtype == k.dtype == v.dtype or not q.dtype.is_float:
        raise GraphError(f"Attention needs q, k and v of one float dtype; got {q}, {k} and {v}.")
    fits = min(q.rank, k.rank, v.rank) >= 2 and _heads(q.shape[:-2], k.shape[:-2])
    if not fits or not dims.same_shape(k.shape[:-1], v.shape[:-1]) or not dims.same(q.shape[-1], k.shape[-1]):
        raise GraphError(
            f"Attention needs q [..., heads, lq, d], k [..., kv_heads, lk, d] and v [..., kv_heads, lk, dv] with "
            f"kv_heads dividing heads; got {q}, {k} and {v}."
        )
    if scale is None and not isinstance(q.shape[-1], int):
        raise GraphError(f"Attention over a symbolic feature size needs a scale: {q}.")
    if mask is not None:
        scores = (*q.shape[:-1], k.shape[-2])
        if not (mask.dtype.is_float or mask.dtype.name == "bool"):
            raise GraphError(f"An attention mask is bool (true: attend) or float (added to the scores); got {mask}.")
        if mask.rank > len(scores) or not dims.same_shape(broadcast(mask.shape, scores), scores):
            raise GraphError(f"The attention mask {mask} does not broadcast to the scores {q.of_shape(scores)}.")
    return q.of_shape((*q.shape[:-1], v.shape[-1]))


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, *,
               scale: float | None = None, causal: bool = False) -> np.ndarray:  # fmt: skip
    out = q.dtype
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], axis=-3) for a in (k, v))
    scale = scale if scale is not None else 1 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    with np.errstate(all="ignore"):
        scores = np.matmul(q * scale, np.swapaxes(k, -1, -2))
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask.astype(np.float64)
        top = scores.max(-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))  # a row with nothing to attend to sums to 0
        total = weights.sum(-1, keepdims=True)
        return np.matmul(weights / np.where(total == 0, 1.0, total), v).astype(out)


def _flops(q: TensorType, k: TensorType, v: TensorType, mask: TensorType | None = None, *, causal: bool = False,
           **attrs: object) -> dims.Dim:  # fmt: skip
    """Of the two products; half of them where a causal mask hides half of the scores."""
    pairs = dims.prod((*q.shape[:-1], k.shape[-2]))
    pairs = dims.ceil_div(pairs, 2) if causal and dims.same(q.shape[-2], k.shape[-2]) else pairs
    return dims.prod((2, pairs, q.shape[-1] + v.shape[-1]))


@opaque("attention.scaled_dot_product", infer=_attention_type, reference=_attention, flops=_flops)
def scaled_dot_product(q, k, v, mask=None, *, scale: float | None = None, causal: bool = False):
    """``softmax(scale * q @ k.T + mask) @ v`` over the last two axes, ``scale`` being ``1 / sqrt(d)`` unless given.

    ``q`` is [..., heads, lq, d], ``k`` [..., kv_heads, lk, d], ``v`` [..., kv_heads, lk, dv]; fewer key heads are
    shared by consecutive query heads (grouped query attention). ``mask`` is bool (true: attend) or float (added),
    broadcast to [..., heads, lq, lk]. ``causal`` lets query ``i`` see the keys ``j <= i``, counted from the first of
    each, and joins the mask. A query that may attend to nothing gives 0, whichever way it was masked, as torch's CPU
    kernel does.
    """
