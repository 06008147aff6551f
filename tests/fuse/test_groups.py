# SPDX-License-Identifier: Apache-2.0
"""How much one kernel holds."""

from __future__ import annotations

from ait_core.fuse.groups import MAX_NODES, Fuser
from ait_core.ir.graph import Graph, input
from tests.passes import tiny as t


def test_a_long_chain_becomes_kernels_of_bounded_size():
    x = input("x", (5, 7))
    for _ in range(12 * MAX_NODES):
        x = t.sigmoid(x)
    fuser = Fuser(Graph({"y": x}), lambda n: None)
    assert all(len(g.nodes) <= MAX_NODES for g in fuser.groups)
    assert len(fuser.order) == 12
