# SPDX-License-Identifier: Apache-2.0
"""From a plan, or from a model's name on the command line, to a model that runs."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ait_tools.interface import Interface
from ait_tools.output import WANTS_JSON
from ait_tools.source import Opened, artifact

if TYPE_CHECKING:
    import numpy as np

    from ait_core.build.driver import Built, Progress
    from ait_core.compiler import Plan
    from ait_runtime.model import Model
    from ait_tools.options import How


@dataclass(frozen=True)
class Compiled:
    """A compiled model, in the cache. ``weights`` are the constants by name where they are not inside."""

    built: Built
    manifest: dict[str, Any]
    weights: dict[str, np.ndarray] | None
    seconds: float

    def load(self, threads: int | None = None) -> Model:
        """The model, taking and returning tensors by name."""
        from ait_runtime.model import Model

        return Model(self.built.library, self.weights, threads)


def compile_model(opened: Opened, how: How, progress: Progress, plan: Plan | None = None, *, embed: bool = True,
                  jobs: int | None = None, keep: Path | None = None) -> Compiled:  # fmt: skip
    """Build a model, or a plan of it that was not built yet. The manifest remembers the model's name, how it was
    compiled, and what typical inputs are."""
    from ait_core import compiler
    from ait_core.codegen.model import constant_name
    from ait_core.plugins.registry import registry

    manifest: dict[str, Any] = {"source": opened.name, "how": how.manifest(), "examples": opened.examples}
    if opened.signature is not None:
        manifest["signature"] = opened.signature.data
    plan = plan or how.plan(opened)
    start = time.perf_counter()
    built, source = compiler.build(
        plan, registry(), manifest=manifest, embed=embed, jobs=jobs, keep=keep, progress=progress
    )
    seconds = time.perf_counter() - start
    weights = None
    if not source.manifest["embedded"]:
        weights = {constant_name(v, i): v.constant.array for i, (_, v) in enumerate(source.weights) if v.constant}
    return Compiled(built, source.manifest, weights, seconds)


def ready(name: str, how: How, threads: int | None) -> tuple[Model, Interface]:
    """A model to run: loaded if it is compiled, else compiled into the cache first.

    Raises:
        AITError: if it cannot be found, compiled or loaded, or if it is compiled already and options say how to.
    """
    from ait_runtime.model import Model

    path = artifact(name)
    if path is not None:
        how.refuse(name)
        model = Model(path, None, threads)
    else:
        with progress() as step:
            opened = how.open(name)
            model = compile_model(opened, how, step).load(threads)
    return model, Interface.of_manifest(model.manifest)


def call(model: Model, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of one call by name."""
    import numpy as np

    made = model(**inputs)
    many = made if isinstance(made, tuple) else (made,)
    return {t.name: np.asarray(a) for t, a in zip(model.outputs, many, strict=True)}


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Shows (stage, done, total) as a bar on stderr while the block runs, if that is a terminal."""
    context = click.get_current_context(silent=True)
    if not sys.stderr.isatty() or (context and context.meta.get(WANTS_JSON)):
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import, plan", total=None)
        yield lambda stage, done, total: bar.update(task, completed=done, total=total, description=escape(stage))
