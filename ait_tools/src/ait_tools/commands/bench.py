# SPDX-License-Identifier: Apache-2.0
"""``ait bench``: how long a call takes, which kernels take it, and how far they are from what the machine can do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ait_core.cli._output import json_option, output, table
from ait_tools import options

if TYPE_CHECKING:
    import numpy as np

    from ait_runtime.model import Model


@click.command("bench")
@options.model_argument
@options.input_options
@options.import_options
@options.threads_option
@click.option("--runs", type=click.IntRange(1), default=50, show_default=True, help="Calls that are timed.")
@click.option("--warmup", type=click.IntRange(0), default=5, show_default=True, help="Calls before, which are not.")
@click.option("--peak/--no-peak", default=True, help="Measure the machine's peak (about a second), to compare with.")
@json_option
def command(model: str, dims: tuple[str, ...], shapes: tuple[str, ...], files: tuple[str, ...], ranges: tuple[str, ...],
            seed: int, target: str | None, dtype: str | None, disable: tuple[str, ...], threads: int | None, runs: int,
            warmup: int, peak: bool) -> None:  # fmt: skip
    """Time MODEL (model.so, or file.py:name, which is compiled first), as a whole and kernel by kernel.

    A kernel's roofline is the time the machine needs at least: its arithmetic at the peak rate or its traffic at the
    bandwidth of main memory, whichever is longer. What fits into caches may be faster than that.
    """
    from ait_core.plugins.registry import registry
    from ait_tools.build import ready
    from ait_tools.work import kernels

    loaded, interface = ready(model, target=target, dtype=dtype, disable=disable, threads=threads)
    sizes, given = options.inputs(interface, dims, shapes, files, ranges, seed)
    seconds = time_calls(loaded, given, runs, warmup)
    backend = registry().backends.get(loaded.manifest["target"].partition(":")[0])
    limits = dict(backend.peak(loaded.threads)) if peak and backend else {}
    took = {g.name: g.seconds for g in loaded.profile(runs=runs, **given)}
    groups = [row(k, took[k.name], limits) for k in kernels(loaded.manifest, sizes)]
    total = sum(g["seconds"] for g in groups)
    data = {"model": model, "target": loaded.manifest["target"], "threads": loaded.threads, "sizes": sizes, "runs": runs,
            "call": seconds, "kernels_seconds": total, "peak": limits, "groups": groups}  # fmt: skip

    def show() -> None:
        at = ", ".join(f"{n}={s}" for n, s in sizes.items()) or "fixed sizes"
        click.echo(f"{model} at {at}, {loaded.threads} threads, {data['target']}")
        click.echo(f"call  median {_us(seconds['median'])}  p95 {_us(seconds['p95'])}  min {_us(seconds['min'])}  "
                   f"({runs} runs; kernels {_us(total)})")  # fmt: skip
        if limits:
            click.echo(f"peak  {limits['flops'] / 1e9:.0f} GFLOP/s, {limits['bytes_per_second'] / 1e9:.1f} GB/s")
        columns = ("kernel", "ops", "time", "share", "GFLOP/s", "GB/s", "of roofline")
        table(columns, [
            (g["name"], g["ops"], _us(g["seconds"]), f"{g['seconds'] / total:.0%}" if total else "", _g(g["flops_per_second"]),
             _g(g["bytes_per_second"]), "" if g["of_roofline"] is None else f"{g['of_roofline']:.0%}")
            for g in groups
        ])  # fmt: skip

    output(data, show)


def time_calls(model: Model, given: dict[str, np.ndarray], runs: int, warmup: int) -> dict[str, float]:
    """Seconds of one call over ``runs`` calls: median, 95th percentile, least and mean."""
    import numpy as np

    for _ in range(warmup):
        model(**given)
    times = np.empty(runs)
    for i in range(runs):
        start = time.perf_counter()
        model(**given)
        times[i] = time.perf_counter() - start
    return {"median": float(np.median(times)), "p95": float(np.percentile(times, 95)), "min": float(times.min()),
            "mean": float(times.mean())}  # fmt: skip


def row(kernel: Any, seconds: float, peak: dict[str, float]) -> dict[str, Any]:
    """One kernel's line: what it does, how fast, and the fraction of the roofline's rate that it reaches."""
    least = kernel.least_seconds(peak)
    rate = (lambda amount: amount / seconds if amount is not None and seconds else None)
    return {
        "name": kernel.name, "ops": kernel.ops, "seconds": seconds, "flops": kernel.flops, "bytes": kernel.bytes,
        "flops_per_second": rate(kernel.flops), "bytes_per_second": rate(kernel.bytes), "roofline_seconds": least,
        "of_roofline": rate(least),
    }  # fmt: skip


def _us(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def _g(rate: float | None) -> str:
    return "" if rate is None else f"{rate / 1e9:.1f}"
