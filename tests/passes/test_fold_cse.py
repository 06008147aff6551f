# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from ait_core.ir import dims
from ait_core.ir.graph import Graph, constant, input, run_reference
from ait_core.passes.cse import attr_key, cse
from ait_core.passes.fold import fold
from ait_core.passes.pipeline import Context
from tests.passes import tiny as t


def ops(graph: Graph) -> list[str]:
    return [n.op.name.split(".")[1] for n in graph.nodes]


def folded(*outputs, limit=1 << 20) -> Graph:
    graph = Graph({f"y{i}": v for i, v in enumerate(outputs)})
    return fold(graph, Context(fold_limit=limit))


DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_folds_what_depends_on_constants_alone():
    new = folded(t.relu(t.sub(constant(DATA), 2.0)), t.add(input("x", (2, 3)), t.neg(constant(DATA))))
    assert ops(new) == ["add"]
    np.testing.assert_array_equal(new.outputs["y0"].constant.array, np.maximum(DATA - 2, 0))
    assert new.outputs["y0"].constant.parameter is None


def test_parameters_are_not_folded():
    w = constant(DATA, "w")
    graph = Graph({"y": t.neg(w), "z": t.add(w, t.neg(constant(DATA)))})
    new = fold(graph, Context())
    assert ops(new) == ["neg", "add"] and new.nodes[1].inputs[1].constant is not None


def test_large_results_are_not_folded_unless_their_operands_are_as_large():
    row, column = constant(np.ones((1, 64), np.float32)), constant(np.ones((64, 1), np.float32))
    assert ops(folded(t.add(row, column), limit=1000)) == ["add"]
    assert ops(folded(t.add(row, column), limit=64 * 64 * 4)) == []
    big = constant(np.ones((64, 64), np.float32))
    assert ops(folded(t.neg(big), limit=1000)) == []


def test_symbolic_shapes_are_not_folded():
    n = dims.dim("n", 1, 4)
    x = input("x", (n,))
    graph = Graph({"y": t.add(x, t.mul(t.iota(size=n), 2)), "s": t.sum_(t.iota(size=n), axes=(0,))})
    assert fold(graph, Context()) is graph


def test_ranges_and_fills_stay_until_something_needs_their_data():
    ramp = t.mul(t.iota(size=4), 3)
    x = input("x", (4,), "int64")
    graph = Graph({"y": t.add(x, ramp), "e": t.mul(x, t.expand(constant(np.int64(2), parameter=False), shape=(4,)))})
    assert fold(graph, Context()) is graph
    new = folded(t.add(x, ramp), t.sum_(ramp, axes=(0,), keepdim=True), t.add(ramp, constant(np.arange(4))))
    assert ops(new) == ["iota", "mul", "add"]
    np.testing.assert_array_equal(new.outputs["y1"].constant.array, [18])
    np.testing.assert_array_equal(new.outputs["y2"].constant.array, [0, 4, 8, 12])
    assert folded(t.fill(shape=(), value=2.5)).outputs["y0"].constant.array == 2.5  # rules match numbers


def test_long_chains_fold_without_recursion():
    y = t.iota(size=3)
    for _ in range(3000):
        y = t.add(y, 1)
    assert folded(t.sum_(y, axes=(0,))).outputs["y0"].constant.array == 9003


def test_several_outputs_and_composites_fold():
    a, b = t.halves(constant(np.arange(4.0)))
    new = folded(a, b, t.swish(constant(DATA)))
    assert not new.nodes
    np.testing.assert_array_equal(new.outputs["y1"].constant.array, [2, 3])


def merged(*outputs) -> Graph:
    return cse(Graph({f"y{i}": v for i, v in enumerate(outputs)}), Context())


def test_equal_nodes_merge_with_what_follows_from_them():
    x = input("x", (2, 3))
    new = merged(t.relu(t.neg(x)), t.relu(t.neg(x)), t.sum_(x, axes=(0,)), t.sum_(x, axes=(0,)))
    assert ops(new) == ["neg", "relu", "sum"] and new.outputs["y0"] is new.outputs["y1"]


def test_commutative_operands_in_either_order():
    x, y = input("x", (2,)), input("y", (2,))
    assert ops(merged(t.add(x, y), t.add(y, x))) == ["add"]
    assert ops(merged(t.sub(x, y), t.sub(y, x))) == ["sub", "sub"]


def test_constants_merge_by_content():
    x = input("x", (2, 3))
    new = merged(t.add(x, DATA), t.add(x, DATA.copy()), t.add(x, DATA.astype("f2")))
    assert len(new.constants) == 2
    zeros = merged(t.add(x, 0.0), t.add(x, -0.0), t.add(x, math.nan), t.add(x, math.nan))
    assert len(zeros.constants) == 3 and len(zeros.nodes) == 3


def test_parameters_merge_only_under_one_name():
    x = input("x", (2, 3))
    new = merged(*(t.mul(x, constant(DATA, n)) for n in ("a", "b", "a")), t.mul(x, constant(DATA)))
    assert len(new.nodes) == 3 and [v.constant.parameter for v in new.constants] == ["a", "b", None]
    other = merged(t.mul(x, constant(DATA, "a")), t.mul(x, constant(DATA + 1, "a")))
    assert len(other.nodes) == 2


def test_attributes_that_compare_equal_but_are_not_stay_apart():
    x = input("x", (2, 3))
    assert len({attr_key(v) for v in (1, 1.0, True, 0.0, -0.0, (1,), (1.0,))}) == 7
    assert attr_key(math.nan) == attr_key(float("nan"))
    assert len(merged(*(t.fill(shape=(2,), value=v) for v in (0.0, -0.0, 0, False, math.nan, math.nan))).nodes) == 5
    n = dims.dim("n", 1, 4)
    z = input("z", (n, 2))
    assert len(merged(t.reshape(z, shape=(n * 2,)), t.reshape(z, shape=(2 * n,)), x).nodes) == 1


def test_results_do_not_change():
    x = input("x", (2, 3))
    graph = Graph({"a": t.mul(t.sub(x, DATA), t.sub(x, DATA)), "b": x, "c": t.sub(x, DATA)})
    feed = {"x": DATA * 2}
    want, got = run_reference(graph, feed), run_reference(cse(graph, Context()), feed)
    assert all(np.array_equal(got[k], want[k]) for k in want) and list(got) == list(want)
