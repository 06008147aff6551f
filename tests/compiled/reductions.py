# SPDX-License-Identifier: Apache-2.0
"""Reductions, norms and softmax, spelt out and as ops, alone, chained, and behind matrix products."""

from __future__ import annotations

import numpy as np

import ait_ops_gemm as g
import ait_ops_norm as nn
import ait_ops_tensor as t
from tests.compiled.builder import Builder, case


def spelt_layer_norm(x, w, b, axes=(-1,)):
    centred = t.sub(x, t.mean(x, axes=axes, keepdim=True))
    var = t.mean(t.square(centred), axes=axes, keepdim=True)
    return t.add(t.mul(t.div(centred, t.sqrt(t.add(var, 1e-5))), w), b)


def spelt_softmax(x, axis=-1):
    e = t.exp(t.sub(x, t.amax(x, axes=(axis,), keepdim=True)))
    return t.div(e, t.sum(e, axes=(axis,), keepdim=True))


@case
def layer_norm_spelt_out(b: Builder):
    return spelt_layer_norm(b.x(b.batch(), b.seq(), 20), b.w(20), b.w(20))


@case
def layer_norm_behind_a_product(b: Builder):
    n, s = b.batch(), b.seq()
    x, r = b.x(n, s, 16), b.x(n, s, 20)
    h = t.add(g.linear(x, b.w(20, 16), b.w(20)), r)
    return nn.layer_norm(h, b.w(20), b.w(20)), spelt_layer_norm(g.linear(x, b.w(20, 16)), b.w(20), b.w(20))


@case
def layer_norm_whose_input_is_kept(b: Builder):
    h = t.add(g.linear(b.x(b.batch(), 16), b.w(20, 16)), 1.0)
    y = nn.layer_norm(h, b.w(20), b.w(20))
    return h, y, t.add(h, g.linear(y, b.w(20, 20)))


@case
def norms_over_first_and_middle_axes(b: Builder):
    x = b.x(b.batch(), 6, 7)
    return tuple(spelt_layer_norm(x, 1.5, 0.5, axes) for axes in ((0,), (1,), (2,), (1, 2), (0, 2), (0, 1, 2)))


@case
def norms_of_halves(b: Builder):
    x = b.x(b.batch(), 24, dtype="float16")
    h = b.x(b.batch(), 24, dtype="bfloat16")
    w = b.w(24, dtype="float16")
    return nn.layer_norm(x, w, w), nn.rms_norm(h, None), nn.softmax(x), spelt_softmax(h)


@case
def rms_norm_spelt_out(b: Builder):
    x = b.x(b.batch(), b.seq(), 20)
    scale = t.rsqrt(t.add(t.mean(t.square(x), axes=(-1,), keepdim=True), 1e-6))
    return t.mul(t.mul(x, scale), b.w(20)), nn.rms_norm(t.add(x, 1.0), b.w(20))


@case
def softmax_of_every_axis(b: Builder):
    x = b.x(b.batch(), 5, b.seq())
    return tuple(f(x, axis=axis) for axis in range(3) for f in (nn.softmax, spelt_softmax, nn.log_softmax))


@case
def softmax_of_scores(b: Builder):
    n, s = b.batch(), b.seq()
    q, k, v = (b.x(n, 2, s, 8) for _ in range(3))
    scores = t.mul(g.matmul(q, t.transpose(k)), 0.35)
    allowed = b.x(n, 1, 1, s, dtype="bool")
    masked = t.where(allowed, scores, -1e9)
    return g.matmul(nn.softmax(masked), v), spelt_softmax(t.add(scores, 1.0))


@case
def softmax_of_minus_infinity(b: Builder):
    x = b.x(4, 6, make=lambda a: np.where(np.arange(6) >= 6 - np.arange(4)[:, None], -np.inf, a).astype("f4"))
    return nn.softmax(x), nn.log_softmax(x)


@case
def reductions_over_every_set_of_axes(b: Builder):
    x = b.x(b.batch(), 5, 7)
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()]
    return tuple(t.sum(t.mul(x, 2.0), axes=a, keepdim=len(a) == 2) for a in sets)


@case
def reductions_of_every_kind(b: Builder):
    x, i = b.x(6, b.seq(), 5), b.x(6, b.seq(), dtype="int64")
    kinds = (t.sum, t.amax, t.amin, t.prod, t.mean, t.argmax, t.argmin, t.any, t.all, t.count_nonzero)
    return tuple(f(x, axes=(k % 3,)) for k, f in enumerate(kinds)) + tuple(
        f(i, axes=(1,)) for f in (t.sum, t.amax, t.argmin)
    )


@case
def reduction_of_a_reduction(b: Builder):
    x = b.x(b.batch(), 5, 7)
    s = t.sum(t.exp(x), axes=(2,))
    return t.amax(s, axes=(1,)), s, t.sub(x, t.amax(t.amax(x, axes=(2,), keepdim=True), axes=(1,), keepdim=True))


@case
def reductions_side_by_side(b: Builder):
    x = b.x(b.batch(), 33)
    return (
        t.sum(x, axes=(1,)),
        t.amax(x, axes=(1,)),
        t.argmax(x, axes=(1,)),
        t.sum(x, axes=(0,)),
        t.mean(t.square(x), axes=(1,)),
    )


@case
def tail_of_a_reduction(b: Builder):
    x, y = b.x(b.batch(), 33), b.x(b.batch())
    s = t.sum(x, axes=(1,))
    return t.mul(t.tanh(s), y), t.add(x, t.unsqueeze(s, dim=1)), t.transpose(t.mul(x, t.unsqueeze(s, dim=-1)))


@case
def reduction_through_views(b: Builder):
    x = b.x(4, 6, 5)
    y = t.reshape(t.permute(x, dims=(2, 0, 1)), shape=(5, 24))
    return (
        t.sum(y, axes=(0,)),
        t.amax(y, axes=(1,)),
        t.sum(t.expand(b.x(4, 1, 5), shape=(4, 6, 5)), axes=(1,)),
        t.sum(t.slice(x, dim=1, step=2), axes=(1,)),
        t.argmax(t.flip(x, dims=(1,)), axes=(1,)),
    )


@case
def reduction_of_a_join(b: Builder):
    n = b.batch()
    x, y = b.x(n, 5), b.x(n, 3)
    return t.sum(t.concat(x, t.exp(y), x, dim=1), axes=(1,)), t.amax(t.stack(x, t.neg(x), dim=1), axes=(1,))


@case
def reduction_behind_a_product(b: Builder):
    h = g.matmul(b.x(b.batch(), 7, 12), b.w(12, 9))
    return (
        t.sum(t.relu(h), axes=(-1,)),
        t.amax(h, axes=(1,)),
        t.argmax(h, axes=(-1,)),
        t.sum(h, axes=(0, 1, 2)),
        nn.softmax(h, axis=1),
    )


@case
def reductions_without_elements(b: Builder):
    z = b.none()
    return (
        t.sum(b.x(0, 5), axes=(0,)),
        t.sum(b.x(5, 0), axes=(1,)),
        t.prod(b.x(z, 4), axes=(0,)),
        t.sum(b.x(4, z), axes=(1,)),
        t.mean(b.x(z, 3), axes=(1,)),
        nn.softmax(b.x(z, 5)),
        nn.softmax(b.x(5, z)),
        nn.layer_norm(b.x(z, 8), None),
        t.any(b.x(3, z, dtype="bool"), axes=(1,)),
        t.all(b.x(z, 3, dtype="bool"), axes=(0,)),
    )


@case
def size_one_everywhere(b: Builder):
    x = b.x(1, b.batch(), 1)
    return (
        t.sum(x, axes=(0, 2)),
        nn.softmax(x),
        nn.layer_norm(b.x(1, 1), b.w(1), b.w(1)),
        t.argmax(x, axes=(0,)),
        t.var(b.x(3, 1), axes=(0,)),
    )


@case
def statistics(b: Builder):
    x = b.x(b.batch(), 20, lo=1, hi=3)
    return (
        t.var(x, axes=(1,)),
        t.std(x, axes=(1,), correction=0),
        t.norm(x, axes=(1,)),
        t.logsumexp(x, axes=(0,)),
        nn.l2_normalize(x),
        nn.l2_normalize(x, axis=0),
    )


@case
def group_and_batch_norm_of_images(b: Builder):
    x = b.x(b.batch(), 6, 5, 4)
    w = b.w(6)
    return (
        nn.group_norm(x, w, w, groups=3),
        nn.instance_norm(x, w, None),
        nn.batch_norm(t.relu(x), w, t.abs(b.w(6)), w, w),
    )


@case
def pooled_and_normalised(b: Builder):
    n, s = b.batch(), b.seq()
    h, mask = b.x(n, s, 16), b.x(n, s, dtype="int64", lo=0, hi=1)
    m = t.cast(t.unsqueeze(mask, dim=-1), dtype="float32")
    pooled = t.div(t.sum(t.mul(h, m), axes=(1,)), t.clamp(t.sum(m, axes=(1,)), 1e-9, None))
    return nn.l2_normalize(pooled)


@case
def many_reductions_in_one_row(b: Builder):
    x = b.x(b.batch(), 40)
    y = x
    for _ in range(6):
        y = t.sub(t.mul(y, 1.1), t.mean(y, axes=(1,), keepdim=True))
    return y, t.sum(y, axes=(1,))


@case
def scans_and_orders(b: Builder):
    x = b.x(b.batch(), 9, 4)
    y = t.mul(t.permute(x, dims=(2, 1, 0)), 2.0)
    values, places = t.sort(t.neg(x), dim=1)
    top, at = t.topk(t.reshape(x, shape=(b.batch(), 36)), k=5)
    return (
        t.add(t.cumsum(y, dim=1), 1.0),
        t.cumsum(t.gt(x, 0.0), dim=0),
        values,
        t.add(places, 1),
        t.relu(top),
        at,
        t.sort(x, dim=0)[1],
        t.gather(x, t.sort(x, dim=1, descending=True)[1], dim=1),
    )
