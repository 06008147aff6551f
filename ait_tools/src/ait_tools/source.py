# SPDX-License-Identifier: Apache-2.0
"""How the command line names a model.

``model.so``
    a compiled model.
``file.py:name`` or ``package.module:name``
    a Python object: a model, or a function without required arguments (or a class) that makes one. ``name`` may have
    dots. A model here is an :class:`ait.Graph`, whatever an installed frontend reads (a torch module), a tuple
    ``(model, example_inputs, dynamic_shapes)`` of which the end may be missing, a dict with the names of the fields of
    :class:`Spec` as keys, or a :class:`Spec`.
any other path
    a file that an installed frontend reads (``model.pt2``).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ait_core.errors import AITError, InputError

if TYPE_CHECKING:
    from ait_core.ir.graph import Graph
    from ait_runtime.signature import Signature

FORMS = "A model is model.so, file.py:name, package.module:name, or a file that a frontend reads (model.pt2)."


@dataclass(frozen=True)
class Spec:
    """A model and how to import it.

    Args:
        model: an :class:`ait.Graph`, or an object or path that a frontend reads.
        example_inputs: as for ``ait.compile``; their sizes and the range of their integers are also what ``ait run``,
            ``bench`` and ``verify`` make random inputs of.
        dynamic_shapes: as for ``ait.compile``.
        dtype: as for ``ait.compile``.
        ranges: by input, the lowest and highest number of random inputs, both inclusive.
    """

    model: Any
    example_inputs: Any = None
    dynamic_shapes: Any = None
    dtype: Any = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Opened:
    """A model that was imported. ``examples`` maps inputs to ``{"shape": [...], "range": [lo, hi]}``, each if known."""

    name: str
    graph: Graph
    signature: Signature | None
    examples: dict[str, dict[str, Any]]


def artifact(name: str) -> Path | None:
    """The path of a compiled model; None if ``name`` names something else."""
    return Path(name) if name.endswith(".so") else None


def open_model(name: str, dtype: str | None = None) -> Opened:
    """Find a model by name and import it.

    Args:
        name: see the module's documentation; no ``.so``.
        dtype: floating point type to compute in, instead of the spec's.

    Raises:
        AITError: if there is no such file, module or attribute, if it is no model, or if it cannot be imported.
    """
    from ait_core.api import load_source
    from ait_core.ir.graph import Graph
    from ait_core.plugins.registry import registry
    from ait_tools.examples import examples

    if artifact(name):
        raise InputError(f"{name} is compiled: this needs what it was compiled from, such as file.py:name.")
    spec = find(name)
    wanted = dtype or spec.dtype
    if wanted is not None and isinstance(spec.model, Graph):
        raise InputError(
            f"{name} is a graph, whose dtypes are fixed: leave out dtype, or build the graph with {wanted}."
        )
    loaded = load_source(spec.model, registry(), spec.example_inputs, spec.dynamic_shapes, wanted)
    signature = loaded.imported.signature if loaded.imported else None
    return Opened(name, loaded.graph, signature, examples(spec, loaded.graph, signature))


def file_stem(name: str) -> str:
    """A file name for what is made of a model: ``resnet`` for ``nets/resnet.py:build``, ``nets.resnet:build`` and
    ``resnet.pt2``."""
    where, colon, _ = name.rpartition(":")
    if colon and not where.endswith(".py"):
        return where.rpartition(".")[2]
    return Path(where or name).stem


def find(name: str) -> Spec:
    """The model that ``name`` names, not yet imported. Runs the file or module that holds it.

    Raises:
        InputError: if there is no such file, module or attribute, or it is nothing that describes a model.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon:
        if not Path(name).exists():
            raise InputError(f"There is no file {name!r}. {FORMS}")
        if name.endswith(".py"):
            raise InputError(f"Which object of {name} is the model? Write {name}:name.")
        return Spec(Path(name))
    found: Any = _file(Path(where)) if where.endswith(".py") else _module(where)
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [n for n in vars(found) if not n.startswith("_")] if hasattr(found, "__dict__") else []
            raise InputError(f"{where} has no {attribute!r}. It has: {', '.join(public) or 'nothing'}.")
        found = getattr(found, part)
    return _spec(name, found)


def _spec(name: str, found: Any) -> Spec:
    if inspect.isroutine(found) or inspect.isclass(found) or isinstance(found, functools.partial):
        required = [
            p.name
            for p in inspect.signature(found).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if required:
            raise InputError(
                f"{name} needs the arguments {', '.join(required)}: name a function without required arguments that "
                "returns the model."
            )
        found = _guarded(f"{name}()", found)
    if isinstance(found, Spec):
        return found
    if isinstance(found, tuple):
        if not 1 <= len(found) <= 3:
            raise InputError(f"{name} is a tuple of {len(found)}; expected (model, example_inputs, dynamic_shapes).")
        return Spec(*found)
    if isinstance(found, dict):
        known = [f.name for f in fields(Spec)]
        unknown = [str(k) for k in found if k not in known]
        if unknown or "model" not in found:
            raise InputError(
                f"{name} is a dict; expected the keys model and, at will, {', '.join(known[1:])}; "
                f"got {', '.join(map(str, found)) or 'none'}."
            )
        return Spec(**found)
    return Spec(found)


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}. {FORMS}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python file.py` does, so that it finds its neighbours
    loader = importlib.util.spec_from_file_location(f"ait_model_{path.stem}", path)
    module = importlib.util.module_from_spec(loader)  # type: ignore[arg-type]
    sys.modules[module.__name__] = module
    _guarded(str(path), lambda: loader.loader.exec_module(module))  # type: ignore[union-attr]
    return module


def _module(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        known = importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        known = False
    if not known:
        raise InputError(f"There is no module {name!r}. {FORMS}")
    return _guarded(name, lambda: importlib.import_module(name))


def _guarded(what: str, run: Any) -> Any:
    """Run the user's code. What it raises is the user's to fix, not a bug of ours."""
    try:
        return run()
    except AITError:
        raise
    except Exception as e:
        at = e.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = f" ({at.tb_frame.f_code.co_filename}:{at.tb_lineno})" if at else ""
        raise InputError(f"{what} failed: {type(e).__name__}: {e}{where}.") from e
