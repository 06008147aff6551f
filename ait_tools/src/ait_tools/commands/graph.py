# SPDX-License-Identifier: Apache-2.0
"""``ait graph``: the graph before and after fusion, as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from ait_core.cli._output import json_option, output, size
from ait_core.errors import InputError
from ait_tools import options


@click.command("graph")
@options.model_argument
@options.import_options
@options.size_options
@click.option("--out", type=click.Path(dir_okay=False), help="Where it goes. Default: NAME.html in this directory.")
@json_option
def command(
    model: str,
    target: str | None,
    dtype: str | None,
    disable: tuple[str, ...],
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    out: str | None,
) -> None:
    """Draw MODEL (file.py:name) before and after fusion on one HTML page that needs nothing else. Nothing is compiled."""
    from ait_core.runtime.weights_file import replacing
    from ait_tools.build import make_plan
    from ait_tools.diagram import after, before
    from ait_tools.interface import Interface
    from ait_tools.page import page
    from ait_tools.report import report
    from ait_tools.source import file_stem, open_model

    opened = open_model(model, dtype)
    path = Path(out) if out else Path(f"{file_stem(model)}.html")
    if path.suffix not in (".html", ".htm"):
        raise InputError(f"--out is an .html file; got {path}.")
    sizes = options.sizes(Interface.of_source(opened), dims, shapes)
    plan = make_plan(opened, target, options.names(disable))
    found = report(plan, sizes)
    diagrams = [before(plan.source_graph), after(plan, found, load_time=False)]
    load = after(plan, found, load_time=True)
    diagrams += [load] if load.items else []
    where = ", ".join(f"{n}={s}" for n, s in sizes.items()) or "fixed sizes"
    facts = [
        ("", found["target"]),
        ("nodes", str(found["nodes"]["source"])),
        ("kernels", str(found["launches"])),
        (f"moved at {where}, {size(found['bytes_unfused'])} unfused", size(found["bytes"])),
    ]
    with replacing(path) as file:
        file.write(page(model, facts, diagrams).encode("utf-8"))
    data = {"out": str(path), "bytes": path.stat().st_size, "nodes": found["nodes"], "kernels": found["launches"]}
    output(
        data,
        lambda: click.echo(
            f"{path}  {size(data['bytes'])}: {found['nodes']['source']} nodes, {found['launches']} kernels"
        ),
    )
