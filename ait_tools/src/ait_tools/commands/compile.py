# SPDX-License-Identifier: Apache-2.0
"""``ait compile``: a model into one shared library."""

from __future__ import annotations

from pathlib import Path

import click

from ait_core.errors import InputError
from ait_tools import options
from ait_tools.output import json_option, output, size
from ait_tools.source import file_stem


@click.command("compile")
@options.model_argument
@options.how_options
@click.option("--out", type=click.Path(dir_okay=False), help="Where it goes. Default: NAME.so in this directory.")
@click.option(
    "--weights",
    type=click.Choice(["embedded", "beside"]),
    default="embedded",
    show_default=True,
    help="Inside the library, or in a .safetensors beside it.",
)
@click.option("--keep", type=click.Path(file_okay=False), help="A folder for the sources; they compile there alone.")
@options.jobs_option
@json_option
def command(model: str, how: options.How, out: str | None, weights: str, keep: str | None, jobs: int | None) -> None:
    """Compile MODEL: file.py:name, package.module:name, or a file that a frontend reads (model.pt2).

    The name stands for a model, a function that makes one, or a tuple or dict of a model with its example inputs and
    dynamic shapes.
    """
    from ait_core.build.driver import deliver
    from ait_runtime.weights_file import write_weights
    from ait_tools.build import compile_model, progress

    path = Path(out) if out else Path(f"{file_stem(model)}.so")
    if path.suffix != ".so":
        raise InputError(f"A compiled model is called .so, or `ait run` would not know it; got {path}.")
    with progress() as step:
        opened = how.open(model)
        kept = Path(keep) if keep else None
        made = compile_model(opened, how, step, embed=weights == "embedded", jobs=jobs, keep=kept)
    deliver(made.built, path)
    beside = path.with_suffix(".safetensors") if made.weights else None
    if beside and made.weights:
        write_weights(beside, made.weights)
    m = made.manifest
    parts = {"weights": m["weights_bytes"], "derived": m["derived_bytes"], "arena": m["peak_bytes"]}
    data = {
        "artifact": str(path),
        "bytes": path.stat().st_size,
        "weights": str(beside) if beside else None,
        "target": m["target"],
        "kernels": len(m["kernels"]),
        "memory": {**parts, "peak": sum(parts.values())},
        "build_seconds": made.seconds,
        "compiled_units": made.built.compiled,
    }

    def show() -> None:
        click.echo(f"{path}  {size(data['bytes'])}, for {m['target']}" + (f", weights in {beside}" if beside else ""))
        click.echo(f"{data['kernels']} kernels, {made.built.compiled} units compiled in {made.seconds:.1f} s")
        click.echo(
            f"at most {size(sum(parts.values()))} in use: weights {size(parts['weights'])}, made from them at load "
            f"{size(parts['derived'])}, activations {size(parts['arena'])} at the largest sizes"
        )

    output(data, show)
