# SPDX-License-Identifier: Apache-2.0
"""The work a kernel must do at least: arithmetic, and bytes to and from memory, as ``ait bench`` shows them.

Every value counts once, however a kernel gets at it: what a template computes twice or reads again from a cache is its
own affair. Sizes stay symbolic. Nothing here knows an op by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ait_core.declare import roles
from ait_core.fuse.groups import Fuser, Group
from ait_core.fuse.lower import Lowerer
from ait_core.fuse.nest import walk
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.index import var
from ait_core.scalar.expr import INDEX, Expr
from ait_core.scalar.primitives import PRIMITIVES


@dataclass(frozen=True)
class Work:
    """``flops``: a multiplication or an addition is one, dearer functions as many as they cost in additions; None if an
    op does not say. ``bytes``: read from and written to memory."""

    flops: Dim | None
    bytes: Dim


def group_work(group: Group, fuser: Fuser) -> Work:
    """The work of a fused group, with what it computes again of others."""
    return work(group.members, group.outputs, fuser.recomputed)


def work(nodes: Iterable[Node], stored: Iterable[Value], recomputed=lambda node: False) -> Work:
    """The work of nodes that store some values and read from memory whatever is not theirs or ``recomputed``."""
    inside, reads = dict.fromkeys(nodes), {}
    todo = list(inside)
    while todo:
        node = todo.pop()
        for base, elements in _reads(node):
            if base.node in inside:
                continue
            if base.node is not None and recomputed(base.node):
                inside[base.node] = None
                todo.append(base.node)
            elif base.constant is None or base.constant.parameter or base.constant.array.size > 1:
                reads[base] = _least(base.type.numel, reads.get(base, 0) + elements)
    moved = [v.type.nbytes for v in stored] + [n * v.dtype.itemsize for v, n in reads.items()]
    return Work(_total(node_flops(n) for n in inside), dims.as_dim(sum(moved)))


def node_flops(node: Node) -> Dim | None:
    """Arithmetic of one node; None if its op does not say."""
    if node.op.flops is not None:
        return dims.as_dim(node.op.flops(*(v and v.type for v in node.inputs), **node.attrs))
    match node.op.role:
        case roles.Viewing() | roles.Join():
            return 0
        case roles.Contraction():
            return dims.prod((2, node.output.type.numel, node.inputs[0].shape[-1]))  # type: ignore[union-attr]
        case roles.Reduction():
            return node.inputs[0].type.numel  # type: ignore[union-attr]
        case roles.Composite(build):
            made = build(*(v and Value(v.name, v.type) for v in node.inputs), **node.attrs)
            many = made if isinstance(made, tuple) else (made,)
            return _total(node_flops(n) for n in Graph({str(i): v for i, v in enumerate(many)}).nodes)
        case roles.Pointwise() | roles.Indexed():
            own = sum(PRIMITIVES[e.op].cost for e in _exprs(node) if e.op in PRIMITIVES and e.kind != INDEX)
            return dims.prod((own, node.output.type.numel))
    return None


def _exprs(node: Node) -> Iterator[Expr]:
    at = tuple(var(f"i{k}", n) for k, n in enumerate(node.output.shape))
    return iter(walk([Lowerer(lambda n: n is node, {}).at(node.output, at)]))


def _reads(node: Node) -> Iterator[tuple[Value, Dim]]:
    """The values in memory that a node reads, each with how many of its elements."""
    loads: dict[Value, int] = {}
    if isinstance(node.op.role, (roles.Pointwise, roles.Indexed)):
        for e in _exprs(node):
            if e.op == "load":
                loads[e.payload] = loads.get(e.payload, 0) + 1
    for v in dict.fromkeys(node.operands):
        base = v
        elements = v.type.numel
        while base.node is not None and isinstance(base.node.op.role, roles.Viewing):
            base = base.node.inputs[0]  # type: ignore[assignment]
            elements = _least(elements, base.type.numel)
        if base in loads:
            elements = _least(elements, dims.prod((loads[base], node.output.type.numel)))
        yield base, elements


def _least(a: Dim, b: Dim) -> Dim:
    return a if dims.at_least(b, a) else b if dims.at_least(a, b) else dims.dim_min(a, b)


def _total(parts: Iterable[Dim | None]) -> Dim | None:
    known = list(parts)
    return None if None in known else dims.as_dim(sum(known))  # type: ignore[arg-type]
