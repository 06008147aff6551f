# SPDX-License-Identifier: Apache-2.0
"""Many graphs compiled as one model, run, and compared with their references one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ait_core.api import _load, find_target
from ait_core.codegen import model as codegen
from ait_core.codegen.kernel import Launch
from ait_core.compiler import Plan, build, make_plan
from ait_core.ir import dims
from ait_core.ir.dtypes import dtype
from ait_core.ir.graph import Graph, Value, input, run_reference
from ait_core.plugins.registry import registry

UNIT = 48  # kernels a translation unit: the headers take as long as a dozen of them
TOLERANCE = {"float64": 1e-6, "float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
Arrays = Mapping[str, np.ndarray]


def exactly(graph: Graph, arrays: Arrays) -> Mapping[str, float]:
    """No slack."""
    return {}


@dataclass(frozen=True)
class Case:
    """A graph, and one or more sets of inputs to run it on. ``loose``: how many times the usual tolerance results may
    differ; ``slack(graph, arrays)``: by how much more, by the name of the output."""

    name: str
    graph: Graph
    runs: Sequence[Arrays]
    loose: float = 1.0
    slack: Callable[[Graph, Arrays], Mapping[str, float]] = exactly

    def sizes(self) -> dict[dims.DimSymbol, tuple[int, ...]]:
        """What each dim is in each run."""
        at = {d: (v.name, i) for v in self.graph.inputs for i, d in enumerate(v.shape) if isinstance(d, dims.DimSymbol)}
        return {d: tuple(run[name].shape[i] for run in self.runs) for d, (name, i) in at.items()}


def apart(case: Case, prefix: str) -> Graph:
    """A copy of a case's graph that shares no inputs and parameters with others, and dims only where these always have
    the same size: the arena's plan is slow with many."""
    fresh = {d: dims.dim("_".join(map(str, (d.name, d.lo, d.hi, *n))), d.lo, d.hi) for d, n in case.sizes().items()}

    def size(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(size(n) for n in x)
        return dims.as_dim(x.xreplace(fresh)) if isinstance(x, sympy.Expr) else x

    new = {v: input(prefix + v.name, size(v.shape), v.dtype) for v in case.graph.inputs}
    for v in case.graph.constants:
        c = v.constant
        new[v] = Value(prefix + v.name, v.type, constant=type(c)(c.array, c.parameter and prefix + c.parameter))
    for n in case.graph.nodes:
        made = n.op(*(v and new[v] for v in n.inputs), **{k: size(a) for k, a in n.attrs.items()})
        new.update(zip(n.outputs, made if isinstance(made, tuple) else (made,), strict=True))
    return Graph({k: new[v] for k, v in case.graph.outputs.items()}, [new[v] for v in case.graph.inputs])


class Suite:
    """Cases compiled together, once for each of some sets of switches that are off.

    All these models are linked from the same translation units, so that a kernel they share is compiled once.
    """

    def __init__(self, cases: Sequence[Case], settings: Iterable[tuple[str, ...]] = ((),)) -> None:
        self.cases = cases
        own = [apart(c, f"c{i}_") for i, c in enumerate(cases)]
        outputs = {f"{i}.{k}": v for i, g in enumerate(own) for k, v in g.outputs.items()}
        self.graph = Graph(outputs, [v for g in own for v in g.inputs])
        plugins = registry()
        self.plans = {off: make_plan(self.graph, plugins, find_target("cpu", plugins), off) for off in settings}
        self.models: dict[tuple[str, ...], Any] = {}

    def model(self, off: tuple[str, ...] = ()) -> Any:
        """The model with some switches off."""
        if off not in self.models:
            with _units([x for p in self.plans.values() for x in [*p.load, *p.run]]):
                self.models[off] = load(self.plans[off])
        return self.models[off]

    def wrong(self, off: tuple[str, ...] = ()) -> list[str]:
        """A description of everything that differs from its reference."""
        model, found = self.model(off), []
        for turn in range(max(len(c.runs) for c in self.cases)):
            runs = [c.runs[min(turn, len(c.runs) - 1)] for c in self.cases]
            arrays = {f"c{i}_{k}": a for i, run in enumerate(runs) for k, a in run.items()}
            made = model(*(arrays[v.name] for v in self.graph.inputs))
            got = dict(zip(self.graph.outputs, made if isinstance(made, tuple) else (made,), strict=True))
            for i, (case, run) in enumerate(zip(self.cases, runs, strict=True)):
                if turn < len(case.runs):
                    found += [f"{case.name}, run {turn}, {what}" for what in differences(case, run, got, f"{i}.")]
        return found

    def check(self, off: tuple[str, ...] = ()) -> None:
        """
        Raises:
            AssertionError: naming every case that differs, with its graph.
        """
        wrong = self.wrong(off)
        assert not wrong, f"{len(wrong)} differences with {off or 'nothing'} switched off\n\n" + "\n\n".join(wrong)


def load(plan: Plan) -> Any:
    """Build a plan."""
    return _load(*build(plan, registry()), threads=2)


@contextmanager
def _units(launches: list[Launch]) -> Iterator[None]:
    """Build models from the translation units of these launches, whichever of them they need."""
    sources: dict[Any, dict[str, str]] = {}
    for x in launches:
        sources.setdefault(x.group.kernel, {})[x.function] = x.source
    shared: dict[str, str] = {}
    for of in sources.values():
        texts = list(of.values())
        for i in range(0, len(texts), UNIT):
            shared[f"unit_{len(shared)}.cpp"] = "\n".join(texts[i : i + UNIT])
    usual = codegen.units
    try:
        codegen.units = lambda _: dict(shared)
        yield
    finally:
        codegen.units = usual


def differences(case: Case, run: Arrays, got: Arrays, prefix: str = "") -> Iterator[str]:
    """What differs between outputs, named with a prefix, and the reference."""
    slack = case.slack(case.graph, run)
    for k, want in run_reference(case.graph, run).items():
        try:
            assert_close(got[prefix + k], want, case.loose, slack.get(k, 0.0))
        except AssertionError as e:
            yield f"output {k}:\n{e}\n{case.graph}"


def assert_close(got: np.ndarray, want: np.ndarray, loose: float = 1.0, slack: float = 0.0) -> None:
    """Compare results: dtype and shape always; integers and truth values exactly; floats within a tolerance of their
    dtype, relative to themselves or to 1, plus ``slack``; NaN and infinities in the same places."""
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if dtype(want.dtype).is_float:
        tolerance = TOLERANCE[dtype(want.dtype).name] * loose
        wide = got.astype(np.float64), want.astype(np.float64)
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance + slack)
    else:
        np.testing.assert_array_equal(got, want)
