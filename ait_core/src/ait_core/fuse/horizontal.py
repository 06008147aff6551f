# SPDX-License-Identifier: Apache-2.0
"""Horizontal fusion: contractions that read the same operand become one over concatenated weights.

The branches' first pointwise ops come along where they are alike (a bias becomes the concatenated biases). What each
branch had is a slice of the result, which later readers read strided: nothing is copied on a call, and the weights are
joined once, when the model is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ait_core.declare import roles
from ait_core.fuse.groups import load_time_values
from ait_core.fuse.lower import view_steps
from ait_core.fuse.structural import joined, part, permute
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Node, Value, constant
from ait_core.ir.views import Permute


@dataclass
class _Branch:
    """One contraction and the pointwise nodes that alone read it, one after the other."""

    node: Node
    chain: list[tuple[Node, int]] = field(default_factory=list)  # (node, which input continues the branch)

    def tail(self, length: int) -> Value:
        return self.chain[length - 1][0].output if length else self.node.output


def merge_contractions(graph: Graph) -> Graph:
    """Merge contractions of one operand with constant right-hand sides."""
    constants = load_time_values(graph)
    users = graph.users()
    outputs = set(graph.outputs.values())
    sets: dict[tuple, list[Node]] = {}
    for n in graph.nodes:
        if isinstance(n.op.role, roles.Contraction) and n.output not in constants:
            a, b = n.inputs[0], n.inputs[1]
            if len(n.inputs) == 2 and b in constants and b.type.rank == 2 and a.type.rank >= 2:  # type: ignore[union-attr]
                sets.setdefault((a, n.op, tuple(sorted(n.attrs.items())), b.dtype), []).append(n)  # type: ignore[union-attr]
    replaced: dict[Value, Value] = {}
    for (a, op, attrs, _), nodes in sets.items():
        branches = [_follow(n, users, outputs, constants) for n in nodes]
        # A slice that is an output would have to be copied there, which costs more than the merge saves.
        branches = [b for b in branches if not _escapes(b.tail(len(b.chain)), users, outputs)]
        if len(branches) < 2:
            continue
        nodes = [b.node for b in branches]
        length = _alike(branches)
        sizes = [n.output.shape[-1] for n in nodes]
        merged = op(a, _join_weights([n.inputs[1] for n in nodes]), **dict(attrs))  # type: ignore[misc]
        merged.name = "_".join(dict.fromkeys(n.output.name for n in nodes))[:80]
        for k in range(length):
            first, at = branches[0].chain[k]
            operands = [
                merged if i == at else _join_operand([b.chain[k][0].inputs[i] for b in branches], sizes)
                for i in range(len(first.inputs))
            ]
            merged = first.op(*operands, **first.attrs)
            merged.node.origin, merged.node.source = first.origin, first.source
        start = 0
        for b, size in zip(branches, sizes, strict=True):
            tail = b.tail(length)
            replaced[tail] = part(merged, axis=merged.type.rank - 1, start=start, size=size)
            start += size
    return graph.substitute(replaced) if replaced else graph


def _follow(node: Node, users, outputs: set[Value], constants: set[Value]) -> _Branch:
    branch = _Branch(node)
    v = node.output
    while v not in outputs and len(users.get(v, ())) == 1:
        user, at = users[v][0]
        others = [x for i, x in enumerate(user.inputs) if i != at and x is not None]
        if not isinstance(user.op.role, roles.Pointwise) or not dims.same_shape(user.output.shape, v.shape):
            break
        if not all(x in constants and (x.type.rank == 0 or x.shape == (v.shape[-1],)) for x in others):
            break
        branch.chain.append((user, at))
        v = user.output
    return branch


def _escapes(v: Value, users, outputs: set[Value]) -> bool:
    """Whether a value or a view of it is an output of the graph."""
    return v in outputs or any(
        _escapes(user.output, users, outputs) for user, _ in users.get(v, ()) if isinstance(user.op.role, roles.Viewing)
    )


def _alike(branches: list[_Branch]) -> int:
    """How many pointwise nodes from the start are the same op on the same kinds of operands in every branch."""
    length = 0
    for steps in zip(*(b.chain for b in branches), strict=False):
        first, at = steps[0]
        for node, i in steps:
            same = node.op is first.op and node.attrs == first.attrs and i == at
            for x, y in zip(node.inputs, first.inputs, strict=True):
                if x is None or y is None:
                    same &= x is y
                elif x is not node.inputs[i]:
                    same &= x.type.rank == y.type.rank and x.dtype == y.dtype and (x.type.rank > 0 or _equal(x, y))
            if not same:
                return length
        length += 1
    return length


def _equal(x: Value, y: Value) -> bool:
    if x is y:
        return True
    return bool(x.constant and y.constant and not x.constant.parameter and not y.constant.parameter
                and x.constant.array.tobytes() == y.constant.array.tobytes())  # fmt: skip


def _join_operand(xs: list[Value | None], sizes) -> Value | None:
    if xs[0] is None or xs[0].type.rank == 0:
        return xs[0]
    return _join(xs, 0)  # type: ignore[arg-type]


def _join_weights(ws: list[Value]) -> Value:
    """The matrices side by side. Where each is a permuted weight, the weights are joined and the result permuted."""
    steps = [view_steps(w.node) if w.node and isinstance(w.node.op.role, roles.Viewing) else [] for w in ws]
    if all(len(s) == 1 and isinstance(s[0][0], Permute) and s[0][0] == steps[0][0][0] for s in steps):
        axes = steps[0][0][0].axes  # type: ignore[attr-defined]
        inner = _join([w.node.inputs[0] for w in ws], axes[-1])  # type: ignore[union-attr, misc]
        return permute(inner, axes=axes)
    return _join(ws, 1)


def _join(xs: list[Value], axis: int) -> Value:
    fixed = all(x.constant and not x.constant.parameter for x in xs)
    if fixed:
        import numpy as np

        return constant(np.concatenate([x.constant.array for x in xs], axis=axis))  # type: ignore[union-attr]
    return joined(*xs, axis=axis)
