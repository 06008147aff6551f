# SPDX-License-Identifier: Apache-2.0
"""torch's gathers, embeddings and what of its masked writes needs no scatter."""

from __future__ import annotations

from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir.dtypes import int64
from ait_core.ir.graph import Value
from ait_ops_tensor.lowerings.common import fit, shaped, to


@lowering("torch", "aten.embedding")
def embedding(ctx: Any, weight: Value, ids: Value, *_: Any) -> Value:
    return t.embedding(weight, ids)


@lowering("torch", "aten.gather")
def gather(ctx: Any, x: Value, dim: int, index: Value, **_: Any) -> Value:
    if x.type.rank == 0 or index.type.rank == 0:
        x = x if x.type.rank else t.reshape(x, shape=(1,))
        return shaped(ctx, t.gather(x, t.reshape(index, shape=(index.type.numel,)), dim=0))
    return t.gather(x, index, dim=dim)


@lowering("torch", "aten.take_along_dim")
def take_along_dim(ctx: Any, x: Value, index: Value, dim: int | None = None) -> Value:
    if dim is None:
        x, index, dim = (*(t.reshape(v, shape=(v.type.numel,)) for v in (x, index)), 0)
    return t.take_along(x, index, dim=dim)


@lowering("torch", "aten.index_select")
def index_select(ctx: Any, x: Value, dim: int, index: Value) -> Value:
    return shaped(ctx, t.index_select(x if x.type.rank else t.reshape(x, shape=(1,)), index, dim=dim))


@lowering("torch", "aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(ctx: Any, x: Value, indices: tuple[Value | None, ...]) -> Value:
    if any(i is not None and i.dtype.name in ("bool", "uint8") for i in indices):
        ctx.error("a boolean mask selects a number of elements that depends on data: use torch.where")
    if all(i is None for i in indices):
        return x
    return t.index(x, *indices)


@lowering("torch", "aten.as_strided", "aten.as_strided_copy")
def as_strided(ctx: Any, x: Value, size: tuple, stride: tuple, offset: Any = None) -> Value:
    """Element ``i`` of the result is element ``offset + sum(i * stride)`` of the memory of ``x``."""
    if not ctx.is_contiguous(0) or x.type.rank == 0:
        ctx.error("it reads the memory of a tensor that is not contiguous")
    at: Any = t.full(shape=(1,) * len(size), value=offset or 0, dtype="int64")
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        place = t.reshape(t.iota(size=n, step=step), shape=(*(1,) * axis, n, *(1,) * (len(size) - 1 - axis)))
        at = t.add(at, place)
    return t.index(t.reshape(x, shape=(x.type.numel,)), at)


@lowering("torch", "aten.index_put", "aten._unsafe_index_put")
def index_put(ctx: Any, x: Value, indices: tuple[Value | None, ...], values: Value, accumulate: bool = False) -> Value:
    mask = indices[0]
    if accumulate or len(indices) != 1 or mask is None or mask.dtype.name != "bool" or values.type.numel != 1:
        ctx.error("only a boolean mask that is filled with one number can be written")
    spread = t.reshape(mask, shape=(*mask.shape, *(1,) * (x.type.rank - mask.type.rank)))
    return t.where(spread, t.reshape(to(values, x.dtype), shape=()), x)


@lowering("torch", "aten.one_hot")
def one_hot(ctx: Any, ids: Value, classes: int = -1) -> Value:
    if classes == -1:
        ctx.error("the number of classes depends on data: give num_classes")
    return t.one_hot(to(ids, int64), classes=classes)


@lowering("torch", "aten.sort", "aten.sort.stable")
def sort(
    ctx: Any, x: Value, *axis: Any, stable: Any = None, dim: int = -1, descending: bool = False
) -> tuple[Value, ...]:
    dim, descending = (*axis, *(dim, descending)[len(axis) :])
    return _sorted(x, dim, descending)


@lowering("torch", "aten.argsort")
def argsort(ctx: Any, x: Value, *axis: Any, stable: Any = None, dim: int = -1, descending: bool = False) -> Value:
    dim, descending = (*axis, *(dim, descending)[len(axis) :])
    return _sorted(x, dim, descending)[1]


def _sorted(x: Value, dim: int, descending: bool) -> tuple[Value, Value]:
    if x.type.rank == 0:
        return x, t.full(shape=(), value=0, dtype="int64")
    return t.sort(x, dim=dim, descending=descending)


@lowering("torch", "aten.topk")
def topk(ctx: Any, x: Value, k: Any, dim: int = -1, largest: bool = True, *_: Any) -> tuple[Value, ...]:
    if x.type.rank == 0:
        return x, t.full(shape=(), value=0, dtype="int64")
    return t.topk(x, k=k, dim=dim, largest=largest)


@lowering("torch", "aten.cumsum")
def cumsum(ctx: Any, x: Value, dim: int, dtype: Any = None) -> Value:
    x = to(x, dtype) if dtype is not None else x
    return fit(ctx, t.cumsum(x, dim=dim) if x.type.rank else x)
