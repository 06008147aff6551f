# SPDX-License-Identifier: Apache-2.0
"""The rule engine: puts the replacements of :class:`ait_core.declare.rule.Rule` where their patterns are found."""

from __future__ import annotations

from ait_core.errors import InternalError
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Node, Value
from ait_core.passes.composites import adopt
from ait_core.passes.match import Match, Pattern, compile_rule, matches
from ait_core.passes.pipeline import Context

ROUNDS = 64  # sweeps over a graph; each applies all matches that do not overlap


def apply_rules(graph: Graph, context: Context) -> Graph:
    """Replace what the plugins' fusion rules match, larger patterns first, until none applies."""
    patterns = sorted((compile_rule(r) for r in context.rules), key=lambda p: -len(p.nodes))  # stable
    counts: dict[str, int] = {}
    for _ in range(ROUNDS):
        found = _sweep(graph, patterns)
        if not found:
            break
        graph = graph.substitute({a: b for m, new in found for a, b in zip(m.outputs, new, strict=True)})
        for m, _new in found:
            counts[m.pattern.rule.name] = counts.get(m.pattern.rule.name, 0) + 1
    else:
        context.notes.append(f"stopped after {ROUNDS} sweeps: do some rules undo each other?")
    context.notes += [f"{name}: {n}x" for name, n in counts.items()]
    return graph


def _sweep(graph: Graph, patterns: list[Pattern]) -> list[tuple[Match, tuple[Value, ...]]]:
    """Matches that do not overlap, and what replaces each."""
    users, kept = graph.users(), set(graph.outputs.values())
    place = {n: i for i, n in enumerate(graph.nodes)}
    by_op: dict[str, list[Node]] = {}
    for n in reversed(graph.nodes):
        by_op.setdefault(n.op.name, []).append(n)
    taken: set[Node] = set()
    out_of_order = False
    chosen: list[tuple[Match, tuple[Value, ...]]] = []
    for p in patterns:
        for root in by_op.get(p.roots[0].node.op.name, ()):  # type: ignore[union-attr]
            if root in taken:
                continue
            for m in matches(p, root, users, kept):
                # A replacement stands where the first of its results stood. Two that need inputs from later on could
                # wait for each other, so such are applied one a sweep.
                first = min(place[v.node] for v in m.outputs)  # type: ignore[index]
                late = any(v.node and place[v.node] > first for v in m.inputs)
                if not taken.isdisjoint(m.nodes.values()) or (late and (out_of_order or _circular(m, place))):
                    continue
                new = _build(m)
                if new is not None:
                    taken.update(m.nodes.values())
                    chosen.append((m, new))
                    out_of_order |= late
                    break
    return chosen


def _circular(m: Match, place: dict[Node, int]) -> bool:
    """Whether some input of the match is computed from one of its results."""
    results = {v.node for v in m.outputs}
    first = min(place[n] for n in results if n)
    seen: set[Node] = set()
    stack = [v.node for v in m.inputs if v.node]
    while stack:
        n = stack.pop()
        if n in results:
            return True
        if n not in seen and place[n] > first:
            seen.add(n)
            stack.extend(v.node for v in n.operands if v.node)
    return False


def _build(m: Match) -> tuple[Value, ...] | None:
    rule, old = m.pattern.rule, m.outputs
    made = rule.replacement(m.captured, *m.inputs)  # type: ignore[misc]
    if made is None:
        return None
    new = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    if len(new) != len(old) or any(
        a.dtype != b.dtype or not dims.same_shape(a.shape, b.shape) for a, b in zip(new, old, strict=True)
    ):
        raise InternalError(f"Rule {rule.name!r} replaces {old} by {list(new)}: the types must stay. Guard against it.")
    origins = {n.origin for n in m.nodes.values()}
    adopt(new, m.inputs, source=old[0].node.source, origin=origins.pop() if len(origins) == 1 else "")  # type: ignore[union-attr]
    for a, b in zip(new, old, strict=True):
        if a.node and a not in m.inputs:
            a.name = b.name
    return new
