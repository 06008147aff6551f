# SPDX-License-Identifier: Apache-2.0
"""Pointwise work by itself and behind matrix products."""

from __future__ import annotations

import numpy as np

import ait_ops_gemm as g
import ait_ops_norm as norm
import ait_ops_tensor as t
from ait_core.declare.op import pointwise
from ait_core.ir.graph import constant
from tests.compiled.builder import Builder, case


def _special(a: np.ndarray) -> np.ndarray:
    a.reshape(-1)[:: max(a.size // 5, 1)] = np.resize(
        [np.nan, np.inf, -np.inf, -0.0], a.reshape(-1)[:: max(a.size // 5, 1)].shape
    )
    return a


@case
def bias_gelu_residual(b: Builder):
    x, r = b.x(b.batch(), b.seq(), 33), b.x(b.batch(), b.seq(), 20)
    return t.add(t.gelu(g.linear(x, b.w(20, 33), b.w(20))), r)


@case
def column_broadcast_in_the_middle(b: Builder):
    n = b.batch()
    x, scale = b.x(n, 17), b.x(n, 1)
    return t.tanh(t.add(t.mul(t.relu(g.matmul(x, b.w(17, 9))), scale), b.w(1, 9)))


@case
def row_computed_by_another_kernel(b: Builder):
    x, y = b.x(6, 17), b.x(6, 9)
    column = t.sum(y, axes=(1,), keepdim=True)
    return t.div(g.matmul(x, b.w(17, 9)), t.add(t.abs(column), 1.0))


@case
def inner_value_is_an_output(b: Builder):
    h = g.linear(b.x(5, 12), b.w(8, 12), b.w(8))
    a = t.sigmoid(h)
    return a, t.mul(a, h), h


@case
def two_tails_of_one_product(b: Builder):
    h = g.matmul(b.x(5, 12), b.w(12, 8))
    return t.relu(h), t.exp(h), t.sub(h, 1.0)


@case
def tail_reads_the_product_twice_through_a_permute(b: Builder):
    h = g.matmul(b.x(6, 12), b.w(12, 6))
    return t.add(h, t.transpose(h))


@case
def casts_in_the_tail(b: Builder):
    h = g.matmul(b.x(5, 12), b.w(12, 8))
    return t.cast(t.cast(t.add(h, 0.3), dtype="bfloat16"), dtype="float32"), t.cast(t.mul(h, 10.0), dtype="int32")


@case
def where_and_compare_in_the_tail(b: Builder):
    h, m = g.matmul(b.x(5, 12), b.w(12, 8)), b.x(5, 1, dtype="bool")
    return t.where(t.bit_and(m, t.gt(h, 0.0)), h, t.mul(h, 0.1)), t.gt(h, 0.25)


@case
def two_products_feed_one_op(b: Builder):
    x = b.x(b.batch(), 12)
    return t.mul(t.silu(g.matmul(x, b.w(12, 8))), g.matmul(x, b.w(12, 8)))


@case
def two_products_of_two_inputs(b: Builder):
    return t.add(g.matmul(b.x(4, 12), b.w(12, 8)), g.matmul(b.x(4, 10), b.w(10, 8)))


@case
def product_of_products(b: Builder):
    return g.matmul(g.matmul(b.x(4, 12), b.x(12, 8)), t.relu(g.matmul(b.x(8, 7), b.x(7, 5))))


@case
def residual_chain(b: Builder):
    h = b.x(b.batch(), 16)
    for _ in range(3):
        h = t.add(h, g.linear(t.gelu(g.linear(h, b.w(24, 16), b.w(24))), b.w(16, 24), b.w(16)))
    return h


@case
def equal_tails_merge(b: Builder):
    x = b.x(b.batch(), b.seq(), 16)
    return tuple(t.relu(g.linear(x, b.w(n, 16), b.w(n))) for n in (8, 3, 17))


@case
def unequal_tails_merge(b: Builder):
    x = b.x(b.batch(), 16)
    q, k, v = (g.linear(x, b.w(8, 16), b.w(8)) for _ in range(3))
    return t.relu(q), t.tanh(k), t.add(v, q)


@case
def merged_halves_multiply(b: Builder):
    x = b.x(b.batch(), b.seq(), 16)
    return t.mul(t.gelu(g.linear(x, b.w(12, 16))), g.linear(x, b.w(12, 16)))


@case
def merged_with_and_without_bias(b: Builder):
    x = b.x(7, 16)
    return g.linear(x, b.w(8, 16), b.w(8)), g.linear(x, b.w(8, 16)), g.matmul(x, b.w(16, 4))


@case
def merged_branch_is_transposed_for_the_next(b: Builder):
    x = b.x(b.batch(), 6, 16)
    q, k = g.linear(x, b.w(8, 16), b.w(8)), g.linear(x, b.w(8, 16), b.w(8))
    return g.matmul(q, t.transpose(k))


@case
def chain_of_300(b: Builder):
    h = b.x(7, 33)
    y = h
    for i in range(100):
        y = t.add(t.mul(t.tanh(y), 0.9), h if i % 10 == 0 else 0.01)
    return y


@case
def chain_of_300_with_outputs_inside(b: Builder):
    y, kept = b.x(b.batch(), 9), []
    for i in range(150):
        y = t.mul(t.sin(y), 1.01)
        if i % 40 == 0:
            kept.append(y)
    return (*kept, y)


@case
def many_inputs(b: Builder):
    y = b.x(3, 5)
    for i in range(40):
        y = t.add(t.mul(y, 0.7), b.x(*((3, 5), (5,), (3, 1), ())[i % 4]))
    return y


@case
def diamond(b: Builder):
    x = b.x(b.batch(), 11)
    a, c = t.exp(x), t.neg(x)
    return t.div(t.add(a, c), t.add(t.square(a), 1.0)), t.maximum(a, c)


@case
def broadcast_grows_behind_a_chain(b: Builder):
    x, y = b.x(b.batch(), 1), b.x(9)
    return t.mul(t.exp(t.mul(x, 0.5)), t.sin(y)), t.exp(t.mul(x, 0.5))


@case
def halves(b: Builder):
    x = b.x(b.batch(), 12, dtype="float16")
    h = t.gelu(g.linear(x, b.w(9, 12, dtype="float16"), b.w(9, dtype="float16")))
    return t.add(h, 1.0), t.cast(h, dtype="float32")


@case
def brains(b: Builder):
    x = b.x(b.batch(), 12, dtype="bfloat16")
    h = g.linear(x, b.w(9, 12, dtype="bfloat16"), b.w(9, dtype="bfloat16"))
    return t.mul(t.sigmoid(h), h), t.sum(h, axes=(1,))


@case
def doubles(b: Builder):
    x = b.x(b.batch(), 12, dtype="float64")
    return t.tanh(g.linear(x, b.w(9, 12, dtype="float64"), b.w(9, dtype="float64"))), t.exp(t.sum(x, axes=(0,)))


@case
def mixed_operands(b: Builder):
    x, w = b.x(4, 12, dtype="bfloat16"), b.w(12, 9)
    return g.matmul(x, w), g.matmul(b.x(4, 12, dtype="float16"), b.x(12, 3, dtype="bfloat16"))


@case
def integers(b: Builder):
    x, y = b.x(4, 12, dtype="int64", hi=9), b.x(12, 5, dtype="int32")
    h = g.matmul(t.cast(x, dtype="int32"), y)
    return t.add(h, 1), t.mul(x, x), t.floor_div(x, 3), t.bit_and(x, 5), t.cast(h, dtype="int8")


@case
def narrow_integers_wrap(b: Builder):
    x, y = b.x(4, 9, dtype="uint8", hi=255), b.x(9, dtype="int8", lo=-128, hi=127)
    return (
        t.add(x, x),
        t.mul(t.mul(y, y), y),
        t.add(x, y),
        t.neg(x),
        g.matmul(t.cast(x, dtype="int8"), b.x(9, 3, dtype="int8")),
    )


@case
def specials_flow_through(b: Builder):
    x = b.x(6, 12, make=_special)
    h = g.matmul(x, b.w(12, 5))
    return t.relu(h), t.mul(x, 0.0), t.maximum(x, 0.0), t.sign(x), t.sum(x, axes=(1,)), t.amax(x, axes=(0,)), t.exp(x)


@case
def constants_only(b: Builder):
    w = b.w(12, 5)
    return t.transpose(t.mul(w, 2.0)), t.sum(w, axes=(0,)), t.add(b.c(3, 4), b.c(4)), t.relu(b.x(2, 2))


@case
def weights_are_computed(b: Builder):
    w = b.w(9, 12)
    norm = t.sqrt(t.sum(t.square(w), axes=(1,), keepdim=True))
    return g.linear(b.x(b.batch(), 12), t.div(w, norm), t.sum(w, axes=(1,)))


@case
def one_weight_plain_and_transposed(b: Builder):
    w = b.w(12, 12)
    x = b.x(b.batch(), 12)
    return g.matmul(t.relu(g.matmul(x, w)), t.transpose(w)), t.add(w, 1.0)


@case
def every_rank(b: Builder):
    m = g.matmul
    return (
        m(b.x(5, 7), b.x(7, 3)),
        m(b.x(2, 5, 7), b.x(7, 3)),
        m(b.x(5, 7), b.x(2, 7, 3)),
        m(b.x(2, 5, 7), b.x(2, 7, 3)),
        m(b.x(2, 1, 5, 7), b.x(3, 7, 4)),
        m(b.x(1, 5, 7), b.x(4, 7, 3)),
        m(b.x(2, 3, 5, 7), b.x(1, 1, 7, 4)),
        g.matvec(b.x(5, 7), b.x(7)),
        g.vecmat(b.x(7), b.x(7, 3)),
        g.vecdot(b.x(2, 7), b.x(7)),
    )


@case
def every_layout(b: Builder):
    m, tr = g.matmul, t.transpose
    x = t.permute(b.x(3, 7, 2, 5), dims=(2, 0, 3, 1))
    return (
        m(tr(b.x(7, 5)), b.x(7, 3)),
        m(b.x(5, 7), tr(b.x(3, 7))),
        m(tr(b.x(2, 7, 5)), tr(b.x(2, 3, 7))),
        m(x, b.x(7, 4)),
        m(b.x(2, 3, 4, 5), x),
        m(t.slice(b.x(5, 14), dim=1, step=2), b.x(7, 3)),
        m(t.flip(b.x(5, 7), dims=(1,)), t.flip(b.x(7, 3), dims=(0, 1))),
        m(t.expand(b.x(1, 7), shape=(4, 7)), b.x(7, 3)),
        m(t.reshape(b.x(5, 21), shape=(15, 7)), t.reshape(t.transpose(b.x(3, 7)), shape=(7, 3))),
    )


@case
def product_is_permuted_and_reshaped(b: Builder):
    n, s = b.batch(), b.seq()
    h = t.reshape(g.linear(b.x(n, s, 16), b.w(12, 16), b.w(12)), shape=(n, s, 3, 4))
    return t.permute(h, dims=(0, 2, 1, 3)), t.mul(t.permute(h, dims=(0, 2, 3, 1)), 2.0)


@case
def products_without_elements(b: Builder):
    z = b.none()
    w = b.w(4, 3)
    return (
        g.matmul(b.x(0, 4), w),
        g.matmul(b.x(5, 0), b.x(0, 3)),
        g.matmul(b.x(5, 4), b.x(4, 0)),
        g.matmul(b.x(0, 5, 4), w),
        t.relu(g.matmul(b.x(z, 4), w)),
        t.add(g.matmul(b.x(5, z), b.x(z, 3)), 1.0),
        g.linear(b.x(5, 0), b.w(3, 0), b.w(3)),
    )


@case
def product_with_a_computed_operand(b: Builder):
    x, y = b.x(b.batch(), 12), b.x(12, 8)
    return g.matmul(t.exp(x), t.mul(y, 0.5)), g.matmul(t.add(x, b.x(12)), y), g.matmul(x, t.concat(y, t.neg(y), dim=1))


@case
def product_over_joined_inputs(b: Builder):
    n = b.batch()
    x, y = b.x(n, 5), b.x(n, 7)
    return g.matmul(t.concat(t.relu(x), y, x, dim=1), b.w(17, 6))


@case
def product_feeds_two_kernels(b: Builder):
    h = g.matmul(b.x(6, 12), b.w(12, 8))
    return t.sum(h, axes=(0,)), t.argmax(h, axes=(1,)), g.matmul(h, b.w(8, 3)), t.cumsum(h, dim=0)


@case
def scalars(b: Builder):
    x, y = b.x(), b.x()
    return t.add(x, y), t.mul(t.exp(x), b.x(3)), t.sum(b.x(4), axes=(0,)), t.where(t.gt(x, y), x, y), constant(2.5)


@case
def huge_row(b: Builder):
    x = b.x(1, 5000)
    return t.add(t.gelu(x), 1.0), g.matmul(x, t.reshape(b.x(5000), shape=(5000, 1)))


@case
def softmax_of_a_product(b: Builder):
    h = g.matmul(b.x(b.batch(), 12), b.w(12, 21))
    return norm.softmax(h), t.amax(h, axes=(1,)), t.amin(g.matmul(b.x(7, 3), b.w(3, 5)), axes=(1,), keepdim=True)


@pointwise("test.twice_the_first")
def twice_the_first(x, y):
    """The first operand, doubled; nothing of the second."""
    return x + x


@case
def constant_that_nothing_reads(b: Builder):
    x, unread, bias, scale = b.x(6, 17), b.w(17), b.w(17), b.w(17)
    y = t.add(twice_the_first(x, unread), bias)
    return y, t.sum(t.mul(y, scale), axes=(0,)), t.sum(t.mul(x, scale), axes=(1,))


@case
def reductions_of_a_product_without_columns(b: Builder):
    n = b.none()
    h = g.matmul(b.x(6, 5), b.x(5, n))
    return t.sum(h, axes=(1,)), norm.softmax(h), t.mean(g.matmul(b.x(3, 4), b.x(4, 0)), axes=(1,)), t.prod(h, axes=(1,))
