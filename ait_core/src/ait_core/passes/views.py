# SPDX-License-Identifier: Apache-2.0
"""Chains of views become shorter chains, and slices of joins become slices of what was joined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from ait_core.declare.op import view
from ait_core.declare.roles import Join, Viewing
from ait_core.errors import AITError
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.graph import Node, Value
from ait_core.ir.views import Expand, Permute, Reshape, Slice, View

_KINDS: dict[str, type[View]] = {"permute": Permute, "slice": Slice, "expand": Expand, "reshape": Reshape}


@view("core.view")
def VIEW(x, *, steps):
    """Any sequence of view primitives, each a tuple of its kind and fields, such as ``("permute", (1, 0))``."""
    return [_KINDS[kind](*fields) for kind, *fields in steps]


DEPTH = 4  # of the chains looked at together; slices of different axes, say, meet across others
CORE_OPS = {VIEW.name: VIEW}  # what the passes may put into a graph; `parse` needs them beside the packs' ops


def _encode(step: View) -> tuple[Any, ...]:
    kind = next(k for k, t in _KINDS.items() if isinstance(step, t))
    fields = (getattr(step, f) for f in step.__dataclass_fields__)  # type: ignore[attr-defined]
    return (kind, *(dims.as_shape(f) if isinstance(f, tuple) else dims.as_dim(f) for f in fields))


def viewed(x: Value, steps: Sequence[View], like: Node) -> Value:
    """``x`` seen through ``steps``; ``x`` itself where there are none. Takes source and origin from ``like``."""
    if not steps:
        return x
    attrs = {"steps": tuple(map(_encode, steps))}
    return Node(VIEW, (x,), attrs, like.output.name, like.source, like.origin).output


def steps_of(v: Value) -> list[View] | None:
    """The view primitives through which ``v`` shows its operand; None if ``v`` is no view."""
    if v.node is None or not isinstance(v.node.op.role, Viewing):
        return None
    return list(v.node.op.role.steps(v.node.operands[0].type, **v.node.attrs))


def simplify_steps(steps: Sequence[View], of: Shape) -> list[View]:
    """An equal sequence of views on a tensor of shape ``of``, of at most as many steps."""
    out: list[tuple[View, Shape]] = []  # each with the shape it is applied to
    todo = list(reversed(steps))
    while todo:
        shape = out[-1][0].shape(out[-1][1]) if out else of
        step = _normal(todo.pop(), shape)
        if step is None:
            continue
        at = len(out) - 1
        while at >= 0 and isinstance(step, Slice) and isinstance(out[at][0], Slice) and out[at][0].axis != step.axis:
            at -= 1  # slices of different axes commute
        merged = _merge(out[at][0], step, out[at][1]) if at >= 0 else None
        if merged is None:
            out.append((step, shape))
        else:
            todo.extend(s for s, _ in reversed(out[at + 1 :]))
            todo.append(merged)
            del out[at:]
    return [s for s, _ in out]


def _normal(step: View, of: Shape) -> View | None:
    """The step in its plainest form; None if it shows the tensor as it is."""
    to = step.shape(of)
    if isinstance(step, Permute):
        live = [a for a in step.axes if of[a] != 1]
        step = Reshape(to) if live == sorted(live) else step
    elif isinstance(step, Slice):
        step = Slice(step.axis, step.start, 1) if step.size == 1 else step
        return None if step.inverse(of) is step else step
    elif isinstance(step, Expand) and dims.same(dims.prod(to), dims.prod(of)):
        step = Reshape(to)
    return None if not isinstance(step, Permute) and dims.same_shape(to, of) else step


def _merge(a: View, b: View, of: Shape) -> View | None:
    """One step for two."""
    match a, b:
        case Permute(), Permute():
            return Permute(tuple(a.axes[i] for i in b.axes))
        case Reshape(), Reshape():
            return b
        case Expand(), Expand():
            return b
        case Reshape(), Expand() if a.to[: len(a.to) - len(of)] == (1,) * (len(a.to) - len(of)) and dims.same_shape(
            a.to[len(a.to) - len(of) :], of
        ):
            return b
        case Slice(), Slice() if a.axis == b.axis:
            return Slice(a.axis, dims.as_dim(a.start + b.start * a.step), b.size, a.step * b.step)
        case Expand(), Slice() if (lead := len(a.to) - len(of)) > b.axis or of[b.axis - lead] == 1:
            return Expand((*a.to[: b.axis], b.size, *a.to[b.axis + 1 :]))
    return None


def simplify_view(
    node: Node, inputs: tuple[Value | None, ...], maps: dict[Node, JoinMap]
) -> Sequence[Value] | None:
    """What a view node can be replaced by; ``maps`` remembers the joins met."""
    source: Value = inputs[0]  # type: ignore[assignment]
    chain = list(node.op.role.steps(source.type, **node.attrs))
    for depth in range(DEPTH):
        steps = simplify_steps(chain, source.shape)
        inner = _in_join(source, steps, maps)
        if inner is not None:
            return [_reusing(node, *inner)]
        if not steps or (depth and len(steps) < len(chain)):  # how many steps one op takes is its own affair
            return [_reusing(node, source, steps)]
        before = steps_of(source)
        if before is None:
            break
        chain, source = [*before, *chain], source.node.operands[0]  # type: ignore[union-attr]
    return None


def _reusing(node: Node, source: Value, steps: list[View]) -> Value:
    """``source`` seen through ``steps``, by the op of ``node`` where that says the same: rules know it by name."""
    try:
        if steps and simplify_steps(node.op.role.steps(source.type, **node.attrs), source.shape) == steps:
            return Node(node.op, (source,), node.attrs, node.output.name, node.source, node.origin).output
    except AITError:
        pass  # its attributes do not fit the source
    return viewed(source, steps, node)


@dataclass(frozen=True)
class JoinMap:
    """Where the operands of a join lie: its axis, and the first place of each operand with one past the last's end."""

    axis: int
    starts: list[Dim]

    @staticmethod
    def of(node: Node) -> JoinMap:
        types = [v.type for v in node.operands]
        axis = types[0].axis(node.op.role.axis(*types, **node.attrs))
        starts: list[Dim] = [0]
        for t in types:
            starts.append(dims.as_dim(starts[-1] + t.shape[axis]))
        return JoinMap(axis, starts)

    @cached_property
    def by_start(self) -> dict[Dim, int]:
        return {s: i for i, s in enumerate(self.starts[:-1])}

    @cached_property
    def static(self) -> bool:
        return all(isinstance(s, int) for s in self.starts)

    def operand(self, lo: Dim, hi: Dim) -> int | None:
        """The operand that holds the places ``lo`` to ``hi``, both inclusive; of symbolic places only if it begins
        at ``lo``."""
        i = bisect_right(self.starts, lo) - 1 if self.static and isinstance(lo, int) else self.by_start.get(lo, -1)
        return i if 0 <= i < len(self.starts) - 1 and dims.at_least(self.starts[i + 1] - 1, hi) else None


def _in_join(source: Value, steps: list[View], maps: dict[Node, JoinMap]) -> tuple[Value, list[View]] | None:
    """The operand of a join that a slice falls into, and the steps from there."""
    if source.node is None or not isinstance(source.node.op.role, Join):
        return None
    where = maps.get(source.node) or maps.setdefault(source.node, JoinMap.of(source.node))
    leading = list(takewhile(lambda s: isinstance(s, Slice), steps))
    i = next((i for i, s in enumerate(leading) if s.axis == where.axis), None)  # type: ignore[attr-defined]
    if i is None or not dims.at_least(leading[i].size, 1):  # type: ignore[attr-defined]
        return None
    s: Slice = leading[i]  # type: ignore[assignment]
    ends = (s.start, dims.as_dim(s.start + (s.size - 1) * s.step))
    at = where.operand(*(ends if s.step > 0 else ends[::-1]))
    if at is None or source.node.operands[at].dtype != source.dtype:
        return None
    part = source.node.operands[at]
    moved = Slice(s.axis, dims.as_dim(s.start - where.starts[at]), s.size, s.step)
    return part, simplify_steps([*steps[:i], moved, *steps[i + 1 :]], part.shape)
