# SPDX-License-Identifier: Apache-2.0
"""CPU kernel template of fused attention."""

from __future__ import annotations

from ait_core.declare.kernel import THREADS, Absorbs, Kernel, KernelBuilder
from ait_core.ir import dims
from ait_core.ir.dims import Shape
from ait_core.ir.graph import Node


def _four(shape: Shape) -> Shape:
    """[..., heads, length, dim] with the leading axes as one batch."""
    if len(shape) == 3:
        return (1, *shape)
    if len(shape) == 2:
        return (1, 1, *shape)
    return (dims.prod(shape[:-3]), *shape[-3:])


def shapes(node: Node) -> dict[str, Shape]:
    return {p: _four(node.inputs[i].shape) for i, p in enumerate("qkv")}


def workspace_bytes(qk_dim, v_dim, itemsize: int):
    """Twin of ``workspace_bytes`` in ``attention.h``."""
    e = max(4, itemsize)
    d, v = dims.ceil_div(qk_dim, 32) * 32, dims.ceil_div(v_dim, 16) * 16
    return THREADS * (e * (192 * d + 192 * v + 256 * (d + 32) + 2 * 32 * 192 + 256 * v + 2 * 256) + 1024) + 64


def render(k: KernelBuilder) -> None:
    """``attention<T>(shape, options, q, k, v, score, out, workspace, threads)``."""
    node = k.node
    q, key, v = (_four(node.inputs[i].shape) for i in range(3))
    t = k.ctype("q")
    k.include("ait_ops_attention/cpu/mask.h")
    score = "ait_ops_attention::IdentityScore{}"
    if k.has("mask"):
        mask = node.inputs[3]
        lead = tuple(1 for _ in range(len(node.output.shape) - len(mask.shape))) + mask.shape
        kind = "BooleanMask" if mask.dtype.name == "bool" else "AdditiveMask"
        score = f"ait_ops_attention::{kind}{{{k.reader('mask', _four(lead))}}}"
    tensors = [
        f"ait_ops_attention::Tensor4<{t}>{{{k.pointer(p)}, {', '.join(k.strides(p))}}}" for p in ("q", "k", "v")
    ]
    out = k.writer(_four(node.output.shape))
    sizes = ", ".join(k.size(s) for s in (q[0], q[1], key[1], q[2], key[2], q[3], v[3]))
    scale = node.attrs["scale"]
    scale = f"{float(scale)!r}f" if scale is not None else f"1.0f / ait::sqrt(float({k.size(q[3])}))"
    causal = "true" if node.attrs["causal"] else "false"
    workspace = k.workspace(workspace_bytes(q[3], v[3], node.inputs[0].dtype.itemsize))
    k.body(
        f"ait_ops_attention::attention<{t}>({{{sizes}}}, {{{scale}, {causal}, 0}}, {', '.join(tensors)}, {score}, {out}, "
        f"{workspace}, ctx.threads);"
    )


def accepts(node: Node, target) -> str | None:
    """Why the kernel cannot serve a node, or None."""
    q, key, v = node.inputs[:3]
    if len({q.dtype, key.dtype, v.dtype}) > 1:
        return "q, k and v have different dtypes"
    if q.dtype.name not in ("float32", "float64", "float16", "bfloat16"):
        return f"no tile kernel for {q.dtype}"
    lead = [x.shape[:-3] for x in (q, key, v)]
    if not all(dims.same_shape(s, lead[0]) for s in lead):
        return "leading axes broadcast"
    mask = node.inputs[3]
    if mask is not None and mask.type.rank > 4 and not dims.same_shape(mask.shape[:-3], q.shape[:-3]):
        return "several leading axes of the mask broadcast"
    return None


flash = Kernel(
    name="attention.cpu.flash",
    op="attention.scaled_dot_product",
    target="cpu",
    headers=("ait_ops_attention/cpu/attention.h",),
    absorbs=Absorbs(epilogue=True, prologue=frozenset({"mask"}), strided=frozenset({"q", "k", "v"})),
    accepts=accepts,
    shapes=shapes,
    render=render,
)
