# SPDX-License-Identifier: Apache-2.0
"""From a model's name on the command line to a model that runs."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ait_core.cli._output import WANTS_JSON
from ait_tools.interface import Interface
from ait_tools.options import names, no_import_options
from ait_tools.source import Opened, artifact, open_model

if TYPE_CHECKING:
    import numpy as np

    from ait_core.build.driver import Built, Progress
    from ait_core.compiler import Plan
    from ait_runtime.model import Model


@dataclass(frozen=True)
class Compiled:
    """A compiled model, in the cache. ``weights`` are the constants by name where they are not inside."""

    built: Built
    manifest: dict[str, Any]
    plan: Plan
    weights: dict[str, np.ndarray] | None
    seconds: float

    def load(self, threads: int | None = None) -> Model:
        """The model, taking and returning tensors by name."""
        from ait_runtime.model import Model

        return Model(self.built.library, self.weights, threads)


def make_plan(opened: Opened, target: str | None, disable: Iterable[str] = ()) -> Plan:
    """What the compiler decides for a model."""
    from ait_core import api, compiler
    from ait_core.plugins.registry import registry

    return compiler.make_plan(opened.graph, registry(), api.find_target(target or "auto", registry()), disable)


def compile_plan(plan: Plan, opened: Opened, *, embed: bool = True, jobs: int | None = None, keep: Path | None = None,
                 progress: Progress | None = None) -> Compiled:  # fmt: skip
    """Build a plan; once only, as building settles where its buffers lie. The manifest remembers how the model was named,
    and what typical inputs are."""
    from ait_core import compiler
    from ait_core.codegen.model import constant_name
    from ait_core.plugins.registry import registry

    manifest: dict[str, Any] = {"source": opened.name, "dtype": opened.dtype, "examples": opened.examples}
    if opened.signature is not None:
        manifest["signature"] = opened.signature.data
    start = time.perf_counter()
    built, source = compiler.build(plan, registry(), manifest=manifest, embed=embed, jobs=jobs, keep=keep, progress=progress)
    seconds = time.perf_counter() - start
    weights = None
    if not source.manifest["embedded"]:
        weights = {constant_name(v, i): v.constant.array for i, (_, v) in enumerate(source.weights)}  # type: ignore[union-attr]
    return Compiled(built, source.manifest, plan, weights, seconds)


def ready(name: str, *, target: str | None = None, dtype: str | None = None, disable: Iterable[str] = (),
          threads: int | None = None) -> tuple[Model, Interface]:  # fmt: skip
    """A model to run: loaded if it is compiled, else compiled into the cache first.

    Raises:
        AITError: if it cannot be found, compiled or loaded, or if it is compiled already and options say how to.
    """
    from ait_runtime.model import Model

    no_import_options(name, target=target, dtype=dtype, disable=tuple(disable))
    path = artifact(name)
    if path is not None:
        model = Model(path, None, threads)
    else:
        with progress() as step:
            step("import", 0, 0)
            opened = open_model(name, dtype)
            step("plan", 0, 0)
            model = compile_plan(make_plan(opened, target, names(list(disable))), opened, progress=step).load(threads)
    return model, Interface.of_manifest(model.manifest)


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Shows (stage, done, total) as a bar on stderr while the block runs, if that is a terminal. A total of 0 is a stage
    of unknown length."""
    context = click.get_current_context(silent=True)
    if not sys.stderr.isatty() or (context and context.meta.get(WANTS_JSON)):
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda stage, done, total: bar.update(task, completed=done, total=total or None, description=escape(stage))
