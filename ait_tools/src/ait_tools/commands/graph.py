# SPDX-License-Identifier: Apache-2.0
"""``ait graph``: the graph before and after fusion, as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from ait_core.errors import InputError
from ait_tools import options
from ait_tools.output import json_option, output, size


@click.command("graph")
@options.model_argument
@options.how_options
@options.size_options
@click.option("--out", type=click.Path(dir_okay=False), help="Where it goes. Default: NAME.html in this directory.")
@json_option
def command(model: str, how: options.How, sizes: options.Sizes, out: str | None) -> None:
    """Draw MODEL (file.py:name) before and after fusion on one HTML page that needs nothing else.

    Nothing is compiled.
    """
    from ait_runtime.weights_file import replacing
    from ait_tools.diagram import after, before
    from ait_tools.interface import Interface
    from ait_tools.page import page
    from ait_tools.report import report
    from ait_tools.source import file_stem

    path = Path(out) if out else Path(f"{file_stem(model)}.html")
    if path.suffix not in (".html", ".htm"):
        raise InputError(f"--out is an .html file; got {path}.")
    opened = how.open(model)
    at = sizes.of(Interface.of_source(opened))
    plan = how.plan(opened)
    found = report(plan, at)
    diagrams = [before(plan.source_graph), after(plan, found, load_time=False)]
    load = after(plan, found, load_time=True)
    diagrams += [load] if load.items else []
    where = ", ".join(f"{n}={s}" for n, s in at.items()) or "fixed sizes"
    facts = [
        ("", found["target"]),
        ("nodes", str(found["nodes"]["source"])),
        ("kernels", str(found["launches"])),
        (f"moved at {where}, {size(found['bytes_unfused'])} unfused", size(found["bytes"])),
    ]
    with replacing(path) as file:
        file.write(page(model, facts, diagrams).encode("utf-8"))
    data = {
        "out": str(path),
        "bytes": path.stat().st_size,
        "nodes": found["nodes"]["source"],
        "kernels": found["launches"],
    }
    output(data, lambda: click.echo("{out}  {nodes} nodes, {kernels} kernels".format(**data)))
