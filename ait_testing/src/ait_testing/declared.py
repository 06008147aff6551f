# SPDX-License-Identifier: Apache-2.0
"""Checks that compile nothing: of ops, rules and the descriptors of kernel templates."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from ait_core.declare.kernel import Kernel
from ait_core.declare.op import Op
from ait_core.declare.rule import AnyAttr, Rule
from ait_core.errors import AITError
from ait_core.ir.graph import Graph, Value, constant, evaluate, run_reference
from ait_core.ir.types import TensorType
from ait_core.passes.match import compile_rule
from ait_core.passes.pipeline import Context
from ait_core.passes.rules import apply_rules
from ait_testing.compare import difference
from ait_testing.samples import Sample, random

DRAWS = 3  # of random inputs a rule is proved on


def undocumented(op: Op) -> str | None:
    """What is missing of an op's documentation, or None."""
    if not op.doc.strip():
        return f"{op.name} has no docstring: say what it computes, its shapes, and where a formula comes from."
    return None


def wrong_type(op: Op, sample: Sample) -> str | None:
    """Where ``infer`` and the reference disagree, on numbers and on dims; or None."""
    want = _many(op.reference(*sample.inputs, **op.bind(sample.numbers)))
    if not all(isinstance(w, (np.ndarray, np.generic)) for w in want):
        return f"the reference returns {[type(w).__name__ for w in want]}; NumPy arrays are expected"
    fixed = _many(op.infer(*sample.types, **op.bind(sample.numbers)))
    try:
        symbolic = _many(op.infer(*sample.symbolic_types, **op.bind(dict(sample.attrs))))
    except AITError as e:
        return f"infer refuses symbolic sizes: {e} If some must be fixed, say which may vary: Sample(..., sizes={{}})."
    for what, types, sizes in (("numbers", fixed, {}), ("symbolic sizes", symbolic, sample.values)):
        if not all(isinstance(t, TensorType) for t in types):
            return f"infer returns {types}; TensorType objects are expected"
        got = [(t.dtype.numpy, evaluate(t.shape, sizes)) for t in types]
        if got != [(w.dtype, w.shape) for w in want]:
            return f"on {what} infer gives {got}, and the reference {[(w.dtype, w.shape) for w in want]}"
    return None


def unproved(rule: Rule) -> str | None:
    """Why a rule is not proved by its example, or None: it must apply there and change no result."""
    graph = _concrete(rule)
    context = Context(rules=[rule])
    new = apply_rules(graph, context)
    if not any(n.startswith(f"{rule.name}: ") for n in context.notes):
        why = "; ".join(context.notes) or "its guard says no"
        return f"{rule.name} does not apply to its own example: {why}."
    for seed in range(DRAWS):
        feeds = {v.name: random(v.shape, v.dtype.name, 100 * seed + i) for i, v in enumerate(graph.inputs)}
        want, got = run_reference(graph, feeds), run_reference(new, feeds)
        for name in want:
            if problem := difference(got[name], want[name]):
                return f"{rule.name} changes result {name}: {problem}."
    return None


def _concrete(rule: Rule) -> Graph:
    """The pattern of a rule, built on its example with the examples of its captures."""
    pattern = compile_rule(rule)
    new: dict[Value, Value] = {}
    for node in pattern.nodes:
        for v in node.operands:
            if v.constant is not None and v.constant.capture is not None:
                new[v] = constant(v.constant.array, parameter=False)
        attrs = {k: a.example if isinstance(a, AnyAttr) else a for k, a in node.attrs.items()}
        made = node.op(*(new.get(v, v) if v is not None else None for v in node.inputs), **attrs)
        new.update(zip(node.outputs, _many(made), strict=True))
    return Graph({str(i): new[r] for i, r in enumerate(pattern.roots)}, list(pattern.wildcards))


def inconsistent(kernel: Kernel, op: Op | None) -> str | None:
    """What is wrong with the descriptor of a template, or None."""
    if op is None:
        return f"{kernel.name} computes {kernel.op}, which no installed plugin declares."
    params, absorbs = {p.name for p in op.params}, kernel.absorbs
    if unknown := (absorbs.prologue | absorbs.strided | absorbs.reads_once) - params:
        return f"{kernel.name} absorbs {', '.join(sorted(unknown))}, but {op.name} takes {', '.join(sorted(params))}."
    if extra := absorbs.reads_once - absorbs.prologue:
        return f"{kernel.name} reads {', '.join(sorted(extra))} once, but not through a prologue."
    if absorbs.rows and not absorbs.epilogue:
        return f"{kernel.name} absorbs rows but no epilogue: what follows a reduction could not be absorbed."
    for name, count in (("accepts", 2), ("space", 2), ("cost", 3), ("shapes", 1), ("render", 1)):
        try:
            inspect.signature(getattr(kernel, name)).bind(*[None] * count)
        except TypeError as e:
            return f"{kernel.name}: {name} must take {count} arguments: {e}."
    return None


def _many(made: object) -> list:
    return list(made) if isinstance(made, Sequence) and not isinstance(made, (str, np.ndarray)) else [made]
