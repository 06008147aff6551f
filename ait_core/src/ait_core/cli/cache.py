# SPDX-License-Identifier: Apache-2.0
"""``ait cache``: the cache of compiled objects."""

from __future__ import annotations

from dataclasses import asdict

import click

from ait_core.cache import ObjectCache, cache_dir, cache_limit
from ait_core.cli._output import json_option, output, size


@click.group()
def command() -> None:
    """Show or clear the cache of compiled objects."""


@command.command()
@json_option
def show() -> None:
    """Show where it lies and how much it holds."""
    used, limit = ObjectCache().usage(), cache_limit()
    data = {"path": str(cache_dir()), **asdict(used), "limit": limit}
    output(data, lambda: click.echo(f"{cache_dir()}: {used.objects} objects, {size(used.bytes)} of {size(limit)}"))


@command.command()
@json_option
def path() -> None:
    """Print its directory."""
    output({"path": str(cache_dir())}, lambda: click.echo(cache_dir()))


@command.command()
@json_option
def clear() -> None:
    """Remove every object. Builds that are running are not disturbed."""
    gone = ObjectCache().clear()
    output({"removed": asdict(gone)}, lambda: click.echo(f"removed {gone.objects} objects, {size(gone.bytes)}"))
