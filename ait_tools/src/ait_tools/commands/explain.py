# SPDX-License-Identifier: Apache-2.0
"""``ait explain``: what was fused, where results go, and why the rest was not."""

from __future__ import annotations

from typing import Any

import click

from ait_core.cli._output import json_option, output, size, table
from ait_core.errors import InputError
from ait_tools import options


@click.command("explain")
@click.argument("model", required=False)
@options.import_options
@options.size_options
@click.option("--list-passes", is_flag=True, help="List what --disable can switch off.")
@json_option
def command(model: str | None, target: str | None, dtype: str | None, disable: tuple[str, ...], dims: tuple[str, ...],
            shapes: tuple[str, ...], list_passes: bool) -> None:  # fmt: skip
    """Show what the compiler decides for MODEL (file.py:name): every kernel with what it absorbed and where its results
    go, and for every value that passes through memory, why. Nothing is compiled."""
    from ait_tools.build import make_plan
    from ait_tools.interface import Interface
    from ait_tools.report import report
    from ait_tools.source import open_model

    if list_passes:
        found = switches()
        output([{"name": n, "doc": d} for n, d in found.items()], lambda: table(("name", "what it does"), list(found.items())))
        return
    if model is None:
        raise InputError("Which model? Write `ait explain file.py:name`, or `ait explain --list-passes`.")
    opened = open_model(model, dtype)
    sizes = options.sizes(Interface.of_source(opened), dims, shapes)
    data = {"model": model, **report(make_plan(opened, target, options.names(disable)), sizes)}
    output(data, lambda: click.echo(text(data)))


def switches() -> dict[str, str]:
    """Everything that can be switched off, with one line on each."""
    from ait_core.compiler import FUSIONS, switches
    from ait_core.passes.pipeline import Pass, default_passes

    passes = [p for item in default_passes() for p in ([item] if isinstance(item, Pass) else item)]
    docs = {p.name: " ".join(p.doc.split()) for p in passes} | FUSIONS
    return {n: docs[n] for n in switches()}


def text(data: dict[str, Any]) -> str:
    """A report (:func:`ait_tools.report.report`) for people."""
    where = ", ".join(f"{n}={s}" for n, s in data["sizes"].items()) or "fixed sizes"
    saved = data["bytes_unfused"] - data["bytes"]
    lines = [
        f"{data['model']} for {data['target']}",
        f"{data['nodes']['source']} nodes, {data['nodes']['optimised']} after the passes, {data['launches']} kernel launches "
        f"a call, {data['load_launches']} at load",
        f"memory traffic of a call at {where}: {size(data['bytes'])}; unfused {size(data['bytes_unfused'])}, saved {size(saved)}",
    ]
    for g in data["groups"]:
        lines += ["", *_group(g)]
    _section(lines, "Horizontal merges", [
        f"{h['group']}: {h['branches']} products of one operand became one ({', '.join(h['shares'])})" for h in data["horizontal"]
    ])
    _section(lines, "Through memory, and why", [
        f"{e['value']} {e['type']}: {e['from']} -> {e['to']} ({e['reader']}.{e['operand']}): {e['reason']}" for e in data["edges"]
    ])
    _section(lines, "Fusions tried and refused", [f"{d['producer']} -> {d['consumer']}: {d['reason']}" for d in data["not_fused"]])
    _section(lines, "Copies", [f"{c['value']}: {c['reason']}" for c in data["copies"]])
    _section(lines, "Passes", [
        f"{p['name']:<18} {p['before']:>5} -> {p['after']:<5} nodes {p['seconds'] * 1e3:8.1f} ms"
        + ("" if p["changed"] else "  nothing to do") + "".join(f"\n      {n}" for n in p["notes"]) for p in data["passes"]
    ])  # fmt: skip
    return "\n".join(lines)


def _section(lines: list[str], title: str, rows: list[str]) -> None:
    lines += ["", title, *(f"  {r}" for r in rows or ["none"])]


def _group(g: dict[str, Any]) -> list[str]:
    saved = g["bytes_unfused"] - g["bytes"]
    when = "at load" if g["load_time"] else f"{g['launches']} launch{'es' if g['launches'] != 1 else ''}"
    lines = [f"{g['name']}  [{g['kernel']}, {when}, {size(g['bytes'])} moved" + (f", {size(saved)} saved]" if saved > 0 else "]")]
    for n in g["nodes"]:
        lines.append(_node(n, ""))
    for n in g["computed_again"]:
        lines.append(_node(n, ", computed again here"))
    for s in g["stores"]:
        where = {"arena": "the arena", "derived": "memory made at load", "output": "an output"}.get(s["space"], s["space"])
        lines.append(f"    stores {s['value']} {s['type']} in {where}" + (f", inside {s['into']}" if s["into"] else "")
                     + (f", strides {'x'.join(s['strides'])} from {s['offset']}" if s["strides"] else ""))  # fmt: skip
    return lines


def _node(n: dict[str, str], note: str) -> str:
    origin = f" of {n['origin']}" if n["origin"] and n["origin"] != n["op"] else ""
    return f"    {n['op']}{origin} -> {n['value']}{note}" + (f"  ({n['source']})" if n["source"] else "")
