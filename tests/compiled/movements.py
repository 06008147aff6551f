# SPDX-License-Identifier: Apache-2.0
"""Views, joins and splits, read and written in place; outputs of every kind; lookups; symbolic sizes."""

from __future__ import annotations

import itertools

import numpy as np

import ait_ops_gemm as g
import ait_ops_norm as nn
import ait_ops_tensor as t
from ait_core.ir import dims
from tests.compiled.builder import Builder, case


def _strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


@case
def permutes_of_three_axes(b: Builder):
    x = b.x(b.batch(), 5, 7)
    return tuple(t.permute(t.exp(x), dims=p) for p in itertools.permutations(range(3)))


@case
def permutes_of_four_and_five_axes(b: Builder):
    x, y = b.x(2, b.batch(), 4, 5), b.x(2, 3, 1, 4, 5)
    return (
        t.permute(x, dims=(3, 1, 0, 2)),
        t.mul(t.permute(x, dims=(0, 2, 1, 3)), 2.0),
        t.permute(y, dims=(4, 2, 0, 3, 1)),
        t.add(t.permute(y, dims=(1, 0, 4, 2, 3)), 1.0),
        t.permute(t.permute(t.neg(y), dims=(4, 3, 2, 1, 0)), dims=(1, 0, 2, 4, 3)),
    )


@case
def permuted_operands_meet(b: Builder):
    x, y = b.x(4, 5, 6), b.x(6, 4, 5)
    return t.add(t.permute(x, dims=(2, 0, 1)), y), t.mul(x, t.permute(y, dims=(1, 2, 0)))


@case
def outputs_of_every_kind(b: Builder):
    x, w, c = b.x(b.batch(), 6), b.w(4, 6), b.c(3, 4)
    h = t.exp(x)
    return (
        x,
        w,
        c,
        h,
        h,
        x,
        t.transpose(x),
        t.transpose(w),
        t.reshape(h, shape=(b.batch(), 2, 3)),
        t.transpose(h),
        t.slice(h, dim=1, end=2),
    )


@case
def output_is_a_view_of_an_output(b: Builder):
    h = g.matmul(b.x(5, 12), b.w(12, 8))
    y = t.relu(h)
    return t.slice(y, dim=1, start=2, end=5), y, t.flip(y, dims=(0,)), t.expand(t.unsqueeze(y, dim=0), shape=(3, 5, 8))


@case
def outputs_overlap(b: Builder):
    y = t.mul(b.x(8, 6), 3.0)
    return tuple(t.slice(y, start=i, end=i + 4) for i in range(0, 5, 2))


@case
def output_is_a_part_of_a_join(b: Builder):
    x, y = t.exp(b.x(4, 3)), t.neg(b.x(4, 2))
    j = t.concat(x, y, dim=1)
    return x, j, t.slice(j, dim=1, start=1, end=4), y


@case
def concat_on_every_axis(b: Builder):
    x, y = b.x(2, 3, 4), b.x(2, 3, 4)
    return tuple(t.concat(t.relu(x), y, t.neg(x), dim=d) for d in range(3))


@case
def concat_of_a_value_with_itself(b: Builder):
    x = b.x(b.batch(), 3)
    y = t.exp(x)
    return t.concat(y, y, dim=0), t.concat(x, y, x, y, dim=1), t.stack(y, y, y, dim=1)


@case
def concat_of_inputs_and_constants(b: Builder):
    n = b.batch()
    x = b.x(n, 3)
    c = t.expand(b.c(1, 3), shape=(n, 3))
    return (
        t.concat(x, c, t.mul(x, 2.0), dim=1),
        t.concat(b.c(2, 3), x, b.w(1, 3), dim=0),
        t.concat(b.c(2), b.w(3), dim=0),
    )


@case
def concat_in_concat(b: Builder):
    x, y = b.x(4, 3), b.x(4, 2)
    inner = t.concat(t.exp(x), y, dim=1)
    outer = t.concat(t.neg(y), inner, t.concat(y, x, dim=1), dim=1)
    return outer, t.concat(outer, outer, dim=0)


@case
def concat_read_inside(b: Builder):
    x, y = b.x(b.batch(), 3), b.x(b.batch(), 5)
    j = t.concat(t.exp(x), t.neg(y), dim=1)
    return (
        t.mul(j, 2.0),
        t.sum(j, axes=(1,)),
        t.permute(j, dims=(1, 0)),
        t.slice(j, dim=1, start=2, end=5),
        nn.softmax(j),
    )


@case
def concat_of_views(b: Builder):
    x = t.exp(b.x(4, 6))
    return (
        t.concat(t.transpose(x), b.x(6, 2), dim=1),
        t.concat(t.reshape(x, shape=(8, 3)), t.reshape(x, shape=(8, 3)), dim=0),
        t.concat(t.slice(x, dim=1, start=3), t.slice(x, dim=1, end=3), dim=1),
        t.concat(t.flip(x, dims=(1,)), x, dim=0),
        t.concat(t.expand(b.x(1, 6), shape=(2, 6)), x, dim=0),
    )


@case
def concat_of_products(b: Builder):
    n = b.batch()
    x, y = b.x(n, 12), b.x(n, 10)
    j = t.concat(g.linear(x, b.w(4, 12), b.w(4)), t.relu(g.matmul(y, b.w(10, 6))), dim=1)
    return j, g.matmul(j, b.w(10, 3))


@case
def concat_of_dtypes(b: Builder):
    x, y, z = b.x(3, 2), b.x(3, 4, dtype="int64"), b.x(3, 1, dtype="bool")
    return (
        t.concat(x, y, dim=1),
        t.concat(y, z, dim=1),
        t.concat(t.exp(x), z, t.add(y, 1), dim=1),
        t.concat(z, b.x(3, 2, dtype="bfloat16"), dim=1),
    )


@case
def concat_without_elements(b: Builder):
    z, x = b.none(), b.x(4, 3)
    return (
        t.concat(x, b.x(0, 3), dim=0),
        t.concat(b.x(z, 3), x, t.exp(b.x(z, 3)), dim=0),
        t.concat(b.x(4, 0), b.x(4, 0), dim=1),
    )


@case
def split_and_work(b: Builder):
    x = b.x(b.batch(), b.seq(), 12)
    a, c, d = (t.slice(x, dim=2, start=i, end=i + 4) for i in (0, 4, 8))
    return t.mul(t.silu(a), c), t.concat(d, t.neg(c), a, dim=2), t.add(a, d)


@case
def split_of_a_computed_value(b: Builder):
    h = t.exp(b.x(b.batch(), 12))
    parts = [t.slice(h, dim=1, start=i, end=i + 3) for i in (0, 3, 6, 9)]
    return t.concat(*parts[::-1], dim=1), t.mul(parts[0], parts[3]), g.matmul(parts[1], b.w(3, 4)), parts[2]


@case
def rotary(b: Builder):
    x, cos, sin = b.x(b.batch(), 2, b.seq(), 8), b.x(b.seq(), 8), b.x(b.seq(), 8)
    half = t.concat(t.neg(t.slice(x, dim=-1, start=4)), t.slice(x, dim=-1, end=4), dim=-1)
    return t.add(t.mul(x, cos), t.mul(half, sin))


@case
def stack_and_unstack(b: Builder):
    x, y = b.x(3, b.batch()), b.x(3, b.batch())
    s = t.stack(t.exp(x), y, dim=1)
    return (
        s,
        t.select(s, dim=1, index=0),
        t.select(t.mul(s, 2.0), dim=1, index=1),
        t.stack(x, y, dim=2),
        t.stack(s, s, dim=0),
    )


@case
def pads(b: Builder):
    x = b.x(b.batch(), 5)
    return (
        t.pad(t.exp(x), before=(1, 0), after=(0, 2), value=7.0),
        t.pad(x, before=(0, -1), after=(0, -1)),
        t.add(t.pad(x, before=(0, 1), after=(0, 1), mode="reflect"), 1.0),
        t.sum(t.pad(x, before=(0, 2), after=(0, 0)), axes=(1,)),
        t.concat(t.pad(x, before=(0, 1), after=(0, 0)), x, dim=1),
    )


@case
def pad_concat_slice_nest(b: Builder):
    x = b.x(4, 6)
    j = t.concat(t.pad(t.slice(x, dim=1, start=1, end=4), before=(0, 1), after=(0, 1)), b.c(4, 2), dim=1)
    return t.slice(t.stack(j, t.flip(j, dims=(1,)), dim=0), dim=2, start=1, step=2), t.mul(
        t.roll(j, shifts=(2,), dims=(1,)), j
    )


@case
def reshapes_of_symbolic_sizes(b: Builder):
    n, s = b.batch(), b.seq()
    x = b.x(n, s, 12)
    flat = t.reshape(x, shape=(n * s, 12))
    return (
        flat,
        t.exp(flat),
        t.reshape(t.mul(flat, 2.0), shape=(n, s, 3, 4)),
        t.sum(flat, axes=(0,)),
        g.matmul(flat, b.w(12, 5)),
        t.permute(t.reshape(x, shape=(n, s, 3, 4)), dims=(0, 2, 1, 3)),
        t.reshape(t.permute(x, dims=(1, 0, 2)), shape=(s, n * 12)),
    )


@case
def expressions_of_sizes(b: Builder):
    n, s = b.batch(), b.seq()
    x = b.x(n, s, 4)
    more = t.concat(b.x(n, 1, 4), t.exp(x), dim=1)
    half = t.slice(x, dim=1, step=2)
    return (
        more,
        t.sum(more, axes=(1,)),
        half,
        t.mul(half, 2.0),
        nn.softmax(more, axis=1),
        t.slice(more, dim=1, start=1, end=s),
        t.reshape(more, shape=(n * (s + 1), 4)),
        t.concat(more, half, dim=1),
        g.matmul(more, b.w(4, 3)),
    )


@case
def halves_of_a_size(b: Builder):
    s, half = b.seq(), b.dim("h", 1, 20, 4, 20, 1)
    x = b.x(3, 2 * half)
    a, c = t.slice(x, dim=1, end=half), t.slice(x, dim=1, start=half)
    y, less = b.x(s, 3), dims.floor_div(s, 2)
    return (
        t.mul(t.add(a, c), b.x(half)),
        t.concat(t.exp(c), a, dim=1),
        t.pad(a, before=(0, half), after=(0, 1)),
        t.unfold(x, dim=1, size=2, step=2),
        t.exp(t.slice(y, end=less)),
        t.concat(t.slice(y, start=less), y, dim=0),
    )


@case
def sizes_as_data(b: Builder):
    n, s = b.batch(), b.seq()
    x = b.x(n, s)
    position = t.iota(size=s)
    return (
        t.mul(x, t.full(shape=(), value=s, dtype="float32")),
        t.full(shape=(n, 2), value=n * s, dtype="int64"),
        position,
        t.where(t.lt(position, t.full(shape=(), value=dims.floor_div(s, 2), dtype="int64")), x, 0.0),
        t.tril(t.exp(b.x(s, s))),
    )


@case
def sizes_at_zero(b: Builder):
    z = b.none()
    x = b.x(z, 4)
    return (
        t.exp(x),
        t.transpose(x),
        t.reshape(x, shape=(z * 4,)),
        t.concat(x, t.neg(x), dim=1),
        t.permute(b.x(2, z, 3), dims=(2, 1, 0)),
        t.expand(b.x(1, z), shape=(3, z)),
        t.pad(x, before=(1, 0), after=(0, 0), value=3.0),
        t.slice(t.pad(x, before=(2, 0), after=(0, 0)), start=1),
        t.reshape(t.mul(b.x(2, z, 6), 2.0), shape=(2, z, 2, 3)),
        t.sum(t.reshape(t.transpose(x), shape=(2, 2 * z)), axes=(1,)),
    )


@case
def empty_views(b: Builder):
    x, y = b.x(0, 5), b.x(3, 0, 2)
    return (
        t.exp(x),
        t.transpose(x),
        t.reshape(x, shape=(5, 0)),
        t.permute(t.neg(y), dims=(2, 0, 1)),
        t.expand(b.x(1, 5), shape=(0, 5)),
        t.flip(y, dims=(0, 1)),
        t.slice(b.x(4, 5), start=2, end=2),
        t.add(b.x(4, 1), t.slice(b.x(5), end=0)),
    )


@case
def strided_inputs(b: Builder):
    x, y = b.x(b.batch(), 12, make=_strided), b.x(12, 7, make=lambda a: np.asfortranarray(a))
    z = b.x(3, 4, make=lambda a: a[::-1, ::-1])
    return t.exp(x), g.matmul(x, y), t.sum(y, axes=(0,)), z, t.concat(z, z, dim=0), nn.softmax(x)


@case
def embeddings(b: Builder):
    n, s = b.batch(), b.seq()
    ids, kinds = b.x(n, s, dtype="int64", lo=0, hi=10), b.x(n, s, dtype="int32", lo=0, hi=1)
    h = t.add(t.add(t.embedding(b.w(11, 12), ids), t.embedding(b.w(2, 12), kinds)), t.slice(b.w(40, 12), end=s))
    return (
        nn.layer_norm(h, b.w(12), b.w(12)),
        t.embedding(t.exp(b.w(11, 3)), t.add(ids, 0)),
        t.embedding(b.x(11, 3), ids),
    )


@case
def lookups(b: Builder):
    x, i = b.x(b.batch(), 9), b.x(4, dtype="int64", lo=-3, hi=2)
    k = b.x(b.batch(), 3, dtype="int64", lo=0, hi=8)
    return (
        t.index(t.exp(x), None, i),
        t.gather(t.neg(x), k, dim=1),
        t.index_select(x, t.abs(i), dim=1),
        t.one_hot(k, classes=9),
        t.sum(t.gather(x, k, dim=1), axes=(1,)),
        t.gather(x, t.unsqueeze(t.argmax(x, axes=(1,)), dim=1), dim=1),
    )


@case
def lookup_in_a_product(b: Builder):
    h = g.matmul(b.x(6, 12), b.w(12, 8))
    i = b.x(4, dtype="int64", lo=0, hi=5)
    return (
        t.index_select(h, i, dim=0),
        t.mul(t.index_select(h, i, dim=0), 2.0),
        g.matmul(t.index_select(h, i, dim=0), b.w(8, 3)),
    )


@case
def repeats_and_windows(b: Builder):
    x = b.x(b.batch(), 6)
    return (
        t.repeat(t.exp(x), repeats=(2, 3)),
        t.repeat_interleave(x, repeats=2, dim=1),
        t.unfold(x, dim=1, size=3, step=2),
        t.roll(t.neg(x), shifts=(1, -2), dims=(0, 1)),
        t.add(t.repeat(x, repeats=(1, 2)), t.repeat_interleave(x, repeats=2, dim=1)),
    )


@case
def triangles(b: Builder):
    s = b.seq()
    x = b.x(s, s)
    return (
        t.tril(x),
        t.mul(t.triu(x, diagonal=1), 2.0),
        t.eye(n=s),
        t.add(t.tril(t.exp(x), diagonal=-1), t.eye(n=s)),
        t.sum(t.tril(x), axes=(0,)),
    )


@case
def expands(b: Builder):
    n = b.batch()
    x, y = b.x(n, 1, 4), b.x(4)
    wide = t.expand(x, shape=(n, 3, 4))
    return (
        wide,
        t.exp(wide),
        t.expand(t.exp(x), shape=(n, 3, 4)),
        t.reshape(wide, shape=(n * 3, 4)),
        t.sum(t.expand(y, shape=(n, 4)), axes=(0,)),
        t.expand(y, shape=(2, n, 4)),
    )


@case
def reshape_across_axes(b: Builder):
    x = t.exp(b.x(4, 6))
    y = t.reshape(t.transpose(x), shape=(4, 6))
    return (
        y,
        t.add(x, y),
        t.reshape(t.permute(t.reshape(x, shape=(2, 2, 3, 2)), dims=(2, 0, 3, 1)), shape=(6, 4)),
        t.sum(y, axes=(0,)),
    )


@case
def value_needed_in_two_places(b: Builder):
    x = t.exp(b.x(3, 4))
    return t.concat(x, b.x(3, 2), dim=1), t.concat(b.x(1, 4), x, dim=0), t.transpose(x), t.sum(x, axes=(0,))


@case
def nothing_but_inputs(b: Builder):
    x = b.x(b.batch(), 3)
    return x, t.reshape(x, shape=(b.batch() * 3,)), t.unsqueeze(x, dim=0), t.slice(x, dim=1, step=-1)
