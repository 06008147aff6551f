# SPDX-License-Identifier: Apache-2.0
"""``ait explain``: what was fused, where results go, and why the rest was not."""

from __future__ import annotations

import click

from ait_core.errors import InputError
from ait_tools import options
from ait_tools.output import json_option, output, table


@click.command("explain")
@click.argument("model", required=False)
@options.how_options
@options.size_options
@click.option("--list-passes", is_flag=True, help="List what --disable can switch off.")
@json_option
def command(model: str | None, how: options.How, sizes: options.Sizes, list_passes: bool) -> None:
    """Show what the compiler decides for MODEL (file.py:name): every kernel with what it absorbed and where its results
    go, and for every value that passes through memory, why. Nothing is compiled."""
    from ait_tools.interface import Interface
    from ait_tools.report import report
    from ait_tools.text import text

    if list_passes:
        found = list(switches().items())
        output([{"name": n, "doc": d} for n, d in found], lambda: table(("name", "what it does"), found))
        return
    if model is None:
        raise InputError("Which model? Write `ait explain file.py:name`, or `ait explain --list-passes`.")
    opened = how.open(model)
    at = sizes.of(Interface.of_source(opened))
    data = {"model": model, **report(how.plan(opened), at)}
    output(data, lambda: click.echo(text(data)))


def switches() -> dict[str, str]:
    """Everything that can be switched off, with one line on each."""
    from ait_core.compiler import FUSIONS, switches
    from ait_core.passes.pipeline import Pass, default_passes

    passes = [p for item in default_passes() for p in ([item] if isinstance(item, Pass) else item)]
    docs = {p.name: " ".join(p.doc.split()) for p in passes} | FUSIONS
    return {n: docs[n] for n in switches()}
