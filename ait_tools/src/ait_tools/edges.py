# SPDX-License-Identifier: Apache-2.0
"""What kernels read from memory, who wrote it, and why it was not fused away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ait_core.declare import roles
from ait_core.fuse.groups import Group, param_name
from ait_core.fuse.lower import base_of
from ait_core.ir.graph import Node, Value

if TYPE_CHECKING:
    from ait_core.compiler import Plan

SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}


def computed_again(plan: Plan, g: Group) -> Iterator[Node]:
    """Nodes of other groups that this one computes for itself instead of reading them."""
    seen = set(g.members)
    stack = list(g.members)
    while stack:
        for v in stack.pop().operands:
            node = base_of(v)[0].node
            if node is not None and node not in seen and plan.fuser.recomputed(node):
                seen.add(node)
                stack.append(node)
                yield node


def reads(plan: Plan, g: Group) -> Iterator[tuple[Node, int, Value]]:
    """What a group reads from memory: (reader, which of its inputs, the value that lies there)."""
    for n in [*g.members, *computed_again(plan, g)]:
        for i, x in enumerate(n.inputs):
            if x is None:
                continue
            base = plan.placement.operand.get((n, i)) or base_of(x)[0]
            if base.node is None or not (plan.fuser.of.get(base.node) is g or plan.fuser.recomputed(base.node)):
                yield n, i, base


def writers(plan: Plan, v: Value) -> list[Group]:
    """The groups that write a value: one, or several where it is a join written in place."""
    if v.node is None:
        return []
    if isinstance(v.node.op.role, roles.Join):
        return [w for x in v.node.operands for w in writers(plan, base_of(x)[0])]
    found = plan.fuser.of.get(v.node)
    return [found] if found in plan.placement.order else []


def edges(plan: Plan, g: Group) -> Iterator[dict[str, str]]:
    """Every value that passes through memory between two groups, and why."""
    told = {(d.producer, d.consumer): d.reason for d in plan.fuser.decisions if not d.fused}
    seen = set()
    for n, i, v in reads(plan, g):
        for w in writers(plan, v):
            if w is g or (w, v) in seen:
                continue
            seen.add((w, v))
            reason = next(
                (
                    told[p, c]
                    for p in [v.name, *(m.output.name for m in w.members)]
                    for c in (n.output.name, g.members[0].output.name)
                    if (p, c) in told
                ),
                None,
            )
            yield {
                "from": w.name,
                "to": g.name,
                "value": v.name,
                "type": str(v.type),
                "reader": n.op.name,
                "operand": param_name(n, i),
                "reason": reason or _why(plan, w, g, n, i),
            }


def _why(plan: Plan, w: Group, g: Group, n: Node, i: int) -> str:
    """Why no fusion was tried across an edge."""
    if w.load_time != g.load_time:
        return "it is made once, when the model is loaded"
    if w.index < 0:
        return "it is a copy, see copies"
    if g.anchor is n:
        param, absorbs = param_name(n, i), g.kernel.absorbs  # type: ignore[union-attr]
        if param not in absorbs.prologue:
            return f"the template {g.kernel.name} reads {param} from memory"  # type: ignore[union-attr]
    if w.anchor is not None and g.anchor is not None:
        return f"both are kernels of their own, {w.kernel.name} and {g.kernel.name}"  # type: ignore[union-attr]
    if any(isinstance(m.op.role, roles.Reduction) for m in w.members):
        return "its rows are reduced first, and several readers or a template need the result"
    return "computing it again in each reader costs more than storing it"


def merges(plan: Plan) -> list[dict[str, Any]]:
    """Contractions that became one: the core's ``part`` takes each branch's share out of the result."""
    parts: dict[Value, list[Value]] = {}
    for n in plan.graph.nodes:
        if n.op.name == "core.part":
            parts.setdefault(n.inputs[0], []).append(n.output)  # type: ignore[arg-type]
    return [
        {
            "group": plan.fuser.of[v.node].name,
            "value": v.name,
            "branches": len(found),
            "shares": [str(p.type) for p in found],
        }
        for v, found in parts.items()
        if v.node in plan.fuser.of
    ]


def short(v: Value) -> str:
    """``f32[batch, seq, 64]``."""
    dtype, _, shape = str(v.type).partition("[")
    letters = dtype.rstrip("0123456789")
    return f"{SHORT.get(letters, letters)}{dtype[len(letters) :]}[{shape}"
