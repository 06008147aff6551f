# SPDX-License-Identifier: Apache-2.0
"""``ait verify``: a compiled model beside the NumPy references of its ops."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import click

from ait_core.cli._output import json_option, output, table
from ait_core.errors import InputError
from ait_tools import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from ait_core.ir.graph import Graph
    from ait_runtime.model import Model
    from ait_tools.source import Opened


@click.command("verify")
@options.model_argument
@options.input_options
@options.import_options
@options.threads_option
@click.option("--source", metavar="FILE.py:NAME", help="What a model.so was compiled from. Default: what it says itself.")
@click.option("--rtol", type=click.FloatRange(0), help="Relative error that is allowed. Default: by the coarsest float.")
@click.option("--groups", is_flag=True, help="Judge every kernel, also where the outputs agree.")
@json_option
def command(model: str, dims: tuple[str, ...], shapes: tuple[str, ...], files: tuple[str, ...], ranges: tuple[str, ...],
            seed: int, target: str | None, dtype: str | None, disable: tuple[str, ...], threads: int | None,
            source: str | None, rtol: float | None, groups: bool) -> None:  # fmt: skip
    """Run MODEL (model.so, or file.py:name) beside the NumPy references of its ops, and compare all outputs.

    Without sizes or files it tries several sizes of the dims. Where the outputs disagree, it compiles the model once
    more so that every kernel's results can be seen, and names the first kernel that is wrong while what it reads is
    right. Exits with 1 if anything disagrees. The source that a model.so names is run: only verify files you trust.
    """
    from ait_core.ir.graph import run_reference
    from ait_tools.compare import cases, difference, tolerance

    opened, loaded, goal = _open(model, target, dtype, disable, threads, source)
    interface = _interface(opened, loaded)
    rtol = tolerance(opened.graph) if rtol is None else rtol
    tries: list[tuple[dict[str, int], Mapping[str, np.ndarray]]] = []
    if dims or shapes or files:
        tries.append(options.inputs(interface, dims, shapes, files, ranges, seed))
    else:
        for i, sizes in enumerate(cases(interface, opened.graph)):
            text = [f"{n}={s}" for n, s in sizes.items()]
            tries.append(options.inputs(interface, text, (), (), ranges, seed + i))
    done, wrong = [], None
    for sizes, given in tries:
        got = _call(loaded, given)
        start = time.perf_counter()
        want = run_reference(opened.graph, given)
        outputs = [difference(n, a, want[n], rtol) for n, a in zip(want, got, strict=True)]
        done.append({"sizes": sizes, "outputs": [dataclasses.asdict(d) for d in outputs],
                     "agrees": all(d.agrees for d in outputs), "reference_seconds": time.perf_counter() - start})  # fmt: skip
        if not done[-1]["agrees"] and wrong is None:
            wrong = given
    agrees = wrong is None
    judged = _judge(opened, goal, disable, wrong or tries[-1][1], rtol, threads) if wrong or groups else []
    first = next((j for j in judged if not j["agrees"]), None)
    agrees &= first is None
    data = {"model": model, "rtol": rtol, "agrees": agrees, "cases": done, "first_wrong": first, "groups": judged}
    output(data, lambda: _show(data))
    click.get_current_context().exit(0 if agrees else 1)


def _open(model: str, target: str | None, dtype: str | None, disable: tuple[str, ...], threads: int | None,
          source: str | None) -> tuple[Opened, Model, str | None]:  # fmt: skip
    """The source, the compiled model, and the target to compile for when kernels are to be seen."""
    from ait_runtime.model import Model
    from ait_tools.build import compile_plan, make_plan, progress
    from ait_tools.compare import with_weights
    from ait_tools.source import artifact, open_model

    options.no_import_options(model, target=target, dtype=dtype)
    path = artifact(model)
    if path is None:
        if source:
            raise InputError(f"--source goes with a model.so; {model} is a source itself.")
        with progress() as step:
            opened = open_model(model, dtype)
            plan = make_plan(opened, target, options.names(disable))
            return opened, compile_plan(plan, opened, progress=step).load(threads), target
    loaded = Model(path, None, threads)
    source = source or loaded.manifest.get("source")
    if not source:
        raise InputError(f"{model} does not say what it was compiled from: give --source file.py:name.")
    opened = open_model(source, loaded.manifest.get("dtype"))
    return dataclasses.replace(opened, graph=with_weights(opened.graph, loaded.weights())), loaded, loaded.manifest["target"]


def _interface(opened: Opened, loaded: Model) -> Any:
    from ait_tools.interface import Interface

    ours, theirs = Interface.of_source(opened), Interface.of_manifest(loaded.manifest)
    for kind in ("inputs", "outputs"):
        a, b = ([f"{t.name}: {t}" for t in getattr(i, kind)] for i in (ours, theirs))
        if a != b:
            raise InputError(f"{loaded.path} was not compiled from {opened.name} as it is now. Its {kind} are "
                             f"{', '.join(b)}; those of the source are {', '.join(a)}. Compile it again.")  # fmt: skip
    return ours


def _call(model: Model, given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    import numpy as np

    made = model(**given)
    return [np.asarray(a) for a in (made if isinstance(made, tuple) else (made,))]


def _judge(opened: Opened, target: str | None, disable: tuple[str, ...], given: Mapping[str, np.ndarray], rtol: float,
           threads: int | None) -> list[dict[str, Any]]:  # fmt: skip
    """Every stored value of every kernel beside the references."""
    from ait_tools.build import compile_plan, make_plan, progress
    from ait_tools.compare import group_differences, instrument

    with progress() as step:
        plan, stored = instrument(make_plan(opened, target, options.names(disable)))
        own = len(plan.graph.outputs) - len(stored)
        got = _call(compile_plan(plan, opened, progress=step).load(threads), given)[own:]
    return [
        {"group": g.name, "ops": g.ops, "kernel": g.kernel.name if g.kernel else None, "load_time": g.load_time,
         "source": next((n.source for n in g.members if n.source), ""), "reads": _reads(plan.graph, g), "value": d.name,
         **dataclasses.asdict(d)}
        for g, d in group_differences(plan.graph, stored, given, got, rtol)
    ]  # fmt: skip


def _reads(graph: Graph, group: Any) -> list[str]:
    inside = set(group.members)
    return list(dict.fromkeys(v.name for n in group.members for v in n.operands if v.node not in inside and not v.constant))


def _show(data: dict[str, Any]) -> None:
    rows = [
        (", ".join(f"{n}={s}" for n, s in c["sizes"].items()) or "fixed", o["name"], f"{o['max_abs']:.2e}",
         f"{o['max_rel']:.2e}", "ok" if o["agrees"] else f"WRONG at {o['at']}")
        for c in data["cases"] for o in c["outputs"]
    ]  # fmt: skip
    table(("sizes", "output", "max abs error", "max rel error", ""), rows)
    wrong = data["first_wrong"]
    if data["agrees"]:
        click.echo(f"All outputs agree with the references (relative error up to {data['rtol']:g} allowed).")
    elif wrong is None:
        click.echo("The outputs disagree, but every kernel by itself agrees with the references on what it reads. Either "
                   "rounding adds up (try --rtol), or memory is shared that must not be: please report it.")  # fmt: skip
    else:
        click.echo(f"The first kernel that is wrong: {wrong['group']} ({wrong['ops']})"
                   + (f", template {wrong['kernel']}" if wrong["kernel"] else "")
                   + (f", from {wrong['source']}" if wrong["source"] else ""))  # fmt: skip
        click.echo(f"  value {wrong['value']}: max abs error {wrong['max_abs']:.2e}, max rel error {wrong['max_rel']:.2e} "
                   f"at {wrong['at']}; what it reads agrees: {', '.join(wrong['reads']) or 'weights only'}")  # fmt: skip
