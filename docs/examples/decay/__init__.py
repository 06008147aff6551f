# SPDX-License-Identifier: Apache-2.0
"""A pack with one op and a kernel for it: the exponentially decaying average along the last axis."""

from pathlib import Path

import numpy as np

from ait_core.declare.kernel import Absorbs, Kernel, KernelBuilder
from ait_core.declare.op import opaque
from ait_core.ir import dims
from ait_core.plugins.hooks import hookimpl

API_VERSION = 1


def _average(x: np.ndarray, *, keep: float) -> np.ndarray:
    y = x.astype(np.float64)
    for i in range(1, x.shape[-1]):
        y[..., i] = keep * y[..., i - 1] + (1 - keep) * y[..., i]
    return y.astype(x.dtype)


@opaque("decay.average", infer=lambda x, *, keep: x, reference=_average)
def average(x, *, keep: float):
    """``y[0] = x[0]``, ``y[i] = keep * y[i - 1] + (1 - keep) * x[i]`` along the last axis."""


def _render(k: KernelBuilder) -> None:
    x = k.node.inputs[0]
    rows, n = shape = dims.prod(x.shape[:-1]), x.shape[-1]
    sizes, keep = f"{k.size(rows)}, {k.size(n)}", repr(float(k.node.attrs["keep"]))
    k.body(f"decay::average({sizes}, {keep}, {k.reader('x', shape)}, {k.writer(shape)}, ctx.threads);")


cpu = Kernel(
    name="decay.cpu.average",
    op="decay.average",
    target="cpu",
    headers=("decay/cpu/average.h",),
    absorbs=Absorbs(epilogue=True, prologue=frozenset({"x"}), reads_once=frozenset({"x"})),
    accepts=lambda node, target: None if node.inputs[0].dtype.is_float else "only floating point is averaged",
    render=_render,
)


@hookimpl
def ait_ops():
    return [average]


@hookimpl
def ait_kernels():
    return [cpu]


@hookimpl
def ait_includes():
    return [Path(__file__).parent / "include"]
