# SPDX-License-Identifier: Apache-2.0
"""Pointwise ops that compute nothing new: found by running an op's function on symbols and simplifying the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ait_core.declare.op import promote_types
from ait_core.declare.roles import Indexed, Pointwise, Viewing
from ait_core.ir import dims
from ait_core.ir.dtypes import DType
from ait_core.ir.graph import Constant, Node, Value
from ait_core.ir.index import Var
from ait_core.ir.types import TensorType
from ait_core.ir.views import Expand, Reshape
from ait_core.passes.views import steps_of, viewed
from ait_core.scalar.expr import INDEX, KINDS, Expr, cast, const, convert
from ait_core.scalar.simplify import FLOATS, is_exact, simplify

SPLAT = 4096  # elements; larger constants are not searched for a single repeated number


def is_pointwise(node: Node | None) -> bool:
    return node is not None and isinstance(node.op.role, Pointwise)


def expression(node: Node, inputs: Sequence[Value | None], leaf: Callable[[Value], Expr]) -> Expr:
    """One element of a pointwise node's result in terms of its operands' elements, in the types that its reference
    computes in, rounded to the dtype of the result, and simplified."""
    wide = _promoted(inputs).compute
    args = []
    for v in inputs:
        e = None if v is None else leaf(v)
        if e is not None and e.kind != "bool" and wide in FLOATS and KINDS.index(e.kind) < KINDS.index(wide):
            e = convert(e, wide)
        args.append(e)
    return simplify(cast(_expr(node.op.role.fn(*args, **node.attrs)), node.output.dtype))


def _expr(made: Any) -> Expr:
    return made if isinstance(made, Expr) else const(np.asarray(made)[()])


def load(v: Value) -> Expr:
    """An element of ``v`` as a symbol."""
    return Expr("load", (), v.dtype.compute, v)


class Pointwises:
    """Simplifies pointwise nodes; remembers, for one graph, which values repeat a single number."""

    def __init__(self) -> None:
        self.numbers: dict[Value, Expr | None] = {}
        self.results: dict[Value, Expr] = {}  # of the nodes met

    def simplify(self, node: Node, inputs: tuple[Value | None, ...]) -> Sequence[Value] | None:
        """The values to use in place of a node's outputs; None to keep it."""
        ins = self._plain_operands(node, inputs)
        whole = expression(node, ins, self._leaf)
        found = self._value(whole, node)
        if found is not None:
            return [found]
        for v in dict.fromkeys(v for v in ins if v is not None and is_pointwise(v.node)):
            inner = self._result(v)
            through = expression(node, ins, lambda o, v=v, inner=inner: inner if o is v else self._leaf(o))
            same = through is inner and v.dtype == node.output.dtype  # such as the relu of a relu
            found = spread(v, node.output.type, node) if same else self._value(through, node)
            if found is not None:
                return [found]
            source = _read_by(inner)
            if source is not None:  # v is a conversion that changes no value, perhaps the op converts just as well
                direct = tuple(source if o is v else o for o in ins)
                if _same_result(node, direct) and expression(node, direct, self._leaf) is through:
                    ins, whole = direct, through
        kept = ins == node.inputs
        new = node if kept else node.with_inputs(ins)
        self.results[new.output] = whole
        return None if kept else new.outputs

    def _leaf(self, v: Value) -> Expr:
        number = self.number(v)
        return load(v) if number is None else number

    def _result(self, v: Value) -> Expr:
        found = self.results.get(v)
        if found is None:
            found = self.results[v] = expression(v.node, v.node.inputs, self._leaf)  # type: ignore[arg-type, union-attr]
        return found

    def _value(self, e: Expr, node: Node) -> Value | None:
        """A value with the elements that ``e`` says, if no arithmetic is left."""
        want = node.output.type
        if e.op == "load" and e.payload.dtype == want.dtype:
            return spread(e.payload, want, node)
        if e.op == "const":
            return spread(scalar(e.payload, want.dtype), want, node)
        return None

    def number(self, v: Value) -> Expr | None:
        """The one number that all elements of ``v`` are, as a literal in the compute type of its dtype."""
        chain: list[Value] = []
        while v not in self.numbers and v.node and isinstance(v.node.op.role, Viewing):
            chain.append(v)
            v = v.node.operands[0]
        if v not in self.numbers:
            self.numbers[v] = _number(v)
        for c in chain:
            self.numbers[c] = self.numbers[v]
        return self.numbers[v]

    def _plain_operands(self, node: Node, inputs: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """Operands without the expansions that broadcasting does anyway, and repeated numbers as 0-d constants."""
        ins = inputs
        for i, v in enumerate(inputs):
            if v is None or not v.shape:
                continue
            number = self.number(v)
            narrow = scalar(number.payload, v.dtype) if number is not None else _unexpanded(v)
            if narrow is not None:
                trial = (*ins[:i], narrow, *ins[i + 1 :])
                if _same_result(node, trial) and _promoted(trial) == _promoted(ins):
                    ins = trial
        return ins


def _promoted(inputs: Sequence[Value | None]) -> DType:
    """The dtype that the operands are computed in."""
    return promote_types(v.type for v in inputs if v is not None)


def _same_result(node: Node, inputs: tuple[Value | None, ...]) -> bool:
    """Whether the node would give the same type with other operands."""
    made = node.op.infer(*(v and v.type for v in inputs), **node.attrs)
    return made.dtype == node.output.dtype and dims.same_shape(made.shape, node.output.shape)


def scalar(value: bool | int | float, dtype: DType) -> Value:
    """A number as a 0-d constant."""
    return Value("const", TensorType(dtype, ()), constant=Constant(np.asarray(value).astype(dtype.numpy)))


def spread(v: Value, to: TensorType, like: Node) -> Value:
    """``v`` broadcast to the shape of ``to``."""
    return v if dims.same_shape(v.shape, to.shape) else viewed(v, [Expand(to.shape)], like)


def _unexpanded(v: Value) -> Value | None:
    """The value that ``v`` repeats along axes that broadcasting adds."""
    steps = steps_of(v)
    if not steps:
        return None
    x: Value = v.node.operands[0]  # type: ignore[union-attr]
    shapes = [x.shape]
    for s in steps:
        shapes.append(s.shape(shapes[-1]))
    kept = len(steps)
    while kept and (isinstance(steps[kept - 1], Expand) or _adds_leading_ones(steps[kept - 1], shapes[kept - 1])):
        kept -= 1
    return None if kept == len(steps) else viewed(x, steps[:kept], v.node)  # type: ignore[arg-type]


def _adds_leading_ones(step: object, of: dims.Shape) -> bool:
    if not isinstance(step, Reshape):
        return False
    lead = len(step.to) - len(of)
    return lead > 0 and step.to[:lead] == (1,) * lead and dims.same_shape(step.to[lead:], of)


def _read_by(e: Expr) -> Value | None:
    """The value whose elements ``e`` is, but for an exact conversion."""
    if e.op == "convert" and is_exact(e):
        e = e.args[0]
    return e.payload if e.op == "load" else None


def _number(v: Value) -> Expr | None:
    compute = v.dtype.compute
    if v.constant and v.constant.parameter is None and 0 < v.constant.array.size <= SPLAT:
        flat = np.ascontiguousarray(v.constant.array).reshape(-1)
        bits = flat.view(f"u{flat.itemsize}")
        return const(_python(flat[0], v.dtype), compute) if (bits == bits[0]).all() else None
    if v.node and isinstance(v.node.op.role, Indexed) and not v.node.inputs:
        at = tuple(Expr("var", (), INDEX, Var(f"i{i}", n)) for i, n in enumerate(v.shape))
        e = simplify(cast(_expr(v.node.op.role.fn(at, **v.node.attrs)), v.dtype))
        return e if e.op == "const" else None
    return None


def _python(x: np.generic, dtype: DType) -> bool | int | float:
    return float(x) if dtype.is_float else int(x) if dtype.is_int else bool(x)
