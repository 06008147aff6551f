# SPDX-License-Identifier: Apache-2.0
"""What the engine settles before it fuses: contractions get operands whose leading axes need no broadcasting rules."""

from __future__ import annotations

from ait_core.declare import roles
from ait_core.fuse.structural import expand
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Value


def expand_contractions(graph: Graph) -> Graph:
    """Make broadcasting of leading axes explicit, but for one matrix that serves all rows of the other operand."""

    def visit(node, inputs):
        if not isinstance(node.op.role, roles.Contraction):
            return None
        lead = node.output.shape[:-2]
        a, b = inputs[0], inputs[1]
        shared = all(s == 1 for s in b.shape[:-2])
        new_a = _expanded(a, lead)
        new_b = b if shared else _expanded(b, lead)
        if new_a is a and new_b is b:
            return None
        made = node.op(new_a, new_b, *inputs[2:], **node.attrs)
        made.node.origin, made.node.source = node.origin, node.source
        made.name = node.output.name
        return [made]

    return graph.rewrite(visit)


def _expanded(x: Value, lead: dims.Shape) -> Value:
    shape = (*lead, *x.shape[-2:])
    return x if dims.same_shape(x.shape, shape) else expand(x, shape=shape)
