# SPDX-License-Identifier: Apache-2.0
"""``ait cache``: the cache of compiled objects and linked models."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from ait_core.build.cache import LIMIT, Cache, Entry, root
from ait_tools.output import json_option, output, size

KINDS = ("objects", "models")


@dataclass(frozen=True)
class Usage:
    """Number of files and their bytes."""

    files: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        return f"{self.files} files, {size(self.bytes)}"


def usage(entries: list[Entry]) -> Usage:
    return Usage(len(entries), sum(e.nbytes for e in entries))


@click.group()
def command() -> None:
    """Show or clear the cache of compiled objects and models."""


@command.command()
@json_option
def show() -> None:
    """Show where it lies and how much it holds."""
    used = {kind: usage(Cache(kind).entries()) for kind in KINDS}
    data = {"path": str(root()), "limit": LIMIT, **{k: asdict(u) for k, u in used.items()}}
    lines = [f"{root()}, at most {size(LIMIT)} of each kind", *(f"{k}: {u}" for k, u in used.items())]
    output(data, lambda: click.echo("\n".join(lines)))


@command.command()
@json_option
def path() -> None:
    """Print its directory."""
    output({"path": str(root())}, lambda: click.echo(root()))


@command.command()
@json_option
def clear() -> None:
    """Remove everything but what a running build is writing. Folders stay, for the same reason."""
    gone = {kind: Cache(kind).removable() for kind in KINDS}
    for e in (e for entries in gone.values() for e in entries):
        e.path.unlink(missing_ok=True)
    removed = {kind: usage(entries) for kind, entries in gone.items()}
    output({"removed": {k: asdict(u) for k, u in removed.items()}},
           lambda: click.echo("\n".join(f"removed {k}: {u}" for k, u in removed.items())))  # fmt: skip
