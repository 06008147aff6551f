# SPDX-License-Identifier: Apache-2.0
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ait_core.declare.op import view
from ait_core.errors import GraphError
from ait_core.ir import dims, dtypes
from ait_core.ir.graph import Constant, Graph, Value, constant, emit, input
from ait_core.ir.text import parse, show
from ait_core.ir.types import TensorType
from ait_core.passes.views import CORE_OPS
from tests.graphs import Case, graphs
from tests.passes import tiny as t
from tests.passes.packs import OPS


def arrays(graph: Graph) -> dict[str, np.ndarray]:
    return {v.name: v.constant.array for v in graph.constants}


@view("tiny.carry")
def carry(x, *, a=None, b=None):
    """Holds attributes."""
    return []


ALL_OPS = {**t.OPS, **CORE_OPS, carry.name: carry}


def test_shows_dims_constants_nodes_and_outputs():
    n = dims.dim("n", 1, 8)
    x = input("x", (n, 4))
    w = constant(np.zeros((4, 9), np.float32), "fc.weight")
    y = emit(t.matmul, [t.mul(x, 0.5), w], {}, source="model.py:7", origin="tiny.twice")
    text = show(Graph({"out": y}))
    assert text.splitlines()[:3] == ["dim n = 1..8", "input %x: float32[n, 4]", "const %const: float32[] = 0.5"]
    assert text.splitlines()[4:] == [
        "%mul: float32[n, 4] = tiny.mul(%x, %const)",
        '%matmul: float32[n, 9] = tiny.matmul(%mul, %fc.weight) origin "tiny.twice" source "model.py:7"',
        'output "out" = %matmul',
    ]
    assert text.splitlines()[3].startswith("const %fc.weight: float32[4, 9] = #")
    assert text.splitlines()[3].endswith(' parameter "fc.weight"')


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_round_trip(case: Case):
    text = show(case.graph)
    again = parse(text, OPS, arrays(case.graph))
    assert show(again) == text
    for old, new in zip(case.graph.constants, again.constants, strict=True):
        assert old.constant.array.tobytes() == new.constant.array.tobytes() or np.isnan(
            old.constant.array.astype("f8")
        ).any()
    assert [repr(n.attrs) for n in again.nodes] == [repr(n.attrs) for n in case.graph.nodes]


ATTRS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(list(dtypes.ALL.values())),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
)


@settings(max_examples=200, deadline=None)
@given(ATTRS, ATTRS)
def test_attributes_round_trip(a, b):
    graph = Graph({"y": carry(input("x", (2,)), a=a, b=b)})
    again = parse(show(graph), ALL_OPS)
    assert show(again) == show(graph)
    assert repr(again.nodes[0].attrs) == repr(graph.nodes[0].attrs)  # tells 1 from True and 0.0 from -0.0


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1), st.text(min_size=1), st.text(), st.text())
def test_hostile_names_round_trip(name, output, source, origin):
    x = input(name, (2,))
    y = emit(t.neg, [x], {}, name=name, source=source, origin=origin)
    graph = Graph({output: y, output + '"\n%': x})
    text = show(graph)
    assert len(text.split("\n")) == 5 and text.isascii()
    again = parse(text, ALL_OPS)
    assert show(again) == text and list(again.outputs) == list(graph.outputs) and again.inputs[0].name == name
    assert (again.nodes[0].source, again.nodes[0].origin) == (source, origin)


@pytest.mark.parametrize("name", ["inf", "nan", "none", "True", "output", "a.b", "1x", "-inf", "dim"])
def test_names_that_look_like_something_else(name):
    graph = Graph({name: t.neg(input(name, (2,)))})
    assert show(parse(show(graph), ALL_OPS)) == show(graph)


@pytest.mark.parametrize("dtype", list(dtypes.ALL.values()))
def test_small_constants_are_exact(dtype):
    if dtype.is_float:
        tiny = ml_dtypes.finfo(dtype.numpy)
        data = [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, float(tiny.max), float(tiny.smallest_subnormal)]
    else:
        limits = (0, 1) if dtype.name == "bool" else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        data = [*limits, 1]
    array = np.array(data).astype(dtype.numpy)
    graph = Graph({"c": constant(array), "s": constant(array[0]), "e": constant(array[:0].reshape(3, 0))})
    again = parse(show(graph), {})
    assert show(again) == show(graph)
    assert again.outputs["c"].constant.array.tobytes() == array.tobytes()
    assert again.outputs["e"].shape == (3, 0)


def test_symbolic_attributes_and_sizes_round_trip():
    n, m = dims.dim("n", 0, 9), dims.dim("m", 2, 5)
    x = input("x", (n * 2, m))
    y = t.narrow(t.reshape(x, shape=(n, 2 * m)), axis=1, start=m - 1, size=dims.dim_min(m, n + 1))
    graph = Graph({"y": y, "z": t.reshape(x, shape=(dims.floor_div(n * m * 2, 2), 2))})
    again = parse(show(graph), ALL_OPS)
    assert show(again) == show(graph)
    assert again.nodes[1].attrs == graph.nodes[1].attrs


def test_types_keep_the_form_they_have():
    n, m = dims.dim("n", 1, 9), dims.dim("m", 1, 9)
    x = input("x", (n, m + 1))
    y = t.neg(t.reshape(x, shape=(n * (m + 1),)))
    y.type = TensorType(y.dtype, (n * m + n,))
    graph = Graph({"y": y})
    assert show(parse(show(graph), ALL_OPS)) == show(graph)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y: float32[2] = tiny.nope(%x)", "no op 'tiny.nope'"),
        ("%y: float32[2] = tiny.neg(%z)", "%z is not defined"),
        ("%y: float32[3] = tiny.neg(%x)", "gives float32[2]"),
        ("%y: float32[2] = tiny.neg(%x, %x)", "got 2 operands"),
        ("%y: float32[2] = tiny.neg(%x; to=1)", "unknown: to"),
        ("%y: float32[2] = tiny.neg(%x", "Expected"),
        ("%y: float32[2] = tiny.neg(%x) more", "end of the line"),
        ("%y: float32[2] = tiny.cast(%x; to=float99)", "attribute's value"),
        ("%y: float32[2 = tiny.neg(%x)", "Expected"),
        ("%y: float32[q] = tiny.neg(%x)", "Not a size"),
        ("%x: float32[2] = tiny.neg(%x)", "defined twice"),
        ("input %x: float32[2]", "defined twice"),
        ("input %y: complex64[2]", "no dtype"),
        ("const %c: int8[1] = [1000]", "no int8[1]"),
        ("const %c: int8[2] = [1]", "no int8[2]"),
        ("const %c: int8[] = x", "Expected a number"),
        ("const %c: int8[99] = #0011", "not in the text"),
        ("dim n = 3..1", "lo <= hi"),
        ("dim n = 1..2.5", "integer"),
        ('output "a\\q" = %x', "no string"),
        ("output x = %x", "Expected a string"),
        ("what is this", "starts with"),
        ("\0", "Expected"),
    ],
)
def test_errors_name_the_line(line, message):
    with pytest.raises(GraphError, match="Line 3: ") as e:
        parse(f"\ninput %x: float32[2]\n{line}\noutput \"y\" = %x\n", ALL_OPS)
    assert message in str(e.value)


def test_large_constants_must_be_given_and_equal():
    graph = Graph({"c": Value("c", TensorType(dtypes.float32, (99,)), constant=Constant(np.ones(99, np.float32)))})
    with pytest.raises(GraphError, match="pass it in arrays"):
        parse(show(graph), {})
    with pytest.raises(GraphError, match="other content"):
        parse(show(graph), {}, {"c": np.zeros(99, np.float32)})
    assert show(parse(show(graph), {}, {"c": np.ones(99, np.float32)})) == show(graph)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_text_is_refused_or_read_but_never_breaks(data):
    text = show(Graph({"y": t.twice(t.cast(input("x", (2,)), to="float16"))[1]}))
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 5)) :]
    try:
        parse(damaged, ALL_OPS)
    except GraphError:
        pass
