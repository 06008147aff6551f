# SPDX-License-Identifier: Apache-2.0
"""Random valid graphs for hypothesis, with inputs to run them on. Each step of the generator adds to a pool of values
by a choice that shrinks towards simple ones; a choice that does not fit the value drawn adds nothing.

Every value carries what is known of its numbers, so that results can be compared with code that rounds in another
order: operations that jump (floor, comparisons, casts to integers, indices of extremes) are only applied to values that
no rounding has touched, and magnitudes stay below ``LIMIT``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import ait_ops_gemm as gemm
import ait_ops_tensor as t
from ait_core.declare.op import Op
from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dtypes import ALL, DType
from ait_core.ir.graph import Graph, Value, constant, input
from ait_core.ir.types import TensorType, broadcast

LIMIT = 1e4
DTYPES = ("float32", "int64", "bool", "float16", "bfloat16", "float64", "int32", "uint8")
NUMBERS = (1.0, 0.0, -0.0, 2.0, -1.0, 0.5, math.inf, math.nan)


@dataclass
class Case:
    """A graph, and arrays for its inputs by name. ``sizes`` are the values of its symbolic dims."""

    graph: Graph
    inputs: dict[str, np.ndarray]
    sizes: dict[str, int]

    def __repr__(self) -> str:
        return f"Case(sizes={self.sizes})\n{self.graph}"


@dataclass
class _Known:
    """Of one value: a bound of its magnitude, whether arithmetic rounded it, whether it may hold NaN or infinities."""

    size: float
    rounded: bool = False
    special: bool = False


@st.composite
def graphs(
    draw: Callable,
    *,
    steps: int = 16,
    dtypes: tuple[str, ...] = DTYPES,
    symbolic: bool = True,
    special: bool = True,
    ops: Callable[[Op], bool] = lambda op: True,
) -> Case:
    """Graphs of at most ``steps`` operations (one may add a few nodes).

    Args:
        dtypes: of inputs, constants and casts; the first is what examples shrink to.
        symbolic: whether dims may be symbolic.
        special: whether inputs and constants may hold NaN, infinities and -0.0.
        ops: which ops may occur.
    """
    b = _Builder(draw, [ALL[n] for n in dtypes], symbolic, special and draw(st.booleans()), ops)
    for _ in range(draw(st.integers(1, 3))):
        b.add_input()
    fewest = draw(st.sampled_from((0, steps // 2, steps)))  # lists alone would mostly be short
    for step in draw(st.lists(st.sampled_from(_STEPS), min_size=fewest, max_size=steps)):
        try:
            step(b)
        except _Unfit:
            pass
    return b.case()


class _Unfit(Exception):
    """The step drawn does not fit the value drawn."""


def _need(condition: Any) -> None:
    if not condition:
        raise _Unfit


@dataclass
class _Builder:
    draw: Callable
    dtypes: list[DType]
    symbolic: bool
    special: bool
    allowed: Callable[[Op], bool]
    pool: list[Value] = field(default_factory=list)
    known: dict[Value, _Known] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    dims: list[dims.DimSymbol] = field(default_factory=list)
    parameters: int = 0

    def integer(self, lo: int, hi: int) -> int:
        return self.draw(st.integers(lo, hi))

    def choose(self, items: Any) -> Any:
        _need(items)
        return self.draw(st.sampled_from(items))

    def value(self, fits: Callable[[Value], bool] = lambda v: True) -> Value:
        """A value of the pool, newer ones more often."""
        found = [v for v in reversed(self.pool) if fits(v)]
        return self.choose(found[:3] if self.draw(st.booleans()) else found)

    def dtype(self) -> DType:
        return self.choose(self.dtypes)

    def array(self, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(self.integer(0, 255))
        if not dtype.is_float:
            return rng.integers(0, 2 if dtype.name == "bool" else 5, shape).astype(dtype.numpy)
        a = np.asarray(rng.integers(-12, 13, shape) / 4)
        if self.special and a.size:
            for x in (math.nan, math.inf, -math.inf, -0.0):
                a.reshape(-1)[rng.integers(0, a.size)] = x
        return a.astype(dtype.numpy)

    def dim(self) -> dims.Dim:
        size = self.choose((2, 3, 1, 4, 5, 0) + (("n", "m") if self.symbolic else ()))
        if isinstance(size, int):
            return size
        for d in self.dims:
            if d.name == size:
                return d
        lo = self.integer(0, 2)
        self.dims.append(dims.dim(size, lo, 6))
        self.sizes[size] = self.integer(max(lo, 1), 6)
        return self.dims[-1]

    def shape(self) -> dims.Shape:
        return tuple(self.dim() for _ in range(self.choose((2, 1, 3, 0))))

    def add_input(self) -> None:
        v = input(f"x{len(self.arrays)}", self.shape(), self.dtype())
        self.arrays[v.name] = self.array(v.dtype, concrete(v.shape, self.sizes))
        self.pool.append(v)
        self.known[v] = _Known(5.0, special=self.special)

    def keep(self, v: Value, size: float | None = None, rounded: bool | None = None) -> Value:
        """Add a node's result to the pool; what is known follows from its operands unless told."""
        given = [self.known[o] for o in v.node.operands]
        self.known[v] = _Known(
            max((k.size for k in given), default=5.0) if size is None else size,
            any(k.rounded for k in given) if rounded is None else rounded and v.dtype.is_float,
            any(k.special for k in given) and v.dtype.is_float,
        )
        self.pool.append(v)
        return v

    def name(self) -> str | None:
        """Of a constant: a parameter's, or none."""
        if self.draw(st.booleans()):
            return None
        self.parameters += 1
        return f"weight{self.parameters}"

    def apply(self, op: Op, *operands: Any, **attrs: Any) -> Value:
        """The op on values; constants made here become known."""
        _need(self.allowed(op))
        for o in operands:
            if isinstance(o, Value) and o.constant:
                self.known.setdefault(o, _Known(5.0, special=self.special))
        try:
            return op(*operands, **attrs)
        except GraphError:
            raise _Unfit from None

    def case(self) -> Case:
        read = {o for v in self.pool if v.node for o in v.node.operands}
        ends = [v for v in self.pool if v not in read][-4:]  # so that little of the graph is dead
        outputs = [*ends, *(self.value() for _ in range(self.choose((0, 1, 2))))]
        names = {d.name for d in self.dims}
        graph = Graph({f"y{i}": v for i, v in enumerate(outputs)}, [v for v in self.pool if v.is_input])
        missing = names - {s.name for s in graph.symbols}
        if missing:  # dims that no input has
            carriers = [self._carrier(d) for d in self.dims if d.name in missing]
            graph = Graph(graph.outputs, [*graph.inputs, *carriers])
        return Case(graph, self.arrays, self.sizes)

    def _carrier(self, d: dims.DimSymbol) -> Value:
        v = input(f"size_{d.name}", (d,))
        self.arrays[v.name] = np.zeros(self.sizes[d.name], np.float32)
        return v


def concrete(shape: dims.Shape, sizes: dict[str, int]) -> tuple[int, ...]:
    """A shape with its symbols replaced by numbers."""
    return tuple(n if isinstance(n, int) else int(n.subs({s: sizes[s.name] for s in n.free_symbols})) for n in shape)


def static(shape: dims.Shape) -> bool:
    return all(isinstance(n, int) for n in shape)


def _number(b: _Builder) -> float:
    return b.choose(NUMBERS if b.special else NUMBERS[:-2])


# ---- the steps


def _unary(b: _Builder) -> None:
    x = b.value()
    known = b.known[x]
    exact, jumps, smooth = (t.neg, t.abs, t.relu), (t.floor, t.ceil, t.round, t.sign), (t.tanh, t.sigmoid, t.sin, t.erf)
    if x.dtype.name == "bool":
        b.keep(b.apply(t.logical_not, x))
    elif x.dtype.is_int:
        b.keep(b.apply(b.choose(exact), x), known.size + (255 if x.dtype.name == "uint8" else 0))
    else:
        op = b.choose(exact + (() if known.rounded else jumps) + smooth + (t.square, t.exp))
        size = {t.square: known.size**2, t.exp: math.exp(min(known.size, 10))}.get(op, max(known.size, 1))
        _need(size < LIMIT)
        b.keep(b.apply(op, x), size, known.rounded or op in (*smooth, t.square, t.exp))


def _fellow(b: _Builder, x: Value) -> Value:
    """An operand that broadcasts against ``x``: a value, a number, or a new constant."""
    kind = b.choose(("number", "value", "array"))
    if kind == "number" or (kind == "array" and not static(x.shape)):
        number = _number(b) if x.dtype.is_float else b.choose((1, 0, 2))
        return constant(np.asarray(number, x.dtype.numpy), parameter=False)
    if kind == "array":
        shape = tuple(n if b.draw(st.booleans()) else 1 for n in x.shape)[b.integer(0, len(x.shape)) :]
        name = b.name()
        return constant(b.array(x.dtype if b.draw(st.booleans()) else b.dtype(), shape), name)
    return b.value(lambda v: _broadcasts(x, v))


def _broadcasts(x: Value, v: Value) -> bool:
    try:
        broadcast(x.shape, v.shape)
    except GraphError:
        return False
    return True


def _binary(b: _Builder) -> None:
    x = b.value()
    y = _fellow(b, x)
    b.known.setdefault(y, _Known(5.0, special=b.special))
    p, q = b.known[x], b.known[y]
    if b.draw(st.booleans()):
        x, y = y, x
    pair = {x.dtype.name, y.dtype.name}
    arithmetic = (t.mul, t.add) if "bool" in pair else (t.mul, t.add, t.sub)
    selecting = (t.maximum, t.minimum)
    comparing = () if p.rounded or q.rounded else (t.lt, t.ge, t.eq)
    op = b.choose(arithmetic + selecting + comparing)
    size = p.size * q.size if op is t.mul else p.size + q.size
    _need(size < LIMIT)
    unsigned = 0 if pair & {"uint8"} == set() else 256  # differences wrap
    b.keep(b.apply(op, x, y), size + unsigned, op in arithmetic or p.rounded or q.rounded)


def _power(b: _Builder) -> None:
    x = b.value(lambda v: v.dtype.is_float and b.known[v].size < 8)
    exponent = b.choose((1.0, 2.0, 0.0, 3.0))
    b.keep(b.apply(t.pow, x, constant(np.asarray(exponent, x.dtype.numpy))), b.known[x].size ** max(exponent, 1), True)


def _divide(b: _Builder) -> None:
    x = b.value()
    number = b.choose((1.0, 2.0, 3.0))
    like = x.dtype if x.dtype.is_float else ALL["float32"]
    b.keep(b.apply(t.div, x, constant(np.asarray(number, like.numpy))), rounded=True)


def _select(b: _Builder) -> None:
    x = b.value()
    c = b.value(lambda v: _broadcasts(x, v) and not b.known[v].rounded)
    y = _fellow(b, x)
    b.known.setdefault(y, _Known(5.0, special=b.special))
    _need(_broadcasts(x, y))
    b.keep(b.apply(t.where, c, x, y), max(b.known[x].size, b.known[y].size), b.known[x].rounded or b.known[y].rounded)


def _clamp(b: _Builder) -> None:
    x = b.value(lambda v: v.dtype.name != "bool")
    lo, hi = (constant(np.asarray(n, x.dtype.numpy)) if b.draw(st.booleans()) else None for n in (0, 2))
    b.keep(b.apply(t.clamp, x, lo, hi))


def _cast(b: _Builder) -> None:
    to = b.dtype()
    x = b.value()
    k = b.known[x]
    narrow = not to.is_float and x.dtype.is_float
    _need(not narrow or not (k.rounded or k.special))
    _need(to.is_float or to.name == "bool" or k.size < (100 if to.itemsize == 1 else 2**15))
    _need(to.name != "uint8" or x.dtype.name in ("bool", "uint8"))
    b.keep(b.apply(t.cast, x, dtype=to.name), rounded=k.rounded or (to.is_float and x.dtype.rank > to.rank))


def _permute(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 1)
    b.keep(b.apply(t.permute, x, dims=tuple(b.draw(st.permutations(range(x.type.rank))))))


def _reshape(b: _Builder) -> None:
    x = b.value()
    kind = b.choose(("flatten", "unsqueeze", "squeeze", "halve"))
    shape = x.shape
    at = b.integer(0, len(shape))
    if kind == "flatten":
        shape = (*shape[: max(at - 2, 0)], dims.prod(shape[max(at - 2, 0) : at]), *shape[at:])
    elif kind == "unsqueeze":
        shape = (*shape[:at], 1, *shape[at:])
    elif kind == "squeeze":
        shape = tuple(n for n in shape if n != 1)
    else:
        _need(at < len(shape) and isinstance(shape[at], int) and shape[at] % 2 == 0)
        shape = (*shape[:at], 2, shape[at] // 2, *shape[at + 1 :])
    _need(len(shape) <= 5)
    b.keep(b.apply(t.reshape, x, shape=shape))


def _expand(b: _Builder) -> None:
    x = b.value()
    to = tuple(b.dim() if n == 1 else n for n in x.shape)
    if len(to) < 4 and b.draw(st.booleans()):
        to = (b.dim(), *to)
    b.keep(b.apply(t.expand, x, shape=to))


def _slice(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 0)
    axis = b.integer(0, x.type.rank - 1)
    kind = b.choose(("ends", "flip", "select", "step"))
    if kind == "flip":
        b.keep(b.apply(t.flip, x, dims=(axis,)))
    elif kind == "select":
        b.keep(b.apply(t.select, x, dim=axis, index=b.choose((0, -1, 1))))
    else:
        start, end = b.choose((0, 1, 2, -2, None)), b.choose((None, 2, 3, -1, 1))
        step = b.choose((2, -1, 3, -2)) if kind == "step" else 1
        b.keep(b.apply(t.slice, x, dim=axis, start=start, end=end, step=step))


def _split(b: _Builder) -> None:
    """Two neighbours, perhaps joined again."""
    x = b.value(lambda v: v.type.rank > 0)
    axis = b.integer(0, x.type.rank - 1)
    _need(dims.at_least(x.shape[axis], 2) and b.allowed(t.slice))
    cut = b.choose((1, 2))
    parts = [b.keep(p) for p in (b.apply(t.slice, x, dim=axis, end=cut), b.apply(t.slice, x, dim=axis, start=cut))]
    if b.draw(st.booleans()):
        b.keep(b.apply(t.concat, *parts, dim=axis))


def _concat(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 0)
    axis = b.integer(0, x.type.rank - 1)

    def rest(v: Value) -> dims.Shape:
        return (*v.shape[:axis], *v.shape[axis + 1 :])

    def fits(v: Value) -> bool:
        same = v.type.rank == x.type.rank and dims.same_shape(rest(v), rest(x))
        return same and (v.dtype == x.dtype or (v.dtype.is_float and x.dtype.is_float))

    others = [b.value(fits) for _ in range(b.integer(0, 3))]
    joined = b.keep(b.apply(t.concat, x, *others, dim=axis))
    if others and b.draw(st.booleans()):
        b.keep(b.apply(t.slice, joined, dim=axis, start=x.shape[axis], end=x.shape[axis] + others[0].shape[axis]))


def _stack(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank < 4)
    y = b.value(lambda v: v.dtype == x.dtype and dims.same_shape(v.shape, x.shape))
    b.keep(b.apply(t.stack, x, y, dim=b.integer(0, x.type.rank)))


def _reduce(b: _Builder) -> None:
    x = b.value()
    k = b.known[x]
    axes = tuple(i for i in range(x.type.rank) if b.draw(st.booleans()))
    extremes = (t.amax, t.amin) if all(dims.at_least(x.shape[a], 1) for a in axes) and x.dtype.name != "bool" else ()
    tests = () if k.rounded else (t.any, t.all)
    op = b.choose((t.sum, *extremes, *tests) + ((t.mean,) if x.dtype.is_float else ()))
    count = math.prod(dims.bounds(x.shape[a])[1] for a in axes)
    size = k.size * max(count, 1) if op is t.sum else k.size
    _need(size < LIMIT)
    b.keep(b.apply(op, x, axes=axes, keepdim=b.draw(st.booleans())), size, k.rounded or op in (t.sum, t.mean))


def _arg_extreme(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 0 and v.dtype.name != "bool" and not b.known[v].rounded)
    axis = b.integer(0, x.type.rank - 1)
    _need(dims.at_least(x.shape[axis], 1))
    b.keep(b.apply(b.choose((t.argmax, t.argmin)), x, axes=(axis,)), 64)


def _indexed(b: _Builder) -> None:
    kind = b.choose(("iota", "full", "triangle", "pad", "roll"))
    if kind == "iota":
        numbers = {"start": b.choose((0, 1, -2)), "step": b.choose((1, 2)), "dtype": b.choose(("int64", "float32"))}
        v = b.apply(t.iota, size=b.dim(), **numbers)
        b.known[v] = _Known(16.0)
        b.pool.append(v)
    elif kind == "full":
        dtype = b.dtype()
        number = _number(b) if dtype.is_float else b.choose((1, 0, 2))
        v = b.apply(t.full, shape=b.shape(), value=number, dtype=dtype.name)
        b.known[v] = _Known(5.0, special=b.special)
        b.pool.append(v)
    elif kind == "triangle":
        b.keep(b.apply(b.choose((t.tril, t.triu)), b.value(lambda v: v.type.rank > 1), diagonal=b.choose((0, 1, -1))))
    elif kind == "pad":
        x = b.value(lambda v: v.type.rank > 0)
        before, after = (tuple(b.choose((0, 1, 2)) for _ in x.shape) for _ in range(2))
        b.keep(b.apply(t.pad, x, before=before, after=after, value=b.choose((0.0, 1.0))))
    else:
        x = b.value(lambda v: v.type.rank > 0)
        b.keep(b.apply(t.roll, x, shifts=(b.choose((1, -1, 2)),), dims=(b.integer(0, x.type.rank - 1),)))


def _gather(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 0)
    axis = b.integer(0, x.type.rank - 1)
    _need(dims.at_least(x.shape[axis], 2))
    ids = constant(np.asarray(b.choose(([0, 1], [1], [1, 0, 1], [])), np.int64))
    b.known[ids] = _Known(1.0)
    b.keep(b.apply(t.index_select, x, ids, dim=axis))


def _matmul(b: _Builder) -> None:
    x = b.value(lambda v: v.type.rank > 1 and v.dtype.is_float)
    k, n = x.shape[-1], b.integer(1, 4)
    if b.draw(st.booleans()):
        w = b.value(lambda v: v.type.rank == 2 and v.dtype.is_float and dims.same(v.shape[0], k))
    else:
        _need(isinstance(k, int))
        w = constant(b.array(x.dtype, (k, n)), b.name())
    b.known.setdefault(w, _Known(5.0, special=b.special))
    size = b.known[x].size * b.known[w].size * max(dims.bounds(k)[1], 1)
    _need(size < LIMIT)
    b.keep(b.apply(gemm.matmul, x, w), size, True)


def _new_input(b: _Builder) -> None:
    _need(len(b.arrays) < 5)
    b.add_input()


def _new_constant(b: _Builder) -> None:
    shape = tuple(n for n in b.shape() if isinstance(n, int))
    v = constant(b.array(b.dtype(), shape), b.name())
    b.known[v] = _Known(5.0, special=b.special)
    b.pool.append(v)


_STEPS = (
    _unary, _binary, _permute, _reshape, _slice, _cast, _concat, _reduce, _expand, _split, _indexed, _select, _clamp,
    _power, _divide, _stack, _gather, _matmul, _arg_extreme, _new_input, _new_constant,
)  # fmt: skip


def output_types(case: Case) -> dict[str, TensorType]:
    """Type of each output at the sizes of the case."""
    return {k: TensorType(v.dtype, concrete(v.shape, case.sizes)) for k, v in case.graph.outputs.items()}


def assert_close(got: dict[str, np.ndarray], want: dict[str, np.ndarray], rtol: float, atol: float = 0.0) -> None:
    """Compare outputs by name: dtype and shape exactly, integers and truth values exactly, floats within a tolerance
    (NaN equals NaN, infinities their like); with ``rtol`` 0 also the signs of zeros."""
    assert got.keys() == want.keys()
    for name, a in want.items():
        b = got[name]
        assert a.dtype == b.dtype and a.shape == b.shape, f"{name}: {b.dtype}{b.shape} instead of {a.dtype}{a.shape}"
        if a.dtype.kind in "biu":
            np.testing.assert_array_equal(b, a, err_msg=name)
        else:
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            np.testing.assert_allclose(wide_b, wide_a, rtol=rtol, atol=atol, err_msg=name)
            if rtol == 0:
                zeros = wide_a == 0
                np.testing.assert_array_equal(np.signbit(wide_b[zeros]), np.signbit(wide_a[zeros]), err_msg=name)
