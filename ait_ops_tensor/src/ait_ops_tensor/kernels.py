# SPDX-License-Identifier: Apache-2.0
"""CPU kernel templates of the ops that run along an axis: running sums, sorting, selection."""

from __future__ import annotations

from ait_core.declare.kernel import Absorbs, Kernel, KernelBuilder
from ait_core.ir import dims
from ait_core.ir.dims import Dim, DimSymbol, Shape
from ait_core.ir.graph import Node

THREADS = DimSymbol("threads", 1, 1024)


def _around(shape: Shape, node: Node) -> tuple[Dim, Dim, Dim]:
    """A shape as (outer, axis, inner)."""
    axis = node.inputs[0].type.axis(node.attrs["dim"])
    return dims.prod(shape[:axis]), shape[axis], dims.prod(shape[axis + 1 :])


def _cumsum(k: KernelBuilder) -> None:
    """``cumsum<Acc>(outer, n, inner, x, out, threads)``."""
    shape = _around(k.node.output.shape, k.node)
    acc = "double" if k.node.output.dtype.is_float else "std::int64_t"  # long sums of floats lose too much in float
    sizes = ", ".join(k.size(s) for s in shape)
    k.body(f"ait_ops_tensor::cumsum<{acc}>({sizes}, {k.reader('x', shape)}, {k.writer(shape)}, ctx.threads);")


def _order(k: KernelBuilder) -> None:
    """``order<Descending, T>(outer, n, inner, k, x, values, places, workspace, threads)``."""
    x, values = k.node.inputs[0], k.node.output
    outer, n, inner = shape = _around(x.shape, k.node)
    kept = _around(values.shape, k.node)
    descending = "true" if k.node.attrs.get("descending", k.node.attrs.get("largest")) else "false"
    out = f"{k.writer(kept)}, {k.writer(kept, output=1)}"
    sizes = ", ".join(k.size(s) for s in (outer, n, inner, kept[1]))
    k.body(
        f"ait_ops_tensor::order<{descending}, {x.dtype.compute}>({sizes}, {k.reader('x', shape)}, {out}, "
        f"{k.workspace(THREADS * 16 * n)}, ctx.threads);"
    )


_READS = frozenset({"x"})
cumsum = Kernel(
    name="tensor.cpu.cumsum",
    op="tensor.cumsum",
    target="cpu",
    headers=("ait_ops_tensor/cpu/scan.h",),
    absorbs=Absorbs(epilogue=True, prologue=_READS),
    render=_cumsum,
)
sort, topk = (
    Kernel(
        name=f"tensor.cpu.{name}",
        op=f"tensor.{name}",
        target="cpu",
        headers=("ait_ops_tensor/cpu/order.h",),
        absorbs=Absorbs(prologue=_READS),
        render=_order,
    )
    for name in ("sort", "topk")
)
