# SPDX-License-Identifier: Apache-2.0
"""Compile a graph and compare its outputs with those of the references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

import ait_core as ait
from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import Graph, run_reference

# Relative and absolute tolerance by dtype: results are rounded once, sums are ordered differently.
TOLERANCE = {"float64": (1e-6, 1e-6), "float32": (2e-5, 2e-5), "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)}


def check_graph(graph: Graph, inputs: Mapping[str, np.ndarray], loose: float = 1.0, disable: Iterable[str] = ()) -> None:
    """Compile ``graph`` and assert that every output is the reference's."""
    check_model(ait.compile(graph, disable=disable), graph, inputs, loose)


def check_model(model, graph: Graph, inputs: Mapping[str, np.ndarray], loose: float = 1.0) -> None:
    """Assert that a compiled ``graph`` gives the references' outputs on ``inputs``."""
    made = model(*(inputs[v.name] for v in graph.inputs))
    made = made if isinstance(made, tuple) else (made,)
    wanted = run_reference(graph, inputs)
    problems = [
        f"{name}: {problem}"
        for (name, want), got in zip(wanted.items(), made, strict=True)
        if (problem := difference(got, want, loose))
    ]
    assert not problems, "\n".join([*problems[:20], f"{len(problems)} of {len(wanted)} outputs differ"])


def difference(got: np.ndarray, want: np.ndarray, loose: float = 1.0) -> str | None:
    """What is wrong with ``got``, or None."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if not dtype(want.dtype).is_float:
        wrong = got != want
    else:
        rtol, atol = (t * loose for t in TOLERANCE[dtype(want.dtype).name])
        with np.errstate(all="ignore"):
            a, b = got.astype(np.float64), want.astype(np.float64)
            wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} elements differ, first at {at}: {got[at]} instead of {want[at]}"
