# SPDX-License-Identifier: Apache-2.0
"""The pipeline as a whole: every pass on and off gives the same results."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ait_ops_tensor as tensor
from ait_core.declare.op import composite
from ait_core.declare.roles import Contraction, Reduction
from ait_core.declare.rule import AnyScalar, rule
from ait_core.errors import GraphError, InternalError, PluginError
from ait_core.ir import dims
from ait_core.ir.graph import Graph, constant, input, run_reference
from ait_core.ir.text import parse, show
from ait_core.passes.composites import expand_composites
from ait_core.passes.pipeline import Context, Pass, clone, pass_names, run_passes
from tests.graphs import Case, assert_close, graphs
from tests.passes import tiny as t
from tests.passes.packs import OPS

F23 = ("float32", (2, 3))


@rule("test.half_twice", example=lambda: {"x": F23})
def half_twice(x):
    return tensor.div(x, AnyScalar("s", 2.0))


@half_twice.replace
def _(m, x):
    return tensor.div(tensor.neg(tensor.neg(x)), m["s"]) if m["s"] == 2 and x.is_input and x.dtype.is_float else None


REGISTRY = SimpleNamespace(rules=[half_twice])


def compare(graph: Graph, new: Graph, inputs) -> None:
    """Bit for bit, but for sums of floats: they depend on how their operand lies in memory."""
    sums = any(isinstance(n.op.role, (Reduction, Contraction)) or n.op.name == "tensor.mean" for n in graph.nodes)
    tolerance = {"rtol": 1e-2, "atol": 1.0} if sums else {"rtol": 0.0}
    assert_close(run_reference(new, inputs), run_reference(graph, inputs), **tolerance)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.sets(st.sampled_from(pass_names())))
def test_any_passes_on_or_off_give_the_same_results(case: Case, off: set[str]):
    before = show(case.graph)
    new, _ = run_passes(case.graph, REGISTRY, off)
    assert show(case.graph) == before
    assert list(new.outputs) == list(case.graph.outputs) and new.inputs == case.graph.inputs
    compare(case.graph, new, case.inputs)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.sampled_from(pass_names()))
def test_each_pass_alone_gives_the_same_results(case: Case, only: str):
    new, records = run_passes(case.graph, REGISTRY, set(pass_names()) - {only})
    assert {r.name for r in records} == {only}
    compare(case.graph, new, case.inputs)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_results_of_the_passes_read_back_and_change_no_more(case: Case):
    new, _ = run_passes(case.graph, REGISTRY)
    again = parse(show(new), OPS, {v.name: v.constant.array for v in new.constants})
    assert show(again) == show(new)
    twice, _ = run_passes(new, REGISTRY)
    assert len(twice.nodes) <= len(new.nodes)


def test_records_say_what_happened(tmp_path):
    x = input("x", (2, 3))
    graph = Graph({"y": t.mul(t.swish(x), 1.0), "z": t.sum_(constant(np.ones(3, np.float32)), axes=(0,))})
    _, records = run_passes(graph, dump=tmp_path / "graphs")
    by_name = {r.name: r for r in records if r.changed}
    assert by_name["expand_composites"].before == 3 and by_name["expand_composites"].after == 4
    assert by_name["canonicalise"].after == 3 and by_name["fold"].notes == ("1 nodes computed",)
    assert all(r.seconds >= 0 for r in records)
    files = sorted(p.name for p in (tmp_path / "graphs").iterdir())
    assert files[0] == "00_input.txt" and len(files) == 1 + sum(r.changed for r in records)
    assert parse((tmp_path / "graphs" / files[0]).read_text(), t.OPS).outputs.keys() == graph.outputs.keys()


def test_unknown_names_are_refused_with_the_list():
    with pytest.raises(GraphError, match="no pass 'foldd'.*cse.*canonicalise"):
        run_passes(Graph({"x": input("x", ())}), disable={"foldd", "fold"})


def test_clashing_dims_are_the_users_mistake():
    x, y = input("x", (dims.dim("n", 1, 2),)), input("y", (dims.dim("n", 1, 3),))
    with pytest.raises(GraphError, match="'n'"):
        run_passes(Graph({"x": x, "y": y}))


def test_parameters_of_one_name_are_one_or_a_mistake():
    x, w = input("x", (3,)), np.arange(3, dtype=np.float32)

    def graph(*arrays):
        return Graph({f"y{i}": t.mul(x, constant(a, "w")) for i, a in enumerate(arrays)})

    for off in ((), ("cse",)):
        assert len(run_passes(graph(w, w.copy()), disable=off)[0].constants) == 1
    for other in (w + 1, w.astype(np.float16), np.float32(1)):
        with pytest.raises(GraphError, match="Two parameters are called 'w'"):
            run_passes(graph(w, other))


def test_failing_passes_are_named():
    x = input("x", (2,))
    graph = Graph({"y": t.neg(x)})

    def breaks(graph, context):
        return graph.rewrite(lambda node, inputs: 1 / 0)

    def lies(graph, context):
        new = clone(graph)
        new.nodes[0].output.name = "x"
        return new

    def drops(graph, context):
        return Graph({"z": graph.outputs["y"]}, graph.inputs)

    named = "Pass 'p' failed.*ZeroDivisionError at .*tiny.neg"
    for run, message in ((breaks, named), (lies, "After pass 'p'"), (drops, "names of the outputs")):
        with pytest.raises(InternalError, match=message):
            run_passes(graph, passes=[Pass("p", run, "")])


def test_a_broken_rule_is_reported_as_its_plugins():
    bad = rule("test.bad", example=dict)(lambda x: t.neg(x))
    with pytest.raises(PluginError, match="'test.bad'"):
        run_passes(Graph({"y": t.neg(input("x", (2,)))}), SimpleNamespace(rules=[bad]))


def test_groups_repeat_until_nothing_changes():
    calls = []

    def shrink(graph, context):
        calls.append(len(graph.nodes))
        return graph if len(graph.nodes) < 4 else Graph({"y": graph.nodes[-2].output}, graph.inputs)

    y = input("x", (2,))
    for _ in range(5):
        y = t.neg(y)
    new, _ = run_passes(Graph({"y": y}), passes=[[Pass("shrink", shrink, "")]])
    assert calls == [5, 4, 3] and len(new.nodes) == 3


# ---- composites


def test_composites_expand_with_origin_source_and_name():
    from ait_core.ir.graph import emit

    x = input("x", (dims.dim("n", 1, 4), 3))
    y = emit(t.swish, [x], {}, name="gate", source="m.py:3")
    new = expand_composites(Graph({"y": y}), Context())
    assert [(n.op.name, n.origin, n.source) for n in new.nodes] == [
        ("tiny.sigmoid", "tiny.swish", "m.py:3"), ("tiny.mul", "tiny.swish", "m.py:3"),
    ]  # fmt: skip
    assert new.outputs["y"].name == "gate"


def test_nested_composites_and_several_results():
    x = input("x", (2,))
    a, b = t.twice(x)
    new = expand_composites(Graph({"a": a, "b": b}), Context())
    assert {n.op.name: n.origin for n in new.nodes} == {
        "tiny.add": "tiny.twice", "tiny.sigmoid": "tiny.twice/tiny.swish", "tiny.mul": "tiny.twice/tiny.swish",
    }  # fmt: skip


def test_claimed_composites_stay_also_inside_of_others():
    x = input("x", (2,))
    context = Context(keep=lambda n: n.op.name == "tiny.swish")
    new = expand_composites(Graph({"a": t.twice(x)[1]}), context)
    assert [n.op.name for n in new.nodes] == ["tiny.swish"]


def test_composites_that_return_operands_or_constants():
    @composite("tiny.same")
    def same(x, y):
        return y, np.float32(2) * 1.0 if x is None else x, constant(np.ones(2, np.float32))

    x, y = input("x", (2,)), t.neg(input("y", (2,)))
    a, b, c = same(x, y)
    new = expand_composites(Graph({"a": a, "b": b, "c": c}), Context())
    assert new.outputs["b"] is x and new.outputs["a"] is y and y.name == "neg" and new.outputs["c"].constant


def test_endless_composites_are_reported():
    @composite("tiny.endless", infer=lambda x: x)
    def endless(x):
        return endless(x)

    with pytest.raises(InternalError, match="tiny.endless"):
        expand_composites(Graph({"y": endless(input("x", (2,)))}), Context())


# ---- size: nothing here depends on the depth of the stack or is quadratic enough to notice


def test_deep_and_wide_graphs():
    n = dims.dim("n", 1, 64)
    x = input("x", (n, 8))
    y = x
    for i in range(5000):
        y = (tensor.relu, tensor.tanh, lambda v: tensor.add(v, 1.0), lambda v: tensor.mul(v, 0.5))[i % 4](y)
    assert len(run_passes(Graph({"y": y}))[0].nodes) == 5000
    parts = [input(f"p{i}", (n, 3)) for i in range(2000)]
    wide = tensor.concat(*parts, dim=1)
    slices = {f"s{i}": tensor.slice(wide, dim=1, start=3 * i, end=3 * i + 3) for i in range(2000)}
    new, _ = run_passes(Graph({"y": tensor.relu(wide), **slices}, parts))
    assert len(new.nodes) == 2 and new.outputs["s7"] is parts[7]
    nested = x
    for _ in range(2000):
        nested = tensor.concat(nested, x, dim=1)
    assert len(run_passes(Graph({"y": nested}))[0].nodes[0].inputs) == 2001
