# SPDX-License-Identifier: Apache-2.0
"""What the compiler decided, as data: groups, edges between them, copies, passes. ``ait explain`` and ``graph`` show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ait_core.declare import roles
from ait_core.fuse.groups import Group, param_name
from ait_core.fuse.lower import base_of
from ait_core.fuse.work import group_work, work
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Node, Value

if TYPE_CHECKING:
    from ait_core.compiler import Plan


def report(plan: Plan, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Everything ``ait explain`` shows, as JSON-ready data. Bytes and operations are those at ``sizes`` of the dims."""
    run = [x.group for x in plan.run]
    groups = [_group(plan, g, sizes) for g in plan.placement.order]
    live = [g for g in groups if not g["load_time"]]
    return {
        "target": plan.target.name,
        "sizes": dict(sizes),
        "nodes": {"source": len(plan.source_graph.nodes), "optimised": len(plan.graph.nodes)},
        "launches": len(plan.run),
        "load_launches": len(plan.load),
        "bytes": sum(g["bytes"] for g in live),
        "bytes_unfused": sum(g["bytes_unfused"] for g in live),
        "groups": groups,
        "horizontal": _horizontal(plan),
        "edges": [e for g in run for e in _edges(plan, g)],
        "not_fused": [
            {"producer": d.producer, "consumer": d.consumer, "reason": d.reason} for d in plan.fuser.decisions if not d.fused
        ],
        "copies": [{"value": v, "reason": why} for v, why in plan.placement.copies],
        "passes": [
            {"name": r.name, "before": r.before, "after": r.after, "seconds": r.seconds, "changed": r.changed,
             "notes": list(r.notes)} for r in plan.records
        ],
    }  # fmt: skip


def at(size: Dim, sizes: Mapping[str, int]) -> int:
    """A symbolic size at given sizes of the dims."""
    return int(dims.parse(dims.text(size), dict(sizes)))  # type: ignore[arg-type]


def _group(plan: Plan, g: Group, sizes: Mapping[str, int]) -> dict[str, Any]:
    fused, again = group_work(g, plan.fuser), [n for n in _again(plan, g)]
    apart = [work([n], n.outputs).bytes for n in [*g.members, *again]]
    launches = [x for x in (plan.load if g.load_time else plan.run) if x.group is g]
    return {
        "name": g.name,
        "ops": g.ops,
        "kernel": g.kernel.name if g.kernel else "loops",
        "load_time": g.load_time,
        "launches": len(launches),
        "nodes": [_node(n) for n in g.members],
        "computed_again": [_node(n) for n in again],
        "stores": [{"value": v.name, "type": str(v.type), **placement(plan, v)} for v in g.outputs],
        "flops": None if fused.flops is None else at(fused.flops, sizes),
        "bytes": at(fused.bytes, sizes),
        "bytes_unfused": sum(at(n, sizes) for n in apart),
    }


def _node(n: Node) -> dict[str, str]:
    return {"value": n.output.name, "op": n.op.name, "origin": n.origin, "source": n.source}


def _again(plan: Plan, g: Group) -> Iterator[Node]:
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


def placement(plan: Plan, v: Value) -> dict[str, Any]:
    """Where a value lies: which memory, the join whose memory it is written into, its strides if they are not dense."""
    place = plan.placement.places[v]
    into = next(
        (n.output.name for n in plan.graph.nodes if isinstance(n.op.role, roles.Join) and any(base_of(x)[0] is v for x in n.operands)
         and n.output in plan.placement.places and plan.placement.places[n.output].buffer is place.buffer), None,
    )  # fmt: skip
    dense = place.layout.is_contiguous
    return {"space": place.buffer.space, "into": into, "strides": None if dense else [dims.text(s) for s in place.layout.strides],
            "offset": dims.text(place.layout.offset)}  # fmt: skip


def reads(plan: Plan, g: Group) -> Iterator[tuple[Node, int, Value]]:
    """What a group reads from memory: (reader, which of its inputs, the value that lies there)."""
    for n in [*g.members, *_again(plan, g)]:
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


def _edges(plan: Plan, g: Group) -> Iterator[dict[str, str]]:
    """Every value that passes through memory between two groups, and why."""
    told = {(d.producer, d.consumer): d.reason for d in plan.fuser.decisions if not d.fused}
    seen = set()
    for n, i, v in reads(plan, g):
        for w in writers(plan, v):
            if w is g or (w, v) in seen:
                continue
            seen.add((w, v))
            reason = next((told[p, c] for p in [v.name, *(m.output.name for m in w.members)]
                           for c in (n.output.name, g.members[0].output.name) if (p, c) in told), None)  # fmt: skip
            yield {"from": w.name, "to": g.name, "value": v.name, "type": str(v.type), "reader": n.op.name,
                   "operand": param_name(n, i), "reason": reason or _why(plan, w, g, n, i)}  # fmt: skip


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


def _horizontal(plan: Plan) -> list[dict[str, Any]]:
    """Contractions that became one: the core's ``part`` takes each branch's share out of the result."""
    parts: dict[Value, list[Value]] = {}
    for n in plan.graph.nodes:
        if n.op.name == "core.part":
            parts.setdefault(n.inputs[0], []).append(n.output)  # type: ignore[arg-type]
    return [
        {"group": plan.fuser.of[v.node].name, "value": v.name, "branches": len(found), "shares": [str(p.type) for p in found]}
        for v, found in parts.items() if v.node in plan.fuser.of
    ]  # fmt: skip
