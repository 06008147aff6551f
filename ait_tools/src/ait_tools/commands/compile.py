# SPDX-License-Identifier: Apache-2.0
"""``ait compile``: a model into one shared library."""

from __future__ import annotations

from pathlib import Path

import click

from ait_core.cli._output import json_option, output, size
from ait_core.errors import InputError
from ait_tools import options
from ait_tools.source import find, open_model


@click.command("compile")
@options.model_argument
@options.import_options
@click.option("--out", type=click.Path(dir_okay=False), help="Where it goes. Default: NAME.so in this directory.")
@click.option("--weights", type=click.Choice(["embedded", "beside"]), default="embedded", show_default=True,
              help="Inside the library, or in a .safetensors beside it.")  # fmt: skip
@click.option("--keep", type=click.Path(file_okay=False), help="A folder for the sources; they compile there by themselves.")
@options.jobs_option
@json_option
def command(model: str, target: str | None, dtype: str | None, disable: tuple[str, ...], out: str | None, weights: str,
            keep: str | None, jobs: int | None) -> None:  # fmt: skip
    """Compile MODEL: file.py:name, package.module:name, or a file that a frontend reads (model.pt2).

    The name stands for a model, a function that makes one, or a tuple or dict of a model with its example inputs and
    dynamic shapes.
    """
    from ait_core.build.driver import deliver
    from ait_runtime.weights_file import write_weights
    from ait_tools.build import compile_plan, make_plan, progress

    path = Path(out) if out else Path(f"{_stem(model)}.so")
    if path.suffix != ".so":
        raise InputError(f"A compiled model is called .so, or `ait run` would not know it; got {path}.")
    with progress() as step:
        step("import", 0, 0)
        opened = open_model(model, dtype)
        step("plan", 0, 0)
        plan = make_plan(opened, target, options.names(disable))
        made = compile_plan(plan, opened, embed=weights == "embedded", jobs=jobs, keep=options.as_path(keep), progress=step)
    deliver(made.built, path)
    beside = path.with_suffix(".safetensors") if made.weights else None
    if beside:
        write_weights(beside, made.weights)  # type: ignore[arg-type]
    m = made.manifest
    peak = m["weights_bytes"] + m["derived_bytes"] + m["peak_bytes"]
    data = {
        "artifact": str(path), "bytes": path.stat().st_size, "weights": str(beside) if beside else None,
        "target": m["target"], "kernels": len(m["kernels"]), "weights_bytes": m["weights_bytes"],
        "derived_bytes": m["derived_bytes"], "arena_bytes": m["peak_bytes"], "peak_bytes": peak,
        "build_seconds": made.seconds, "compiled_units": made.built.compiled,
    }  # fmt: skip

    def show() -> None:
        click.echo(f"{path}  {size(data['bytes'])}, for {m['target']}" + (f", weights in {beside}" if beside else ""))
        click.echo(f"{len(m['kernels'])} kernels, {made.built.compiled} units compiled in {made.seconds:.1f} s")
        click.echo(f"at most {size(peak)} in use: weights {size(m['weights_bytes'])}, made from them at load "
                   f"{size(m['derived_bytes'])}, activations {size(m['peak_bytes'])} at the largest sizes")  # fmt: skip

    output(data, show)


def _stem(model: str) -> str:
    """``resnet`` for ``nets/resnet.py:build`` and for ``resnet.pt2``; ``nets_resnet`` for ``nets.resnet:build``."""
    where, colon, _ = model.rpartition(":")
    if not colon:
        find(model)  # says what a model is, before a name is made of what is none
    return (Path(where or model).stem if "/" in model or model.endswith(".pt2") or ".py:" in model
            else (where or model).replace(".", "_"))  # fmt: skip
