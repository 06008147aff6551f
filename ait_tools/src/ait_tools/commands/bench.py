# SPDX-License-Identifier: Apache-2.0
"""``ait bench``: how long a call takes, which kernels take it, and how far they are from what the machine can do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ait_tools import options
from ait_tools.output import json_option, output, table

if TYPE_CHECKING:
    import numpy as np

    from ait_runtime.model import Model
    from ait_tools.work import Kernel


@click.command("bench")
@options.model_argument
@options.input_options
@options.how_options
@options.threads_option
@click.option("--runs", type=click.IntRange(1), default=50, show_default=True, help="Calls that are timed.")
@click.option("--warmup", type=click.IntRange(0), default=5, show_default=True, help="Calls before, which are not.")
@click.option("--peak/--no-peak", default=True, help="Measure the machine's peak (some seconds), to compare with.")
@json_option
def command(
    model: str,
    inputs: options.Inputs,
    how: options.How,
    threads: int | None,
    runs: int,
    warmup: int,
    peak: bool,
) -> None:
    """Time MODEL (model.so, or file.py:name, which is compiled first), as a whole and kernel by kernel.

    A kernel's roofline is the time the machine needs at least: its arithmetic at the peak rate of float32, or its
    traffic at the bandwidth of main memory, whichever is longer. What fits into caches, or computes in a faster type,
    may beat it.
    """
    from ait_core.plugins.registry import registry
    from ait_tools.build import ready
    from ait_tools.work import kernels

    loaded, interface = ready(model, how, threads)
    sizes, given = inputs.make(interface)
    call = time_calls(loaded, given, runs, warmup)
    backend = registry().backends.get(loaded.manifest["target"].partition(":")[0])
    limits = dict(backend.peak(loaded.threads)) if peak and backend else {}
    took = {g.name: g.seconds for g in loaded.profile(runs=runs, **given)}
    groups = [row(k, took[k.name], limits) for k in kernels(loaded.manifest, sizes)]
    total = sum(g["seconds"] for g in groups)
    data = {
        "model": model,
        "target": loaded.manifest["target"],
        "threads": loaded.threads,
        "sizes": sizes,
        "runs": runs,
        "call": call,
        "kernels_seconds": total,
        "peak": limits,
        "groups": groups,
    }
    output(data, lambda: _show(data))


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
    found = {"median": np.median(times), "p95": np.percentile(times, 95), "min": times.min(), "mean": times.mean()}
    return {k: float(v) for k, v in found.items()}


def row(kernel: Kernel, seconds: float, peak: dict[str, float]) -> dict[str, Any]:
    """One kernel's line: what it does, how fast, and the fraction of the roofline's rate that it reaches."""

    def rate(amount: float | None) -> float | None:
        return amount / seconds if amount is not None and seconds else None

    least = kernel.least_seconds(peak)
    return {
        "name": kernel.name,
        "ops": kernel.ops,
        "seconds": seconds,
        "flops": kernel.flops,
        "bytes": kernel.bytes,
        "flops_per_second": rate(kernel.flops),
        "bytes_per_second": rate(kernel.bytes),
        "roofline_seconds": least,
        "of_roofline": rate(least),
    }


def _show(data: dict[str, Any]) -> None:
    at = ", ".join(f"{n}={s}" for n, s in data["sizes"].items()) or "fixed sizes"
    click.echo(f"{data['model']} at {at}, {data['threads']} threads, {data['target']}")
    times = "  ".join(f"{k} {_time(data['call'][k])}" for k in ("median", "p95", "min"))
    click.echo(f"call  {times}  ({data['runs']} runs; kernels {_time(data['kernels_seconds'])})")
    for what, unit in (("flops", "GFLOP/s"), ("bytes_per_second", "GB/s")):
        if what in data["peak"]:
            click.echo(f"peak  {data['peak'][what] / 1e9:.1f} {unit}")
    rows = []
    for g in data["groups"]:
        share = f"{g['seconds'] / data['kernels_seconds']:.0%}" if data["kernels_seconds"] else ""
        rates = ("" if g[k] is None else f"{g[k] / 1e9:.1f}" for k in ("flops_per_second", "bytes_per_second"))
        reached = "" if g["of_roofline"] is None else f"{g['of_roofline']:.0%}"
        rows.append((g["name"], g["ops"], _time(g["seconds"]), share, *rates, reached))
    table(("kernel", "ops", "time", "share", "GFLOP/s", "GB/s", "of roofline"), rows)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"
