# SPDX-License-Identifier: Apache-2.0
"""The rule engine: puts the replacements of :class:`ait_core.declare.rule.Rule` where their patterns are found."""

from __future__ import annotations

from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Node, Value
from ait_core.passes.composites import adopt
from ait_core.passes.match import Match, Pattern, compile_rule, matches
from ait_core.passes.pipeline import Context

ROUNDS = 64  # sweeps over a graph; each applies all matches that do not overlap


def apply_rules(graph: Graph, context: Context) -> Graph:
    """Replace what the plugins' fusion rules match, larger patterns first, until none applies.

    A replacement whose type differs, or that its ops refuse to build, is not applied: a rule need not guard against
    every dtype and shape. The notes tell.
    """
    patterns = sorted((compile_rule(r) for r in context.rules), key=lambda p: -len(p.nodes))  # stable
    counts: dict[str, int] = {}
    refusals: dict[str, str] = {}
    for _ in range(ROUNDS):
        found = _sweep(graph, patterns, refusals)
        if not found:
            break
        graph = graph.substitute({a: b for m, new in found for a, b in zip(m.outputs, new, strict=True)})
        for m, _new in found:
            counts[m.pattern.rule.name] = counts.get(m.pattern.rule.name, 0) + 1
    else:
        context.notes.append(f"stopped after {ROUNDS} sweeps: do some rules undo each other?")
    context.notes += [f"{name}: {n}x" for name, n in counts.items()]
    context.notes += [f"{name} does not fit everywhere: {why}" for name, why in refusals.items()]
    return graph


def _sweep(
    graph: Graph, patterns: list[Pattern], refusals: dict[str, str]
) -> list[tuple[Match, tuple[Value, ...]]]:
    """Matches that do not overlap, and what replaces each."""
    users, kept = graph.users(), set(graph.outputs.values())
    place = {n: i for i, n in enumerate(graph.nodes)}
    by_op: dict[str, list[Node]] = {}
    for n in reversed(graph.nodes):
        by_op.setdefault(n.op.name, []).append(n)
    taken: set[Node] = set()
    alone = together = False  # whether a replacement of several results was chosen: out of order, or any
    chosen: list[tuple[Match, tuple[Value, ...]]] = []
    for p in patterns:
        for root in by_op.get(p.roots[0].node.op.name, ()):  # type: ignore[union-attr]
            if root in taken:
                continue
            for m in matches(p, root, users, kept):
                if not taken.isdisjoint(m.nodes.values()):
                    continue
                # A replacement of several results stands where the first of them stood. One that needs inputs from
                # later on might wait for another that waits for it, so it is the only such one of its sweep.
                several = len(m.outputs) > 1
                first = min(place[v.node] for v in m.outputs)  # type: ignore[index]
                late = several and any(v.node and place[v.node] > first for v in m.inputs)
                if (several and alone) or (late and (together or _circular(m, place))):
                    continue
                new = _build(m, refusals)
                if new is not None:
                    taken.update(m.nodes.values())
                    chosen.append((m, new))
                    alone, together = alone or late, together or several
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


def _build(m: Match, refusals: dict[str, str]) -> tuple[Value, ...] | None:
    """What replaces the results of a match; None where the rule's guard, or the type of what it builds, forbids it."""
    rule, old = m.pattern.rule, m.outputs
    try:
        made = rule.replacement(m.captured, *m.inputs)  # type: ignore[misc]
    except GraphError as e:
        refusals[rule.name] = str(e)
        return None
    if made is None:
        return None
    new = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    if len(new) != len(old) or any(
        a.dtype != b.dtype or not dims.same_shape(a.shape, b.shape) for a, b in zip(new, old, strict=True)
    ):
        refusals[rule.name] = f"{old} would become {list(new)}"
        return None
    origins = {n.origin for n in m.nodes.values()}
    origin = origins.pop() if len(origins) == 1 else ""
    adopt(new, m.inputs, source=old[0].node.source, origin=origin)  # type: ignore[union-attr]
    for a, b in zip(new, old, strict=True):
        if a.node and a not in m.inputs:
            a.name = b.name
    return new
