# SPDX-License-Identifier: Apache-2.0
"""The command ``ait``. Each module here without a leading ``_`` holds one command, ``command``; plugins add more."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import pkgutil
import sys
import traceback
from typing import Any

import click

import ait_core
from ait_core.errors import AITError, InternalError
from ait_tools.output import OUT, WANTS_JSON

MODULES = {m.name.replace("_", "-"): m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")}
PLUGIN = "ait.plugin"


class AitGroup(click.Group):
    """Finds its commands in this folder first and asks the plugins only then; turns errors into messages and codes:
    1 for what the user can fix, 2 for wrong usage, 3 for a bug."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ait_core.plugins.registry import registry

        return sorted({*MODULES, *registry().commands})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in MODULES:
            return importlib.import_module(f"{__name__}.{MODULES[name]}").command
        from ait_core.plugins.registry import registry

        ctx.meta[PLUGIN] = registry().owner("ait_commands", name)
        return registry().commands.get(name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[WANTS_JSON] = "--json" in (args[: args.index("--")] if "--" in args else args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.meta[OUT] = sys.stdout
        quiet = contextlib.redirect_stdout(sys.stderr) if ctx.meta[WANTS_JSON] else contextlib.nullcontext()
        with quiet:  # what plugins and libraries print would spoil the JSON on stdout
            try:
                return super().invoke(ctx)
            except click.UsageError as e:
                if not ctx.meta[WANTS_JSON]:
                    raise
                _fail(ctx, e, e.format_message(), 2)
            except (click.ClickException, click.Abort, click.exceptions.Exit):
                raise
            except (AITError, OSError) as e:
                if getattr(e, "errno", None) == errno.EPIPE:
                    raise
                _fail(ctx, e, str(e), 1)
            except Exception as e:
                plugin = ctx.meta.get(PLUGIN)
                whom = f"the authors of {plugin}" if plugin else "the authors of AIT"
                if not isinstance(e, InternalError):
                    traceback.print_exc(file=sys.stderr)
                _fail(ctx, e, f"{e}\nThis is a bug: please report it, with the command and its output, to {whom}.", 3)


def _fail(ctx: click.Context, error: Exception, message: str, code: int) -> None:
    if ctx.meta[WANTS_JSON]:
        click.echo(json.dumps({"error": {"type": type(error).__name__, "message": message}}, indent=2), ctx.meta[OUT])
    else:
        click.echo(f"{click.style('error', fg='red')} ({type(error).__name__}): {message}", err=True)
    ctx.exit(code)


@click.group(cls=AitGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ait_core.__version__, prog_name="ait")
def main() -> None:
    """Compile neural networks into self-contained shared libraries."""
