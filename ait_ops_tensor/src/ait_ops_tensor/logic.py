# SPDX-License-Identifier: Apache-2.0
"""Comparisons, truth values, bits, selection, casts."""

import math

import ml_dtypes
import numpy as np

from ait_core import scalar as s
from ait_core.declare.op import composite, pointwise, promote_types
from ait_core.ir.dtypes import dtype as as_dtype
from ait_core.ir.graph import Value


@pointwise("tensor.lt", result="bool")
def lt(x, y):
    """``x < y``."""
    return s.lt(x, y)


@pointwise("tensor.le", result="bool")
def le(x, y):
    """``x <= y``."""
    return s.le(x, y)


@pointwise("tensor.gt", result="bool")
def gt(x, y):
    """``x > y``."""
    return s.gt(x, y)


@pointwise("tensor.ge", result="bool")
def ge(x, y):
    """``x >= y``."""
    return s.ge(x, y)


@pointwise("tensor.eq", result="bool", commutative=True)
def eq(x, y):
    """``x == y``; NaN equals nothing."""
    return s.eq(x, y)


@pointwise("tensor.ne", result="bool", commutative=True)
def ne(x, y):
    """``x != y``; NaN differs from everything."""
    return s.ne(x, y)


@pointwise("tensor.isnan", result="bool")
def isnan(x):
    """Whether ``x`` is NaN."""
    return s.isnan(x)


@pointwise("tensor.isinf", result="bool")
def isinf(x):
    """Whether ``x`` is an infinity of either sign."""
    return s.isinf(x)


@pointwise("tensor.isfinite", result="bool")
def isfinite(x):
    """Whether ``x`` is neither NaN nor infinite."""
    return s.logical_not(s.bit_or(s.isnan(x), s.isinf(x)))


@pointwise("tensor.signbit", result="bool")
def signbit(x):
    """Whether ``x`` is negative or -0.0; false for every NaN."""
    return s.bit_or(s.lt(x, 0), s.bit_and(s.eq(x, 0), s.lt(s.div(1.0, x), 0)))


@pointwise("tensor.logical_and", result="bool", commutative=True)
def logical_and(x, y):
    """Whether neither is 0."""
    return s.logical_and(x, y)


@pointwise("tensor.logical_or", result="bool", commutative=True)
def logical_or(x, y):
    """Whether any is not 0."""
    return s.logical_or(x, y)


@pointwise("tensor.logical_xor", result="bool", commutative=True)
def logical_xor(x, y):
    """Whether exactly one is not 0."""
    return s.ne(s.logical_not(x), s.logical_not(y))


@pointwise("tensor.logical_not", result="bool")
def logical_not(x):
    """Whether ``x`` is 0."""
    return s.logical_not(x)


@pointwise("tensor.bit_and", commutative=True)
def bit_and(x, y):
    """Bitwise and of integers or truth values."""
    return s.bit_and(x, y)


@pointwise("tensor.bit_or", commutative=True)
def bit_or(x, y):
    """Bitwise or of integers or truth values."""
    return s.bit_or(x, y)


@pointwise("tensor.bit_xor", commutative=True)
def bit_xor(x, y):
    """Bitwise exclusive or of integers or truth values."""
    return s.bit_xor(x, y)


@pointwise("tensor.bit_not")
def bit_not(x):
    """Bitwise complement of an integer; negation of a truth value."""
    return s.bit_not(x)


@pointwise("tensor.shift_left")
def shift_left(x, y):
    """Integers shifted left by ``0 <= y <`` their bits; what leaves the type is dropped."""
    return s.shift_left(x, y)


@pointwise("tensor.shift_right")
def shift_right(x, y):
    """Integers shifted right by ``0 <= y <`` their bits, keeping the sign."""
    return s.shift_right(x, y)


@pointwise("tensor.where", result=lambda condition, x, y: promote_types([x, y]))
def where(condition, x, y):
    """``x`` where ``condition`` holds (is not 0), else ``y``. The condition takes no part in promotion."""
    return s.where(condition, x, y)


@pointwise("tensor.cast", result=lambda x, dtype: as_dtype(dtype))
def cast(x, *, dtype: str):
    """``x`` as another dtype (a name or a DType), rounded to it. Floats become integers by truncation, which is
    undefined beyond the integers' range."""
    return s.cast(x, dtype)


@composite("tensor.nan_to_num")
def nan_to_num(x, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None):
    """``x`` with NaN and the infinities replaced: by 0 and the largest finite numbers of the dtype unless told."""
    if not x.dtype.is_float:
        return x
    largest = float(ml_dtypes.finfo(x.dtype.numpy).max)
    out = where(isnan(x), _like(x, nan), x)
    out = where(eq(x, math.inf), _like(x, largest if posinf is None else posinf), out)
    return where(eq(x, -math.inf), _like(x, -largest if neginf is None else neginf), out)


def _like(x: Value, number: float) -> np.ndarray:
    """A number in the dtype of ``x``: as float32 the largest bfloat16 would be one of many roundings."""
    return np.asarray(number, x.dtype.numpy)
