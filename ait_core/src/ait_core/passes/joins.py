# SPDX-License-Identifier: Apache-2.0
"""Joins of joins, of nothing, of one operand, and of the slices of one value."""

from __future__ import annotations

from collections.abc import Sequence

from ait_core.declare.roles import Join
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.views import Slice
from ait_core.passes.views import JoinMap, simplify_steps, steps_of, viewed


def absorbed_joins(graph: Graph) -> set[Node]:
    """The joins that only one other join of the same axis reads, which can take their operands instead."""
    users, kept = graph.users(), set(graph.outputs.values())

    def reads_plainly(n: Node) -> bool:
        return all(v.dtype == n.output.dtype for v in n.operands)

    axes = {n: JoinMap.of(n).axis for n in graph.nodes if isinstance(n.op.role, Join)}
    return {
        n
        for n, axis in axes.items()
        if n.output not in kept
        and len(readers := users.get(n.output, [])) == 1
        and axes.get(readers[0][0]) == axis
        and readers[0][0].op is n.op
        and readers[0][0].attrs == n.attrs
        and reads_plainly(n)
    }


def simplify_join(node: Node, inputs: tuple[Value | None, ...]) -> Sequence[Value] | None:
    """What a join can be replaced by; ``inputs`` with those of absorbed joins in their places."""
    axis = JoinMap.of(node).axis
    given: list[Value] = [v for v in inputs if v is not None]
    parts = [v for v in given if v.shape[axis] != 0] or given[:1]
    if len(parts) < len(given) and node.op.infer(*(v.type for v in parts), **node.attrs).dtype != node.output.dtype:
        parts = given  # an empty operand may still decide the dtype
    parts = _reunited(parts, axis, node)
    if len(parts) == 1 and parts[0].dtype == node.output.dtype:
        return parts
    if tuple(parts) == node.inputs:
        return None
    return Node(node.op, tuple(parts), node.attrs, node.output.name, node.source, node.origin).outputs


def _reunited(parts: list[Value], axis: int, node: Node) -> list[Value]:
    """Neighbouring slices of one value that follow each other in it become one slice."""
    runs: list[tuple[Value | None, Slice | None, Value]] = []  # what is sliced, how, and the operand that shows it
    for v in parts:
        source, piece = _slice_of(v, axis)
        before, last, _ = runs[-1] if runs else (None, None, v)
        if piece and last and source is before and dims.same(dims.as_dim(last.start + last.size), piece.start):
            whole = Slice(axis, last.start, dims.as_dim(last.size + piece.size))
            joined = viewed(source, simplify_steps([whole], source.shape), node)  # type: ignore[arg-type, union-attr]
            runs[-1] = (source, whole, joined)
        else:
            runs.append((source, piece, v))
    return [v for _, _, v in runs]


def _slice_of(v: Value, axis: int) -> tuple[Value | None, Slice | None]:
    steps = steps_of(v)
    if steps is not None:
        source: Value = v.node.operands[0]  # type: ignore[union-attr]
        match simplify_steps(steps, source.shape):
            case [Slice(axis=a, step=1) as piece] if a == axis:
                return source, piece
    return None, None
