# SPDX-License-Identifier: Apache-2.0
"""Attention: masks of every shape, shared heads, layouts, and what surrounds it in models."""

from __future__ import annotations

import itertools

import ait_ops_attention as a
import ait_ops_gemm as g
import ait_ops_norm as nn
import ait_ops_tensor as t
from tests.compiled.builder import Builder, case

attend = a.scaled_dot_product


def _qkv(b: Builder, heads: int = 2, kv: int = 2, lq: int = 5, lk: int = 7, d: int = 8, dtype: str = "float32"):
    return (
        b.x(b.batch(), heads, lq, d, dtype=dtype),
        b.x(b.batch(), kv, lk, d, dtype=dtype),
        b.x(b.batch(), kv, lk, d, dtype=dtype),
    )


def _shapes(b: Builder):
    for lead in itertools.product((True, False), repeat=4):
        yield tuple(n if keep else 1 for n, keep in zip((b.batch(), 2, 5, 7), lead, strict=True))
    yield from ((5, 7), (7,), (1, 7), (5, 1), (2, 5, 7), ())


@case
def boolean_masks(b: Builder):
    q, k, v = _qkv(b)
    return tuple(attend(q, k, v, b.x(*s, dtype="bool")) for s in _shapes(b))


@case
def additive_masks(b: Builder):
    q, k, v = _qkv(b)
    return tuple(attend(q, k, v, b.x(*s), causal=i % 3 == 0) for i, s in enumerate(_shapes(b)))


@case
def shared_heads(b: Builder):
    return (
        attend(*_qkv(b, 6, 2)),
        attend(*_qkv(b, 4, 1), b.x(b.batch(), 1, 1, 7, dtype="bool")),
        attend(*_qkv(b, 4, 4, 7, 7), causal=True),
    )


@case
def computed_masks(b: Builder):
    q, k, v = _qkv(b)
    keep = b.x(b.batch(), 7, dtype="int64", lo=0, hi=1)
    mask = t.ne(t.reshape(keep, shape=(b.batch(), 1, 1, 7)), 0)
    bias = t.mul(t.sub(1.0, t.cast(mask, dtype="float32")), -1e9)
    both = t.bit_and(
        t.expand(mask, shape=(b.batch(), 1, 5, 7)), t.le(t.iota(size=7), t.reshape(t.iota(size=5), shape=(5, 1)))
    )
    return attend(q, k, v, mask), attend(q, k, v, bias), attend(q, k, v, both)


@case
def attention_of_other_dtypes(b: Builder):
    half = _qkv(b, dtype="float16")
    return (
        attend(*half),
        attend(*_qkv(b, dtype="bfloat16"), causal=True),
        attend(*_qkv(b, dtype="float64"), scale=0.5),
        t.cast(attend(*half, b.x(5, 7, dtype="float16")), dtype="float32"),
    )


@case
def attention_without_elements(b: Builder):
    z = b.none()
    q, k, v = b.x(2, 3, 5, 4), b.x(2, 3, z, 4), b.x(2, 3, z, 4)
    return attend(q, k, v), attend(b.x(2, 3, z, 4), q, q), attend(b.x(z, 2, 4), b.x(z, 3, 4), b.x(z, 3, 4))


@case
def encoder_layer(b: Builder):
    n, s = b.batch(), b.seq()
    x, keep = b.x(n, s, 16), b.x(n, s, dtype="int64", lo=0, hi=1)
    q, k, v = (
        t.permute(t.reshape(g.linear(x, b.w(16, 16), b.w(16)), shape=(n, s, 2, 8)), dims=(0, 2, 1, 3)) for _ in range(3)
    )
    o = attend(q, k, v, t.reshape(t.cast(keep, dtype="bool"), shape=(n, 1, 1, s)))
    h = nn.layer_norm(
        t.add(g.linear(t.reshape(t.permute(o, dims=(0, 2, 1, 3)), shape=(n, s, 16)), b.w(16, 16), b.w(16)), x),
        b.w(16),
        b.w(16),
    )
    return nn.layer_norm(
        t.add(g.linear(t.gelu(g.linear(h, b.w(32, 16), b.w(32))), b.w(16, 32), b.w(16)), h), b.w(16), b.w(16)
    )


@case
def decoder_layer_spelt_out(b: Builder):
    n, s = b.batch(), b.seq()
    x = b.x(n, s, 16)
    y = nn.rms_norm(x, b.w(16))
    q, k, v = (t.permute(t.reshape(g.linear(y, b.w(16, 16)), shape=(n, s, 2, 8)), dims=(0, 2, 1, 3)) for _ in range(3))
    scores = t.div(g.matmul(q, t.transpose(k)), 8**0.5)
    seen = t.le(t.iota(size=s), t.reshape(t.iota(size=s), shape=(s, 1)))
    o = g.matmul(nn.softmax(t.where(seen, scores, -1e9)), v)
    h = t.add(x, g.linear(t.reshape(t.permute(o, dims=(0, 2, 1, 3)), shape=(n, s, 16)), b.w(16, 16)))
    z = nn.rms_norm(h, b.w(16))
    return t.add(h, g.linear(t.mul(t.silu(g.linear(z, b.w(24, 16))), g.linear(z, b.w(24, 16))), b.w(16, 24)))


@case
def cache_is_extended(b: Builder):
    n, s = b.batch(), b.seq()
    x, past_k, past_v = b.x(n, 1, 16), b.x(n, 2, s, 8), b.x(n, 2, s, 8)
    q, k, v = (t.permute(t.reshape(g.linear(x, b.w(16, 16)), shape=(n, 1, 2, 8)), dims=(0, 2, 1, 3)) for _ in range(3))
    keys, values = t.concat(past_k, k, dim=2), t.concat(past_v, v, dim=2)
    return attend(q, keys, values), keys, values


@case
def attention_reads_views(b: Builder):
    n, s = b.batch(), b.seq()
    packed = b.x(n, s, 3, 2, 8)
    q, k, v = (t.permute(t.select(packed, dim=2, index=i), dims=(0, 2, 1, 3)) for i in range(3))
    return (
        t.mul(attend(q, k, v, causal=True), 2.0),
        attend(t.flip(q, dims=(2,)), t.exp(k), v),
        attend(q, t.expand(b.x(1, 2, s, 8), shape=(n, 2, s, 8)), v),
    )
