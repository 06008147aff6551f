# SPDX-License-Identifier: Apache-2.0
"""One form for graphs that mean the same, driven by the roles and functions that ops declare, never by their names."""

from __future__ import annotations

from collections.abc import Sequence

from ait_core.declare.roles import Join, Viewing
from ait_core.ir.graph import Graph, Node, Value
from ait_core.passes.joins import absorbed_joins, simplify_join
from ait_core.passes.pipeline import Context
from ait_core.passes.pointwise import Pointwises, is_pointwise
from ait_core.passes.views import JoinMap, simplify_view


def canonicalise(graph: Graph, context: Context) -> Graph:
    """Bring views, joins and pointwise ops into their simplest form, bit for bit.

    Views that show their operand as it is vanish and chains of views shorten; joins of joins flatten, slices of joins
    and joins of slices cancel; pointwise ops that compute nothing new (``x * 1``, ``relu(relu(x))``, a cast back) and
    expansions that broadcasting does anyway vanish.
    """
    absorbed, flattened = absorbed_joins(graph), dict[Value, list[Value | None]]()
    pointwise, maps = Pointwises(), dict[Node, JoinMap]()

    def visit(node: Node, inputs: tuple[Value | None, ...]) -> Sequence[Value] | None:
        if is_pointwise(node):
            return pointwise.simplify(node, inputs)
        if isinstance(node.op.role, Viewing):
            return simplify_view(node, inputs, maps)
        if isinstance(node.op.role, Join):
            flat = tuple(o for v in inputs for o in flattened.pop(v, [v]))  # type: ignore[arg-type]
            if node not in absorbed:
                return simplify_join(node, flat)
            kept = node if inputs == node.inputs else node.with_inputs(inputs)
            flattened[kept.output] = list(flat)
            return kept.outputs
        return None

    return graph.rewrite(visit)
