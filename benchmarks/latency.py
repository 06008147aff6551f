# SPDX-License-Identifier: Apache-2.0
"""Latency of a compiled model beside PyTorch eager and ``torch.compile``, as ratios of one run.

The three are measured in turn, several rounds, so that a machine whose speed drifts treats them alike; the median call
of the best round counts. All use the same number of threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SHAPES = ((1, 32), (1, 128), (8, 128))
ROUNDS = 5


@dataclass
class Row:
    """Milliseconds a call at one (batch, sequence)."""

    batch: int
    sequence: int
    ait: float
    eager: float
    compiled: float

    @property
    def ratio(self) -> float:
        """Of AIT to the better of the two others: below 1 is faster."""
        return self.ait / min(self.eager, self.compiled)


def milliseconds(call: Callable[[], Any], seconds: float) -> float:
    """Median time of one call, calling for about ``seconds``."""
    call()
    times = []
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or len(times) < 5:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times)


def compare(module: Any, model: Callable[..., Any], inputs: Callable[[int, int], tuple], threads: int = 2,
            seconds: float = 0.5, compiled: Any = None) -> list[Row]:  # fmt: skip
    """Measure ``model`` beside ``module`` and ``torch.compile(module)`` at all shapes."""
    import torch

    torch.set_num_threads(threads)
    torch.compiler.reset()  # what an earlier comparison compiled counts towards torch's limit of recompilations
    compiled = compiled or torch.compile(module, dynamic=False)
    rows = []
    with torch.inference_mode():
        for batch, sequence in SHAPES:
            args = inputs(batch, sequence)
            calls = [lambda f=f, args=args: f(*args) for f in (model, module, compiled)]
            for call in calls:
                call()
            best = [float("inf")] * 3
            for _ in range(ROUNDS):
                best = [min(b, milliseconds(call, seconds)) for b, call in zip(best, calls, strict=True)]
            rows.append(Row(batch, sequence, *best))
    return rows


def table(rows: list[Row]):
    """The rows as a rich table."""
    from rich.table import Table

    out = Table("batch, sequence", "AIT ms", "eager ms", "torch.compile ms", "ratio to the better",
                title="Latency, 2 threads, one artifact for all shapes")  # fmt: skip
    for r in rows:
        out.add_row(f"{r.batch}, {r.sequence}", f"{r.ait:.2f}", f"{r.eager:.2f}", f"{r.compiled:.2f}", f"{r.ratio:.2f}")
    return out
