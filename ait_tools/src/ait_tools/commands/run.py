# SPDX-License-Identifier: Apache-2.0
"""``ait run``: one call of a model."""

from __future__ import annotations

import time

import click

from ait_core.cli._output import json_option, output, table
from ait_core.errors import InputError
from ait_tools import options


@click.command("run")
@options.model_argument
@options.input_options
@options.import_options
@options.threads_option
@click.option("--out", type=click.Path(dir_okay=False), help="An .npz that receives the outputs by name.")
@json_option
def command(model: str, dims: tuple[str, ...], shapes: tuple[str, ...], files: tuple[str, ...], ranges: tuple[str, ...],
            seed: int, target: str | None, dtype: str | None, disable: tuple[str, ...], threads: int | None,
            out: str | None) -> None:  # fmt: skip
    """Run MODEL (model.so, or file.py:name, which is compiled first) once, on random inputs or on those of files."""
    import numpy as np

    from ait_runtime.weights_file import replacing
    from ait_tools.build import ready
    from ait_tools.inputs import summary

    if out and not out.endswith(".npz"):
        raise InputError(f"--out is an .npz file; got {out}.")
    loaded, interface = ready(model, target=target, dtype=dtype, disable=disable, threads=threads)
    sizes, given = options.inputs(interface, dims, shapes, files, ranges, seed)
    start = time.perf_counter()
    made = loaded(**given)
    seconds = time.perf_counter() - start
    many = made if isinstance(made, tuple) else (made,)
    arrays = {t.name: np.asarray(a) for t, a in zip(interface.outputs, many, strict=True)}
    if out:
        with replacing(out) as file:
            np.savez(file, **arrays)
    inputs, outputs = ([summary(n, a) for n, a in some.items()] for some in (given, arrays))
    data = {"model": model, "sizes": sizes, "seconds": seconds, "threads": loaded.threads, "inputs": inputs,
            "outputs": outputs, "out": out}  # fmt: skip

    def show() -> None:
        rows = [
            (kind, s["name"], s["dtype"], "x".join(map(str, s["shape"])) or "scalar",
             *(f"{s[k]:.6g}" if k in s else "" for k in ("min", "max", "mean")), s["not_finite"] or "")
            for kind, some in (("input", inputs), ("output", outputs)) for s in some
        ]  # fmt: skip
        table(("", "name", "dtype", "shape", "min", "max", "mean", "not finite"), rows)
        click.echo(f"{seconds * 1e3:.3f} ms, {loaded.threads} threads" + (f"; outputs in {out}" if out else ""))

    output(data, show)
