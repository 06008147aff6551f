# SPDX-License-Identifier: Apache-2.0
"""``ait plugins``: what is installed, what it declares, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import click

from ait_core.plugins.hooks import API_VERSION
from ait_core.plugins.kinds import KINDS
from ait_core.plugins.loader import Plugin
from ait_core.plugins.registry import registry
from ait_tools.output import json_option, output, table


def describe(plugin: Plugin) -> dict[str, Any]:
    """A plugin as JSON: the names of all its declarations by kind, and why it is not in use."""
    keys = {hook: hook.removeprefix("ait_") for hook in KINDS} | {"ait_backends": "targets"}
    out: dict[str, Any] = {
        "name": plugin.name, "version": plugin.version, "distribution": plugin.distribution, "module": plugin.module,
        "status": plugin.status, "hooks": sorted(plugin.declared),
        **{key: sorted(plugin.names(hook)) for hook, key in keys.items()},
        "error": None,
    }  # fmt: skip
    if plugin.error:
        out["error"] = {"message": plugin.error, "fix": plugin.fix, "traceback": plugin.traceback}
    return out


@click.command()
@click.option("--hook", help="Only plugins that implement this hook, such as ait_kernels.")
@json_option
def command(hook: str | None) -> None:
    """List the installed plugins: what each declares, and what is wrong with those that were disabled."""
    loaded = registry()
    listed = [describe(p) for p in loaded.plugins]
    if hook is not None:
        known = sorted({*KINDS, *(h for p in listed for h in p["hooks"])})
        if hook not in known:
            raise click.BadParameter(f"there is no hook {hook!r}; there are {', '.join(known)}.", param_hint="--hook")
        listed = [p for p in listed if hook in p["hooks"]]
    data = {"api_version": API_VERSION, "plugins": listed, "problems": list(loaded.problems)}

    def show() -> None:
        counts = ("ops", "kernels", "rules", "lowerings", "commands")
        columns = ("plugin", "version", "distribution", "status", *counts, "targets", "frontends")
        rows = [
            (p["name"], p["version"], p["distribution"], p["status"], *(len(p[c]) or "" for c in counts),
             " ".join(p["targets"]), " ".join(p["frontends"]))
            for p in listed
        ]  # fmt: skip
        table(columns, rows)
        for p in listed:
            if p["error"]:
                e = p["error"]
                lines = (f"{p['name']}: {e['message']}", e["fix"], e["traceback"])
                click.echo("\n".join(filter(None, lines)), err=True)
        for text in loaded.problems:
            click.echo(text, err=True)

    output(data, show)
