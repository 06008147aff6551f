# SPDX-License-Identifier: Apache-2.0
"""``ait run``: one call of a model."""

from __future__ import annotations

import time

import click

from ait_core.errors import InputError
from ait_tools import options
from ait_tools.output import json_option, output, table


@click.command("run")
@options.model_argument
@options.input_options
@options.how_options
@options.threads_option
@click.option("--out", type=click.Path(dir_okay=False), help="An .npz that receives the outputs by name.")
@json_option
def command(model: str, inputs: options.Inputs, how: options.How, threads: int | None, out: str | None) -> None:
    """Run MODEL (model.so, or file.py:name, which is compiled first) once, on random inputs or on those of files."""
    import numpy as np

    from ait_runtime.weights_file import replacing
    from ait_tools.build import call, ready
    from ait_tools.inputs import summary

    if out and not out.endswith(".npz"):
        raise InputError(f"--out is an .npz file; got {out}.")
    loaded, interface = ready(model, how, threads)
    sizes, given = inputs.make(interface)
    start = time.perf_counter()
    arrays = call(loaded, given)
    seconds = time.perf_counter() - start
    if out:
        with replacing(out) as file:
            np.savez(file, **arrays)
    told = {kind: [summary(n, a) for n, a in some.items()] for kind, some in (("input", given), ("output", arrays))}
    data = {
        "model": model,
        "sizes": sizes,
        "seconds": seconds,
        "threads": loaded.threads,
        "inputs": told["input"],
        "outputs": told["output"],
        "out": out,
    }

    def show() -> None:
        rows = [
            (kind, s["name"], s["dtype"], "x".join(map(str, s["shape"])) or "scalar")
            + tuple(f"{s[k]:.6g}" if k in s else "" for k in ("min", "max", "mean"))
            + (s["not_finite"] or "",)
            for kind, some in told.items()
            for s in some
        ]
        table(("", "name", "dtype", "shape", "min", "max", "mean", "not finite"), rows)
        click.echo(f"{seconds * 1e3:.3f} ms, {loaded.threads} threads" + (f"; outputs in {out}" if out else ""))

    output(data, show)
