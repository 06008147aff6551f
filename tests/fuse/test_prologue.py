# SPDX-License-Identifier: Apache-2.0
"""What is computed while a kernel template reads its operands, and what is stored first."""

from __future__ import annotations

import pytest

from ait_core.declare.kernel import Absorbs, Kernel
from ait_core.declare.op import opaque
from ait_core.fuse.groups import Fuser
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Value, input
from tests.passes import tiny as t


@opaque("tiny.scan", infer=lambda x, y=None: x, reference=lambda x, y=None: x)
def scan(x, y=None):
    """An op that a template computes."""


def fused(*outputs: Value, reads_once: tuple[str, ...] = ("x",)) -> list[str]:
    """The ops of each kernel of a graph, where a template reads the operands of ``scan`` through functors."""
    absorbs = Absorbs(epilogue=True, prologue=frozenset({"x", "y"}), reads_once=frozenset(reads_once))
    template = Kernel("tiny.scan.template", "tiny.scan", "none", render=lambda k: None, absorbs=absorbs)
    graph = Graph({f"out{i}": v for i, v in enumerate(outputs)})
    fuser = Fuser(graph, lambda n: template if n.op is scan else None)
    return [g.ops for g in fuser.order]


N = dims.dim("n", 1, 64)
X = input("x", (N, 8))


def costly(x: Value) -> Value:
    """More work an element than is done again for several readers."""
    return t.sigmoid(t.div(x, t.sigmoid(x)))


def test_costly_work_is_computed_where_a_template_reads_each_element_once():
    assert fused(scan(costly(X))) == ["tiny.scan"]
    assert len(fused(scan(costly(X)), reads_once=())) == 2


def test_cheap_work_is_computed_while_reading_however_often_that_is():
    assert fused(scan(t.neg(X)), reads_once=()) == ["tiny.scan"]
    assert fused(scan(t.neg(X), t.neg(X)), reads_once=()) == ["tiny.scan"]


@pytest.mark.parametrize(
    "view",
    [
        lambda v: t.permute(v, axes=(1, 0)),
        lambda v: t.reshape(v, shape=(4, 2 * N)),
        lambda v: t.narrow(v, axis=1, start=2, size=3),
    ],
)
def test_views_that_repeat_nothing_may_lie_between(view):
    assert fused(scan(view(costly(X)))) == ["tiny.scan"]


def test_elements_that_a_view_repeats_are_computed_before():
    column = input("column", (N, 1))
    assert len(fused(scan(t.expand(costly(column), shape=(N, 8))))) == 2
    part = t.narrow(costly(X), axis=1, start=0, size=1)
    assert len(fused(scan(t.expand(part, shape=(N, 8))))) == 2


def test_what_two_operands_or_two_kernels_read_is_computed_before():
    shared = costly(X)
    assert len(fused(scan(shared, shared), reads_once=("x", "y"))) == 2
    assert len(fused(scan(shared), scan(t.permute(shared, axes=(1, 0))))) == 3
    assert len(fused(t.add(scan(shared), shared))) == 2


def test_an_output_is_stored_once():
    shared = costly(X)
    assert len(fused(scan(shared), shared)) == 2
