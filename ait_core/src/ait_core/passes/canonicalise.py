# SPDX-License-Identifier: Apache-2.0
"""(first version)"""
from __future__ import annotations

from ait_core.ir.graph import Graph
from ait_core.passes.pipeline import Context


def canonicalise(graph: Graph, context: Context) -> Graph:
    """Bring views, joins and pointwise ops into their simplest form."""
    return graph
