# SPDX-License-Identifier: Apache-2.0
"""``ait verify``: a compiled model beside the NumPy references of its ops."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import click

from ait_core.errors import InputError
from ait_tools import options
from ait_tools.output import json_option, output, table

if TYPE_CHECKING:
    from ait_runtime.model import Model
    from ait_tools.interface import Interface
    from ait_tools.source import Opened


@click.command("verify")
@options.model_argument
@options.input_options
@options.how_options
@options.threads_option
@click.option("--source", metavar="FILE.py:NAME", help="What a model.so was compiled from. Default: what it says.")
@click.option("--rtol", type=click.FloatRange(0), help="Relative error allowed. Default: by the coarsest float.")
@click.option("--groups", is_flag=True, help="Judge every kernel, also where the outputs agree.")
@json_option
def command(
    model: str,
    inputs: options.Inputs,
    how: options.How,
    threads: int | None,
    source: str | None,
    rtol: float | None,
    groups: bool,
) -> None:
    """Run MODEL (model.so, or file.py:name) beside the NumPy references of its ops, and compare all outputs.

    Without sizes or files it tries several sizes of the dims. Where the outputs disagree, it compiles the model once
    more so that every kernel's results can be seen, and names the first kernel that is wrong while what it reads is
    right. Exits with 1 if anything disagrees. The source that a model.so names is run: only verify files you trust.
    """
    from ait_core.ir.graph import run_reference
    from ait_tools.build import call
    from ait_tools.compare import cases, difference, tolerance
    from ait_tools.judge import judge

    opened, loaded, how = _open(model, how, threads, source)
    interface = _interface(opened, loaded)
    rtol = tolerance(opened.graph) if rtol is None else rtol
    tries = [inputs]
    if not (inputs.dims or inputs.shapes or inputs.files):
        tries = [
            dataclasses.replace(inputs, dims=tuple(f"{n}={s}" for n, s in sizes.items()), seed=inputs.seed + i)
            for i, sizes in enumerate(cases(interface, opened.graph))
        ]
    done, suspect = [], None
    for sizes, given in (t.make(interface) for t in tries):
        got = call(loaded, given)
        start = time.perf_counter()
        want = run_reference(opened.graph, given)
        seconds = time.perf_counter() - start
        found = [difference(n, got[n], want[n], rtol) for n in want]
        agrees = all(d.agrees for d in found)
        results = [dataclasses.asdict(d) for d in found]
        done.append({"sizes": sizes, "agrees": agrees, "outputs": results, "reference_seconds": seconds})
        suspect = given if suspect is None and not agrees else suspect
    agrees = suspect is None
    judged = [] if agrees and not groups else judge(opened, how, suspect or given, rtol, threads)
    first = next((j for j in judged if not j["agrees"]), None)
    agrees &= first is None
    data = {"model": model, "rtol": rtol, "agrees": agrees, "cases": done, "first_wrong": first, "groups": judged}
    output(data, lambda: _show(data))
    click.get_current_context().exit(0 if agrees else 1)


def _open(model: str, how: options.How, threads: int | None, source: str | None) -> tuple[Opened, Model, options.How]:
    """The source, the compiled model, and how to compile the source as that was."""
    from ait_runtime.model import Model
    from ait_tools.build import compile_model, progress
    from ait_tools.compare import with_weights
    from ait_tools.source import artifact

    path = artifact(model)
    if path is None:
        if source:
            raise InputError(f"--source goes with a model.so; {model} is a source itself.")
        with progress() as step:
            opened = how.open(model)
            return opened, compile_model(opened, how, step).load(threads), how
    how.refuse(model)
    loaded = Model(path, None, threads)
    source = source or loaded.manifest.get("source")
    if not source:
        raise InputError(f"{model} does not say what it was compiled from: give --source file.py:name.")
    how = options.How.of_manifest(loaded.manifest)
    opened = how.open(source)
    opened = dataclasses.replace(opened, graph=with_weights(opened.graph, loaded.weights()))
    return opened, loaded, how


def _interface(opened: Opened, loaded: Model) -> Interface:
    from ait_tools.interface import Interface

    ours, theirs = Interface.of_source(opened), Interface.of_manifest(loaded.manifest)
    for kind in ("inputs", "outputs"):
        a, b = ([f"{t.name}: {t}" for t in getattr(i, kind)] for i in (ours, theirs))
        if a != b:
            raise InputError(
                f"{loaded.path} was not compiled from {opened.name} as it is now. Its {kind} are {', '.join(b)}; those "
                f"of the source are {', '.join(a)}. Compile it again."
            )
    return ours


def _show(data: dict[str, Any]) -> None:
    rows = []
    for c in data["cases"]:
        sizes = ", ".join(f"{n}={s}" for n, s in c["sizes"].items()) or "fixed"
        for o in c["outputs"]:
            verdict = "ok" if o["agrees"] else f"WRONG at {o['at']}"
            rows.append((sizes, o["name"], f"{o['max_abs']:.2e}", f"{o['max_rel']:.2e}", verdict))
    table(("sizes", "output", "max abs error", "max rel error", ""), rows)
    if data["groups"]:
        rows = [(g["group"], g["ops"], g["value"], f"{g['max_rel']:.2e}", "ok" if g["agrees"] else "WRONG")
                for g in data["groups"]]  # fmt: skip
        table(("kernel", "ops", "value", "max rel error", ""), rows)
    wrong = data["first_wrong"]
    if data["agrees"]:
        click.echo(f"All agree with the references (relative error up to {data['rtol']:g} allowed).")
    elif wrong is None:
        click.echo(
            "The outputs disagree, but every kernel by itself agrees with the references on what it reads. Either "
            "rounding adds up (try --rtol), or memory is shared that must not be: please report it."
        )
    else:
        template = f", template {wrong['kernel']}" if wrong["kernel"] else ""
        source = f", from {wrong['source']}" if wrong["source"] else ""
        click.echo(
            f"The first kernel that is wrong: {wrong['group']} ({wrong['ops']}){template}{source}\n"
            f"  value {wrong['value']}: max abs error {wrong['max_abs']:.2e}, max rel error {wrong['max_rel']:.2e} at "
            f"{wrong['at']}; what it reads agrees: {', '.join(wrong['reads']) or 'weights only'}"
        )
