# SPDX-License-Identifier: Apache-2.0
"""The CPU kernel template of causal smoothing: how the compiler calls the header."""

from ait_core.declare.kernel import Absorbs, Kernel, KernelBuilder
from ait_core.ir import dims


def _render(k: KernelBuilder) -> None:
    """``causal_smooth<T>(batch, length, channels, decay, x, out, threads)``."""
    *lead, length, channels = k.node.output.shape
    shape = (dims.prod(lead), length, channels)
    sizes = ", ".join(k.size(n) for n in shape)
    k.body(
        f"acme_ait_ops::causal_smooth<{k.node.output.dtype.compute}>({sizes}, {float(k.node.attrs['decay'])!r}, "
        f"{k.reader('x', shape)}, {k.writer(shape)}, ctx.threads);"
    )


smooth = Kernel(
    name="acme.cpu.causal_smooth",
    op="acme.causal_smooth",
    target="cpu",
    headers=("acme_ait_ops/cpu/causal_smooth.h",),
    absorbs=Absorbs(epilogue=True, prologue=frozenset({"x"}), reads_once=frozenset({"x"})),
    render=_render,
)
