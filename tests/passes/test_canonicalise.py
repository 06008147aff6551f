# SPDX-License-Identifier: Apache-2.0
"""What canonicalisation removes, what it must leave, and that neither changes a bit of the results."""

import math

import numpy as np
import pytest

from ait_core.ir import dims
from ait_core.ir.graph import Graph, constant, input, run_reference
from ait_core.ir.verify import verify
from ait_core.passes.canonicalise import canonicalise
from ait_core.passes.pipeline import Context
from tests.graphs import assert_close, concrete
from tests.passes import tiny as t

N, M = dims.dim("n", 1, 8), dims.dim("m", 1, 8)
SIZES = {"n": 3, "m": 2}
SPECIAL = np.array([1.5, -0.0, 0.0, math.nan, math.inf, -math.inf, -2.25, 1e-40, 3e38])


def x(*shape, dtype="float32", name="x"):
    return input(name, shape, dtype)


def simplified(*outputs) -> Graph:
    """The graph canonicalised, verified, and compared with what it was, bit for bit."""
    graph = Graph({f"y{i}": v for i, v in enumerate(outputs)})
    new = canonicalise(graph, Context())
    verify(new, "canonicalise")
    feeds = {}
    for i, v in enumerate(graph.inputs):
        shape = concrete(v.shape, SIZES)
        values = np.roll(SPECIAL, i) if v.dtype.is_float else np.array([0, 1, 2, 3])
        with np.errstate(over="ignore"):
            feeds[v.name] = np.resize(values, shape).astype(v.dtype.numpy)
    assert_close(run_reference(new, feeds), run_reference(graph, feeds), rtol=0)
    return new


def ops(graph: Graph) -> list[str]:
    return [n.op.name.split(".")[1] for n in graph.nodes]


def number(value, dtype="float32"):
    return constant(np.asarray(value).astype(dtype))


def gone(y, to) -> bool:
    """Whether a value is simplified into another."""
    new = simplified(y)
    return not new.nodes and new.outputs["y0"] is to


# ---- views


@pytest.mark.parametrize(
    "same",
    [
        lambda v: t.permute(v, axes=(0, 1, 2)),
        lambda v: t.reshape(v, shape=v.shape),
        lambda v: t.expand(v, shape=v.shape),
        lambda v: t.narrow(v, axis=1, start=0, size=4),
        lambda v: t.narrow(v, axis=0, start=0, size=N),
        lambda v: t.permute(t.permute(v, axes=(2, 0, 1)), axes=(1, 2, 0)),
        lambda v: t.reshape(t.reshape(v, shape=(N * 4, 6)), shape=v.shape),
        lambda v: t.narrow(t.narrow(v, axis=1, start=3, size=4, step=-1), axis=1, start=3, size=4, step=-1),
        lambda v: t.permute(t.reshape(t.permute(v, axes=(1, 0, 2)), shape=(4, N, 6)), axes=(1, 0, 2)),
        lambda v: t.narrow(t.expand(t.reshape(v, shape=(1, N, 4, 6)), shape=(5, N, 4, 6)), axis=0, start=2, size=1),
    ],
)
def test_views_that_undo_each_other_vanish(same):
    v = x(N, 4, 6)
    y = same(v)
    if y.shape == v.shape:
        assert gone(y, v)
    else:
        assert len(simplified(y).nodes) == 1


def test_chains_of_views_shorten_and_keep_their_op_where_it_says_the_same():
    v = x(N, 4, 6)
    assert ops(simplified(t.reshape(t.reshape(v, shape=(4 * N, 6)), shape=(24 * N,)))) == ["reshape"]
    assert ops(simplified(t.permute(t.permute(v, axes=(1, 2, 0)), axes=(1, 2, 0)))) == ["view"]
    both = t.narrow(t.narrow(t.narrow(v, axis=1, start=1, size=3), axis=2, start=0, size=2), axis=1, start=0, size=2)
    assert ops(simplified(both)) == ["view"] and len(simplified(both).nodes[0].attrs["steps"]) == 2
    grown = t.expand(t.expand(x(1, 1), shape=(1, 5)), shape=(3, 5))
    assert ops(simplified(grown)) == ["expand"]
    assert ops(simplified(t.narrow(t.expand(x(1, 4), shape=(7, 4)), axis=0, start=0, size=1))) == []


def test_a_permute_of_single_axes_joins_reshapes():
    v = x(N, 1, 4)
    assert gone(t.reshape(t.permute(v, axes=(1, 0, 2)), shape=(N, 1, 4)), v)


def test_views_that_do_work_stay():
    v = x(N, 4, 6)
    for y in (
        t.permute(v, axes=(1, 0, 2)), t.narrow(v, axis=1, start=3, size=4, step=-1),
        t.narrow(v, axis=1, start=0, size=2, step=2), t.reshape(t.permute(v, axes=(1, 0, 2)), shape=(4 * N, 6)),
        t.reshape(t.expand(x(1, 4), shape=(N, 4)), shape=(4 * N,)),
    ):  # fmt: skip
        before = Graph({"y": y})
        assert canonicalise(before, Context()) is before


def test_a_long_chain_of_views_becomes_one():
    v = x(2, 3, 4)
    y = v
    for _ in range(999):
        y = t.permute(y, axes=(1, 2, 0))
    assert gone(y, v)


# ---- joins


def test_joins_of_one_and_of_nothing_vanish():
    v, empty = x(N, 4), x(N, 0, name="e")
    assert gone(t.concat(v, axis=1), v)
    assert gone(t.concat(empty, v, empty, axis=1), v)
    assert simplified(t.concat(empty, empty, axis=1)).outputs["y0"].shape == (N, 0)
    wider = x(N, 0, dtype="float64", name="e")
    assert ops(simplified(t.concat(v, wider, axis=1))) == ["concat"]  # the empty operand decides the dtype
    assert ops(simplified(t.concat(x(N, 2, dtype="float16", name="h"), v, empty, axis=1))) == ["concat"]


def test_joins_of_joins_flatten():
    a, b, c = (x(N, 2, name=n) for n in "abc")
    new = simplified(t.concat(a, t.concat(b, t.concat(c, a, axis=1), axis=1), b, axis=1))
    assert ops(new) == ["concat"] and [v.name for v in new.nodes[0].inputs] == ["a", "b", "c", "a", "b"]


def test_joins_that_others_read_or_that_convert_stay():
    a, b, h = x(N, 2, name="a"), x(N, 2, name="b"), x(N, 2, dtype="float16", name="h")
    inner = t.concat(a, b, axis=1)
    assert ops(simplified(t.concat(inner, a, axis=1), t.relu(inner))) == ["concat", "concat", "relu"]
    assert ops(simplified(t.concat(inner, a, axis=1), inner)).count("concat") == 2
    assert ops(simplified(t.concat(t.concat(a, b, axis=0), t.concat(b, a, axis=0), axis=1))).count("concat") == 3
    narrow = t.concat(x(2, dtype="int64", name="i"), x(2, name="f"), axis=0)  # int64 to float32 rounds
    assert ops(simplified(t.concat(narrow, x(2, dtype="float64", name="d"), axis=0))) == ["concat", "concat"]
    assert ops(simplified(t.concat(t.concat(h, h, axis=1), a, axis=1))) == ["concat"]


def test_slices_of_joins_read_the_operand():
    a, b = x(N, 3, name="a"), x(N, 4, name="b")
    joined = t.concat(a, b, axis=1)
    assert gone(t.narrow(joined, axis=1, start=0, size=3), a)
    assert gone(t.narrow(joined, axis=1, start=3, size=4), b)
    new = simplified(t.narrow(joined, axis=1, start=4, size=2, step=2))
    assert ops(new) == ["view"] and new.nodes[0].inputs == (b,)
    new = simplified(t.narrow(joined, axis=1, start=2, size=3, step=-1))
    assert new.nodes[0].inputs == (a,)
    new = simplified(t.reshape(t.narrow(joined, axis=1, start=3, size=4), shape=(N * 4,)))
    assert ops(new) == ["reshape"]
    assert "concat" in ops(simplified(t.narrow(joined, axis=1, start=2, size=2)))  # of both
    assert "concat" in ops(simplified(t.narrow(joined, axis=0, start=0, size=1)))
    mixed = t.concat(x(N, 3, dtype="float16", name="h"), b, axis=1)
    assert "concat" in ops(simplified(t.narrow(mixed, axis=1, start=0, size=3)))  # the join converts


def test_slices_of_symbolic_joins():
    a, b = x(N, name="a"), x(M, name="b")
    joined = t.concat(a, b, axis=0)
    assert gone(t.narrow(joined, axis=0, start=N, size=M), b)
    assert gone(t.narrow(joined, axis=0, start=0, size=N), a)
    assert "concat" in ops(simplified(t.narrow(joined, axis=0, start=1, size=M)))


def test_slices_put_together_again():
    v = x(N, 6)
    parts = [t.narrow(v, axis=1, start=i, size=2) for i in (0, 2, 4)]
    assert gone(t.concat(*parts, axis=1), v)
    assert ops(simplified(t.concat(*parts[1:], axis=1))) == ["view"]
    assert ops(simplified(t.concat(*parts[::-1], axis=1))).count("concat") == 1
    assert ops(simplified(t.concat(parts[0], parts[2], axis=1))).count("concat") == 1
    new = simplified(t.concat(x(N, 1, name="z"), parts[0], parts[1], axis=1))
    assert len(new.nodes[-1].inputs) == 2


# ---- pointwise


NOTHING_NEW = {
    "x * 1": lambda v: t.mul(v, number(1.0)),
    "1 * x": lambda v: t.mul(number(1.0), v),
    "x / 1": lambda v: t.div(v, number(1.0)),
    "x + -0": lambda v: t.add(v, number(-0.0)),
    "x - 0": lambda v: t.sub(v, number(0.0)),
    "x ** 1": lambda v: t.power(v, number(1.0)),
    "x * ones": lambda v: t.mul(v, constant(np.ones((1, 4), np.float32))),
    "x * filled": lambda v: t.mul(v, t.fill(shape=(4,), value=1.0)),
    "x * expanded one": lambda v: t.mul(v, t.expand(number(1.0), shape=(N, 4))),
    "--x": lambda v: t.neg(t.neg(v)),
    "where true": lambda v: t.where(number(True, "bool"), v, number(2.0)),
    "where false": lambda v: t.where(number(False, "bool"), number(2.0), v),
    "where same": lambda v: t.where(t.cast(v, to="bool"), v, v),
    "same cast": lambda v: t.cast(v, to="float32"),
    "cast there and back": lambda v: t.cast(t.cast(v, to="float64"), to="float32"),
    "clamp by nothing": lambda v: t.clamp(v, None, None),
    "x * 1 / 1 - 0": lambda v: t.sub(t.div(t.mul(v, number(1.0)), number(1.0)), number(0.0)),
}


@pytest.mark.parametrize("what", NOTHING_NEW)
def test_arithmetic_that_computes_nothing_new_vanishes(what):
    v = x(N, 4)
    assert gone(NOTHING_NEW[what](v), v)


SOMETHING_NEW = {
    "x + 0 loses the sign of -0": lambda v: t.add(v, number(0.0)),
    "x - -0 loses the sign of -0": lambda v: t.sub(v, number(-0.0)),
    "x * 0 is NaN for infinity": lambda v: t.mul(v, number(0.0)),
    "x * -1": lambda v: t.mul(v, number(-1.0)),
    "x / 2": lambda v: t.div(v, number(2.0)),
    "0 - x": lambda v: t.sub(number(0.0), v),
    "1 / x": lambda v: t.div(number(1.0), v),
    "parameter": lambda v: t.mul(v, constant(np.float32(1.0), "scale")),
    "rounding there and back": lambda v: t.cast(t.cast(v, to="bfloat16"), to="float32"),
    "to int and back": lambda v: t.cast(t.cast(t.clamp(t.where(t.cast(t.sub(v, v), to="bool"), 0.0, v), 0.0, 9.0),
                                               to="int32"), to="float32"),
    "almost one": lambda v: t.mul(v, number(np.nextafter(np.float32(1), np.float32(2)))),
    "not only ones": lambda v: t.mul(v, constant(np.array([1, 1, 1, 2], np.float32))),
}  # fmt: skip


@pytest.mark.parametrize("what", SOMETHING_NEW)
def test_arithmetic_that_does_something_stays(what):
    assert simplified(SOMETHING_NEW[what](x(N, 4))).nodes


def test_dtype_and_shape_must_stay():
    i = x(N, 4, dtype="int32")
    assert ops(simplified(t.mul(i, number(1.0)))) == ["mul"]  # float32
    assert ops(simplified(t.div(i, number(1, "int32")))) == ["div"]
    assert gone(t.add(i, number(0, "int32")), i)
    h = x(N, 4, dtype="float16")
    assert gone(t.mul(h, number(1.0)), h)  # a 0-d operand does not widen
    assert ops(simplified(t.mul(h, constant(np.ones(4, np.float32))))) == ["mul"]
    row = x(4)
    assert ops(simplified(t.mul(row, constant(np.ones((2, 4), np.float32))))) == ["view"]  # broadcast, not computed


def test_casts_drop_out_of_chains():
    h = x(N, 4, dtype="float16", name="h")
    assert ops(simplified(t.cast(t.cast(h, to="float32"), to="float64"))) == ["cast"]
    assert ops(simplified(t.add(t.cast(h, to="float32"), x(N, 4)))) == ["add"]
    assert ops(simplified(t.add(t.cast(h, to="float32"), t.cast(h, to="float32")))).count("cast") >= 1
    byte = x(N, 4, dtype="int8", name="b")
    assert gone(t.cast(t.cast(byte, to="float16"), to="int8"), byte)
    assert gone(t.cast(t.cast(byte, to="int64"), to="int8"), byte)
    wide = x(N, 4, dtype="int64", name="w")
    assert ops(simplified(t.cast(t.cast(wide, to="float64"), to="int64"))) == ["cast", "cast"]  # beyond 2**53


def test_repeated_operations_vanish():
    v = x(N, 4)
    assert ops(simplified(t.relu(t.relu(v)))) == ["relu"]
    assert ops(simplified(t.clamp(t.clamp(v, 0.0, None), 0.0, None))) == ["clamp"]
    assert ops(simplified(t.cast(t.cast(v, to="float16"), to="float16"))) == ["cast"]
    assert ops(simplified(t.relu(t.neg(v)))) == ["neg", "relu"]


def test_constant_results():
    v = x(N, 4)
    new = simplified(t.power(v, number(0.0)))
    assert ops(new) == ["view"] and float(new.nodes[0].inputs[0].constant.array) == 1.0


def test_expansions_that_broadcasting_does_anyway():
    v, row, col = x(N, 4), x(4, name="r"), x(N, 1, name="c")
    new = simplified(t.add(v, t.expand(row, shape=(N, 4))))
    assert ops(new) == ["add"] and new.nodes[0].inputs == (v, row)
    new = simplified(t.add(t.expand(col, shape=(N, 4)), t.expand(t.reshape(row, shape=(1, 4)), shape=(N, 4))))
    assert ops(new) == ["add"] and new.nodes[0].inputs == (col, row)
    kept = simplified(t.add(t.expand(col, shape=(N, 4)), col))
    assert ops(kept) == ["expand", "add"]  # gives the result its shape
    both = t.expand(row, shape=(N, 4))
    new = simplified(t.add(v, both), t.sum_(both, axes=(0,)))
    assert new.outputs["y0"].node.inputs == (v, row) and "expand" in ops(new)


def test_outputs_keep_names_and_may_coincide():
    v, c = x(N, 4), constant(np.ones(3, np.float32))
    new = simplified(t.mul(v, number(1.0)), v, t.reshape(v, shape=(N, 4)), c, c)
    assert list(new.outputs) == ["y0", "y1", "y2", "y3", "y4"]
    assert new.outputs["y0"] is new.outputs["y1"] is new.outputs["y2"] is v
