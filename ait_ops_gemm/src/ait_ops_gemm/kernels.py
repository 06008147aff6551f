# SPDX-License-Identifier: Apache-2.0
"""CPU kernel template of the matmul family: one packed GEMM for every epilogue, layout and dtype."""

from __future__ import annotations

from ait_core.declare.kernel import THREADS, Absorbs, Kernel, KernelBuilder
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.dtypes import DType
from ait_core.ir.graph import Node


def problem(node: Node) -> tuple[Dim, Dim, Dim, Dim]:
    """(batch, M, N, K) as the kernel walks it: with one matrix B for all, leading axes of A are rows."""
    a, b = node.inputs[0], node.inputs[1]
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    lead = dims.prod(node.output.shape[:-2])
    if all(s == 1 for s in b.shape[:-2]):
        return 1, dims.prod((lead, m)), n, k
    return lead, m, n, k


def shapes(node: Node) -> dict[str, Shape]:
    batch, m, n, k = problem(node)
    return {"a": (batch, m, k), "b": (batch, k, n)}


def _round_up(n: Dim, to: int) -> Dim:
    return dims.ceil_div(n, to) * to


def workspace_bytes(n: Dim, k: Dim, dtype: DType, strided_b: bool, rowwise: bool, scratch_floats: Dim) -> Dim:
    """Twin of ``workspace_bytes`` in ``schedule.h``."""
    e = max(4, dtype.itemsize)
    each = 128 * (_round_up(k, 32) + 32) * e + 128 * 48 * e + 256
    each += (strided_b + (dtype.name == "float16")) * 48 * _round_up(k, 32) * e
    each += 128 * _round_up(n, 16) * e + 4 * scratch_floats if rowwise else 0
    return THREADS * each + 64


def render(k: KernelBuilder) -> None:
    """``gemm<T>(shape, A, B, epilogue, workspace, threads)`` with B packed at load time if it is a weight."""
    batch, m, n, depth = problem(k.node)
    t = k.ctype("a")
    dtype = k.node.inputs[0].dtype
    packed = k.is_constant("b") and batch == 1
    if packed:
        nbytes = _round_up(depth, 32) * _round_up(n, 16) * dtype.itemsize + 64
        data = k.packed("b", nbytes, f"ait_ops_gemm::pack_b<{t}>(dst, src, strides[1], strides[2], "
                                     f"{k.size(depth)}, {k.size(n)}, threads);")  # fmt: skip
        b = f"ait_ops_gemm::PackedMatrix{{{data}, 0}}"
    else:
        b = f"ait_ops_gemm::Matrix<{t}>{{{k.pointer('b')}, {', '.join(k.strides('b'))}}}"
    floats = dims.floor_div(k.scratch_bytes(), 4)
    workspace = k.workspace(workspace_bytes(n, depth, dtype, not packed, k.rowwise, floats))
    a = f"ait_ops_gemm::Matrix<{t}>{{{k.pointer('a')}, {', '.join(k.strides('a'))}}}"
    out = k.writer((batch, m, n))
    sizes = ", ".join(k.size(s) for s in (batch, m, n, depth))
    k.body(f"ait_ops_gemm::gemm<{t}>({{{sizes}}}, {a}, {b}, {out}, {workspace}, ctx.threads);")


def accepts(node: Node, target) -> str | None:
    """Why the kernel cannot serve a node, or None."""
    a, b = node.inputs[0], node.inputs[1]
    if a.dtype != b.dtype:
        return f"operands have different dtypes, {a.dtype} and {b.dtype}"
    if a.dtype.name == "bool":
        return f"no tile kernel for {a.dtype}"
    lead_b = b.shape[:-2]
    if not all(s == 1 for s in lead_b) and not dims.same_shape(a.shape[:-2], lead_b):
        return "leading axes broadcast"
    if not dims.same_shape(a.shape[:-2], node.output.shape[:-2]):
        return "leading axes of the first operand broadcast"
    return None


packed = Kernel(
    name="gemm.cpu.packed",
    op="gemm.matmul",
    target="cpu",
    headers=("ait_ops_gemm/cpu/gemm.h",),
    absorbs=Absorbs(epilogue=True, rows=True, strided=frozenset({"a", "b"})),
    accepts=accepts,
    shapes=shapes,
    render=render,
)
