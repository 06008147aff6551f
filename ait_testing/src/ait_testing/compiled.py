# SPDX-License-Identifier: Apache-2.0
"""Checks that compile: ops and kernel templates agree with references, and templates absorb what they say."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import ait_core as ait
from ait_core.compiler import Plan
from ait_core.declare.backend import Target
from ait_core.declare.kernel import Absorbs, Kernel
from ait_core.declare.op import Op
from ait_core.fuse.groups import param_name
from ait_core.fuse.lower import base_of
from ait_core.ir.graph import Node, Value, run_reference
from ait_core.plugins.registry import Registry
from ait_testing.compare import difference
from ait_testing.neighbours import Case, away, cases, complement, invert, negate, unlike
from ait_testing.samples import Sample


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
