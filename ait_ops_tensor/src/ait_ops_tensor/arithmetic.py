# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: sums, quotients, powers, extremes and rounding. Semantics are torch's; integers wrap."""

import math

from ait_core import scalar as s
from ait_core.declare.op import pointwise


@pointwise("tensor.add", commutative=True)
def add(x, y):
    """Sum; of truth values, logical or."""
    return s.add(x, y)


@pointwise("tensor.sub")
def sub(x, y):
    """Difference. Undefined for truth values."""
    return s.sub(x, y)


@pointwise("tensor.mul", commutative=True)
def mul(x, y):
    """Product; of truth values, logical and."""
    return s.mul(x, y)


@pointwise("tensor.div", result="float")
def div(x, y):
    """True quotient: integers give float32."""
    return s.div(x, y)


@pointwise("tensor.floor_div")
def floor_div(x, y):
    """Quotient rounded towards minus infinity; an integer over 0 gives 0."""
    return s.floor_div(x, y)


@pointwise("tensor.remainder")
def remainder(x, y):
    """What ``floor_div`` leaves: the sign of ``y``, as Python's ``%``."""
    return s.remainder(x, y)


@pointwise("tensor.fmod")
def fmod(x, y):
    """What truncated division leaves: the sign of ``x``, as C's ``fmod``."""
    return s.fmod(x, y)


@pointwise("tensor.pow")
def pow(x, y):
    """``x`` to the power ``y``. Integers stay integers: a negative exponent gives 0, or +-1 for a base of +-1."""
    return s.pow(x, y)


@pointwise("tensor.minimum", commutative=True)
def minimum(x, y):
    """The smaller; NaN if either is NaN."""
    return s.minimum(x, y)


@pointwise("tensor.maximum", commutative=True)
def maximum(x, y):
    """The larger; NaN if either is NaN."""
    return s.maximum(x, y)


@pointwise("tensor.neg")
def neg(x):
    """``-x``; integers wrap."""
    return s.neg(x)


@pointwise("tensor.abs")
def abs(x):
    """Magnitude; the most negative integer stays itself."""
    return s.abs(x)


@pointwise("tensor.sign")
def sign(x):
    """-1, 0 or 1; 0 for NaN."""
    return s.where(s.isnan(x), 0, s.sign(x))


@pointwise("tensor.square")
def square(x):
    """``x * x``."""
    return s.mul(x, x)


@pointwise("tensor.floor")
def floor(x):
    """Rounded towards minus infinity."""
    return s.floor(x)


@pointwise("tensor.ceil")
def ceil(x):
    """Rounded towards infinity."""
    return s.ceil(x)


@pointwise("tensor.round")
def round(x):
    """Rounded to the nearest integer, halves to even."""
    return s.round(x)


@pointwise("tensor.trunc")
def trunc(x):
    """Rounded towards zero."""
    return s.trunc(x)


@pointwise("tensor.frac")
def frac(x):
    """``x - trunc(x)``, with the sign of ``x``."""
    return s.sub(x, s.trunc(x))


@pointwise("tensor.copysign", result="float")
def copysign(x, y):
    """The magnitude of ``x`` with the sign of ``y``, also of a ``y`` that is -0.0."""
    magnitude = s.abs(x)
    negative = s.bit_or(s.lt(y, 0), s.bit_and(s.eq(y, 0), s.lt(s.div(1.0, y), 0)))
    return s.where(negative, s.neg(magnitude), magnitude)


@pointwise("tensor.hypot", result="float", commutative=True)
def hypot(x, y):
    """``sqrt(x*x + y*y)`` without overflow: the larger magnitude is factored out."""
    a, b = s.abs(x), s.abs(y)
    large, small = s.maximum(a, b), s.minimum(a, b)
    ratio = s.div(small, s.where(s.eq(large, 0.0), 1.0, large))
    length = s.mul(large, s.sqrt(s.add(1.0, s.mul(ratio, ratio))))
    return s.where(s.bit_or(s.isinf(a), s.isinf(b)), math.inf, length)


@pointwise("tensor.lerp")
def lerp(x, y, weight):
    """``x + weight * (y - x)``, from the nearer end so that both ends are met exactly."""
    step = s.sub(y, x)
    near, far = s.add(x, s.mul(weight, step)), s.sub(y, s.mul(step, s.sub(1.0, weight)))
    return s.where(s.lt(s.abs(weight), 0.5), near, far)


@pointwise("tensor.clamp")
def clamp(x, lo=None, hi=None):
    """``x`` moved up to ``lo``, then down to ``hi``; NaN if any of them is."""
    x = x if lo is None else s.maximum(x, lo)
    return x if hi is None else s.minimum(x, hi)
