# SPDX-License-Identifier: Apache-2.0
"""Composite ops become what they are made of."""

from __future__ import annotations

from collections.abc import Sequence

from ait_core.declare.roles import Composite
from ait_core.errors import InternalError
from ait_core.ir.graph import Graph, Node, Value
from ait_core.passes.pipeline import Context

DEPTH = 32  # of composites made of composites


def expand_composites(graph: Graph, context: Context) -> Graph:
    """Put the ops a composite is made of in its place, unless a kernel template claims it whole."""

    def expand(node: Node, inputs: tuple[Value | None, ...]) -> Sequence[Value] | None:
        if not isinstance(node.op.role, Composite) or context.keep(node):
            return None
        made = node.op.role.build(*inputs, **node.attrs)
        values = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        adopt(values, inputs, source=node.source, origin=_origin(node))
        for old, new in zip(node.outputs, values, strict=True):
            if new.node and new not in inputs:
                new.name = old.name
        return values

    for _ in range(DEPTH):
        if not any(isinstance(n.op.role, Composite) and not context.keep(n) for n in graph.nodes):
            return graph
        graph = graph.rewrite(expand)
    left = sorted({n.op.name for n in graph.nodes if isinstance(n.op.role, Composite) and not context.keep(n)})
    raise InternalError(f"Composites nest more than {DEPTH} deep; is one made of itself? Left: {', '.join(left)}.")


def _origin(node: Node) -> str:
    """The composites a part of ``node`` comes out of, outermost first; a rule may have found it in itself again."""
    outer = node.origin.split("/") if node.origin else []
    return "/".join(outer if node.op.name in outer else [*outer, node.op.name])


def adopt(values: Sequence[Value], inputs: Sequence[Value | None], *, source: str, origin: str) -> None:
    """Mark the nodes between ``inputs`` and ``values`` as coming from ``source`` and ``origin``."""
    seen = {v.node for v in inputs if v is not None}
    stack = [v.node for v in values]
    while stack:
        n = stack.pop()
        if n is not None and n not in seen:
            seen.add(n)
            n.source, n.origin = source, origin
            stack.extend(v.node for v in n.operands)
