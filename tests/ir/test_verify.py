# SPDX-License-Identifier: Apache-2.0
"""The verifier finds faults planted in a valid graph, and names the pass and the place."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ait_core.errors import InternalError
from ait_core.ir import dims, dtypes
from ait_core.ir.graph import Constant, Graph, Value, constant, input
from ait_core.ir.types import TensorType
from ait_core.ir.verify import verify
from tests.graphs import Case, graphs
from tests.passes import tiny as t


def sample() -> Graph:
    x = input("x", (dims.dim("n", 1, 4), 4))
    w = constant(np.ones((4, 4), np.float32), "w")
    h = t.relu(t.matmul(x, w))
    a, b = t.halves(h, axis=1)
    return Graph({"a": t.clamp(a, 0.0), "b": t.sum_(b, axes=(0,)), "x": x})


def node(g: Graph, name: str):
    return next(n for n in g.nodes if n.op.name == name)


def swap_nodes(g):
    g.nodes[0], g.nodes[1] = g.nodes[1], g.nodes[0]


def rename(g):
    node(g, "tiny.relu").output.name = "x"


def empty_name(g):
    node(g, "tiny.relu").output.name = ""


def wrong_shape(g):
    node(g, "tiny.relu").output.type = TensorType(dtypes.float32, (2, 4))


def wrong_dtype(g):
    node(g, "tiny.relu").output.type = TensorType(dtypes.float16, node(g, "tiny.relu").output.shape)


def foreign_operand(g):
    node(g, "tiny.relu").inputs = (input("other", node(g, "tiny.relu").output.shape),)


def missing_operand(g):
    node(g, "tiny.relu").inputs = (None,)


def too_many_operands(g):
    n = node(g, "tiny.relu")
    n.inputs = (n.inputs[0], n.inputs[0])


def bad_operand(g):
    n = node(g, "tiny.matmul")
    n.inputs = (n.inputs[1], n.inputs[0])


def lost_attribute(g):
    node(g, "tiny.sum").attrs = {"axes": (0,)}


def wild_attribute(g):
    node(g, "tiny.sum").attrs = {"axes": [0], "keepdim": False}


def foreign_dim_in_attribute(g):
    node(g, "tiny.sum").attrs = {"axes": (dims.dim("z", 0, 1),), "keepdim": False}


def foreign_dim(g):
    node(g, "tiny.relu").output.type = TensorType(dtypes.float32, (dims.dim("z", 1, 4), 4))


def clashing_dims(g):
    g.inputs.append(input("y", (dims.dim("n", 2, 5),)))


def unknown_output(g):
    g.outputs["a"] = input("other", (2,))


def unnamed_output(g):
    g.outputs[""] = g.outputs.pop("a")


def orphan(g):
    n = node(g, "tiny.relu")
    n.output.node = g.nodes[0]


def wrong_index(g):
    node(g, "tiny.halves").outputs[0].index = 1


def lost_output(g):
    n = node(g, "tiny.halves")
    n.outputs = n.outputs[:1]


def lying_constant(g):
    g.constants[0].constant = Constant(np.ones((4, 5), np.float32))


def constant_as_input(g):
    g.inputs.append(constant(np.ones(2), "k"))


def input_as_constant(g):
    g.constants.append(input("k", (2,)))


def repeated_node(g):
    g.nodes.append(g.nodes[0])


def forgotten_constant(g):
    g.constants.clear()


FAULTS = [
    swap_nodes, rename, empty_name, wrong_shape, wrong_dtype, foreign_operand, missing_operand, too_many_operands,
    bad_operand, lost_attribute, wild_attribute, foreign_dim_in_attribute, foreign_dim, clashing_dims, unknown_output,
    unnamed_output, orphan, wrong_index, lost_output, lying_constant, constant_as_input, input_as_constant,
    repeated_node, forgotten_constant,
]  # fmt: skip


@pytest.mark.parametrize("plant", FAULTS, ids=lambda f: f.__name__)
def test_finds_planted_faults(plant):
    g = sample()
    verify(g, "before")
    plant(g)
    with pytest.raises(InternalError, match="After pass 'planting'"):
        verify(g, "planting")


def test_names_the_node():
    g = sample()
    wrong_dtype(g)
    with pytest.raises(InternalError, match=r"%relu.*tiny\.relu\(%matmul\)"):
        verify(g, "planting")


def test_odd_but_legal_graphs():
    x, c = input("x", (0, 2)), constant(np.ones(2), "c")
    verify(Graph({"a": x, "b": x, "c": c, "d": c, 'we "ird\n': t.clamp(x, None, 1.0)}, [x, input("unused", ())]), "x")
    verify(Graph({}, [x]), "x")


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_random_graphs_are_valid(case: Case):
    verify(case.graph, "generator")


def test_value_of_another_graph_is_refused():
    g = sample()
    g.outputs["a"] = Value("stray", g.inputs[0].type, g.nodes[0], 0)
    with pytest.raises(InternalError, match="no input, constant or node"):
        verify(g, "planting")
