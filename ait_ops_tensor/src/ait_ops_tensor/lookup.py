# SPDX-License-Identifier: Apache-2.0
"""Ops that look elements up at places given by data. An index outside its table fails the run; memory outside is never
touched."""

from __future__ import annotations

from typing import Any

from ait_core import scalar as s
from ait_core.declare.op import composite, indexed
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.dtypes import int64
from ait_core.ir.types import TensorType, broadcast
from ait_ops_tensor.views import expand


def _integers(name: str, t: TensorType) -> None:
    if not t.dtype.is_int:
        raise GraphError(f"{name} looks up by integers; got an index of {t}. Masks need their size at build time.")


def _embedding_type(table: TensorType, ids: TensorType) -> TensorType:
    _integers("embedding", ids)
    if table.rank != 2:
        raise GraphError(f"embedding needs a table of rows; got {table}.")
    return table.of_shape((*ids.shape, table.shape[1]))


@indexed("tensor.embedding", infer=_embedding_type)
def embedding(at, table, ids):
    """Row ``ids[...]`` of ``table``."""
    return table(s.check(ids(*at[:-1]), table.shape[0], "embedding"), at[-1])


def _gather_type(x: TensorType, index: TensorType, *, dim: int) -> TensorType:
    _integers("gather", index)
    axis = x.axis(dim)
    fits = x.rank == index.rank and all(
        dims.at_least(n, m) for i, (n, m) in enumerate(zip(x.shape, index.shape, strict=True)) if i != axis
    )
    if not fits:
        raise GraphError(f"gather needs an index no larger than {x} but for axis {axis}; got {index}.")
    return x.of_shape(index.shape)


@indexed("tensor.gather", infer=_gather_type)
def gather(at, x, index, *, dim: int):
    """Element ``index[at]`` along axis ``dim``, at the element's own place along the others."""
    axis = dim % len(at)
    found = s.check(index(*at), x.shape[axis], "gather")
    return x(*at[:axis], found, *at[axis + 1 :])


@composite("tensor.take_along")
def take_along(x, index, *, dim: int):
    """``gather`` with ``x`` and ``index`` broadcast against each other but for axis ``dim``."""
    axis = x.type.axis(dim)
    if x.type.rank != index.type.rank:
        raise GraphError(f"take_along needs operands of equal rank; got {x.type} and {index.type}.")
    common = broadcast(*((*t.shape[:axis], 1, *t.shape[axis + 1 :]) for t in (x, index)))
    wide = [expand(t, shape=(*common[:axis], t.shape[axis], *common[axis + 1 :])) for t in (x, index)]
    return gather(*wide, dim=axis)


def _index_select_type(x: TensorType, index: TensorType, *, dim: int) -> TensorType:
    _integers("index_select", index)
    axis = x.axis(dim)
    if index.rank > 1:
        raise GraphError(f"index_select needs an index of rank 0 or 1; got {index}.")
    return x.of_shape((*x.shape[:axis], *(index.shape or (1,)), *x.shape[axis + 1 :]))


@indexed("tensor.index_select", infer=_index_select_type)
def index_select(at, x, index, *, dim: int):
    """The entries ``index`` of axis ``dim``."""
    axis = dim % len(at)
    found = s.check(index(at[axis]) if index.shape else index(), x.shape[axis], "index_select")
    return x(*at[:axis], found, *at[axis + 1 :])


def _places(x: Any, indices: Any) -> tuple[list[int], int, Shape]:
    """For advanced indexing: the axes that are looked up, where their common axes start in the result, and the shape
    of these. As in NumPy they take the place of the looked-up axes if these are neighbours, else come first."""
    axes = [i for i, t in enumerate(indices) if t is not None]
    common = broadcast(*(indices[i].shape for i in axes))
    neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    return axes, axes[0] if neighbours else 0, common


def _index_type(x: TensorType, *indices: TensorType | None) -> TensorType:
    if len(indices) > x.rank or all(t is None for t in indices):
        raise GraphError(f"index needs between one and {x.rank} indices for {x}; got {len(indices)}.")
    for t in indices:
        if t is not None:
            _integers("index", t)
    axes, start, common = _places(x, indices)
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    return x.of_shape((*kept[:start], *common, *kept[start:]))


@indexed("tensor.index", infer=_index_type)
def index(at, x, *indices):
    """``x[indices]`` with integer tensors that broadcast against each other; None keeps an axis whole. Negative numbers
    count from the end."""
    axes, start, common = _places(x, indices)
    looked, kept = at[start : start + len(common)], [*at[:start], *at[start + len(common) :]]
    source = []
    for axis, n in enumerate(x.shape):
        if axis not in axes:
            source.append(kept.pop(0))
            continue
        read = indices[axis]
        own = looked[len(common) - len(read.shape) :]
        i = read(*(0 if size == 1 else c for c, size in zip(own, read.shape, strict=True)))
        source.append(s.check(s.where(s.lt(i, 0), s.add(i, n), i), n, "index"))
    return x(*source)


def _one_hot_type(ids: TensorType, *, classes: Dim) -> TensorType:
    _integers("one_hot", ids)
    return TensorType(int64, (*ids.shape, dims.as_dim(classes)))


@indexed("tensor.one_hot", infer=_one_hot_type)
def one_hot(at, ids, *, classes: Dim):
    """1 at place ``ids[...]`` of a new last axis of ``classes`` places, 0 elsewhere."""
    return s.eq(s.check(ids(*at[:-1]), classes, "one_hot"), at[-1])
