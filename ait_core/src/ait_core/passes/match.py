# SPDX-License-Identifier: Apache-2.0
"""Finding a pattern in a graph: structural, by op and attributes, with backtracking over commutative operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from ait_core.declare.rule import AnyAttr, Rule
from ait_core.errors import PluginError
from ait_core.ir import dims
from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import Constant, Graph, Node, Value, input

STEPS = 4096  # branches tried for one match
Users = dict[Value, list[tuple[Node, int]]]


@dataclass(frozen=True, eq=False)
class Pattern:
    """A rule's pattern as a graph: ``wildcards`` are its inputs, ``roots`` the values it stands for. ``routes`` lead
    from a value that earlier roots need up to each further root: (value, nodes on the way)."""

    rule: Rule
    wildcards: tuple[Value, ...]
    roots: tuple[Value, ...]
    nodes: tuple[Node, ...]
    routes: tuple[tuple[Value, tuple[Node, ...]], ...]


@dataclass(eq=False)
class Match:
    """A pattern found: pattern value -> graph value, pattern node -> graph node, and what was captured."""

    pattern: Pattern
    values: dict[Value, Value]
    nodes: dict[Node, Node]
    captured: dict[str, Any]

    @property
    def inputs(self) -> list[Value]:
        """The graph values of the wildcards, in the order of the pattern function's parameters."""
        return [self.values[w] for w in self.pattern.wildcards]

    @property
    def outputs(self) -> list[Value]:
        """The graph values that the replacement stands in for."""
        return [self.values[r] for r in self.pattern.roots]


@lru_cache(maxsize=4096)
def compile_rule(rule: Rule) -> Pattern:
    """Build the pattern on the types of the rule's example.

    Raises:
        PluginError: naming the rule, if its pattern cannot be built, returns no op, or leaves out a wildcard.
    """
    try:
        types = rule.example()
        wild = tuple(input(n, types[n][1], types[n][0]) for n in rule.wildcards)
        made = rule.pattern(*wild)
    except Exception as e:
        raise PluginError(
            f"The pattern of rule {rule.name!r} cannot be built on its example: {type(e).__name__}: {e}. "
            "example() must give a dtype and shape for each wildcard, and AnyAttr an example that fits."
        ) from e
    roots = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    if not roots or not all(isinstance(r, Value) and r.node for r in roots):
        raise PluginError(f"The pattern of rule {rule.name!r} must return the results of ops; it returns {made!r}.")
    graph = Graph({str(i): r for i, r in enumerate(roots)}, list(wild))
    unread = set(wild) - graph.users().keys()
    if unread:
        raise PluginError(f"The pattern of rule {rule.name!r} never uses {', '.join(sorted(w.name for w in unread))}.")
    if rule.replacement is None:
        raise PluginError(f"Rule {rule.name!r} has no replacement: give it one with @<rule>.replace.")
    reached = _below(roots[0])
    routes = []
    for root in roots[1:]:
        routes.append(_route(rule, root, reached))
        reached |= _below(root)
    return Pattern(rule, wild, roots, tuple(graph.nodes), tuple(routes))


def example_graph(rule: Rule) -> Graph:
    """The rule's pattern as an ordinary graph, with its wildcards as inputs and the examples of what it captures: what
    conformance tests run on random data before and after :func:`ait_core.passes.rules.apply_rules`.

    Raises:
        PluginError: as :func:`compile_rule`.
    """
    pattern = compile_rule(rule)

    def plain(v: Value | None) -> Value | None:
        captures = v is not None and v.constant is not None and v.constant.capture is not None
        return Value(v.name, v.type, constant=Constant(v.constant.array)) if captures else v  # type: ignore[union-attr]

    def concrete(node: Node, inputs: tuple[Value | None, ...]) -> tuple[Value, ...]:
        attrs = {k: a.example if isinstance(a, AnyAttr) else a for k, a in node.attrs.items()}
        return Node(node.op, tuple(map(plain, inputs)), attrs, node.output.name).outputs

    return Graph({str(i): r for i, r in enumerate(pattern.roots)}, list(pattern.wildcards)).rewrite(concrete)


def _below(root: Value) -> set[Value]:
    out: set[Value] = set()
    stack = [root]
    while stack:
        v = stack.pop()
        if v not in out:
            out.add(v)
            stack.extend(v.node.operands if v.node else ())
    return out


def _route(rule: Rule, root: Value, reached: set[Value]) -> tuple[Value, tuple[Node, ...]]:
    """The shortest way from a reached value up to ``root``."""
    paths: list[tuple[Value, tuple[Node, ...]]] = [(root, ())]
    for v, way in paths:  # grows: breadth first
        if v in reached and not v.constant:
            return v, way
        if v.node:
            paths.extend((o, (v.node, *way)) for o in v.node.operands)
    raise PluginError(f"The pattern of rule {rule.name!r} has results that share no value: write one rule for each.")


def matches(pattern: Pattern, root: Node, users: Users, kept: set[Value]) -> Iterator[Match]:
    """All ways to match with ``root`` as the producer of the first result. Values inside a match are read by nothing
    outside and are not among ``kept``, the outputs of the graph."""
    first = pattern.roots[0]
    stack: list[tuple[list[tuple[Value | None, Value | None]], Match]] = [
        ([(first, root.outputs[first.index])], Match(pattern, {}, {}, {}))
    ] if first.index < len(root.outputs) else []  # fmt: skip
    for _ in range(STEPS):
        if not stack:
            return
        goals, m = stack.pop()
        if not _settle(goals, m, stack):
            continue
        left = [(r, way) for r, way in zip(pattern.roots[1:], pattern.routes, strict=True) if r not in m.values]
        if left:
            target, (start, way) = left[0]
            for candidate in _climb(m.values[start], way, target, users):
                stack.append(([(target, candidate)], Match(pattern, dict(m.values), dict(m.nodes), dict(m.captured))))
        elif _closed(m, users, kept):
            yield m


def _climb(start: Value, way: tuple[Node, ...], target: Value, users: Users) -> list[Value]:
    level = [start]
    for step, after in zip(way, [*way[1:], None], strict=True):
        found = {n: None for v in level for n, _ in users.get(v, ()) if n.op.name == step.op.name}
        level = [o for n in found for o in (n.outputs if after else n.outputs[target.index : target.index + 1])]
    return level


def _settle(goals: list, m: Match, stack: list) -> bool:
    """Bind all goals (pattern value, graph value); alternatives go on the stack."""
    while goals:
        want, got = goals.pop()
        if want is None or got is None:
            if want is not got:
                return False
        elif want in m.values:
            if m.values[want] is not got:
                return False
        elif want.constant:
            if not _same_constant(want.constant, got, m.captured):
                return False
            m.values[want] = got
        elif want.node is None:
            m.values[want] = got
        elif not _bind_node(want, got, goals, m, stack):
            return False
    return True


def _bind_node(want: Value, got: Value, goals: list, m: Match, stack: list) -> bool:
    w, g = want.node, got.node
    if g is None or w is None or g.op.name != w.op.name or want.index != got.index or len(w.inputs) != len(g.inputs):
        return False
    m.values[want] = got
    if w in m.nodes:
        return m.nodes[w] is g
    for k, a in w.attrs.items():
        if not (capture(m.captured, a.name, g.attrs[k]) if isinstance(a, AnyAttr) else same_attr(a, g.attrs[k])):
            return False
    m.nodes[w] = g
    pairs = list(zip(w.inputs, g.inputs, strict=True))
    if w.op.commutative and g.inputs[0] is not g.inputs[1]:
        crossed = [(w.inputs[0], g.inputs[1]), (w.inputs[1], g.inputs[0]), *pairs[2:]]
        copy = Match(m.pattern, dict(m.values), dict(m.nodes), dict(m.captured))
        stack.append(([*goals, *reversed(crossed)], copy))
    goals.extend(reversed(pairs))
    return True


def _closed(m: Match, users: Users, kept: set[Value]) -> bool:
    results, inside = set(m.outputs), set(m.nodes.values())
    if len(results) < len(m.pattern.roots) or any(v.node in inside for v in m.inputs):
        return False
    return all(
        v in results or (v not in kept and all(u in inside for u, _ in users.get(v, ())))
        for n in inside
        for v in n.outputs
    )


def capture(captured: dict[str, Any], name: str, value: Any) -> bool:
    """Record a captured value; whether it agrees with an earlier one of that name."""
    return same_attr(captured.setdefault(name, value), value)


def same_attr(a: Any, b: Any) -> bool:
    """Whether two attributes mean the same: sizes as sizes, NaN equal to NaN, a truth value is no number."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_attr, a, b))
    if isinstance(a, sympy.Expr) or isinstance(b, sympy.Expr):
        return all(isinstance(x, (int, sympy.Expr)) for x in (a, b)) and dims.same(a, b)
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)  # tells 0.0 from -0.0
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _same_constant(want: Constant, got: Value, captured: dict[str, Any]) -> bool:
    if got.constant is None or got.constant.parameter is not None or got.shape != want.array.shape:
        return False
    a, b = want.array, got.constant.array
    if want.capture is not None:
        kind = dtype(b.dtype)
        return capture(captured, want.capture, float(b) if kind.is_float else int(b) if kind.is_int else bool(b))
    floats = [dtype(x.dtype) for x in (a, b) if dtype(x.dtype).is_float]
    if len(floats) == 2:  # 0.7 is written the same in a float16 model and in the float32 pattern
        narrow = min(floats, key=lambda t: t.rank).numpy
        a, b = a.astype(narrow).astype(np.float64), b.astype(narrow).astype(np.float64)
        return bool(np.all(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))))
    return bool(np.all(a == b))
