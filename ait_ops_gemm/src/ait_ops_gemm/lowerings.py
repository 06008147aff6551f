# SPDX-License-Identifier: Apache-2.0
"""How torch's matrix products become ops of this pack."""

from __future__ import annotations

from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir.graph import Value
from ait_ops_gemm import products as p
from ait_ops_tensor.lowerings.common import fit


@lowering("torch", "aten.linear")
def linear(ctx: Any, x: Value, weight: Value, bias: Value | None = None) -> Value:
    if weight.type.rank == 1:  # a single output feature
        y = product(x, weight)
        return fit(ctx, y if bias is None else t.add(y, bias))
    return fit(ctx, p.linear(x, weight, bias))


def product(a: Value, b: Value) -> Value:
    """``torch.matmul`` for operands of any rank but 0."""
    if a.type.rank == 1:
        return p.vecdot(a, b) if b.type.rank == 1 else p.vecmat(a, b)
    return p.matvec(a, b) if b.type.rank == 1 else p.matmul(a, b)


@lowering("torch", "aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot", "aten.vdot", "aten.linalg_matmul")
def matmul(ctx: Any, a: Value, b: Value) -> Value:
    if ctx.type.dtype.name == "bool":
        ctx.error("products of truth values are not defined")
    return fit(ctx, product(a, b))


@lowering("torch", "aten.inner")
def inner(ctx: Any, a: Value, b: Value) -> Value:
    """Sums of products over the last axes of both."""
    return matmul[0].fn(ctx, a, t.transpose(b) if b.type.rank == 2 else b)


@lowering("torch", "aten.outer", "aten.ger")
def outer(ctx: Any, a: Value, b: Value) -> Value:
    return fit(ctx, t.mul(t.unsqueeze(a, dim=1), b))


@lowering("torch", "aten.bilinear")
def bilinear(ctx: Any, x: Value, y: Value, weight: Value, bias: Value | None = None) -> Value:
    """``x[..., i] * weight[o, i, j] * y[..., j]`` summed over i and j."""
    o, i, j = weight.shape
    by_row = t.reshape(t.permute(weight, dims=(1, 0, 2)), shape=(i, o * j))
    rows = t.reshape(product(x, by_row), shape=(*x.shape[:-1], o, j))
    out = p.matvec(rows, y)
    return fit(ctx, out if bias is None else t.add(out, bias))


def _blend(ctx: Any, c: Value, ab: Value, beta: float, alpha: float) -> Value:
    """``beta * c + alpha * ab``; with ``beta`` 0, NaN in ``c`` does not count."""
    ab = ab if alpha == 1 else t.mul(ab, alpha)
    if beta == 0:
        return fit(ctx, t.expand(ab, shape=ctx.type.shape))
    return fit(ctx, t.add(ab, c if beta == 1 else t.mul(c, beta)))


@lowering("torch", "aten.addmm", "aten.addmv", "aten.baddbmm")
def add_product(ctx: Any, c: Value, a: Value, b: Value, beta: float = 1, alpha: float = 1) -> Value:
    return _blend(ctx, c, product(a, b), beta, alpha)


@lowering("torch", "aten.addbmm")
def add_batched(ctx: Any, c: Value, a: Value, b: Value, beta: float = 1, alpha: float = 1) -> Value:
    return _blend(ctx, c, t.sum(p.matmul(a, b), axes=(0,)), beta, alpha)


@lowering("torch", "aten.addr")
def add_outer(ctx: Any, c: Value, a: Value, b: Value, beta: float = 1, alpha: float = 1) -> Value:
    return _blend(ctx, c, t.mul(t.unsqueeze(a, dim=1), b), beta, alpha)
