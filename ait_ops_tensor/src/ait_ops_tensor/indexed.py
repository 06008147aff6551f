# SPDX-License-Identifier: Apache-2.0
"""Ops that compute each element from its coordinates: fills, ranges, padding, triangles, repeats.

``at`` holds the coordinates of the element; an operand is read by calling it with coordinates.
"""

from __future__ import annotations

from typing import Any

from ait_core import scalar as s
from ait_core.declare.op import indexed
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir import index as ix
from ait_core.ir.dims import Dim
from ait_core.ir.dtypes import DType
from ait_core.ir.dtypes import dtype as as_dtype
from ait_core.ir.types import TensorType


def _number(value: Any, dtype: DType) -> Any:
    """A number of the kind of ``dtype``: a float beside int64 would cost them their low bits."""
    return float(value) if dtype.is_float else int(value) if dtype.is_int else bool(value)


def _per_axis(x: TensorType, op: str, **lists: tuple) -> None:
    for name, entries in lists.items():
        if len(entries) != x.rank:
            raise GraphError(f"{op} needs one entry of {name} for each axis of {x}; got {entries}.")


def _full_type(*, shape: tuple, value: Any, dtype: Any = "float32") -> TensorType:
    return TensorType(as_dtype(dtype), dims.as_shape(shape))


@indexed("tensor.full", infer=_full_type)
def full(at, *, shape: tuple, value: Any, dtype: str = "float32"):
    """A tensor of one number. ``value`` may be a size: that is how a symbolic dim becomes data."""
    return ix.size(value) if hasattr(value, "free_symbols") else value


def _iota_type(*, size: Dim, start: Any = 0, step: Any = 1, dtype: Any = "int64") -> TensorType:
    return TensorType(as_dtype(dtype), dims.as_shape((size,)))


@indexed("tensor.iota", infer=_iota_type)
def iota(at, *, size: Dim, start: Any = 0, step: Any = 1, dtype: str = "int64"):
    """``start + i * step``; ``start`` and ``step`` are numbers or sizes. Floats are worked out in float64."""
    if as_dtype(dtype).is_float:
        return s.add(s.mul(s.cast(at[0], "float64"), step), start)
    step, start = (int(n) if isinstance(n, float) else n for n in (step, start))
    return s.add(s.mul(at[0], step), start)


def _eye_type(*, n: Dim, m: Dim | None = None, dtype: Any = "float32") -> TensorType:
    return TensorType(as_dtype(dtype), dims.as_shape((n, n if m is None else m)))


@indexed("tensor.eye", infer=_eye_type)
def eye(at, *, n: Dim, m: Dim | None = None, dtype: str = "float32"):
    """1 on the diagonal of a matrix of ``n`` rows and ``m`` (by default ``n``) columns, 0 elsewhere."""
    return s.eq(at[0], at[1])


def _pad_type(x: TensorType, *, before: tuple, after: tuple, value: float = 0.0, mode: str = "constant") -> TensorType:
    _per_axis(x, "pad", before=before, after=after)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise GraphError(f"pad knows the modes constant, reflect, replicate and circular; got {mode!r}.")
    shape = [dims.as_dim(n + b + a) for n, b, a in zip(x.shape, before, after, strict=True)]
    for n, size, b, a in zip(x.shape, shape, before, after, strict=True):
        if not dims.at_least(size, 0):
            raise GraphError(f"pad by {before} and {after} may leave less than nothing of {x}.")
        if mode != "constant" and (b != 0 or a != 0) and not dims.at_least(n, 1):
            raise GraphError(f"pad with mode {mode!r} repeats elements: no axis it pads may be empty; got {x}.")
    return x.of_shape(shape)


@indexed("tensor.pad", infer=_pad_type)
def pad(at, x, *, before: tuple, after: tuple, value: float = 0.0, mode: str = "constant"):
    """``before`` and ``after``: how many elements to add at the ends of each axis (negative: to drop). Mode
    ``constant`` adds ``value``, ``replicate`` the edge, ``reflect`` the mirror image without the edge, ``circular`` the
    other end."""
    source, inside = [], True
    for i, n, b, a in zip(at, x.shape, before, after, strict=True):
        j = i if b == 0 else s.sub(i, b)
        if b == 0 and a == 0:
            pass
        elif mode == "constant":
            inside = s.bit_and(inside, s.bit_and(s.ge(j, 0), s.lt(j, n)))
        elif mode == "replicate":
            j = s.minimum(s.maximum(j, 0), n - 1)
        elif mode == "circular":
            j = s.remainder(j, n)
        else:  # there and back again
            j = s.sub(n - 1, s.abs(s.sub(n - 1, s.remainder(j, dims.dim_max(2 * (n - 1), 1)))))
        source.append(j)
    return x(*source) if inside is True else s.where(inside, x(*source), _number(value, x.dtype))


def _matrix_type(x: TensorType, *, diagonal: Dim = 0) -> TensorType:
    if x.rank < 2:
        raise GraphError(f"A triangle needs at least two axes; got {x}.")
    return x


@indexed("tensor.tril", infer=_matrix_type)
def tril(at, x, *, diagonal: Dim = 0):
    """The last two axes' lower triangle, columns up to ``diagonal`` beyond the main one; 0 elsewhere."""
    return s.where(s.le(s.sub(at[-1], at[-2]), diagonal), x(*at), _number(0, x.dtype))


@indexed("tensor.triu", infer=_matrix_type)
def triu(at, x, *, diagonal: Dim = 0):
    """The last two axes' upper triangle, columns from ``diagonal`` beyond the main one; 0 elsewhere."""
    return s.where(s.ge(s.sub(at[-1], at[-2]), diagonal), x(*at), _number(0, x.dtype))


def _roll_type(x: TensorType, *, shifts: tuple, dims: tuple) -> TensorType:
    if len(shifts) != len(dims):
        raise GraphError(f"roll needs a shift for each axis; got {shifts} for {dims}.")
    for d in dims:
        x.axis(d)
    return x


@indexed("tensor.roll", infer=_roll_type)
def roll(at, x, *, shifts: tuple, dims: tuple):
    """Elements moved ``shifts`` places along ``dims``; what leaves at one end enters at the other."""
    source = list(at)
    for shift, d in zip(shifts, dims, strict=True):
        source[d] = s.remainder(s.sub(source[d], shift), x.shape[d])
    return x(*source)


def _repeat_type(x: TensorType, *, repeats: tuple) -> TensorType:
    if len(repeats) < x.rank:
        raise GraphError(f"repeat needs a number for each axis of {x}; got {repeats}.")
    shape = (1,) * (len(repeats) - x.rank) + x.shape
    return x.of_shape(dims.prod((n, r)) for n, r in zip(shape, repeats, strict=True))


@indexed("tensor.repeat", infer=_repeat_type)
def repeat(at, x, *, repeats: tuple):
    """The tensor laid out ``repeats`` times along each axis, with new axes in front if there are more numbers."""
    own = zip(at[len(at) - len(x.shape) :], x.shape, repeats[len(at) - len(x.shape) :], strict=True)
    return x(*(i if r == 1 else s.remainder(i, n) for i, n, r in own))


def _repeat_interleave_type(x: TensorType, *, repeats: int, dim: int) -> TensorType:
    axis = x.axis(dim)
    if not isinstance(repeats, int) or repeats < 0:
        raise GraphError(f"repeat_interleave repeats by a number that is not negative; got {repeats!r}.")
    return x.of_shape((*x.shape[:axis], dims.prod((x.shape[axis], repeats)), *x.shape[axis + 1 :]))


@indexed("tensor.repeat_interleave", infer=_repeat_interleave_type)
def repeat_interleave(at, x, *, repeats: int, dim: int):
    """Each entry of axis ``dim`` ``repeats`` times in a row."""
    axis = dim % len(at)
    return x(*(s.floor_div(i, repeats) if k == axis else i for k, i in enumerate(at)))


def _unfold_type(x: TensorType, *, dim: int, size: int, step: int) -> TensorType:
    axis = x.axis(dim)
    if size < 0 or step < 1 or not dims.at_least(x.shape[axis], size):
        raise GraphError(f"unfold needs windows that fit axis {axis} of {x} and a positive step; got {size}, {step}.")
    count = dims.floor_div(x.shape[axis] - size, step) + 1
    return x.of_shape((*x.shape[:axis], count, *x.shape[axis + 1 :], size))


@indexed("tensor.unfold", infer=_unfold_type)
def unfold(at, x, *, dim: int, size: int, step: int):
    """Windows of ``size`` elements of axis ``dim``, ``step`` apart, along a new last axis."""
    axis = dim % len(x.shape)
    return x(*(s.add(s.mul(i, step), at[-1]) if k == axis else i for k, i in enumerate(at[:-1])))
