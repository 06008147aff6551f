# SPDX-License-Identifier: Apache-2.0
"""Reductions over the axes ``axes``, and the statistics made of them. Statistics are worked out in float32 at least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ait_core.declare.op import composite, reduction
from ait_core.ir import dims
from ait_core.ir.dtypes import DType, float32, int64
from ait_core.ir.graph import Value
from ait_core.ir.types import TensorType
from ait_ops_tensor import arithmetic as ar
from ait_ops_tensor import elementary as el
from ait_ops_tensor.indexed import full
from ait_ops_tensor.logic import cast, isinf, ne, where
from ait_ops_tensor.views import squeeze_axes


def _total(x: TensorType) -> DType:
    return x.dtype if x.dtype.is_float else int64


@reduction("tensor.sum", combine="sum", result=_total)
def sum(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Sum; of integers and truth values, in int64."""


@reduction("tensor.prod", combine="prod", result=_total)
def prod(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Product; of integers and truth values, in int64."""


@reduction("tensor.amax", combine="maximum")
def amax(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Largest element; NaN if there is one."""


@reduction("tensor.amin", combine="minimum")
def amin(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Smallest element; NaN if there is one."""


@reduction("tensor.any", combine="any", result="bool")
def any(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Whether some element is not 0; false of none."""


@reduction("tensor.all", combine="all", result="bool")
def all(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Whether no element is 0; true of none."""


@reduction("tensor.argmax", combine="argmax", result="int64")
def argmax(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Index of the first largest element (NaN counts as largest), row-major over ``axes``."""


@reduction("tensor.argmin", combine="argmin", result="int64")
def argmin(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Index of the first smallest element (NaN counts as smallest), row-major over ``axes``."""


def statistics_dtype(x: Value) -> DType:
    """What statistics of ``x`` are worked out in: float64 for float64, else float32."""
    return x.dtype if x.dtype.name == "float64" else float32


def _wide(x: Value) -> Value:
    to = statistics_dtype(x)
    return x if x.dtype == to else cast(x, dtype=to)


def _narrow(y: Value, like: Value) -> Value:
    """A statistic in the dtype of ``like``; that of integers stays float32."""
    return cast(y, dtype=like.dtype) if like.dtype.is_float and like.dtype != y.dtype else y


def size_as_value(size: dims.Dim, dtype: DType) -> Any:
    """A size as an operand: a number, or data where it is symbolic."""
    return np.asarray(size, dtype.numpy) if isinstance(size, int) else full(shape=(), value=size, dtype=dtype)


def _count(x: Value, axes: Sequence[int], correction: float = 0) -> Any:
    """How many elements are reduced less ``correction``, not below 0."""
    n = dims.prod(x.shape[x.type.axis(a)] for a in axes)
    if isinstance(n, int):
        return np.asarray(max(n - correction, 0), x.dtype.numpy)
    count = size_as_value(n, x.dtype)
    return ar.maximum(ar.sub(count, float(correction)), 0.0) if correction else count


def _mean(x: Value, axes: Sequence[int], keepdim: bool) -> Value:
    return ar.div(sum(x, axes=axes, keepdim=keepdim), _count(x, axes))


def _var(x: Value, axes: Sequence[int], correction: float, keepdim: bool) -> Value:
    """Two passes: squares of what is left after the mean is taken away lose nothing to cancellation."""
    squares = ar.square(ar.sub(x, _mean(x, axes, True)))
    return ar.div(sum(squares, axes=axes, keepdim=keepdim), _count(x, axes, correction))


@composite("tensor.mean")
def mean(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """Arithmetic mean; NaN of none. Integers give float32."""
    return _narrow(_mean(_wide(x), axes, keepdim), x)


@composite("tensor.var")
def var(x, *, axes: tuple[int, ...], correction: float = 1, keepdim: bool = False):
    """Mean square deviation from the mean, over ``max(n - correction, 0)`` of ``n`` elements."""
    return _narrow(_var(_wide(x), axes, correction, keepdim), x)


@composite("tensor.std")
def std(x, *, axes: tuple[int, ...], correction: float = 1, keepdim: bool = False):
    """Square root of ``var``."""
    return _narrow(el.sqrt(_var(_wide(x), axes, correction, keepdim)), x)


@composite("tensor.norm")
def norm(x, *, ord: float = 2.0, axes: tuple[int, ...], keepdim: bool = False):
    """Vector norm of order ``ord``: ``sum(|x|**ord)**(1/ord)``; the largest magnitude for inf, the smallest for -inf,
    the number of elements that are not 0 for 0."""
    wide = _wide(x)
    over = {"axes": axes, "keepdim": keepdim}
    if ord == 2:
        out = el.sqrt(sum(ar.square(wide), **over))
    elif ord == 0:
        out = cast(count_nonzero(x, **over), dtype=wide.dtype)
    elif math.isinf(ord):
        out = (amax if ord > 0 else amin)(ar.abs(wide), **over)
    else:
        powers = ar.abs(wide) if ord == 1 else ar.pow(ar.abs(wide), float(ord))
        out = sum(powers, **over) if ord == 1 else ar.pow(sum(powers, **over), 1.0 / ord)
    return _narrow(out, x)


@composite("tensor.logsumexp")
def logsumexp(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """``log(sum(exp(x)))``, around the largest element so that nothing overflows; -inf of none."""
    wide = _wide(x)
    if dims.prod(x.shape[x.type.axis(a)] for a in axes) == 0:
        return _narrow(el.log(sum(wide, axes=axes, keepdim=keepdim)), x)  # an empty sum is 0
    top = amax(wide, axes=axes, keepdim=True)
    top = where(isinf(top), 0.0, top)  # inf - inf would be NaN
    total = el.log(sum(el.exp(ar.sub(wide, top)), axes=axes, keepdim=True))
    out = ar.add(total, top)
    return _narrow(out if keepdim else squeeze_axes(out, dims=axes), x)


@composite("tensor.count_nonzero")
def count_nonzero(x, *, axes: tuple[int, ...], keepdim: bool = False):
    """How many elements are not 0, int64; NaN is not 0."""
    return sum(cast(ne(x, 0), dtype=int64), axes=axes, keepdim=keepdim)
