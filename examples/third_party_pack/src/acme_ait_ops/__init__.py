# SPDX-License-Identifier: Apache-2.0
"""Acme's ops: squared ReLU, which is pointwise, and causal smoothing, which has a kernel of its own."""

from __future__ import annotations

import numpy as np

from ait_core import GraphError
from ait_core import scalar as s
from ait_core.declare.op import opaque, pointwise
from ait_core.ir.types import TensorType

__version__ = "1.2.0"


@pointwise("acme.squared_relu")
def squared_relu(x):
    """``max(x, 0) ** 2`` (So et al. 2021, "Primer"); NaN stays NaN."""
    positive = s.maximum(x, 0)
    return positive * positive


def _smooth_type(x: TensorType, *, decay: float) -> TensorType:
    if x.rank < 2 or not x.dtype.is_float:
        raise GraphError(f"causal_smooth needs floats of the shape [..., time, channels]; got {x}.")
    if not 0 <= decay <= 1:
        raise GraphError(f"The decay of causal_smooth lies between 0 and 1; got {decay}.")
    return x


def _smooth(x: np.ndarray, *, decay: float) -> np.ndarray:
    y = np.zeros(x.shape)
    state = np.zeros((*x.shape[:-2], x.shape[-1]))
    for t in range(x.shape[-2]):
        state = y[..., t, :] = decay * state + (1 - decay) * x[..., t, :].astype(np.float64)
    return y.astype(x.dtype)


@opaque("acme.causal_smooth", infer=_smooth_type, reference=_smooth, flops=lambda x, *, decay: 3 * x.numel)
def causal_smooth(x, *, decay: float):
    """The exponential moving average ``y[t] = decay * y[t - 1] + (1 - decay) * x[t]`` of ``x[..., t, channel]`` along the
    time axis, with ``y[-1] = 0``. Halves are averaged in float32."""
