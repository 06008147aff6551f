# SPDX-License-Identifier: Apache-2.0
"""What is known at build time is computed at build time, by the ops' NumPy references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from ait_core.declare.roles import Indexed, Join, Pointwise, Viewing
from ait_core.errors import AITError, InternalError
from ait_core.ir.graph import Constant, Graph, Node, Value, run_node
from ait_core.passes.pipeline import Context

CHEAP = (Pointwise, Viewing, Indexed, Join)  # computed where they are read, without memory traffic
MEMO = 1 << 16  # bytes; smaller intermediate arrays are remembered


def fold(graph: Graph, context: Context) -> Graph:
    """Compute nodes that depend on constants alone; parameters stay, they are replaceable in the built model.

    A range, a filled tensor, an expanded row or a mask made of coordinates costs nothing where it is read, and the code
    generator can reason about it (an index that is a range needs no bounds check). Such values stay until something
    that does not fuse, or that reads other data, needs them.
    """
    folding = _Folding(context.fold_limit)
    new = graph.rewrite(folding.visit)
    if folding.count:
        context.notes.append(f"{folding.count} nodes computed")
    return new if folding.count else graph


class _Folding:
    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self.generated: set[Value] = set()  # known, but better computed where they are read
        self.memo: dict[Value, np.ndarray] = {}

    def visit(self, node: Node, inputs: tuple[Value | None, ...]) -> Sequence[Value] | None:
        given = [v for v in inputs if v is not None]
        if not all(v in self.generated or _is_data(v) for v in given) or not _is_static(node):
            return None
        size, read = _nbytes(node.outputs), _nbytes(given)
        if size > self.limit and size > read:
            return None
        role = node.op.role
        repeats = isinstance(role, Viewing) and size > read
        reads_data = any(_is_data(v) and v.shape != () for v in given) and not repeats
        scalar = all(o.shape == () for o in node.outputs)
        if scalar or reads_data or not isinstance(role, CHEAP):
            return self._compute(node, inputs)
        kept = node if inputs == node.inputs else node.with_inputs(inputs)
        self.generated.update(kept.outputs)
        return kept.outputs

    def _compute(self, node: Node, inputs: tuple[Value | None, ...]) -> list[Value] | None:
        try:
            with np.errstate(all="ignore"):
                arrays = run_node(node, [None if v is None else self._array(v) for v in inputs], {})
        except AITError:
            return None  # a lookup out of range is the run's fault to report, if it ever gets there
        for a, o in zip(arrays, node.outputs, strict=True):
            if a.dtype != o.dtype.numpy or a.shape != o.shape:
                raise InternalError(f"The reference of {node.op.name} gives {a.dtype}{list(a.shape)} for {o!r}.")
        self.count += 1
        plain = [Constant(np.asarray(a, order="C")) for a in arrays]
        return [Value(o.name, o.type, constant=c) for o, c in zip(node.outputs, plain, strict=True)]

    def _array(self, value: Value) -> np.ndarray:
        local: dict[Value, np.ndarray] = {}
        stack = [value]
        while stack:
            v = stack[-1]
            if v in local:
                stack.pop()
            elif v.constant or v in self.memo:
                local[v] = v.constant.array if v.constant else self.memo[v]
            else:
                node: Node = v.node  # type: ignore[assignment]
                missing = [o for o in node.operands if o not in local]
                stack.extend(missing)
                if not missing:
                    made = run_node(node, [o and local[o] for o in node.inputs], {})
                    for o, a in zip(node.outputs, made, strict=True):
                        local[o] = a
                        if a.nbytes <= MEMO:
                            self.memo[o] = a
        return local[value]


def _is_data(v: Value) -> bool:
    return v.constant is not None and v.constant.parameter is None


def _is_static(node: Node) -> bool:
    def static(a: Any) -> bool:
        return all(map(static, a)) if isinstance(a, tuple) else not isinstance(a, sympy.Expr)

    return static(tuple(node.attrs.values())) and static(tuple(s for o in node.outputs for s in o.shape))


def _nbytes(values: Sequence[Value]) -> int:
    return sum(int(v.type.nbytes) for v in values)
