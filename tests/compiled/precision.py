# SPDX-License-Identifier: Apache-2.0
"""How closely the results of a graph can be known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import Graph, evaluate, run_all


def slack(graph: Graph, arrays: Mapping[str, np.ndarray]) -> dict[str, float]:
    """For each output that floats go into: how far results may lie apart. Kernels that round less often than the
    references, or add up in another order, differ from them about as much as these differ from double precision."""
    exact = _in_doubles(graph, arrays)
    rounded = run_all(graph, arrays)
    out = {}
    for name, v in graph.outputs.items():
        want, wide = rounded[v], exact[v]
        if dtype(want.dtype).is_float:
            with np.errstate(all="ignore"):
                apart = np.abs(want.astype(np.float64) - wide)
            large = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
            out[name] = 8 * apart[np.isfinite(apart)].max(initial=0.0) + 1e-6 * large
    return out


def _in_doubles(graph: Graph, arrays: Mapping[str, np.ndarray]) -> dict[Any, np.ndarray]:
    """Every value, with float64 in the place of all floats."""

    def wide(a: np.ndarray) -> np.ndarray:
        return a.astype(np.float64) if dtype(a.dtype).is_float else a

    env = {v: wide(np.asarray(arrays[v.name])) for v in graph.inputs}
    env |= {v: wide(v.constant.array) for v in graph.constants}
    sizes = {
        s.name: n
        for v in graph.inputs
        for s, n in zip(v.shape, arrays[v.name].shape, strict=True)
        if s in graph.symbols
    }
    for n in graph.nodes:
        attrs = {k: evaluate(a, sizes) for k, a in n.attrs.items()}
        if "dtype" in attrs and dtype(attrs["dtype"]).is_float:
            attrs["dtype"] = "float64"
        with np.errstate(all="ignore"):
            made = n.op.reference(*(None if v is None else env[v] for v in n.inputs), **attrs)
        env.update(zip(n.outputs, made if isinstance(made, tuple) else (made,), strict=True))
    return env
