# SPDX-License-Identifier: Apache-2.0
"""torch's views, joins and splits."""

from __future__ import annotations

from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir import dims
from ait_core.ir.graph import Value
from ait_ops_tensor.lowerings.common import fit, operand, shaped, to


@lowering(
    "torch", "aten.view.default", "aten.reshape", "aten._unsafe_view", "aten.view_as", "aten.reshape_as",
    "aten.flatten", "aten.unflatten", "aten.squeeze", "aten.unsqueeze", "aten.squeeze_copy", "aten.unsqueeze_copy",
    "aten.view_copy", "aten._reshape_alias", "aten._reshape_copy", "aten.ravel",
    "aten.atleast_1d.default", "aten.atleast_2d.default", "aten.atleast_3d.default",
)  # fmt: skip
def reshape(ctx: Any, x: Value, *_: Any) -> Value:
    return shaped(ctx, x)


@lowering("torch", "aten.expand", "aten.expand_as", "aten.broadcast_to", "aten.expand_copy")
def expand(ctx: Any, x: Value, *_: Any, **__: Any) -> Value:
    return x if dims.same_shape(x.shape, ctx.type.shape) else t.expand(x, shape=ctx.type.shape)


@lowering("torch", "aten.broadcast_tensors")
def broadcast_tensors(ctx: Any, xs: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(t.expand(x, shape=made.shape) for x, made in zip(xs, ctx.types, strict=True))


@lowering("torch", "aten.permute", "aten.permute_copy")
def permute(ctx: Any, x: Value, axes: tuple[int, ...]) -> Value:
    return t.permute(x, dims=axes)


@lowering("torch", "aten.transpose.int", "aten.swapaxes", "aten.swapdims", "aten.transpose_copy.int")
def transpose(ctx: Any, x: Value, dim0: int, dim1: int) -> Value:
    return t.transpose(x, dim0=dim0, dim1=dim1) if x.type.rank else x


@lowering("torch", "aten.t", "aten.mT", "aten.t_copy")
def matrix_transpose(ctx: Any, x: Value) -> Value:
    return t.transpose(x) if x.type.rank > 1 else x


@lowering("torch", "aten.numpy_T")
def reverse_axes(ctx: Any, x: Value) -> Value:
    return t.permute(x, dims=tuple(range(x.type.rank))[::-1])


@lowering("torch", "aten.movedim", "aten.moveaxis")
def movedim(ctx: Any, x: Value, source: Any, destination: Any) -> Value:
    one = isinstance(source, int)
    return t.movedim(x, source=(source,) if one else source, destination=(destination,) if one else destination)


@lowering("torch", "aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(ctx: Any, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    whole = step == 1 and start in (None, 0) and (end is None or dims.at_least(end, x.shape[dim]))
    return x if whole else t.slice(x, dim=dim, start=start, end=end, step=step)


@lowering("torch", "aten.narrow")
def narrow(ctx: Any, x: Value, dim: int, start: Any, length: Any) -> Value:
    if isinstance(start, Value):
        ctx.error("its start depends on data")
    start = start if dims.at_least(start, 0) else start + x.shape[dim]
    return t.slice(x, dim=dim, start=start, end=start + length)


@lowering("torch", "aten.select.int", "aten.select_copy.int")
def select(ctx: Any, x: Value, dim: int, index: Any) -> Value:
    return t.select(x, dim=dim, index=index)


@lowering(
    "torch", "aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.split_copy",
    "aten.split_with_sizes_copy", "aten.unsafe_split", "aten.unsafe_chunk",
)  # fmt: skip
def split(ctx: Any, x: Value, _: Any, dim: int = 0) -> tuple[Value, ...]:
    return t.split(x, [made.shape[dim] for made in ctx.types], dim=dim)


@lowering("torch", "aten.unbind", "aten.unbind_copy")
def unbind(ctx: Any, x: Value, dim: int = 0) -> tuple[Value, ...]:
    return tuple(t.select(x, dim=dim, index=i) for i in range(len(ctx.types)))


@lowering("torch", "aten.unfold", "aten.unfold_copy")
def unfold(ctx: Any, x: Value, dim: int, size: int, step: int) -> Value:
    return t.unfold(x, dim=dim, size=size, step=step)


@lowering("torch", "aten.flip")
def flip(ctx: Any, x: Value, axes: tuple[int, ...]) -> Value:
    return t.flip(x, dims=axes) if axes else x


@lowering("torch", "aten.diagonal", "aten.diagonal_copy")
def diagonal(ctx: Any, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    length = ctx.type.shape[-1]
    front = t.movedim(x, source=(dim1, dim2), destination=(0, 1))
    row, column = t.iota(size=length, start=max(-offset, 0)), t.iota(size=length, start=max(offset, 0))
    return t.movedim(t.index(front, row, column), source=(0,), destination=(-1,))


@lowering("torch", "aten.cat", "aten.concat", "aten.concatenate")
def cat(ctx: Any, xs: tuple[Value, ...], dim: int = 0) -> Value:
    kept = [x for x in xs if x.shape != (0,) or ctx.type.rank == 1]  # torch ignores empty vectors among other ranks
    kept = [to(x, ctx.type.dtype) for x in kept]
    return t.concat(*kept, dim=dim) if len(kept) > 1 else kept[0]


@lowering("torch", "aten.stack")
def stack(ctx: Any, xs: tuple[Value, ...], dim: int = 0) -> Value:
    return t.stack(*(to(x, ctx.type.dtype) for x in xs), dim=dim)


@lowering("torch", "aten.slice_scatter")
def slice_scatter(
    ctx: Any, x: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    axis = x.type.axis(dim)
    n, width = x.shape[axis], src.shape[axis]
    first = 0 if start is None else dims.dim_min(start if dims.at_least(start, 0) else dims.dim_max(start + n, 0), n)
    if step == 1 or width == 0:
        return _replaced(ctx, x, src, axis, first, width)
    ahead = t.iota(size=n, start=-first)
    source = t.floor_div(ahead, step)
    hit = t.logical_and(t.eq(t.remainder(ahead, step), 0), t.logical_and(t.ge(source, 0), t.lt(source, operand(width))))
    picked = t.index_select(src, t.clamp(source, 0, operand(width - 1)), dim=axis)
    along = (n, *(1,) * (x.type.rank - 1 - axis))
    return fit(ctx, t.where(t.reshape(hit, shape=along), to(picked, x.dtype), x))


@lowering("torch", "aten.select_scatter")
def select_scatter(ctx: Any, x: Value, src: Value, dim: int, index: Any) -> Value:
    axis = x.type.axis(dim)
    index = index if dims.at_least(index, 0) else index + x.shape[axis]
    return _replaced(ctx, x, t.unsqueeze(src, dim=axis), axis, index, 1)


def _replaced(ctx: Any, x: Value, src: Value, axis: int, first: Any, width: Any) -> Value:
    """``x`` with the entries ``first`` to ``first + width`` of an axis taken from ``src``."""
    before, after = (0, first), (first + width, x.shape[axis])
    parts = [t.slice(x, dim=axis, start=a, end=b) for a, b in (before, after)]
    parts.insert(1, fit(ctx, src))
    kept = [p for p in parts if p.shape[axis] != 0]
    return t.concat(*kept, dim=axis) if len(kept) > 1 else kept[0] if kept else x
