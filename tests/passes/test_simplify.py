# SPDX-License-Identifier: Apache-2.0
"""Simplified scalar expressions give the same bits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ait_core import scalar as s
from ait_core.ir import dtypes
from ait_core.ir.types import TensorType
from ait_core.scalar.expr import Expr, cast, const, convert
from ait_core.scalar.primitives import PRIMITIVES
from ait_core.scalar.simplify import STORED, embeds, fits, simplify


class Leaf:
    def __init__(self, name, dtype):
        self.name, self.dtype, self.type = name, dtype, TensorType(dtype, (9,))


FLOAT = np.array([0.0, -0.0, 1.0, -1.5, 2.0, 0.1, 3e4, math.inf, -math.inf, math.nan, 1e-7])
INT = np.array([0, 1, -1, 2, 3, -7, 100, -128, 127, 5, 9])
NAMES = ("float32", "float16", "float64", "int32", "int8", "int64", "bool", "bfloat16")
LEAVES = [Leaf(n, dtypes.ALL[n]) for n in NAMES]


def data(leaf: Leaf) -> np.ndarray:
    with np.errstate(all="ignore"):
        stored = (FLOAT if leaf.dtype.is_float else INT).astype(leaf.dtype.numpy)
        return stored.astype(STORED[leaf.dtype.compute].numpy)


def load(leaf: Leaf) -> Expr:
    return Expr("load", (), leaf.dtype.compute, leaf)


def evaluate(e: Expr) -> np.ndarray:
    kind = STORED[e.kind].numpy
    args = [evaluate(a) for a in e.args]
    with np.errstate(all="ignore"):
        if e.op == "load":
            return data(e.payload)
        if e.op == "const":
            return np.full(len(INT), e.payload, kind)
        if e.op == "convert":
            return args[0].astype(kind)
        if e.op == "cast":
            return args[0].astype(e.payload.numpy).astype(kind)
        return np.asarray(PRIMITIVES[e.op].numpy(*args)).astype(kind)


UNARY = ("neg", "abs", "floor", "ceil", "round", "trunc", "sqrt", "exp", "isnan", "logical_not", "sign")
BINARY = ("add", "sub", "mul", "div", "minimum", "maximum", "lt", "eq", "logical_and", "logical_or")
CONSTS = st.sampled_from([0, 1, 2, -1, 0.0, -0.0, 1.0, 2.0, 0.5, 3.0, math.nan, math.inf, True, False])


def _grow(inner):
    def unary(args):
        op, x = args
        return x if x.kind == "bool" and op in ("neg", "abs", "sign") else s.__dict__[op](x)

    def binary(args):
        op, x, y = args
        if op in ("sub", "minimum", "maximum", "div") and "bool" in (x.kind, getattr(y, "kind", "bool")):
            return x
        return s.__dict__[op](x, y)

    casts = st.tuples(inner, st.sampled_from(LEAVES)).map(
        lambda a: a[0] if a[0].kind in ("float", "double") and a[1].dtype.is_int else cast(a[0], a[1].dtype)
    )
    wheres = st.tuples(inner, inner, inner).map(lambda a: s.where(*a))
    return st.one_of(
        st.tuples(st.sampled_from(UNARY), inner).map(unary),
        st.tuples(st.sampled_from(BINARY), inner, inner | CONSTS.map(const)).map(binary),
        casts, wheres, st.tuples(inner, st.sampled_from((0.0, 1.0))).map(lambda a: s.pow(convert(a[0], "float"), a[1])),
    )  # fmt: skip


EXPRS = st.recursive(st.sampled_from(LEAVES).map(load), _grow, max_leaves=8)


@settings(max_examples=600, deadline=None)
@given(EXPRS)
def test_simplified_expressions_give_the_same_bits(e):
    new = simplify(e)
    assert new.kind == e.kind
    a, b = evaluate(e), evaluate(new)
    np.testing.assert_array_equal(b, a)
    if a.dtype.kind == "f":
        numbers = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(b[numbers]), np.signbit(a[numbers]))
    assert simplify(new) is new


X, H, I8, I64, B = (load(leaf) for leaf in (LEAVES[0], LEAVES[1], LEAVES[4], LEAVES[5], LEAVES[6]))


@pytest.mark.parametrize(
    ("e", "want"),
    [
        (X * 1.0, X), (X / 1.0, X), (X + -0.0, X), (X - 0.0, X), (s.neg(-X), X), (s.pow(X, 2.0), X * X),
        (s.pow(X, 3.0), X * X * X), (s.pow(X, -1.0), 1.0 / X), (s.pow(X, 0.0), const(1.0)), (X / 4.0, X * 0.25),
        (s.maximum(s.maximum(X, 0.0), 0.0), s.maximum(X, 0.0)), (abs(-X), abs(X)),
        (s.floor(s.round(X)), s.round(X)), (s.where(s.logical_not(B), X, H), s.where(B, H, X)),
        (s.logical_and(B, True), B), (s.logical_or(B, True), const(True)), (s.logical_not(s.logical_not(B)), B),
        (cast(H, dtypes.float16), H), (cast(-H, dtypes.float16), -H),
        (cast(cast(X, dtypes.float64), dtypes.float32), X),
        (cast(cast(X, dtypes.float64), dtypes.float16), cast(X, dtypes.float16)),
        (cast(convert(I8, "float"), dtypes.int8), I8), (cast(const(1.0), dtypes.bfloat16), const(1.0)),
        (cast(const(300), dtypes.int8), const(44, "std::int32_t")), (s.exp(const(0.0)), const(1.0)),
        (convert(convert(I8, "std::int64_t"), "float"), convert(I8, "float")), (I64 + 0, I64), (I64 * 1, I64),
        (I64 // 1, I64),
    ],
)  # fmt: skip
def test_rules(e, want):
    assert simplify(e) is want


@pytest.mark.parametrize(
    "e",
    [
        X + 0.0, X - -0.0, X * 0.0, X - X, X / X, X / 3.0, s.pow(X, 0.5), cast(X, dtypes.float16), s.eq(X, X),
        convert(I64, "double"), cast(I64, dtypes.float32), cast(cast(X, dtypes.float16), dtypes.bfloat16),
        cast(I64, dtypes.int8), s.floor_div(I64, 0), s.sqrt(X * X), abs(s.floor(X)) + 1.0, I8 * 2,
    ],
)  # fmt: skip
def test_what_must_stay(e):
    assert simplify(e) is e


def test_embedding_of_dtypes_agrees_with_round_trips():
    for a in dtypes.ALL.values():
        limits = {"bool": (0, 1)}.get(a.name) or ((np.iinfo(a.numpy).min, np.iinfo(a.numpy).max) if a.is_int else None)
        if limits is None or limits[1] > 70000:
            continue
        every = np.arange(limits[0], limits[1] + 1).astype(a.numpy)
        for b in dtypes.ALL.values():
            with np.errstate(all="ignore"):
                exact = (every.astype(b.numpy).astype(np.float64) == every.astype(np.float64)).all()
            assert embeds(a, b) == bool(exact), (a, b)
    halves = np.arange(65536, dtype=np.uint16)
    for name in ("float16", "bfloat16"):
        every = halves.view(dtypes.ALL[name].numpy).astype(np.float64)
        for b in dtypes.ALL.values():
            with np.errstate(all="ignore"):
                back = every.astype(b.numpy).astype(np.float64)
            exact = ((back == every) | np.isnan(every)).all() and b.is_float
            assert embeds(dtypes.ALL[name], b) == bool(exact), (name, b)
    assert not embeds(dtypes.int64, dtypes.float64) and embeds(dtypes.int32, dtypes.float64)


def test_fits_follows_what_cannot_leave_the_dtype():
    assert fits(s.maximum(-H, s.where(B, H, 2.0)), dtypes.float16)
    assert not fits(H + H, dtypes.float16) and not fits(-I8, dtypes.int8)
    assert not fits(s.maximum(H, 0.1), dtypes.float16)


def test_deep_expressions_need_no_recursion():
    e = X
    for i in range(20000):
        e = (e * 1.0) + float(i % 3)
    assert simplify(e).op == "add"
