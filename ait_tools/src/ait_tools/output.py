# SPDX-License-Identifier: Apache-2.0
"""What commands print: JSON for programs, tables for people at a terminal, plain lines otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

WANTS_JSON = "ait.json"
OUT = "ait.out"


def json_option(command: Callable) -> Callable:
    """Give a command ``--json``. The frame reads it, :func:`output` obeys it."""
    return click.option("--json", is_flag=True, expose_value=False, help="Print JSON.")(command)


def output(data: Any, show: Callable[[], None]) -> None:
    """Print a command's result: ``data`` as JSON if ``--json`` was given, else whatever ``show`` prints."""
    meta = click.get_current_context().meta
    if meta.get(WANTS_JSON):
        click.echo(json.dumps(data, indent=2, default=str), meta[OUT])
    else:
        show()


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on a terminal; tab-separated lines under a header elsewhere."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            click.echo("\t".join(str(c).replace("\n", " ") for c in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        shown.add_row(*(Text(str(c)) for c in row))  # Text: names are not markup
    Console().print(shown)


def size(nbytes: float) -> str:
    """Bytes in a readable unit."""
    for unit in ("B", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} GiB"
