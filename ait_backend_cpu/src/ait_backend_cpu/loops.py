# SPDX-License-Identifier: Apache-2.0
"""Loop kernels for the CPU: rows over threads, the innermost loop in SIMD."""

from __future__ import annotations

from ait_core.codegen.cpp import ROW, indent
from ait_core.codegen.kernel import THREADS, SourceBuilder
from ait_core.codegen.loops import emit_row
from ait_core.fuse.nest import LoopNest, cost
from ait_core.ir import dims
from ait_core.ir.dims import Dim

GRAIN = 16384  # additions of work below which a second thread does not pay


def emit(nest: LoopNest, k: SourceBuilder) -> None:
    """Write the body of a loop kernel."""
    memo: dict = {}
    work: Dim = 1
    for s in nest.stages:
        work = work + dims.prod(v.size for v in s.loops) * sum(1 + cost(e, memo) for e in s.exprs())
    rows = nest.rows.size  # type: ignore[union-attr]
    flat = len(nest.stages) == 1 and len(nest.stages[0].loops) == 1 and not nest.stages[0].reduces
    if rows == 1 and flat:
        _emit_flat(nest, k, work)
        return
    scratch = "nullptr"
    if nest.scratch_bytes() != 0:
        each = nest.scratch_bytes()
        scratch = f"{k.workspace(THREADS * each)} + thread * {k.emitter.size(each)}"
    row = k.top.child(*([] if rows == 1 else [nest.rows.name]), ROW)  # type: ignore[union-attr]
    emit_row(nest, k.emitter, row, "scratch")
    k.body(
        f"ait::parallel_for({k.size(rows)}, 1 + {GRAIN} / ({k.size(dims.as_dim(work))}), ctx.threads, "
        "[&](ait::index_t begin, ait::index_t end, [[maybe_unused]] int thread) {"
    )
    k.top.lines += [
        f"  [[maybe_unused]] char* scratch = {scratch};",
        "  for (ait::index_t row = begin; row < end; ++row) {",
        *indent(row.lines, 2),
        "  }",
        "});",
    ]


def _emit_flat(nest: LoopNest, k: SourceBuilder, work: Dim) -> None:
    """One loop over everything: threads take stretches of it."""
    stage = nest.stages[0]
    loop = stage.loops[0]
    row = k.top.child(ROW)
    body = row.child(loop.name)
    for s in stage.stores:
        k.emitter.store(s.value, s.coords, s.expr, body)
    each = dims.bounds(work)[0] // max(1, dims.bounds(loop.size)[0]) or 1
    k.body(
        f"ait::parallel_for({k.size(loop.size)}, 1 + {GRAIN} / {each}, ctx.threads, "
        "[&](ait::index_t begin, ait::index_t end, int) {"
    )
    k.top.lines += [
        *indent(row.lines),
        "  #pragma omp simd".strip(),
        f"  for (ait::index_t {loop.name} = begin; {loop.name} < end; ++{loop.name}) {{",
        *indent(body.lines, 2),
        "  }",
        "});",
    ]
