# SPDX-License-Identifier: Apache-2.0
"""Graphs that stress fusion and placement, against their references, with every switch on and off."""

from __future__ import annotations

import numpy as np
import pytest

import ait_ops_tensor as t
from ait_core.compiler import switches
from ait_core.errors import FaultError
from ait_core.ir.graph import Graph, input
from tests.compiled import attentions, movements, reductions, tails
from tests.compiled.builder import cases_in
from tests.compiled.harness import Case, Suite

CASES = cases_in(tails, reductions, movements, attentions)
SETTINGS = [(), *((s,) for s in switches()), tuple(switches())]


@pytest.fixture(scope="module")
def suite():
    return Suite(CASES, SETTINGS)


@pytest.mark.parametrize("off", SETTINGS, ids=lambda off: "+".join(off) or "nothing")
def test_results_are_the_references(suite, off):
    suite.check(off)


def test_no_two_cases_share_a_name():
    assert len({c.name for c in CASES}) == len(CASES)


def lookup(ids: np.ndarray, op, **attrs) -> tuple[Suite, Case]:
    table, i = input("table", (5, 3)), input("ids", ids.shape, "int64")
    y = t.mul(op(table, i, **attrs), 2.0)
    case = Case("lookup", Graph({"y": y}, [table, i]), [{"table": np.ones((5, 3), "f4"), "ids": ids}])
    return Suite([case]), case


@pytest.mark.parametrize("bad", [5, -1, 2**40, -(2**63)])
def test_an_index_outside_its_table_fails_the_run_and_nothing_else(bad):
    suite, case = lookup(np.zeros((2, 4), np.int64), t.embedding)
    model = suite.model()
    ids = np.zeros((2, 4), np.int64)
    ids[1, 2] = bad
    with pytest.raises(FaultError, match="mul|embedding"):
        model(case.runs[0]["table"], ids)
    suite.check()
