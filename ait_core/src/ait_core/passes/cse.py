# SPDX-License-Identifier: Apache-2.0
"""Common subexpressions are computed once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ait_core.ir.graph import Graph, Node, Value
from ait_core.passes.content import content
from ait_core.passes.pipeline import Context


def cse(graph: Graph, context: Context) -> Graph:
    """Merge nodes with the same op, inputs and attributes, and constants with the same content.

    Parameters merge only where they are one parameter, with one name: users may replace them one by one.
    """
    instead = _equal_constants(graph.constants)
    first: dict[Hashable, Node] = {}
    for n in graph.nodes:
        inputs: list[Any] = [instead.get(v, v) if v is not None else None for v in n.inputs]
        if n.op.commutative:
            inputs[:2] = sorted(inputs[:2], key=id)
        key = (n.op.name, tuple(map(id, inputs)), tuple((k, attr_key(a)) for k, a in n.attrs.items()))
        same = first.setdefault(key, n)
        if same is not n:
            instead.update(zip(n.outputs, same.outputs, strict=True))
    return graph.substitute(instead)


def attr_key(value: Any) -> Hashable:
    """A key that is equal for equal attributes only: 1, 1.0 and True differ, so do 0.0 and -0.0; NaN equals NaN."""
    if isinstance(value, tuple):
        return tuple(map(attr_key, value))
    return (type(value).__name__, repr(value)) if isinstance(value, (bool, int, float)) else value


def _equal_constants(constants: Sequence[Value]) -> dict[Value, Value]:
    alike: dict[Hashable, list[Value]] = {}
    for v in constants:
        alike.setdefault((v.dtype, v.shape, v.constant.parameter), []).append(v)  # type: ignore[union-attr]
    out: dict[Value, Value] = {}
    for group in alike.values():
        seen: dict[bytes, Value] = {}
        for v in group if len(group) > 1 else ():
            same = seen.setdefault(content(v.constant.array), v)  # type: ignore[union-attr]
            if same is not v:
                out[v] = same
    return out
