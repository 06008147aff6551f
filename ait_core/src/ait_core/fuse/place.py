# SPDX-License-Identifier: Apache-2.0
"""Placement: where every stored value lies. Joins and views move no data where a neighbour can read or write strided.

A graph output is a buffer of its own, contiguous in the output's shape. A join is a buffer whose parts are places for
its operands. Asking for a place walks back through views (inverting them on the layout) to the kernel that writes the
value, which then simply writes there. Where that is not legal - the value is an input, a constant, or has a place
already - one copy is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ait_core.declare import roles
from ait_core.fuse.groups import Fuser, Group, param_name
from ait_core.fuse.lower import base_of
from ait_core.fuse.structural import copy
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.layout import Layout
from ait_core.ir.views import Reshape, View


@dataclass(eq=False)
class Buffer:
    """Memory. ``space`` names which: ``input``, ``output``, ``constant`` (``index`` says which one), ``derived`` (made
    from weights when the model is loaded), ``arena`` (activations of one run)."""

    space: str
    index: int
    nbytes: Dim
    offset: Dim = 0  # in bytes; planned later for arena and derived


@dataclass(frozen=True)
class Place:
    buffer: Buffer
    layout: Layout


@dataclass
class Placement:
    """The result: ``order`` is the groups with the copies that were needed; ``operand`` maps a template's operand
    (node, position) to the copy it reads instead."""

    order: list[Group]
    places: dict[Value, Place] = field(default_factory=dict)
    operand: dict[tuple[Node, int], Value] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)  # value, reason

    def of(self, v: Value) -> Place | None:
        """Place of a value or of a view of one; None if it cannot be said with strides."""
        base, steps = base_of(v)
        place = self.places.get(base)
        if place is None:
            return None
        layout: Layout | None = place.layout
        for step, _ in steps:
            layout = step.layout(layout) if layout is not None else None
        return None if layout is None else Place(place.buffer, layout)


class Placer:
    """Places the stored values of a fused graph. ``memory`` off copies every join and view instead."""

    def __init__(self, graph: Graph, fuser: Fuser, memory: bool = True) -> None:
        self.graph, self.fuser, self.memory = graph, fuser, memory
        self.out = Placement(list(fuser.order))
        self.writers = {v: g for g in fuser.order for v in g.outputs}
        self.parts: dict[Value, list[Value]] = {}  # of a join: the values written to its places
        for i, v in enumerate(graph.inputs):
            self._put(v, Buffer("input", i, v.type.nbytes), Layout.contiguous(v.shape))
        self._constants()
        for i, v in enumerate(graph.outputs.values()):
            self._ask(v, Buffer("output", i, v.type.nbytes), Layout.contiguous(v.shape), "a graph output")
        self._joins()
        for v in self.writers:
            if v not in self.out.places:
                self._put(v, self._buffer(v, self.writers[v].load_time), self._preferred(v))
        self._operands()

    def _preferred(self, v: Value) -> Layout:
        """The layout that a template reading ``v`` through views would like best, if strides can say it."""
        for view, (user, i) in self._views(v) if self.memory else ():
            g = self.fuser.of.get(user)
            if g is None or g.anchor is not user or param_name(user, i) in g.kernel.absorbs.prologue:  # type: ignore[union-attr]
                continue
            back = _pull(Layout.contiguous(view.shape), base_of(view)[1])
            if back is not None:
                return back
        return Layout.contiguous(v.shape)

    def _views(self, v: Value):
        """Every value that is ``v`` or a view of it, with who reads it."""
        for user, i in self.fuser.users.get(v, ()):
            if isinstance(user.op.role, roles.Viewing):
                yield from self._views(user.output)
            else:
                yield v, (user, i)

    def _put(self, v: Value, buffer: Buffer, layout: Layout) -> None:
        if buffer not in self.out.buffers:
            self.out.buffers.append(buffer)
        self.out.places[v] = Place(buffer, layout)

    def _buffer(self, v: Value, load_time: bool) -> Buffer:
        return Buffer("derived" if load_time else "arena", 0, v.type.nbytes)

    def _constants(self) -> None:
        for v in self.graph.constants:
            literal = v.constant.parameter is None and v.constant.array.size == 1  # type: ignore[union-attr]
            if not literal:
                self._put(v, Buffer("constant", len(self.out.constants), v.type.nbytes), Layout.contiguous(v.shape))
                self.out.constants.append(v)

    def _ask(self, v: Value, buffer: Buffer, layout: Layout, why: str) -> Value:
        """Have ``v`` written to a place, with a copy if it must be; returns the value that is written there."""
        base, steps = base_of(v)
        back = _pull(layout, steps) if self.memory or not steps else None
        if back is None:
            return self._copy(v, buffer, layout, f"{why}, seen through a view that strides cannot undo")
        if base in self.out.places or (base.node is None):
            return self._copy(v, buffer, layout, f"{why}, but {base.name} lies elsewhere already")
        if base in self.fuser.constant and buffer.space != "derived":
            return self._copy(v, buffer, layout, f"{why}, but {base.name} is made when the model is loaded")
        if isinstance(base.node.op.role, roles.Join):
            return self._place_join(base.node, buffer, back)
        if base not in self.writers:  # computed inside its readers: give it a kernel that stores it
            return self._copy(v, buffer, layout, why)
        self._put(base, buffer, back)
        return base

    def _place_join(self, node: Node, buffer: Buffer, layout: Layout) -> Value:
        axis = node.op.role.axis(*(x.type for x in node.operands), **node.attrs)  # type: ignore[union-attr]
        self._put(node.output, buffer, layout)
        start: Dim = 0
        parts = self.parts[node.output] = []
        for x in node.operands:
            shape = (*layout.shape[:axis], x.shape[axis], *layout.shape[axis + 1 :])
            part = Layout(shape, layout.strides, dims.as_dim(layout.offset + start * layout.strides[axis]))
            why = f"joined in {node.output.name}"
            if x.dtype != node.output.dtype:
                parts.append(self._copy(x, buffer, part, f"{why} with a wider dtype", node.output.dtype))
            else:
                parts.append(self._ask(x, buffer, part, why))
            start = dims.as_dim(start + x.shape[axis])
        return node.output

    def _own_join(self, node: Node) -> None:
        """Give a join a buffer of its own."""
        load = all(v in self.fuser.constant for v in node.operands)
        self._place_join(node, self._buffer(node.output, load), Layout.contiguous(node.output.shape))

    def _joins(self) -> None:
        """Joins that somebody reads from memory and that are not part of an output or of a larger join."""
        read = {v for g in self.fuser.order for n in g.members for v in self._reads(n)}
        joins = [n for n in self.graph.nodes if isinstance(n.op.role, roles.Join)]
        for node in reversed(joins):  # a join inside a join is placed by the outer one
            if node.output not in self.out.places and node.output in read:
                self._own_join(node)

    def _reads(self, node: Node):
        """Values a node reads, looking through views and through what is computed inside it."""
        stack = list(node.operands)
        while stack:
            v, _ = base_of(stack.pop())
            yield v
            if v.node is not None and self.fuser.recomputed(v.node):
                stack += v.node.operands

    def _copy(self, v: Value, buffer: Buffer, layout: Layout, why: str, dtype=None) -> Value:
        for base in self._sources(v):
            if base.node is not None and isinstance(base.node.op.role, roles.Join) and base not in self.out.places:
                self._own_join(base.node)
        group = add_copy(self.out, self.fuser, v, Place(buffer, layout), self._ready(v), why, dtype)
        self.writers[group.outputs[0]] = group
        return group.outputs[0]

    def _sources(self, v: Value) -> list[Value]:
        """The stored values that computing ``v`` reads."""
        base, _ = base_of(v)
        if base in self.writers or base.node is None or not self.fuser.recomputed(base.node):
            return [base]
        return [s for x in base.node.operands for s in self._sources(x)]

    def _ready(self, v: Value) -> int:
        """From where in the order on ``v`` can be read: copies run as soon as they can, so no reader comes too early."""
        at = 0
        for base in self._sources(v):
            if base in self.parts:
                at = max([at, *(self._ready(x) for x in self.parts[base])])
            elif base in self.writers:
                at = max(at, self.out.order.index(self.writers[base]) + 1)
        return at

    def _operands(self) -> None:
        """Template operands read through a pointer need a layout that strides can say."""
        for g in list(self.out.order):
            if g.anchor is None:
                continue
            for i, v in enumerate(g.anchor.inputs):
                if v is None or param_name(g.anchor, i) in g.kernel.absorbs.prologue:  # type: ignore[union-attr]
                    continue
                place = self.out.of(v)
                wanted = g.kernel.shapes(g.anchor).get(param_name(g.anchor, i), v.shape)  # type: ignore[union-attr]
                fits = place is not None and Reshape(wanted).layout(place.layout) is not None
                strided = param_name(g.anchor, i) in g.kernel.absorbs.strided  # type: ignore[union-attr]
                if fits and (strided or place.layout.is_contiguous) and (self.memory or base_of(v)[0] is v):
                    continue
                load = v in self.fuser.constant
                why = f"the template {g.kernel.name} reads {param_name(g.anchor, i)} through strides"  # type: ignore[union-attr]
                buffer = self._buffer(v, load)
                self.out.operand[g.anchor, i] = self._copy(v, buffer, Layout.contiguous(v.shape), why)


def add_copy(placement: Placement, fuser: Fuser, v: Value, to: Place, at: int, why: str, dtype=None) -> Group:
    """A group, ``at``-th in the order, that copies ``v`` to a place, and what for (``ait explain`` shows it)."""
    node = Node(copy, (v,), {}, f"{v.name}_copy")
    if dtype is not None:
        node.output.type = node.output.type.of_dtype(dtype)
    group = Group(-1, nodes=[node], load_time=to.buffer.space == "derived", outputs=[node.output])
    placement.order.insert(at, group)
    fuser.of[node] = group
    placement.copies.append((v.name, why))
    placement.places[node.output] = to
    if to.buffer not in placement.buffers:
        placement.buffers.append(to.buffer)
    return group


def _pull(layout: Layout, steps: list[tuple[View, Shape]]) -> Layout | None:
    """The layout of the base such that its view through ``steps`` has ``layout``."""
    for step, shape in reversed(steps):
        back = step.inverse(shape)
        found = back.layout(layout) if back is not None else None
        if found is None:
            return None
        layout = found
    return layout
