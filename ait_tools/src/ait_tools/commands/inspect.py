# SPDX-License-Identifier: Apache-2.0
"""``ait inspect``: what a compiled model says of itself. Not a byte of it runs."""

from __future__ import annotations

from typing import Any

import click

from ait_core.errors import InputError
from ait_tools.output import json_option, output, size, table
from ait_tools.source import artifact


@click.command("inspect")
@click.argument("model")
@json_option
def command(model: str) -> None:
    """Show what a compiled MODEL (model.so) was made by and for, its inputs, outputs, constants, kernels and memory."""
    from ait_runtime.artifact import read_artifact
    from ait_tools.interface import Interface

    path = artifact(model)
    if path is None:
        raise InputError(f"{model} is no compiled model: `ait inspect` reads a model.so. For a source: `ait explain`.")
    file = read_artifact(path)
    m = file.manifest
    interface = Interface.of_manifest(m)
    data = {"path": str(path), "bytes": path.stat().st_size, "abi": file.abi, **m}

    def show() -> None:
        lines = [
            f"{path}  {size(data['bytes'])}, ABI {file.abi}",
            f"producer  {m['producer']}, {m.get('compiler', 'unknown compiler')}",
            f"target    {m['target']}, needs {' '.join(m['isa']) or 'nothing special'}",
            f"source    {m.get('source', 'not recorded')}",
            f"plugins   {', '.join(f'{n} {v}' for n, v in m['plugins'].items())}",
            f"memory    {size(m['weights_bytes'])} weights ({'inside' if m['embedded'] else 'beside'}), "
            f"{size(m['derived_bytes'])} made from them at load, {size(m['peak_bytes'])} activations at most",
        ]
        click.echo("\n".join(lines) + "\n")
        rows: list[tuple[Any, ...]] = [("dim", n, "", f"{d.lo} .. {d.hi}") for n, d in interface.dims.items()]
        for kind, some in (("input", interface.inputs), ("output", interface.outputs)):
            rows += [(kind, t.name, t.dtype, str(t)[len(str(t.dtype)) :]) for t in some]
        table(("", "name", "dtype", "shape"), rows)
        click.echo()
        table(
            ("constant", "dtype", "shape", "bytes", "sha256"),
            [
                (c["name"], c["dtype"], "x".join(map(str, c["shape"])) or "scalar", c["bytes"], c["sha256"][:12])
                for c in m["constants"]
            ],
        )
        click.echo()
        table(
            ("kernel", "ops", "flops", "bytes"),
            [(k["group"], k["ops"], k["flops"] if k["flops"] is not None else "?", k["bytes"]) for k in m["kernels"]],
        )

    output(data, show)
