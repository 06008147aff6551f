# SPDX-License-Identifier: Apache-2.0
"""Declaring fusion rules and lowerings.

A rule's pattern is written by calling ops on wildcards, exactly as a graph is built; its replacement the same way::

    @rule("my_pack.fuse_swish", example=lambda: {"x": ("float32", (2, 3))})
    def swish(x):
        return tensor.mul(x, tensor.sigmoid(x))

    @swish.replace
    def _(m, x):
        return my_pack.swish(x)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class AnyAttr:
    """Matches any attribute value in a pattern and captures it as ``m[name]``. ``example`` is the value with which the
    pattern is type-checked and proven."""

    name: str
    example: Any = None


@dataclass(frozen=True)
class AnyScalar:
    """An operand of a pattern that matches any 0-d constant (but no parameter: users may replace those) and captures
    its number as ``m[name]``. ``example`` is the number with which the pattern is type-checked and proven."""

    name: str
    example: bool | int | float = 0.5


@dataclass(eq=False)
class Rule:
    """A graph rewrite. ``pattern(*wildcards)`` builds what to look for; ``replacement(match, *values)`` builds what to
    put there, or returns None to leave it (the guard). ``example()`` gives ``{wildcard: (dtype, shape)}``: the
    conformance tests build the pattern on random inputs of these types and prove the rewrite numerically."""

    name: str
    pattern: Callable[..., Any]
    example: Callable[[], Mapping[str, tuple[str, Sequence[int]]]]
    replacement: Callable[..., Any] | None = None
    wildcards: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.wildcards = tuple(inspect.signature(self.pattern).parameters)

    def replace(self, fn: Callable[..., Any]) -> Rule:
        """Set the replacement."""
        self.replacement = fn
        return self


def rule(name: str, *, example: Callable[[], Mapping[str, tuple[str, Sequence[int]]]]) -> Callable[[Callable], Rule]:
    """Declare a rule from its pattern function."""
    return lambda pattern: Rule(name, pattern, example)


@dataclass(frozen=True, eq=False)
class Lowering:
    """How a frontend's op becomes ours: ``fn(ctx, *args, **kwargs)`` returns a value or several. ``target`` is the
    frontend's name of the op, ``"aten.mm.default"``; ``ctx`` is the frontend's importer (see its documentation)."""

    frontend: str
    target: str
    fn: Callable[..., Any]


def lowering(frontend: str, *targets: str) -> Callable[[Callable], list[Lowering]]:
    """Declare one function as the lowering of one or more of a frontend's ops."""
    return lambda fn: [Lowering(frontend, t, fn) for t in targets]


def lowerings_in(*modules: Any) -> list[Lowering]:
    """All lowerings at the top level of some modules: what the hook ``ait_lowerings`` returns."""
    found = [v for m in modules for v in vars(m).values() if isinstance(v, list) and v and isinstance(v[0], Lowering)]
    return list({(x.frontend, x.target): x for group in found for x in group}.values())


def rules_in(*modules: Any) -> list[Rule]:
    """All rules at the top level of some modules: what the hook ``ait_rules`` returns."""
    return list({id(v): v for m in modules for v in vars(m).values() if isinstance(v, Rule)}.values())  # `_` is one too
