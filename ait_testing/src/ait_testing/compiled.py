# SPDX-License-Identifier: Apache-2.0
"""Checks that compile: every sample of an op alone, through views, and between pointwise neighbours."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import ait_core as ait
from ait_core import scalar as s
from ait_core.compiler import Plan
from ait_core.declare.backend import Target
from ait_core.declare.kernel import Absorbs, Kernel
from ait_core.declare.op import Op, pointwise, reduction, view
from ait_core.fuse.groups import param_name
from ait_core.fuse.lower import base_of
from ait_core.ir import dims
from ait_core.ir.dims import DimSymbol
from ait_core.ir.graph import Graph, Node, Value, run_reference
from ait_core.ir.graph import input as graph_input
from ait_core.ir.views import Permute
from ait_core.plugins.registry import Registry
from ait_testing.compare import difference
from ait_testing.samples import Sample, random

# Neighbours to fuse with. The first three undo themselves without rounding, one for each kind of dtype.


@pointwise("testing.negate")
def negate(x):
    """``-x``."""
    return -x


@pointwise("testing.complement")
def complement(x):
    """``~x``."""
    return s.bit_not(x)


@pointwise("testing.invert")
def invert(x):
    """``not x``."""
    return s.eq(x, False)


@pointwise("testing.away")
def away(x, y):
    """``y - x``."""
    return y - x


@pointwise("testing.unlike")
def unlike(x, y):
    """Whether two truth values differ."""
    return s.ne(x, y)


@reduction("testing.top", combine="maximum")
def top(x, *, axes: tuple, keepdim: bool = False):
    """The largest elements."""


@view("testing.swap")
def swap(x):
    """The last two axes exchanged."""
    return [Permute((*range(x.rank - 2), x.rank - 1, x.rank - 2))]


@dataclass
class Case:
    """Samples of one op in one graph, with arrays for its inputs by name, and tolerances of its outputs."""

    op: Op
    absorbs: Absorbs
    outputs: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)
    loose: dict[str, float] = field(default_factory=dict)
    dims: dict[str, tuple[DimSymbol, int]] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return Graph(dict(self.outputs), list(self.inputs))

    def takes(self, sample: Sample) -> bool:
        """Whether the sample gives the same numbers to the dims it shares with those that are here."""
        return all(self.dims.get(d.name, (d, n)) == (d, n) for d, n in sample.dims.items())

    def add(self, sample: Sample, number: int) -> None:
        """Add the op called alone, on operands that are views, and between neighbours."""
        self.dims |= {d.name: (d, n) for d, n in sample.dims.items()}
        for how, wrap, finish in (("alone", _alone, None), ("on views", _seen, None), ("fused", self._before, self._after)):
            operands = []
            for i, (array, kind) in enumerate(zip(sample.inputs, sample.symbolic_types, strict=True)):
                operands.append(None if array is None else wrap(self, f"{how} {number}.{i}", array, kind, i))
            made = self.op(*operands, **sample.attrs)
            results = made if isinstance(made, tuple) else (made,)
            for k, v in enumerate(results):
                name = f"{how}, result {k} of sample {number} ({sample})"
                self.outputs[name] = finish(v, name, sample) if finish and len(results) == 1 else v
                self.loose[name] = sample.loose

    def input(self, name: str, array: np.ndarray, shape: dims.Shape, dtype: object) -> Value:
        self.arrays[name] = array
        self.inputs.append(graph_input(name, shape, dtype))
        return self.inputs[-1]

    def _before(self, _: Case, name: str, array: np.ndarray, kind, i: int) -> Value:
        """An operand that is computed while it is read, if the template can."""
        param = self.op.params[min(i, len(self.op.params) - 1)].name
        if param not in self.absorbs.prologue:
            return _alone(self, name, array, kind, i)
        op = _undo(kind)
        return op(self.input(name, np.asarray(op.reference(array)), kind.shape, kind.dtype))

    def _after(self, v: Value, name: str, sample: Sample) -> Value:
        """Work on a result that the template can absorb: with a row that is broadcast, and over complete rows."""
        shape = v.shape[-1:]
        sizes = [int(dims.parse(dims.text(n), sample.values)) for n in shape]  # type: ignore[arg-type]
        row = self.input(f"row of {name}", random(sizes, v.dtype.name, 7), shape, v.dtype)
        made = (unlike if v.dtype.name == "bool" else away)(v, row)
        if self.absorbs.rows and v.dtype.name != "bool" and shape and dims.at_least(shape[0], 1):
            made = away(made, top(made, axes=(-1,), keepdim=True))
        return made


def _alone(case: Case, name: str, array: np.ndarray, kind, i: int) -> Value:
    return case.input(name, array, kind.shape, kind.dtype)


def _seen(case: Case, name: str, array: np.ndarray, kind, i: int) -> Value:
    if kind.rank < 2:
        return _alone(case, name, array, kind, i)
    flipped = np.ascontiguousarray(np.swapaxes(array, -1, -2))
    return swap(case.input(name, flipped, (*kind.shape[:-2], kind.shape[-1], kind.shape[-2]), kind.dtype))


def _undo(kind) -> Op:
    return invert if kind.dtype.name == "bool" else complement if kind.dtype.is_int else negate


def cases(op: Op, samples: Sequence[Sample], absorbs: Absorbs) -> Iterator[Case]:
    """The samples in as few graphs as the numbers they give to their dims allow."""
    found: list[Case] = []
    for number, sample in enumerate(samples):
        case = next((c for c in found if c.takes(sample)), None)
        if case is None:
            found.append(case := Case(op, absorbs))
        case.add(sample, number)
    return iter(found)


def wrong_loops(op: Op, samples: Sequence[Sample], registry: Registry, target: Target) -> str | None:
    """Where an op, compiled the way the compiler chooses, differs from its reference; or None."""
    for case in cases(op, samples, Absorbs(epilogue=True)):
        if problem := _wrong(case, registry, target):
            return problem
    return None


def wrong_kernel(kernel: Kernel, op: Op, samples: Sequence[Sample], registry: Registry, target: Target) -> str | None:
    """Where a template, with any of its tuning candidates, differs from the op's reference or does not absorb what it
    says; or None."""
    nodes = [(x, _node(op, x)) for x in samples]
    served = [(x, n) for x, n in nodes if kernel.accepts(n, target) is None]
    if not served:
        reasons = "; ".join(sorted({str(kernel.accepts(n, target)) for _, n in nodes}))
        return f"{kernel.name} accepts no sample of {op.name}: {reasons}."
    for i in range(max(len(kernel.space(n, target)) for _, n in served)):
        only = _only(registry, kernel, lambda found, i=i: [found[min(i, len(found) - 1)]])
        for case in cases(op, [x for x, _ in served], kernel.absorbs):
            if problem := _wrong(case, only, target) or _unfused(case, kernel, only, target):
                return f"{kernel.name}, candidate {i}: {problem}"
    return None


def _only(registry: Registry, kernel: Kernel, pick: Callable[[Sequence], Sequence]) -> Registry:
    """The registry with one template for an op, and of its candidates the one picked."""
    new = copy.copy(registry)
    chosen = replace(kernel, space=lambda node, target: pick(kernel.space(node, target)))
    new.__dict__["kernels"] = {**registry.kernels, kernel.op: (chosen,)}  # in place of the cached property
    return new


def _node(op: Op, sample: Sample) -> Node:
    made = op(*(None if t is None else Value(f"x{i}", t) for i, t in enumerate(sample.symbolic_types)), **sample.attrs)
    return (made[0] if isinstance(made, tuple) else made).node


def _wrong(case: Case, registry: Registry, target: Target) -> str | None:
    graph = case.graph
    model = ait.compile(graph, plugins=registry, target=target.name)
    made = model(*(case.arrays[v.name] for v in graph.inputs))
    made = made if isinstance(made, tuple) else (made,)
    for (name, want), got in zip(run_reference(graph, case.arrays).items(), made, strict=True):
        if problem := difference(np.asarray(got), want, case.loose[name]):
            return f"{name}: {problem}"
    return None


def _unfused(case: Case, kernel: Kernel, registry: Registry, target: Target) -> str | None:
    """A neighbour that a template says it absorbs, and did not; or None."""
    plan = ait.plan(case.graph, plugins=registry, target=target.name)
    for anchor in plan.graph.nodes:
        if anchor.op is not case.op or len(anchor.outputs) > 1:
            continue
        for user, _ in plan.fuser.users.get(anchor.output, ()):
            if kernel.absorbs.epilogue and user.op in (away, unlike) and plan.fuser.of[user].anchor is not anchor:
                return f"{user.op.name} after it is not in its epilogue{_why(plan, user.output)}"
        for i, v in enumerate(anchor.inputs):
            before = base_of(v)[0].node if v is not None else None
            absorbed = param_name(anchor, i) in kernel.absorbs.prologue
            if before and absorbed and before.op in (negate, complement, invert) and not plan.fuser.recomputed(before):
                return f"{before.op.name} before it is not computed while it reads {param_name(anchor, i)}"
    return None


def _why(plan: Plan, v: Value) -> str:
    reasons = [d.reason for d in plan.fuser.decisions if d.consumer == v.name and not d.fused]
    return f": {'; '.join(reasons)}" if reasons else ""
