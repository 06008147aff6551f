# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms, roots and trigonometry. Integers give float32."""

import math

from ait_core import scalar as s
from ait_core.declare.op import pointwise


@pointwise("tensor.exp", result="float")
def exp(x):
    """e to the power ``x``."""
    return s.exp(x)


@pointwise("tensor.expm1", result="float")
def expm1(x):
    """``exp(x) - 1`` without cancellation near 0."""
    return s.expm1(x)


@pointwise("tensor.log", result="float")
def log(x):
    """Natural logarithm."""
    return s.log(x)


@pointwise("tensor.log2", result="float")
def log2(x):
    """Logarithm to base 2."""
    return s.log2(x)


@pointwise("tensor.log1p", result="float")
def log1p(x):
    """``log(1 + x)`` without cancellation near 0."""
    return s.log1p(x)


@pointwise("tensor.sqrt", result="float")
def sqrt(x):
    """Square root; NaN below 0."""
    return s.sqrt(x)


@pointwise("tensor.rsqrt", result="float")
def rsqrt(x):
    """``1 / sqrt(x)``."""
    return s.rsqrt(x)


@pointwise("tensor.erf", result="float")
def erf(x):
    """Error function."""
    return s.erf(x)


@pointwise("tensor.sin", result="float")
def sin(x):
    """Sine."""
    return s.sin(x)


@pointwise("tensor.cos", result="float")
def cos(x):
    """Cosine."""
    return s.cos(x)


@pointwise("tensor.tan", result="float")
def tan(x):
    """Tangent."""
    return s.tan(x)


@pointwise("tensor.asin", result="float")
def asin(x):
    """Inverse sine; NaN outside [-1, 1]."""
    return s.asin(x)


@pointwise("tensor.acos", result="float")
def acos(x):
    """Inverse cosine; NaN outside [-1, 1]."""
    return s.acos(x)


@pointwise("tensor.atan", result="float")
def atan(x):
    """Inverse tangent."""
    return s.atan(x)


@pointwise("tensor.sinh", result="float")
def sinh(x):
    """Hyperbolic sine."""
    return s.sinh(x)


@pointwise("tensor.cosh", result="float")
def cosh(x):
    """Hyperbolic cosine."""
    return s.cosh(x)


@pointwise("tensor.tanh", result="float")
def tanh(x):
    """Hyperbolic tangent."""
    return s.tanh(x)


@pointwise("tensor.asinh", result="float")
def asinh(x):
    """Inverse hyperbolic sine."""
    return s.asinh(x)


@pointwise("tensor.acosh", result="float")
def acosh(x):
    """Inverse hyperbolic cosine; NaN below 1."""
    return s.acosh(x)


@pointwise("tensor.atanh", result="float")
def atanh(x):
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""
    return s.atanh(x)


@pointwise("tensor.atan2", result="float")
def atan2(x, y):
    """Angle of the point ``(y, x)``: first operand the ordinate, second the abscissa."""
    return s.atan2(x, y)


@pointwise("tensor.exp2", result="float")
def exp2(x):
    """2 to the power ``x``."""
    return s.pow(2.0, x)


@pointwise("tensor.log10", result="float")
def log10(x):
    """Logarithm to base 10."""
    return s.mul(s.log(x), 1 / math.log(10))


@pointwise("tensor.reciprocal", result="float")
def reciprocal(x):
    """``1 / x``."""
    return s.div(1.0, x)


@pointwise("tensor.logaddexp", result="float", commutative=True)
def logaddexp(x, y):
    """``log(exp(x) + exp(y))``, around the larger so that nothing overflows; equal infinities stay what they are."""
    sum_ = s.add(s.maximum(x, y), s.log1p(s.exp(s.neg(s.abs(s.sub(x, y))))))
    return s.where(s.bit_and(s.isinf(x), s.eq(x, y)), x, sum_)


@pointwise("tensor.xlogy", result="float")
def xlogy(x, y):
    """``x * log(y)``; 0 where ``x`` is 0 unless ``y`` is NaN."""
    return s.where(s.bit_and(s.eq(x, 0), s.logical_not(s.isnan(y))), 0.0, s.mul(x, s.log(y)))


@pointwise("tensor.logit", result="float")
def logit(x):
    """``log(x / (1 - x))``, the inverse of the sigmoid; NaN outside [0, 1]."""
    return s.log(s.div(x, s.sub(1.0, x)))
