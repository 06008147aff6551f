# SPDX-License-Identifier: Apache-2.0
"""Ops on symbols: inferred types, composites and scalar expressions agree with the references on arrays."""

import numpy as np
import pytest

from ait_core.declare import roles
from ait_core.fuse.lower import Lowerer
from ait_core.ir.graph import Graph, Value, evaluate, run_reference
from ait_core.ir.index import var
from ait_core.ir.layout import Layout
from ait_core.ir.types import TensorType
from tests.ops.interpret import Interpreter
from tests.ops.oracles import assert_close
from tests.ops.samples import SIZES, TABLE, all_ops, samples


def cases(*kinds: type[roles.Role]):
    """Every sample of the ops of some roles."""
    names = [n for n in sorted(TABLE) if isinstance(all_ops()[n].role, kinds)]
    return pytest.mark.parametrize(
        ("name", "i"), [pytest.param(n, i, id=f"{n}-{i}-{s}") for n in names for i, s in enumerate(samples(n))]
    )


def operands(name: str, i: int) -> tuple[list[Value | None], dict[str, np.ndarray]]:
    """Graph inputs with symbolic dims, and their arrays by name."""
    s = samples(name)[i]
    values = [None if t is None else Value(f"x{k}", t) for k, t in enumerate(s.symbolic_types)]
    return values, {v.name: a for v, a in zip(values, s.inputs, strict=True) if v is not None}


def many(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


@cases(roles.Role)
def test_symbolic_shape_is_the_shape_of_the_result(name, i):
    op, s = all_ops()[name], samples(name)[i]
    symbolic = op.infer(*s.symbolic_types, **op.bind(s.given))
    symbolic = [symbolic] if isinstance(symbolic, TensorType) else list(symbolic)
    want = many(op.reference(*s.inputs, **op.bind(s.attrs)))
    assert [t.dtype.numpy for t in symbolic] == [w.dtype for w in want]
    assert [evaluate(t.shape, SIZES) for t in symbolic] == [w.shape for w in want]


@cases(roles.Composite)
def test_composite_computes_what_its_reference_does(name, i):
    op, s = all_ops()[name], samples(name)[i]
    values, arrays = operands(name, i)
    made = many(op.role.build(*values, **op.bind(s.given)))
    assert [v.type for v in made] == many(op.infer(*s.symbolic_types, **op.bind(s.given)))
    graph = Graph({str(k): v for k, v in enumerate(made)}, [v for v in values if v is not None])
    got = run_reference(graph, arrays)
    for k, want in enumerate(many(op.reference(*s.inputs, **op.bind(s.attrs)))):
        assert_close(got[str(k)], want, 2 * s.loose, str(s))


@cases(roles.Pointwise, roles.Indexed, roles.Viewing, roles.Join)
def test_scalar_expression_computes_what_the_reference_does(name, i):
    op, s = all_ops()[name], samples(name)[i]
    values, arrays = operands(name, i)
    out = op(*values, **s.given)
    nest = tuple(var(f"i{k}", n) for k, n in enumerate(out.shape))
    e = Lowerer(lambda node: True, {}).at(out, nest)
    want = np.asarray(op.reference(*s.inputs, **op.bind(s.attrs)))
    at = {f"i{k}": a for k, a in enumerate(np.ogrid[tuple(slice(0, n) for n in want.shape)])} if want.ndim else {}
    got = Interpreter({v: arrays[v.name] for v in values if v is not None}, SIZES, at)(e)
    with np.errstate(over="ignore"):
        got = got.astype(want.dtype)
    assert_close(np.broadcast_to(got, want.shape), want, s.loose, str(s))


@cases(roles.Viewing)
def test_layout_of_a_view_points_at_its_elements(name, i):
    op, s = all_ops()[name], samples(name)[i]
    (x,) = s.inputs
    layout = Layout.contiguous(s.symbolic_types[0].shape)
    for step in op.role.steps(s.symbolic_types[0], **op.bind(s.given)):
        layout = step.layout(layout)
        assert layout is not None, "one view of a contiguous tensor is always strided"
    shape, strides, offset = (evaluate(d, SIZES) for d in (layout.shape, layout.strides, layout.offset))
    place = offset + sum(i * k for i, k in zip(np.ogrid[tuple(slice(0, n) for n in shape)], strides, strict=True))
    flat = np.ascontiguousarray(x).reshape(-1)
    got = np.broadcast_to(flat[place] if 0 not in shape else np.zeros(shape, x.dtype), shape)
    np.testing.assert_array_equal(got, op.reference(x, **op.bind(s.attrs)))


@cases(roles.Viewing)
def test_inverse_of_a_view_undoes_it(name, i):
    op, s = all_ops()[name], samples(name)[i]
    x, shape = s.inputs[0], s.symbolic_types[0].shape
    for step in op.role.steps(s.symbolic_types[0], **op.bind(s.given)):
        seen, back = step.shape(shape), step.inverse(shape)
        if back is None:
            assert evaluate(seen, SIZES) != evaluate(shape, SIZES) or step.step != 1, f"{step} keeps every element"
            return
        y = step.array(x, evaluate(seen, SIZES))
        np.testing.assert_array_equal(back.array(y, evaluate(back.shape(seen), SIZES)), x)
        x, shape = y, seen
