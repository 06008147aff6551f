# SPDX-License-Identifier: Apache-2.0
"""What the compiler decided, as data: groups, edges, copies, passes. ``ait explain`` and ``ait graph`` show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ait_core.declare import roles
from ait_core.fuse.groups import Group
from ait_core.fuse.work import group_work, work
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Node, Value
from ait_tools.edges import computed_again, edges, merges

if TYPE_CHECKING:
    from ait_core.compiler import Plan


@dataclass(frozen=True)
class Explanation:
    """A report: ``data`` for programs, ``str()`` for people."""

    data: dict[str, Any]

    def __str__(self) -> str:
        from ait_tools.text import text

        return text(self.data)


def explain(obj: Any, example_inputs: Any = None, *, sizes: Mapping[str, int] | None = None, **how: Any) -> Explanation:
    """What ``ait explain`` shows, for a model in Python.

    Args:
        obj: as for ``ait.compile``, as are ``example_inputs`` and ``how`` (``dynamic_shapes``, ``target``, ``dtype``,
            ``disable``).
        sizes: of dims, at which memory traffic is counted; a usual one for those that are missing.

    Raises:
        AITError: as ``ait.compile`` does, and for a dim that the model does not have.
    """
    from ait_core.api import plan
    from ait_tools.interface import Interface
    from ait_tools.source import Opened

    made = plan(obj, example_inputs, **how)
    at = Interface.of_source(Opened(type(obj).__name__, made.source_graph, None, {})).sizes(sizes or {}, {})
    return Explanation({"model": type(obj).__name__, **report(made, at)})


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
        "horizontal": merges(plan),
        "edges": [e for g in run for e in edges(plan, g)],
        "not_fused": [
            {"producer": d.producer, "consumer": d.consumer, "reason": d.reason}
            for d in plan.fuser.decisions
            if not d.fused
        ],
        "copies": [{"value": v, "reason": why} for v, why in plan.placement.copies],
        "passes": [
            {
                "name": r.name,
                "before": r.before,
                "after": r.after,
                "seconds": r.seconds,
                "changed": r.changed,
                "notes": list(r.notes),
            }
            for r in plan.records
        ],
    }


def at(size: Dim, sizes: Mapping[str, int]) -> int:
    """A symbolic size at given sizes of the dims."""
    return int(dims.parse(dims.text(size), dict(sizes)))  # type: ignore[arg-type]


def _group(plan: Plan, g: Group, sizes: Mapping[str, int]) -> dict[str, Any]:
    fused, again = group_work(g, plan.fuser), list(computed_again(plan, g))
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


def placement(plan: Plan, v: Value) -> dict[str, Any]:
    """Where a value lies: which memory, the join whose memory it is written into, its strides if they are not dense."""
    place = plan.placement.places[v]
    into = next(
        (
            j.name
            for j, there in plan.placement.places.items()
            if j is not v
            and there.buffer is place.buffer
            and j.node is not None
            and isinstance(j.node.op.role, roles.Join)
        ),
        None,
    )
    dense = place.layout.is_contiguous
    return {
        "space": place.buffer.space,
        "into": into,
        "strides": None if dense else [dims.text(s) for s in place.layout.strides],
        "offset": dims.text(place.layout.offset),
    }
