# SPDX-License-Identifier: Apache-2.0
"""A third-party pack whose kernel is wrong: it doubles all elements but the fifth of each row."""

from pathlib import Path

from ait_core.declare.kernel import Absorbs, Kernel, KernelBuilder
from ait_core.declare.op import opaque
from ait_core.plugins.hooks import hookimpl

HEADER = """// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ait/program.h"
namespace broken_pack {
template <class In, class Out>
void twice(ait::index_t rows, ait::index_t n, const In& in, const Out& out) {
  for (ait::index_t i = 0; i < rows; ++i) {
    auto x = in.row(i);
    auto y = out.row(i);
    for (ait::index_t j = 0; j < n; ++j) y(j, j == 4 ? x(j) : 2 * x(j));
  }
}
}  // namespace broken_pack
"""


@opaque("broken.twice", infer=lambda x: x, reference=lambda x: x * 2, flops=lambda x: x.numel)
def twice(x):
    """Two times ``x``, a matrix."""


def render(k: KernelBuilder) -> None:
    rows, n = k.node.output.shape
    k.body(f"broken_pack::twice({k.size(rows)}, {k.size(n)}, {k.reader('x')}, {k.writer()});")


kernel = Kernel(
    name="broken.cpu.twice",
    op="broken.twice",
    target="cpu",
    headers=("broken_pack/twice.h",),
    absorbs=Absorbs(epilogue=True, prologue=frozenset({"x"})),
    render=render,
)


class Plugin:
    """The hooks of a pack whose header lies below ``include``."""

    def __init__(self, include: Path) -> None:
        self.include = include
        (include / "broken_pack").mkdir(parents=True)
        (include / "broken_pack" / "twice.h").write_text(HEADER)

    @hookimpl
    def ait_ops(self):
        return [twice]

    @hookimpl
    def ait_kernels(self):
        return [kernel]

    @hookimpl
    def ait_includes(self):
        return [self.include]


def model():
    """A right kernel, the wrong one with its neighbours, and right ones after it."""
    import ait_core as ait
    import ait_ops_gemm as gemm
    import ait_ops_tensor as t

    x = ait.input("x", (ait.dim("n", 1, 16), 6))
    w = ait.constant([[float(i == j) for j in range(6)] for i in range(6)], "w")
    before = gemm.matmul(x, w)
    wrong = t.add(twice(t.exp(before)), 1.0)
    wrong.node.source = "model.py:7"
    return ait.Graph({"y": gemm.matmul(wrong, w), "total": t.sum(wrong, axes=(1,))})


def narrow():
    """The same op where its mistake cannot show."""
    import ait_core as ait

    return ait.Graph({"y": twice(ait.input("x", (3, 4)))})
