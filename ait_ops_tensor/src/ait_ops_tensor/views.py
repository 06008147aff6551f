# SPDX-License-Identifier: Apache-2.0
"""Ops that move no data: the same elements under another shape, order or selection."""

from __future__ import annotations

from collections.abc import Sequence

from ait_core.declare.op import view
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Value
from ait_core.ir.types import TensorType
from ait_core.ir.views import Expand, Permute, Reshape, Slice, View
from ait_ops_tensor.ranges import python_range, within


def _axes(x: TensorType, dim: int | Sequence[int]) -> list[int]:
    """Axes counted from the front.

    Raises:
        GraphError: if there is no such axis or one is named twice.
    """
    axes = [x.axis(d) for d in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(axes)) != len(axes):
        raise GraphError(f"Each axis may be named once; got {tuple(dim)} for {x}.")
    return axes


def _fill(numel: Dim, shape: Sequence[Dim]) -> dims.Shape:
    """``shape`` with its -1, if it has one, worked out so that it holds ``numel`` elements.

    Raises:
        GraphError: if there are several, or none fits.
    """
    if -1 not in shape:
        return dims.as_shape(shape)
    known = dims.prod(size for size in shape if size != -1)
    rest = 0 if known == 0 else dims.floor_div(numel, known)
    if list(shape).count(-1) > 1 or known == 0 or not dims.same(dims.prod((rest, known)), numel):
        raise GraphError(f"-1 in {tuple(shape)} cannot be worked out for {dims.text(numel)} elements: "
                         "one size may be -1, and the others must divide the elements for certain.")  # fmt: skip
    return dims.as_shape(rest if size == -1 else size for size in shape)


@view("tensor.reshape")
def reshape(x: TensorType, *, shape: tuple) -> list[View]:
    """The same elements in row-major order under ``shape``; one size may be -1: what the others leave."""
    return [Reshape(_fill(x.numel, shape))]


@view("tensor.flatten")
def flatten(x: TensorType, *, start: int = 0, end: int = -1) -> list[View]:
    """The axes ``start`` to ``end`` (inclusive) as one; a 0-d tensor becomes one of rank 1."""
    if x.rank == 0:
        return [Reshape((1,))]
    first, last = x.axis(start), x.axis(end)
    if first > last:
        raise GraphError(f"flatten needs start <= end; got axes {first} and {last} of {x}.")
    return [Reshape((*x.shape[:first], dims.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))]


@view("tensor.unflatten")
def unflatten(x: TensorType, *, dim: int, sizes: tuple) -> list[View]:
    """The axis ``dim`` as several of ``sizes``; one of them may be -1."""
    axis = x.axis(dim)
    made = _fill(x.shape[axis], sizes)
    return [Reshape((*x.shape[:axis], *made, *x.shape[axis + 1 :]))]


@view("tensor.permute")
def permute(x: TensorType, *, dims: tuple[int, ...]) -> list[View]:
    """The axes in another order: axis ``i`` of the result is axis ``dims[i]``."""
    return [Permute(tuple(_axes(x, dims)))]


@view("tensor.transpose")
def transpose(x: TensorType, *, dim0: int = -2, dim1: int = -1) -> list[View]:
    """Two axes exchanged."""
    order = list(range(x.rank))
    a, b = x.axis(dim0), x.axis(dim1)
    order[a], order[b] = b, a
    return [Permute(tuple(order))]


@view("tensor.movedim")
def movedim(x: TensorType, *, source: tuple[int, ...], destination: tuple[int, ...]) -> list[View]:
    """The axes ``source`` moved to the places ``destination``; the others keep their order."""
    a, b = _axes(x, source), _axes(x, destination)
    if len(a) != len(b):
        raise GraphError(f"movedim needs as many destinations as sources; got {source} and {destination}.")
    order = [i for i in range(x.rank) if i not in a]
    for to, axis in sorted(zip(b, a, strict=True)):
        order.insert(to, axis)
    return [Permute(tuple(order))]


@view("tensor.expand")
def expand(x: TensorType, *, shape: tuple) -> list[View]:
    """Axes of size 1 repeated to ``shape``, which may have more axes in front; -1 keeps a size."""
    lead = len(shape) - x.rank
    if lead < 0 or -1 in shape[:lead]:
        raise GraphError(f"expand needs a size for each axis of {x}, and new axes in front with sizes; got {shape}.")
    kept = [x.shape[i - lead] if size == -1 else size for i, size in enumerate(shape)]
    return [Expand(dims.as_shape(kept))]


@view("tensor.unsqueeze")
def unsqueeze(x: TensorType, *, dim: int) -> list[View]:
    """A new axis of size 1 at ``dim`` of the result."""
    axis = x.of_shape((*x.shape, 1)).axis(dim)
    return [Reshape((*x.shape[:axis], 1, *x.shape[axis:]))]


@view("tensor.squeeze")
def squeeze_axes(x: TensorType, *, dims: tuple[int, ...]) -> list[View]:
    """Without the axes ``dims``, each of size 1 for certain."""
    axes = _axes(x, dims)
    if any(x.shape[a] != 1 for a in axes):
        raise GraphError(f"squeeze drops axes of size 1; got axes {axes} of {x}.")
    return [Reshape(tuple(n for i, n in enumerate(x.shape) if i not in axes))]


@view("tensor.slice")
def slice(x: TensorType, *, dim: int = 0, start: Dim | None = None, end: Dim | None = None,
          step: int = 1) -> list[View]:  # fmt: skip
    """``x[start:end:step]`` along ``dim`` as Python counts: negative bounds count from the end, bounds outside are
    clamped. Symbolic bounds need a sign that their dims' bounds decide."""
    axis = x.axis(dim)
    return [Slice(axis, *python_range(start, end, step, x.shape[axis]), step)]


@view("tensor.select")
def select(x: TensorType, *, dim: int, index: Dim) -> list[View]:
    """Entry ``index`` (negative: from the end) of axis ``dim``, without that axis."""
    axis = x.axis(dim)
    at = within(index, x.shape[axis])
    return [Slice(axis, at, 1), Reshape((*x.shape[:axis], *x.shape[axis + 1 :]))]


@view("tensor.flip")
def flip(x: TensorType, *, dims: tuple[int, ...]) -> list[View]:
    """The axes ``dims`` in reverse."""
    return [Slice(a, x.shape[a] - 1, x.shape[a], -1) for a in _axes(x, dims)]


def squeeze(x: Value, *, dims: int | Sequence[int] | None = None) -> Value:
    """As torch: without those of the axes ``dims`` (all by default) whose size is 1 for certain."""
    axes = range(x.type.rank) if dims is None else _axes(x.type, dims)
    ones = tuple(a for a in axes if x.shape[a] == 1)
    return squeeze_axes(x, dims=ones) if ones else x


def split(x: Value, sizes: Dim | Sequence[Dim], *, dim: int = 0) -> tuple[Value, ...]:
    """Consecutive slices of ``sizes`` along ``dim``; one number means slices of that size, the last may be smaller.

    Raises:
        GraphError: if the sizes do not add up, or one number does not divide a symbolic size.
    """
    axis = x.type.axis(dim)
    total = x.shape[axis]
    if not isinstance(sizes, Sequence):
        count = dims.ceil_div(total, sizes) if dims.at_least(sizes, 1) else total
        if not isinstance(count, int):
            raise GraphError(f"split needs a known number of pieces: {dims.text(total)} by {dims.text(sizes)}.")
        whole = max(count - 1, 0)
        sizes = [sizes] * whole + [total - whole * sizes]
    if not dims.same(sum(sizes), total):
        raise GraphError(f"split sizes {tuple(sizes)} do not add up to axis {axis} of {x.type}.")
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(slice(x, dim=axis, start=e - n, end=e) for n, e in zip(sizes, ends, strict=True))


def chunk(x: Value, chunks: int, *, dim: int = 0) -> tuple[Value, ...]:
    """As torch: at most ``chunks`` slices of equal size along ``dim``, the last may be smaller.

    Raises:
        GraphError: if the axis is symbolic and ``chunks`` does not divide it for certain.
    """
    total = x.shape[x.type.axis(dim)]
    size = dims.ceil_div(total, chunks)
    if isinstance(total, int) and total > 0:
        return split(x, size, dim=dim)
    if not dims.same(dims.prod((size, chunks)), total):
        raise GraphError(f"chunk needs a size that {chunks} divides for certain; got {dims.text(total)}.")
    return split(x, [size] * chunks, dim=dim)


def unbind(x: Value, *, dim: int = 0) -> tuple[Value, ...]:
    """The entries of axis ``dim``, each without that axis.

    Raises:
        GraphError: if its size is symbolic.
    """
    size = x.shape[x.type.axis(dim)]
    if not isinstance(size, int):
        raise GraphError(f"unbind needs a static size; axis {dim} of {x.type} is symbolic.")
    return tuple(select(x, dim=dim, index=i) for i in range(size))
