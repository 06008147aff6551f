# SPDX-License-Identifier: Apache-2.0
"""How this pack computes: in float32 at least, rounded once to the dtype of the input; references in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ait_ops_tensor as t
from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import Value
from ait_ops_tensor import statistics_dtype


def wide(x: Value, like: Value | None = None) -> Value:
    """``x`` in the dtype that statistics of ``like`` (by default of ``x``) are worked out in."""
    to = statistics_dtype(x if like is None else like)
    return x if x.dtype == to else t.cast(x, dtype=to)


def narrow(y: Value, like: Value) -> Value:
    """``y`` in the dtype of ``like``; float32 if that is no float."""
    return y if y.dtype == like.dtype or not like.dtype.is_float else t.cast(y, dtype=like.dtype)


def exact(fn: Callable[..., np.ndarray], x: np.ndarray, *others: np.ndarray | None) -> np.ndarray:
    """``fn`` in float64, rounded to the dtype of ``x`` (float32 if that is no float)."""
    out = x.dtype if dtype(x.dtype).is_float else np.dtype("f4")
    with np.errstate(all="ignore"):
        return np.asarray(fn(*(None if a is None else a.astype(np.float64) for a in (x, *others)))).astype(out)
