# SPDX-License-Identifier: Apache-2.0
"""AIT compiles a neural network into one self-contained shared library.

``import ait_core as ait``; everything here is imported on first use, so that importing AIT costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ait_core.errors import (
    AITError,
    ArtifactError,
    CompileError,
    DTypeError,
    FaultError,
    GraphError,
    InputError,
    InternalError,
    PluginError,
    ShapeError,
    ToolchainError,
    UnsupportedError,
    WeightsError,
)

if TYPE_CHECKING:
    from ait_core.api import compile, plan
    from ait_core.ir.dims import dim
    from ait_core.ir.graph import Graph, Value, constant, input
    from ait_core.plugins.hooks import hookimpl
    from ait_core.plugins.namespace import ops
    from ait_core.plugins.registry import Registry, registry
    from ait_runtime.model import Model, load

__version__ = "0.1.0"

_LAZY = {
    "compile": "ait_core.api",
    "plan": "ait_core.api",
    "load": "ait_runtime.model",
    "Model": "ait_runtime.model",
    "Graph": "ait_core.ir.graph",
    "Value": "ait_core.ir.graph",
    "input": "ait_core.ir.graph",
    "constant": "ait_core.ir.graph",
    "dim": "ait_core.ir.dims",
    "ops": "ait_core.plugins.namespace",
    "hookimpl": "ait_core.plugins.hooks",
    "Registry": "ait_core.plugins.registry",
    "registry": "ait_core.plugins.registry",
}

__all__ = [
    "AITError", "ArtifactError", "CompileError", "DTypeError", "FaultError", "Graph", "GraphError", "InputError",
    "InternalError", "Model", "PluginError", "Registry", "ShapeError", "ToolchainError", "UnsupportedError", "Value",
    "WeightsError", "__version__", "compile", "constant", "dim", "hookimpl", "input", "load", "ops", "plan",
    "registry",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
