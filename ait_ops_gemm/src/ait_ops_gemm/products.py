# SPDX-License-Identifier: Apache-2.0
"""Matrix products. They accumulate in float32 (float64 for float64, integers in themselves) and round once."""

from __future__ import annotations

import numpy as np

import ait_ops_tensor as t
from ait_core.declare.op import composite, contraction
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dtypes import DType, dtype, promote
from ait_core.ir.graph import Value
from ait_core.ir.types import TensorType, broadcast


def _product(a: np.ndarray, b: np.ndarray, out: DType) -> np.ndarray:
    """``a @ b`` exact enough to be the truth, not yet rounded to ``out``."""
    wide = np.float64 if out.is_float else np.int64
    with np.errstate(all="ignore"):
        return np.matmul(a.astype(wide), b.astype(wide))


def _matmul_type(a: TensorType, b: TensorType) -> TensorType:
    out = promote(a.dtype, b.dtype)
    if a.rank < 2 or b.rank < 2:
        raise GraphError(f"matmul multiplies matrices; got {a} and {b}. For vectors: matvec, vecmat, vecdot.")
    if not dims.same(a.shape[-1], b.shape[-2]):
        raise GraphError(f"matmul needs as many columns of {a} as rows of {b}.")
    if out.name == "bool":
        raise GraphError("matmul of truth values is not defined: cast them to a number first.")
    return TensorType(out, (*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = promote(dtype(a.dtype), dtype(b.dtype))
    return _product(a, b, out).astype(out.numpy)


@contraction("gemm.matmul", infer=_matmul_type, reference=_matmul)
def matmul(a, b):
    """``a[..., m, k] @ b[..., k, n]`` in the common dtype; leading axes broadcast."""


def _linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    out = promote(*(dtype(a.dtype) for a in (x, weight, bias) if a is not None))
    y = _product(x, weight.T, out)
    return (y if bias is None else y + bias.astype(y.dtype)).astype(out.numpy)


@composite("gemm.linear", reference=_linear)
def linear(x, weight, bias=None):
    """``x[..., k] @ weight[n, k].T + bias[n]``, as torch.nn.Linear."""
    if weight.type.rank != 2 or (bias is not None and not dims.same_shape(bias.shape, weight.shape[:1])):
        raise GraphError(f"linear needs a weight [n, k] and a bias [n]; got {weight.type}" +
                         ("." if bias is None else f" and {bias.type}."))  # fmt: skip
    turned = t.permute(weight, dims=(1, 0))
    y = matmul(x, turned) if x.type.rank > 1 else vecmat(x, turned)
    return y if bias is None else t.add(y, bias)


def matvec(a: Value, x: Value) -> Value:
    """``a[..., m, k] @ x[..., k]``: one vector for each matrix, ``[..., m]``."""
    return t.squeeze_axes(matmul(a, t.unsqueeze(x, dim=-1)), dims=(-1,))


def vecmat(x: Value, b: Value) -> Value:
    """``x[..., k] @ b[..., k, n]``: one vector for each matrix, ``[..., n]``."""
    return t.squeeze_axes(matmul(t.unsqueeze(x, dim=-2), b), dims=(-2,))


def vecdot(x: Value, y: Value) -> Value:
    """``sum(x * y)`` over the last axis, leading axes broadcast."""
    return t.squeeze_axes(matvec(t.unsqueeze(x, dim=-2), y), dims=(-1,))
