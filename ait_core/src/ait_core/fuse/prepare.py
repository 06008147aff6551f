# SPDX-License-Identifier: Apache-2.0
"""What the engine settles before it fuses: contractions get operands of one dtype whose leading axes need no
broadcasting rules."""

from __future__ import annotations

from ait_core.declare import roles
from ait_core.fuse.structural import cast, expand
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Value


def expand_contractions(graph: Graph) -> Graph:
    """Make casts and the broadcasting of leading axes explicit, but for one matrix that serves all rows of the other."""

    def visit(node, inputs):
        if not isinstance(node.op.role, roles.Contraction):
            return None
        lead = node.output.shape[:-2]
        a, b = (x if x.dtype == node.output.dtype else cast(x, dtype=node.output.dtype.name) for x in inputs[:2])
        shared = all(s == 1 for s in b.shape[:-2])
        new_a = _expanded(a, lead)
        new_b = b if shared else _expanded(b, lead)
        if new_a is inputs[0] and new_b is inputs[1]:
            return None
        made = node.op(new_a, new_b, *inputs[2:], **node.attrs)
        made.node.origin, made.node.source = node.origin, node.source
        made.name = node.output.name
        return [made]

    return graph.rewrite(visit)


def _expanded(x: Value, lead: dims.Shape) -> Value:
    shape = (*lead, *x.shape[-2:])
    return x if dims.same_shape(x.shape, shape) else expand(x, shape=shape)
