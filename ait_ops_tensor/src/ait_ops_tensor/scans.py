# SPDX-License-Identifier: Apache-2.0
"""Running sums, sorting and selection of the largest: ops that kernel templates compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from ait_core.declare.op import opaque
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dtypes import dtype, int64
from ait_core.ir.types import TensorType


def _scan_type(x: TensorType, *, dim: int) -> TensorType:
    x.axis(dim)
    return x if x.dtype.is_float else x.of_dtype(int64)


def _cumsum(x: np.ndarray, *, dim: int) -> np.ndarray:
    out = _scan_type(TensorType(dtype(x.dtype), x.shape), dim=dim).dtype.numpy
    with np.errstate(all="ignore"):
        return np.cumsum(x.astype(np.float64 if dtype(x.dtype).is_float else out), axis=dim).astype(out)


@opaque("tensor.cumsum", infer=_scan_type, reference=_cumsum)
def cumsum(x, *, dim: int):
    """Sums of the elements up to and including each along ``dim``; of integers and truth values, in int64."""


def order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Indices that sort ``x`` along ``axis``. NaN counts as larger than everything; equal elements keep their order."""
    keys = x.astype(np.float64) if dtype(x.dtype).is_float else x
    if not descending:
        return np.argsort(keys, axis=axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(keys, axis), axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - backwards


def _sort_type(x: TensorType, *, dim: int = -1, descending: bool = False) -> tuple[TensorType, TensorType]:
    x.axis(dim)
    return x, x.of_dtype(int64)


def _sort(x: np.ndarray, *, dim: int = -1, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    at = order(x, dim % x.ndim, descending)
    return np.take_along_axis(x, at, axis=dim), at.astype(np.int64)


@opaque("tensor.sort", infer=_sort_type, reference=_sort)
def sort(x, *, dim: int = -1, descending: bool = False):
    """Elements in order along ``dim``, and where they were. Stable: equal elements keep their order, either way round.
    NaN counts as larger than everything."""


def _topk_type(x: TensorType, *, k: Any, dim: int = -1, largest: bool = True) -> tuple[TensorType, TensorType]:
    axis = x.axis(dim)
    if not (dims.at_least(k, 0) and dims.at_least(x.shape[axis], k)):
        raise GraphError(f"topk needs 0 <= k <= the size of axis {axis} for certain; got k={k} for {x}.")
    values = x.of_shape((*x.shape[:axis], k, *x.shape[axis + 1 :]))
    return values, values.of_dtype(int64)


def _topk(x: np.ndarray, *, k: int, dim: int = -1, largest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    at = np.take(order(x, dim % x.ndim, largest), range(k), axis=dim)
    return np.take_along_axis(x, at, axis=dim), at.astype(np.int64)


@opaque("tensor.topk", infer=_topk_type, reference=_topk)
def topk(x, *, k: int, dim: int = -1, largest: bool = True):
    """The first ``k`` elements of ``sort`` along ``dim`` (descending if ``largest``), and where they were: equal
    elements come in the order of their places."""
