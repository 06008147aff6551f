# SPDX-License-Identifier: Apache-2.0
"""How far results are from the references, how far they may be, and which sizes are worth comparing at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ait_core.ir import dims
from ait_core.ir.graph import Constant, Graph, Value
from ait_tools.interface import Interface

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
BUDGET = 5e6  # elements that the references may compute in one case; a product's multiplications count a 500th each
SOME = (3, 5, 7, 11, 13)  # odd sizes that are no multiple of any vector


@dataclass(frozen=True)
class Difference:
    """How far a result is from the reference. ``max_rel`` is ``max(|got - want| / (|want| + rms(want)))``: relative
    where numbers are large, and not worth more than the tensor's scale where they are close to 0."""

    name: str
    max_abs: float
    max_rel: float
    at: tuple[int, ...] | None  # where max_rel is
    agrees: bool


def difference(name: str, got: np.ndarray, want: np.ndarray, rtol: float) -> Difference:
    """Compare. Integers and truth values must be equal; NaN and infinities must be in the same places."""
    if got.shape != want.shape:
        return Difference(name, np.inf, np.inf, None, False)
    if got.size == 0:
        return Difference(name, 0.0, 0.0, None, True)
    exact = want.dtype.kind in "biu"
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = b[np.isfinite(b)]
        scale = np.abs(b) + (np.sqrt(np.mean(finite**2)) if finite.size else 0)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        relative = np.where(apart == 0, 0.0, apart / scale)
    relative = np.where(np.isnan(relative), np.inf, relative)
    apart = np.where(np.isnan(apart), np.inf, apart)
    worst = np.unravel_index(int(np.argmax(relative)), relative.shape)
    most = float(relative[worst])
    return Difference(name, float(apart.max()), most, tuple(map(int, worst)), most <= (0 if exact else rtol))


def tolerance(graph: Graph) -> float:
    """What rounding may cost: that of the coarsest float anywhere in the graph."""
    types = {v.dtype.name for v in [*graph.inputs, *graph.constants, *(o for n in graph.nodes for o in n.outputs)]}
    return max((TOLERANCE[t] for t in types if t in TOLERANCE), default=0.0)


def cases(interface: Interface, graph: Graph) -> list[dict[str, int]]:
    """Sizes worth trying: the lower bounds, odd ones, and large ones as far as the references stay quick."""
    d = interface.dims
    low = {n: s.lo for n, s in d.items()}
    odd = {n: min(max(SOME[i % len(SOME)], s.lo), s.hi) for i, (n, s) in enumerate(d.items())}
    high = {n: max(s.lo, min(s.hi, 64)) for n, s in d.items()}
    cost = _cost(graph)
    while dims.parse(cost, high) > BUDGET and any(high[n] > low[n] for n in high):  # type: ignore[arg-type, operator]
        n = max((n for n in high if high[n] > low[n]), key=lambda n: high[n])
        high[n] = max(low[n], high[n] * 2 // 3)
    found = [c for c in (low, odd) if dims.parse(cost, c) <= BUDGET]  # type: ignore[arg-type, operator]
    return [dict(c) for c in dict.fromkeys(tuple(c.items()) for c in [*found, high])]


def _cost(graph: Graph) -> str:
    from ait_core.fuse.work import node_flops

    elements = sum(v.type.numel for n in graph.nodes for v in n.outputs)
    return dims.text(dims.as_dim(elements + dims.floor_div(sum(node_flops(n) or 0 for n in graph.nodes), 500)))


def with_weights(graph: Graph, weights: Mapping[str, Any]) -> Graph:
    """The graph with the parameters that a compiled model holds, which need not be those of a freshly made source."""
    new: dict[Value, Value] = {}
    for v in graph.constants:
        name = v.constant.parameter  # type: ignore[union-attr]
        if name in weights:
            new[v] = Value(v.name, v.type, constant=Constant(np.asarray(weights[name]), name))
    return graph.substitute(new)
