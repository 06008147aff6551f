# SPDX-License-Identifier: Apache-2.0
"""The reference part of docs/cli.md, made of the commands themselves.

    python -m tests.docs.cli_reference      # writes it
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from ait_tools.cli import main
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "cli.md"
START, END = "<!-- generated: python -m tests.docs.cli_reference -->", "<!-- end -->"


def commands() -> Iterator[click.Context]:
    """Every command that does something, those of groups too, by name."""

    def walk(command: click.Command, context: click.Context) -> Iterator[click.Context]:
        if not isinstance(command, click.Group):
            yield context
            return
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            if sub is not None:
                yield from walk(sub, click.Context(sub, info_name=name, parent=context))

    yield from walk(main, click.Context(main, info_name="ait"))


def reference() -> str:
    """Usage, description and options of every command, in Markdown."""
    parts = []
    for context in commands():
        command = context.command
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        text = inspect.cleandoc(command.help or "")
        rows = [r for p in command.params if isinstance(p, click.Option) and (r := p.get_help_record(context))]
        table = ["| option | |", "| --- | --- |", *(f"| `{_cell(a)}` | {_cell(b)} |" for a, b in rows)]
        parts.append("\n".join([f"### {context.command_path}", "", f"`{usage}`", "", text, "", *table]))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def with_reference(page: str) -> str:
    """The page with its generated part replaced by what belongs there."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{reference()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
