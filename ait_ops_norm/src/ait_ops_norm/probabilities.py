# SPDX-License-Identifier: Apache-2.0
"""Softmax and its logarithm, around the largest element so that nothing overflows."""

from __future__ import annotations

import numpy as np

import ait_ops_tensor as t
from ait_core.declare.op import composite
from ait_core.ir.graph import Value
from ait_ops_norm.wide import exact, narrow, wide


def _shifted(x: Value, axis: int) -> Value:
    """``x`` less its largest element along ``axis``."""
    return t.sub(x, t.amax(x, axes=(axis,), keepdim=True))


def _softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    return exact(lambda v: np.exp(v - _top(v, axis)) / np.exp(v - _top(v, axis)).sum(axis, keepdims=True), x)


def _log_softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    return exact(lambda v: v - _top(v, axis) - np.log(np.exp(v - _top(v, axis)).sum(axis, keepdims=True)), x)


def _top(v: np.ndarray, axis: int) -> np.ndarray:
    return v.max(axis, keepdims=True, initial=-np.inf)


@composite("norm.softmax", reference=_softmax)
def softmax(x, *, axis: int = -1):
    """``exp(x) / sum(exp(x))`` along ``axis``; NaN where all of it is -inf."""
    if x.shape[x.type.axis(axis)] == 0:
        return narrow(wide(x), x)
    e = t.exp(_shifted(wide(x), axis))
    return narrow(t.div(e, t.sum(e, axes=(axis,), keepdim=True)), x)


@composite("norm.log_softmax", reference=_log_softmax)
def log_softmax(x, *, axis: int = -1):
    """``log(softmax(x))`` without taking the logarithm of small numbers."""
    if x.shape[x.type.axis(axis)] == 0:
        return narrow(wide(x), x)
    shifted = _shifted(wide(x), axis)
    return narrow(t.sub(shifted, t.log(t.sum(t.exp(shifted), axes=(axis,), keepdim=True))), x)
