# SPDX-License-Identifier: Apache-2.0
"""What the hooks return: the class of the declarations, and the name under which no second one may exist."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ait_core.errors import AITError


@dataclass(frozen=True)
class Kind:
    """``cls`` is where the class lies (imported only when a plugin declares one); ``broken`` says what is wrong with a
    declaration of that class, or gives None."""

    what: str
    cls: str = "builtins:object"
    key: Callable[[Any], str] = lambda item: item.name
    unique: bool = True
    broken: Callable[[Any], str | None] = lambda item: None


def _broken_op(op: Any) -> str | None:
    from ait_core.declare.roles import Role

    if not isinstance(op.role, Role):
        return f"its role is {op.role!r}, which is none of ait_core.declare.roles"
    return None if callable(op.infer) and callable(op.reference) else "infer and reference must be functions"


def _broken_kernel(kernel: Any) -> str | None:
    if not (isinstance(kernel.headers, tuple) and all(isinstance(h, str) for h in kernel.headers)):
        return f"headers must be a tuple of strings, got {kernel.headers!r}"
    functions = (kernel.render, kernel.accepts, kernel.space, kernel.cost)
    return None if all(map(callable, functions)) else "render, accepts, space and cost must be functions"


KINDS = {
    "ait_ops": Kind("op", "ait_core.declare.op:Op", broken=_broken_op),
    "ait_kernels": Kind("kernel", "ait_core.declare.kernel:Kernel", broken=_broken_kernel),
    "ait_includes": Kind("include directory", "os:PathLike", key=str, unique=False),
    "ait_rules": Kind("rule", "ait_core.declare.rule:Rule",
                      broken=lambda r: None if callable(r.replacement) else "it has no replacement"),
    "ait_lowerings": Kind("lowering", "ait_core.declare.rule:Lowering", key=lambda x: f"{x.frontend}:{x.target}",
                          broken=lambda x: None if callable(x.fn) else "fn must be a function"),
    "ait_backends": Kind("target", "ait_core.declare.backend:Backend"),
    "ait_frontends": Kind("frontend", "ait_core.declare.frontend:Frontend"),
    "ait_commands": Kind("command", "click:Command"),
}  # fmt: skip


def kind(hook: str) -> Kind:
    """The kind of a hook's declarations; one without a row declares named things of any class."""
    return KINDS.get(hook) or Kind(hook.removeprefix("ait_").removesuffix("s"))


def checked(hook: str, result: Any) -> list[Any]:
    """The declarations that a hook returned.

    Raises:
        AITError: if the result is no sequence, or an element is of another class, has no name or is broken.
    """
    k = kind(hook)
    module, _, name = k.cls.partition(":")
    cls = getattr(importlib.import_module(module), name)
    if not isinstance(result, Sequence) or isinstance(result, (str, bytes)):
        raise AITError(f"{hook} must return a list of {name} objects; it returned {result!r:.200}.")
    for item in result:
        if not isinstance(item, cls):
            raise AITError(f"{hook} must return {name} objects; it returned {item!r:.200}.")
        if k.unique and not (isinstance(k.key(item), str) and k.key(item)):
            raise AITError(f"{hook} returned {item!r:.200}, named {k.key(item)!r}; a name is a non-empty string.")
        if why := k.broken(item):
            raise AITError(f"{hook} returned a broken {k.what}, {k.key(item)!r}: {why}.")
    return list(result)
