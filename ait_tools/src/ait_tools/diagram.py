# SPDX-License-Identifier: Apache-2.0
"""The graph before and after fusion as boxes, nets and what a click on them shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ait_core.declare import roles
from ait_core.fuse.groups import Group
from ait_core.ir.graph import Graph, Node, Value
from ait_tools.edges import reads, short, writers

if TYPE_CHECKING:
    from ait_core.compiler import Plan

KINDS = {
    roles.Pointwise: "pointwise",
    roles.Viewing: "view",
    roles.Join: "view",
    roles.Indexed: "indexed",
    roles.Reduction: "reduction",
    roles.Contraction: "contraction",
    roles.Composite: "composite",
    roles.Opaque: "opaque",
}
LINES = 12  # of ops in the box of a group


@dataclass
class Item:
    """One box: ``lines`` under the title, and ``details`` as (heading, text or rows) for the panel."""

    key: str
    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    details: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Wire:
    """One value and who reads it."""

    source: str
    readers: list[str]
    label: str
    name: str


@dataclass
class Diagram:
    name: str
    items: list[Item]
    wires: list[Wire]


def before(graph: Graph) -> Diagram:
    """The graph as it was imported, one box a node. Constants are part of what reads them."""
    keys: dict[Any, str] = {v: f"i{i}" for i, v in enumerate(graph.inputs)} | {
        n: f"n{i}" for i, n in enumerate(graph.nodes)
    }
    items = [Item(keys[v], "input", v.name, [short(v)], [("input", str(v.type))]) for v in graph.inputs]
    for n in graph.nodes:
        fixed = [v for v in n.operands if v.constant]
        item = Item(keys[n], KINDS.get(type(n.op.role), "opaque"), n.op.name, [n.output.name, *_constants(fixed)])
        item.details = [
            ("value", "\n".join(f"{v.name}: {v.type}" for v in n.outputs)),
            ("operands", [(_param(n, i), f"{v.name}: {v.type}") for i, v in enumerate(n.inputs) if v is not None]),
            ("attributes", [(k, _attribute(v)) for k, v in n.attrs.items()]),
            ("source", n.source),
            ("part of", n.origin),
            ("op", n.op.doc),
        ]
        items.append(item)
    read: dict[Value, list[str]] = {}
    for n in graph.nodes:
        for v in dict.fromkeys(n.operands):
            if not v.constant:
                read.setdefault(v, []).append(keys[n])
    for i, (name, v) in enumerate(graph.outputs.items()):
        items.append(Item(f"o{i}", "output", name, [short(v)], [("output", f"{v.name}: {v.type}")]))
        if not v.constant:
            read.setdefault(v, []).append(f"o{i}")
    return Diagram("before fusion", items, [Wire(keys[v.node or v], r, short(v), v.name) for v, r in read.items()])


def after(plan: Plan, data: dict[str, Any], load_time: bool) -> Diagram:
    """The kernels of a call, or those that run once when the model is loaded.

    Args:
        data: the plan's report (:func:`ait_tools.report.report`).
    """
    groups = [(g, d) for g, d in zip(plan.placement.order, data["groups"], strict=True) if g.load_time == load_time]
    launched = {id(x.group): x for x in (plan.load if load_time else plan.run)}
    keys: dict[Any, str] = {g: f"g{i}" for i, (g, _) in enumerate(groups)}
    items: list[Item] = []
    read: dict[Value, list[str]] = {}
    for g, _ in groups:
        for _, _, v in reads(plan, g):
            if not v.constant and any(w in keys for w in writers(plan, v)) or (v.is_input and not load_time):
                read.setdefault(v, []).append(keys[g])
    if not load_time:
        for i, v in enumerate(plan.graph.inputs):
            keys[v] = f"i{i}"
            items.append(Item(keys[v], "input", v.name, [short(v)], [("input", str(v.type))]))
    for g, d in groups:
        items.append(_group(keys[g], g, d, data, launched.get(id(g))))
    wires: dict[tuple[str, str], Wire] = {}
    for i, (name, v) in enumerate(plan.graph.outputs.items() if not load_time else ()):
        items.append(Item(f"o{i}", "output", name, [short(v)], [("output", f"{v.name}: {v.type}")]))
        from_copy = [g for g, d in groups if any(s["space"] == "output" and _writes(plan, g, i) for s in d["stores"])]
        for source in [keys[v]] if v.is_input and not from_copy else [keys[g] for g in from_copy]:
            wires[source, f"o{i}"] = Wire(source, [f"o{i}"], short(v), v.name)
    for v, readers in read.items():
        for source in [keys[v]] if v.is_input else [keys[w] for w in writers(plan, v) if w in keys]:
            others = [r for r in dict.fromkeys(readers) if r != source]
            if others:
                wires[source, v.name] = Wire(source, others, short(v), v.name)
    return Diagram("at load" if load_time else "after fusion", items, list(wires.values()))


def _writes(plan: Plan, g: Group, output: int) -> bool:
    places = (plan.placement.places[v].buffer for v in g.outputs)
    return any(b.space == "output" and b.index == output for b in places)


def _group(key: str, g: Group, d: dict[str, Any], data: dict[str, Any], launch: Any) -> Item:
    kind = (
        "load" if g.load_time else "copy" if g.index < 0 else KINDS[type(g.anchor.op.role)] if g.anchor else "pointwise"
    )
    names: dict[str, int] = {}
    for n in g.members:
        shown = (n.origin or n.op.name).split("/")[0]
        names[shown] = names.get(shown, 0) + 1
    lines = [f"{o} ×{c}" if c > 1 else o for o, c in names.items()]
    if len(lines) > LINES:
        lines[LINES:] = [f"and {len(lines) - LINES} more"]
    edges = [
        (f"{e['value']} from {e['from']}", f"{e['type']}: {e['reason']}") for e in data["edges"] if e["to"] == g.name
    ]
    refused = [
        (f"{x['producer']} -> {x['consumer']}", x["reason"])
        for x in data["not_fused"]
        if x["producer"] in {n.output.name for n in g.members}
    ]
    where = [
        (
            s["value"],
            f"{s['type']} in {s['space']}"
            + (f", inside {s['into']}" if s["into"] else "")
            + (f", strides {' × '.join(s['strides'])} from {s['offset']}" if s["strides"] else ""),
        )
        for s in d["stores"]
    ]
    details = [
        ("kernel", f"{d['kernel']}{', runs when the model is loaded' if g.load_time else ''}"),
        (
            "ops",
            [
                (
                    n["value"],
                    n["op"]
                    + (f" of {n['origin']}" if n["origin"] else "")
                    + (f"  {n['source']}" if n["source"] else ""),
                )
                for n in d["nodes"]
            ],
        ),
        ("computed again here", [(n["value"], n["op"]) for n in d["computed_again"]]),
        ("stores", where),
        ("reads through memory, and why", edges),
        ("fusions refused", refused),
        (
            "work",
            f"{d['bytes']:,} bytes moved, {d['bytes_unfused']:,} unfused; "
            + (f"{d['flops']:,} operations" if d["flops"] is not None else "operations unknown"),
        ),
        ("source code", launch.source if launch else ""),
    ]
    return Item(key, kind, g.name, [d["kernel"], "", *lines], details)


def _constants(values: list[Value]) -> list[str]:
    shown = [
        f"{v.name} {short(v)}" if v.constant.array.size > 1 else f"{v.constant.array.reshape(()).item():g}"  # type: ignore[union-attr]
        for v in values[:2]
    ]
    return shown + ([f"and {len(values) - 2} more constants"] if len(values) > 2 else [])


def _param(n: Node, i: int) -> str:
    return n.op.params[min(i, len(n.op.params) - 1)].name


def _attribute(value: Any) -> str:
    return np.array2string(value, threshold=16) if isinstance(value, np.ndarray) else str(value)
