# SPDX-License-Identifier: Apache-2.0
"""Random graphs as cases, and graphs kept as text."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import evaluate
from ait_core.ir.text import parse
from tests import graphs
from tests.compiled.harness import Case
from tests.compiled.precision import slack
from tests.ops.samples import all_ops


def random_cases(count: int, start: int) -> list[Case]:
    """The first random graphs of one seed that have some nodes."""
    found: list[Case] = []

    @seed(start)
    @settings(max_examples=3 * count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(graphs.graphs(steps=24))
    def collect(case: graphs.Case) -> None:
        if len(case.graph.nodes) > 4:
            found.append(Case(f"seed {start}, graph {len(found)}", case.graph, [case.inputs], slack=slack))

    collect()
    return found[:count]


def read_case(name: str, text: str) -> Case:
    """A graph kept as text, with random inputs at some sizes of its dims."""
    graph = parse(text, all_ops())
    rng = np.random.default_rng([*name.encode()])
    runs = []
    for turn in range(3):
        sizes = {s.name: (s.lo, min(s.hi, s.lo + 3), min(s.hi, max(s.lo, 1)))[turn] for s in graph.symbols}
        runs.append({v.name: _numbers(rng, evaluate(v.shape, sizes), v.dtype.name) for v in graph.inputs})
    return Case(name, graph, runs if graph.symbols else runs[:1], slack=slack)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    to = dtype(kind)
    if to.is_float:
        return np.asarray(rng.integers(-12, 13, shape) / 4).astype(to.numpy)
    return rng.integers(0, 2 if kind == "bool" else 5, shape).astype(to.numpy)
