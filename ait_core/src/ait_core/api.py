# SPDX-License-Identifier: Apache-2.0
"""``ait.compile`` and ``ait.plan``: from whatever a frontend understands to a callable model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ait_core.build.driver import Built, Progress
from ait_core.codegen.model import ModelSource, constant_name
from ait_core.compiler import Plan, build, make_plan
from ait_core.declare.backend import Target
from ait_core.declare.frontend import Imported
from ait_core.errors import AITError, ToolchainError
from ait_core.ir.graph import Graph
from ait_core.plugins.registry import Registry, registry

if TYPE_CHECKING:
    from ait_runtime.model import Model


@dataclass
class Source:
    """A model as a graph, and how to make the built one callable as the original was."""

    graph: Graph
    imported: Imported | None

    def adapt(self, model: Any) -> Any:
        return self.imported.adapt(model) if self.imported is not None else model


def load_source(obj: Any, plugins: Registry, example_inputs: Any = None, dynamic_shapes: Any = None,
                dtype: Any = None) -> Source:  # fmt: skip
    """The graph of ``obj``: a :class:`Graph`, or anything that an installed frontend claims.

    Raises:
        AITError: if no frontend claims it.
    """
    if isinstance(obj, Graph):
        return Source(obj, None)
    for name, frontend in plugins.frontends.items():
        if frontend.claims(obj):
            lowerings = {target: x for (of, target), x in plugins.lowerings.items() if of == name}
            imported = frontend.load(obj, example_inputs, dynamic_shapes, dtype, lowerings)
            return Source(imported.graph, imported)
    raise AITError(
        f"No installed frontend can read a {type(obj).__module__}.{type(obj).__qualname__}. "
        f"Frontends: {', '.join(plugins.frontends) or 'none'}. Install one (pip install ait-frontend-torch), or give an ait.Graph."
    )


def find_target(spec: str, plugins: Registry) -> Target:
    """The target that ``spec`` names: ``"auto"``, ``"cpu"``, ``"cpu:x86-64-v3"``, ...

    Raises:
        ToolchainError: if no installed backend knows it.
    """
    if not isinstance(spec, str):
        raise ToolchainError(f"A target is named by a string such as 'auto' or 'cpu'; got {spec!r}.")
    if spec == "auto":
        best = max(plugins.backends.values(), key=lambda b: b.available(), default=None)
        if best is None or best.available() <= 0:
            raise ToolchainError("No installed backend can compile for this machine. Run `ait doctor`.")
        return best.target("")
    name, _, rest = spec.partition(":")
    if name not in plugins.backends:
        known = ", ".join(plugins.backends) or "none"
        raise ToolchainError(
            f"No backend for target {spec!r}. Installed backends: {known}. `ait plugins` shows what failed to load."
        )
    return plugins.backends[name].target(rest)


def plan(obj: Any, example_inputs: Any = None, *, dynamic_shapes: Any = None, target: str = "auto", dtype: Any = None,
         disable: str | Iterable[str] = (), plugins: Registry | None = None) -> Plan:  # fmt: skip
    """Everything ``compile`` decides, with nothing compiled: what ``ait explain`` shows."""
    plugins = plugins or registry()
    source = load_source(obj, plugins, example_inputs, dynamic_shapes, dtype)
    return make_plan(source.graph, plugins, find_target(target, plugins), disable)


def compile(
    obj: Any,
    example_inputs: Sequence[Any] | dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    target: str = "auto",
    dtype: Any = None,
    weights: str = "embedded",
    threads: int | None = None,
    jobs: int | None = None,
    disable: str | Iterable[str] = (),
    keep: str | Path | None = None,
    progress: Progress | None = None,
    plugins: Registry | None = None,
) -> Callable[..., Any]:
    """Compile a model into one shared library and load it.

    Args:
        obj: a PyTorch module or exported program (with ``ait-frontend-torch``), or an :class:`ait.Graph`.
        example_inputs: arguments the model is traced with: a tuple, or a dict by name.
        dynamic_shapes: which sizes may vary and in which range, as ``torch.export.export`` takes it.
        target: ``"auto"`` (this machine's best), ``"cpu"``, ``"cpu:x86-64-v3"``, ...
        dtype: floating point type to compute in; None keeps the model's.
        weights: ``"embedded"`` in the library, or ``"beside"`` it as safetensors.
        threads: threads a call may use; None: ``AIT_NUM_THREADS``, ``OMP_NUM_THREADS``, else every core of the process.
        jobs: compilers that run at once; None: one a core.
        disable: the name, or names, of passes and fusions to leave out, see ``ait explain --list-passes``.
        keep: a directory that receives the generated sources, which compile there by themselves.
        progress: called with (stage, done, total) while compiling.
        plugins: use exactly these plugins.

    Returns:
        A model called like ``obj``, which also has ``save(path)``, ``profile(...)``, ``set_weights(...)`` and so on.

    Raises:
        AITError: one of its subclasses, saying what happened, what was expected and what to do.
    """
    if weights not in ("embedded", "beside"):
        raise AITError(f"weights is 'embedded' or 'beside'; got {weights!r}.")
    if jobs is not None and jobs < 1:
        raise AITError(f"jobs is {jobs}; expected the number of compilers that may run at once, 1 or more.")
    plugins = plugins or registry()
    source = load_source(obj, plugins, example_inputs, dynamic_shapes, dtype)
    decided = make_plan(source.graph, plugins, find_target(target, plugins), disable)
    manifest = {"signature": source.imported.signature.data} if source.imported else {}
    built, model = build(decided, plugins, manifest=manifest, embed=weights == "embedded", jobs=jobs,
                         keep=Path(keep) if keep else None, progress=progress)  # fmt: skip
    return source.adapt(_load(built, model, threads))


def _load(built: Built, source: ModelSource, threads: int | None) -> Model:
    """Load what was built; weights that are not inside come from memory."""
    from ait_runtime.model import Model

    if source.manifest["embedded"]:
        return Model(built.library, threads=threads)
    arrays = {constant_name(v, i): v.constant.array for i, (_, v) in enumerate(source.weights)}  # type: ignore[union-attr]
    return Model(built.library, weights=arrays, threads=threads)
