# SPDX-License-Identifier: Apache-2.0
"""Every kernel of a model by itself: what it stores beside what the references make of what it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ait_core.ir import dims
from ait_core.ir.graph import Graph, Value, run_node
from ait_tools.build import call, compile_model, progress
from ait_tools.compare import Difference, difference

if TYPE_CHECKING:
    from ait_core.compiler import Plan
    from ait_core.fuse.groups import Group
    from ait_tools.options import How
    from ait_tools.source import Opened


def judge(
    opened: Opened, how: How, given: Mapping[str, np.ndarray], rtol: float, threads: int | None
) -> list[dict[str, Any]]:
    """Compile a model so that everything its kernels store can be seen, run it once, and compare.

    Returns:
        One entry a stored value, in the order in which the kernels run.
    """
    with progress() as step:
        plan, stored = instrument(how.plan(opened))
        model = compile_model(opened, how, step, plan).load(threads)
    got = list(call(model, dict(given)).values())[-len(stored) :] if stored else []
    return [
        {
            "group": g.name,
            "ops": g.ops,
            "kernel": g.kernel.name if g.kernel else None,
            "load_time": g.load_time,
            "source": next((n.source for n in g.members if n.source), ""),
            "reads": _reads(g),
            "value": d.name,
            **dataclasses.asdict(d),
        }
        for g, d in differences(plan.graph, stored, given, got, rtol)
    ]


def _reads(group: Group) -> list[str]:
    inside = dict.fromkeys(group.members)
    return list(dict.fromkeys(v.name for n in inside for v in n.operands if v.node not in inside and not v.constant))


def instrument(plan: Plan) -> tuple[Plan, list[tuple[Group, Value]]]:
    """The same kernels, followed by copies of everything they store into outputs of its own.

    Args:
        plan: not built yet; it is used up.

    Returns:
        The plan with those outputs after the model's own, and per output the group that stores it.
    """
    from ait_core.codegen.kernel import build_launch
    from ait_core.fuse.place import Buffer, Place, add_copy
    from ait_core.ir.layout import Layout

    stored = [(g, v) for g in plan.placement.order for v in g.outputs]
    outputs, run = dict(plan.graph.outputs), list(plan.run)
    for g, v in stored:
        buffer = Buffer("output", len(outputs), v.type.nbytes)
        outputs[_fresh(f"${len(outputs)}", outputs)] = v
        order = plan.placement.order
        copy = add_copy(
            plan.placement, plan.fuser, v, Place(buffer, Layout.contiguous(v.shape)), len(order), "to compare"
        )
        copy.name = f"{g.name}_{len(run)}"
        run.append(build_launch(copy, plan.fuser, plan.placement, plan.backend, plan.target))
    return dataclasses.replace(plan, graph=Graph(outputs, list(plan.graph.inputs)), run=run), stored


def _fresh(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "$"
    return name


def differences(
    graph: Graph,
    stored: Sequence[tuple[Group, Value]],
    inputs: Mapping[str, np.ndarray],
    got: Sequence[np.ndarray],
    rtol: float,
) -> list[tuple[Group, Difference]]:
    """What each group stored beside what the references make of what it read: every group is judged by itself, so the
    error of one does not show in those after it.

    Args:
        graph: of the instrumented plan.
        stored: as :func:`instrument` gave it, in the order in which the groups run.
        got: what the compiled model put into those outputs.
    """
    actual = {v: a for (_, v), a in zip(stored, got, strict=True)}
    env: dict[Value, np.ndarray] = {v: np.asarray(inputs[v.name]) for v in graph.inputs}
    sizes = {
        s.name: n
        for v in graph.inputs
        for s, n in zip(v.shape, env[v].shape, strict=True)
        if isinstance(s, dims.DimSymbol)
    }
    env |= {v: v.constant.array for v in graph.constants}  # type: ignore[union-attr]
    found: dict[Value, Difference] = {}
    for node in graph.nodes:
        made = run_node(node, [None if v is None else env[v] for v in node.inputs], sizes)
        for v, want in zip(node.outputs, made, strict=True):
            env[v] = want
            if v in actual:
                found[v] = difference(v.name, actual[v], want.astype(v.dtype.numpy, copy=False), rtol)
                env[v] = actual[v]
    return [(g, found[v]) for g, v in stored]
