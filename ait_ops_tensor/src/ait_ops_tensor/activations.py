# SPDX-License-Identifier: Apache-2.0
"""Activation functions, as torch.nn.functional defines them. Halves compute in float32."""

import math

from ait_core import scalar as s
from ait_core.declare.op import composite, pointwise
from ait_core.errors import GraphError
from ait_core.ir.dtypes import DType, float32
from ait_core.ir.types import TensorType
from ait_ops_tensor.arithmetic import mul
from ait_ops_tensor.views import chunk

# Klambauer et al. 2017, "Self-Normalizing Neural Networks"
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _sigmoid(x):
    return s.div(1.0, s.add(1.0, s.exp(s.neg(x))))


def _softplus(x):
    """``log(1 + exp(x))`` that neither overflows nor loses small values."""
    return s.add(s.maximum(x, 0.0), s.log1p(s.exp(s.neg(s.abs(x)))))


def _clip(x, lo, hi):
    return s.minimum(s.maximum(x, lo), hi)


@pointwise("tensor.sigmoid", result="float")
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    return _sigmoid(x)


@pointwise("tensor.logsigmoid", result="float")
def logsigmoid(x):
    """``log(sigmoid(x))``."""
    return s.neg(_softplus(s.neg(x)))


@pointwise("tensor.relu")
def relu(x):
    """``max(x, 0)``; NaN stays NaN."""
    return s.maximum(x, 0)


def _gelu_dtype(x: TensorType, *, approximate: str) -> DType:
    if approximate not in ("none", "tanh"):
        raise GraphError(f"gelu knows approximate='none' and 'tanh'; got {approximate!r}.")
    return x.dtype if x.dtype.is_float else float32


@pointwise("tensor.gelu", result=_gelu_dtype)
def gelu(x, *, approximate: str = "none"):
    """``x`` times the normal distribution function of ``x``; ``approximate="tanh"`` is the formula of
    Hendrycks and Gimpel 2016, ``0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))``."""
    if approximate == "none":
        return x * 0.5 * (1.0 + s.erf(x * math.sqrt(0.5)))
    return x * 0.5 * (1.0 + s.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)))


@pointwise("tensor.silu", result="float")
def silu(x):
    """``x * sigmoid(x)``, also called swish."""
    return s.div(x, s.add(1.0, s.exp(s.neg(x))))


@pointwise("tensor.leaky_relu")
def leaky_relu(x, *, slope: float = 0.01):
    """``x`` above 0, else ``slope * x``."""
    return s.where(x > 0, x, x * slope)


@pointwise("tensor.prelu")
def prelu(x, weight):
    """``x`` above 0, else ``weight * x``; ``weight`` broadcasts against ``x``."""
    return s.where(x > 0, x, x * weight)


@pointwise("tensor.elu", result="float")
def elu(x, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0):
    """``scale * x`` above 0, else ``scale * alpha * (exp(input_scale * x) - 1)``."""
    return s.where(x > 0, x * scale, s.expm1(x * input_scale) * (alpha * scale))


@pointwise("tensor.celu", result="float")
def celu(x, *, alpha: float = 1.0):
    """``x`` above 0, else ``alpha * (exp(x / alpha) - 1)``."""
    return s.where(x > 0, x, s.expm1(x / alpha) * alpha)


@pointwise("tensor.selu", result="float")
def selu(x):
    """``elu`` scaled so that activations keep mean 0 and variance 1."""
    return s.where(x > 0, x * SELU_SCALE, s.expm1(x) * (SELU_ALPHA * SELU_SCALE))


@pointwise("tensor.softplus", result="float")
def softplus(x, *, beta: float = 1.0, threshold: float = 20.0):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``."""
    return s.where(x * beta > threshold, x, _softplus(x * beta) / beta)


@pointwise("tensor.softsign", result="float")
def softsign(x):
    """``x / (1 + |x|)``."""
    return s.div(x, s.add(1.0, s.abs(x)))


@pointwise("tensor.hardtanh")
def hardtanh(x, *, lo: float = -1.0, hi: float = 1.0):
    """``x`` clamped to ``[lo, hi]``; NaN stays NaN."""
    return _clip(x, lo, hi)


@pointwise("tensor.hardswish", result="float")
def hardswish(x):
    """``x * clamp(x + 3, 0, 6) / 6``."""
    return x * _clip(x + 3.0, 0.0, 6.0) / 6.0


@pointwise("tensor.hardsigmoid", result="float")
def hardsigmoid(x):
    """``clamp(x + 3, 0, 6) / 6``."""
    return _clip(x + 3.0, 0.0, 6.0) / 6.0


@pointwise("tensor.mish", result="float")
def mish(x):
    """``x * tanh(softplus(x))``."""
    return x * s.tanh(_softplus(x))


@pointwise("tensor.hardshrink")
def hardshrink(x, *, lambd: float = 0.5):
    """0 where ``-lambd <= x <= lambd``, else ``x``."""
    return s.where(s.bit_and(x >= -lambd, x <= lambd), 0, x)


@pointwise("tensor.softshrink")
def softshrink(x, *, lambd: float = 0.5):
    """``x`` moved towards 0 by ``lambd``; NaN stays NaN."""
    return s.where(x > lambd, x - lambd, s.where(x < -lambd, x + lambd, x * 0.0))


@pointwise("tensor.tanhshrink", result="float")
def tanhshrink(x):
    """``x - tanh(x)``."""
    return x - s.tanh(x)


@pointwise("tensor.threshold")
def threshold(x, *, threshold: float, value: float):
    """``value`` where ``x <= threshold``, else ``x``."""
    return s.where(x <= threshold, value, x)


@composite("tensor.glu")
def glu(x, *, dim: int = -1):
    """The first half of the axis ``dim`` times the sigmoid of the second half."""
    axis = x.type.axis(dim)
    if not isinstance(x.shape[axis], int) or x.shape[axis] % 2:
        raise GraphError(f"glu halves axis {axis} of {x.type}, which needs a static, even size.")
    first, second = chunk(x, 2, dim=axis)
    return mul(first, sigmoid(second))
