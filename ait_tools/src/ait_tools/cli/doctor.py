# SPDX-License-Identifier: Apache-2.0
"""``ait doctor``: what works on this machine, what is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

import ait_core
from ait_core.build.cache import root
from ait_core.declare.backend import Backend, Check
from ait_core.errors import AITError
from ait_core.plugins.registry import Registry, registry
from ait_tools.output import json_option, output, table


def core_checks() -> Iterator[Check]:
    """Python, the runtime binding, the build tool and the cache."""
    yield Check("python", sys.version_info >= (3, 10), f"{platform.python_version()} ({sys.executable})",
                "AIT needs Python 3.10 or newer.")  # fmt: skip
    yield Check("ait-core", True, f"{ait_core.__version__} ({Path(ait_core.__file__).parent})")
    for what, module, fix in (
        ("runtime binding", "ait_runtime._native", "It was not built: pip install --force-reinstall ait-core"),
        ("ninja", "ninja", "pip install ninja"),
    ):
        found = importlib.util.find_spec(module)
        yield Check(what, found is not None, str(found.origin) if found else f"no module {module}", fix)
    existing = next(p for p in (root().absolute(), *root().absolute().parents) if p.exists())
    writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    yield Check("cache", writable, str(root()),
                f"{existing} cannot be written: set AIT_CACHE_DIR to a directory of yours.")  # fmt: skip


def plugin_checks(loaded: Registry) -> Iterator[Check]:
    """One line a plugin that is not disabled by the user, and one a wrong name in the lists."""
    for p in loaded.plugins:
        if p.status != "disabled":
            yield Check(f"plugin {p.name}", p.status == "loaded", p.error or f"{p.distribution} {p.version}", p.fix)
    for text in loaded.problems:
        yield Check("plugin lists", False, text, "Correct AIT_PLUGINS or AIT_DISABLE_PLUGINS.")


def backend_checks(backend: Backend) -> Iterator[Check]:
    """Whether a backend finds its compiler for this machine, then what itself has to say. A backend that raises is a
    failed check: it must not hide the others."""
    try:
        target = backend.target("")
        chain = backend.toolchain(target)
        usable = backend.available() > 0
        yield Check("compiler", usable, f"{target.name}: {chain.compiler} ({chain.identity})",
                    "The compiler was found, but this machine cannot run what it makes.")  # fmt: skip
    except AITError as e:
        yield Check("compiler", False, str(e))
    except Exception as e:
        yield Check("compiler", False, f"{type(e).__name__}: {e}", "A bug of this backend: report it to its authors.")
    try:
        yield from backend.doctor()
    except Exception as e:
        yield Check("doctor", False, f"{type(e).__name__}: {e}", "A bug of this backend: report it to its authors.")


@click.command()
@json_option
def command() -> None:
    """Say what works here, what is missing and how to get it. Exits with 1 if nothing can compile."""
    loaded = registry()
    groups = {"core": [*core_checks()], "plugins": [*plugin_checks(loaded)]}
    groups |= {f"target {name}": [*backend_checks(b)] for name, b in loaded.backends.items()}
    targets = [name for name in loaded.backends if groups[f"target {name}"][0].ok]
    if not loaded.backends:
        groups["plugins"].append(Check("a backend", False, "no plugin brings one", "pip install ait-backend-cpu"))
    able = bool(targets) and all(c.ok for c in groups["core"])
    data = {
        "can_compile": able,
        "targets": targets,
        "checks": [
            {"group": g, **asdict(c), "fix": "" if c.ok else c.fix} for g, checks in groups.items() for c in checks
        ],
    }

    def show() -> None:
        rows = [(g, c.what, "ok" if c.ok else "FAIL", c.detail) for g, checks in groups.items() for c in checks]
        table(("part", "check", "state", "detail"), rows)
        for g, checks in groups.items():
            for c in checks:
                if not c.ok:
                    click.echo(f"{g}, {c.what}: {c.detail}" + (f"\n    {c.fix}" if c.fix else ""))
        click.echo(f"Can compile for: {', '.join(targets)}" if able else "Nothing can be compiled here.")

    output(data, show)
    click.get_current_context().exit(0 if able else 1)
