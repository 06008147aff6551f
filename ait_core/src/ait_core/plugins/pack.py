# SPDX-License-Identifier: Apache-2.0
"""The hooks of an op pack that is laid out as usual, in one line of its plugin module."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ait_core.declare.kernel import kernels_in
from ait_core.declare.op import ops_in
from ait_core.declare.rule import lowerings_in, rules_in
from ait_core.plugins.hooks import hookimpl


def pack_hooks(package: str, *op_modules: ModuleType) -> tuple[Callable[[], Any], ...]:
    """``ait_ops, ait_kernels, ait_rules, ait_lowerings, ait_includes = pack_hooks(__package__, my_ops)``.

    Ops come from the modules given; kernels, rules and lowerings from the package's modules of these names, where it has
    them, imported only when asked for; headers from its folder ``include``.
    """

    def found(module: str, collect: Callable[[ModuleType], list]) -> list:
        name = f"{package}.{module}"
        return collect(import_module(name)) if find_spec(name) else []

    def ait_ops() -> list:
        return ops_in(*op_modules)

    def ait_kernels() -> list:
        return found("kernels", kernels_in)

    def ait_rules() -> list:
        return found("rules", rules_in)

    def ait_lowerings() -> list:
        return found("lowerings", lowerings_in)

    def ait_includes() -> list[Path]:
        include = Path(import_module(package).__file__ or "").parent / "include"
        return [include] if include.is_dir() else []

    return tuple(map(hookimpl, (ait_ops, ait_kernels, ait_rules, ait_lowerings, ait_includes)))
