# SPDX-License-Identifier: Apache-2.0
"""Simplifying scalar expressions. Every rewrite gives the same bits, also for NaN, infinities and -0.0; powers with
the exponents 2, 3 and -1 become products and quotients, as in torch, which are within one rounding of ``pow``."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ait_core.ir import dtypes
from ait_core.ir.dtypes import DType
from ait_core.scalar.expr import Expr, apply, cast, const, convert
from ait_core.scalar.primitives import PRIMITIVES

STORED = {t.compute: t for t in (dtypes.bool_, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)}
FLOATS = ("float", "double")
_SIGNIFICAND = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # bits, with the implicit one
_ROUNDING = ("floor", "ceil", "round", "trunc")


def simplify(e: Expr) -> Expr:
    """The simplest equal expression of the same kind. Linear in the size of the DAG, without recursion."""
    done: dict[Expr, Expr] = {}
    stack = [e]
    while stack:
        x = stack[-1]
        pending = [a for a in x.args if a not in done]
        stack.extend(pending)
        if pending:
            continue
        stack.pop()
        if x not in done:
            args = tuple(done[a] for a in x.args)
            done[x] = _fixpoint(x if args == x.args else Expr(x.op, args, x.kind, x.payload))
    return done[e]


def embeds(a: DType, b: DType) -> bool:
    """Whether every value of dtype ``a`` is one of dtype ``b``."""
    if a == b or a.name == "bool":
        return True
    if a.is_int and b.is_float:
        return a.itemsize * 8 - (a.name != "uint8") <= _SIGNIFICAND[b.name]
    if a.is_float and b.is_float:
        return b.itemsize > a.itemsize
    return not a.is_float and b.is_int and bool(np.can_cast(a.numpy, b.numpy, "safe"))


def fits(e: Expr, to: DType) -> bool:
    """Whether every value of ``e`` can be stored in ``to`` exactly. What a ``load`` reads says so by its ``dtype``."""
    stack = [e]
    for x in stack:  # grows
        if embeds(STORED[x.kind], to):
            continue
        stored = x.payload if x.op == "cast" else getattr(x.payload, "dtype", None) if x.op == "load" else None
        if stored is not None and embeds(stored, to):
            continue
        if x.op == "const" and _same_number(x.payload, _stored(x.payload, to)):
            continue
        if x.op in ("minimum", "maximum") or (x.op in ("neg", "abs", *_ROUNDING) and x.kind in FLOATS and to.is_float):
            stack.extend(x.args)
        elif x.op == "where":
            stack.extend(x.args[1:])
        elif x.op == "convert" and is_exact(x):
            stack.append(x.args[0])
        else:
            return False
        if len(stack) > 64:
            return False
    return True


def is_exact(x: Expr) -> bool:
    """Whether a conversion between kinds changes no value."""
    return fits(x.args[0], STORED[x.kind])


def _stored(value: bool | int | float, to: DType) -> bool | int | float | None:
    """A number as ``to`` stores it; None if it is out of the range of an integer type."""
    if not to.is_float and not (math.isfinite(value) and -(2**63) <= value < 2**63):
        return None
    with np.errstate(all="ignore"):
        a = np.asarray(value).astype(np.int64 if to.is_int else to.numpy).astype(to.numpy)
    return float(a) if to.is_float else int(a) if to.is_int else bool(a)


def _same_number(a: float, b: float | None) -> bool:
    return b is not None and (a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b))


def is_number(e: Expr, value: float) -> bool:
    """Whether ``e`` is the literal ``value``; tells 0.0 from -0.0."""
    return e.op == "const" and _same_number(e.payload, value)


def _fixpoint(e: Expr) -> Expr:
    while True:
        new, rule = _literal(e), _RULES.get(e.op)
        if new is None and rule is not None:
            new = rule(e)
        if new is None:
            return e
        e = new


def _literal(e: Expr) -> Expr | None:
    """A primitive of literals, computed as the reference would."""
    if e.op not in PRIMITIVES or not all(a.op == "const" for a in e.args):
        return None
    args = [np.asarray(a.payload, STORED[a.kind].numpy) for a in e.args]
    if e.op in ("floor_div", "remainder", "fmod", "pow", "shift_left", "shift_right") and args[0].dtype.kind != "f":
        return None  # division by zero, negative powers and large shifts of integers are left to the run
    with np.errstate(all="ignore"):
        return const(np.asarray(PRIMITIVES[e.op].numpy(*args)).astype(STORED[e.kind].numpy).item(), e.kind)


def _neutral(e: Expr, value: float, both: bool = True) -> Expr | None:
    """The other operand if one is ``value``."""
    a, b = e.args
    return a if is_number(b, value) else b if both and is_number(a, value) else None


def _add(e: Expr) -> Expr | None:
    return _neutral(e, -0.0 if e.kind in FLOATS else 0)  # -0.0 + 0.0 is 0.0


def _sub(e: Expr) -> Expr | None:
    return _neutral(e, 0, both=False)


def _div(e: Expr) -> Expr | None:
    a, b = e.args
    if is_number(b, 1):
        return a
    if b.op == "const" and b.payload and math.isfinite(b.payload) and e.kind in FLOATS:
        mantissa, exponent = math.frexp(b.payload)
        if abs(mantissa) == 0.5 and abs(exponent) < 126:  # the reciprocal is exact, so the product rounds alike
            return apply("mul", a, const(1 / b.payload, e.kind))
    return None


def _pow(e: Expr) -> Expr | None:
    a, b = e.args
    if b.op != "const" or e.kind == "bool":
        return None
    if b.payload == -1 and e.kind in FLOATS:
        return apply("div", const(1, e.kind), a)
    square = apply("mul", a, a)
    return {1: a, 2: square, 3: apply("mul", square, a), 0: const(1, e.kind)}.get(b.payload)


def _extreme(e: Expr) -> Expr | None:
    a, b = e.args
    for inner, other in ((a, b), (b, a)):
        if inner is other or (inner.op == e.op and other in inner.args):
            return inner
    return None


def _inverse(e: Expr) -> Expr | None:
    (a,) = e.args
    return a.args[0] if a.op == e.op and a.args[0].kind == e.kind else None


def _abs(e: Expr) -> Expr | None:
    (a,) = e.args
    return a if a.op == "abs" else apply("abs", a.args[0]) if a.op == "neg" and a.args[0].kind == a.kind else None


def _round(e: Expr) -> Expr | None:
    return e.args[0] if e.args[0].op in _ROUNDING else None


def _logic(absorbing: bool) -> Callable[[Expr], Expr | None]:
    def rule(e: Expr) -> Expr | None:
        if any(a.kind != "bool" for a in e.args):
            return None
        if any(is_number(a, absorbing) for a in e.args):
            return const(absorbing)
        return e.args[0] if e.args[0] is e.args[1] else _neutral(e, not absorbing)

    return rule


def _where(e: Expr) -> Expr | None:
    c, a, b = e.args
    if c.op == "const":
        return a if c.payload else b
    if a is b:
        return a
    if c.op == "logical_not" and c.args[0].kind == "bool":
        return Expr("where", (c.args[0], b, a), e.kind)
    return None


def _cast(e: Expr) -> Expr | None:
    (x,), to = e.args, e.payload
    if fits(x, to):
        return convert(x, to.compute)
    if x.op == "const" and (value := _stored(x.payload, to)) is not None:
        return const(value, to.compute)
    if x.op == "convert" and _alike(x.args[0].kind, x.kind) and is_exact(x):
        return cast(x.args[0], to)
    return None


def _convert(e: Expr) -> Expr | None:
    (x,) = e.args
    if x.kind == e.kind:
        return x
    if x.op == "const" and (value := _stored(x.payload, STORED[e.kind])) is not None:
        return const(value, e.kind)
    if x.op == "convert" and is_exact(x) and (x.args[0].kind == e.kind or _alike(x.args[0].kind, x.kind)):
        return convert(x.args[0], e.kind)
    return None


def _alike(a: str, b: str) -> bool:
    return (a in FLOATS) == (b in FLOATS)


_RULES: dict[str, Callable[[Expr], Expr | None]] = {
    "add": _add, "sub": _sub, "mul": lambda e: _neutral(e, 1), "div": _div, "pow": _pow,
    "minimum": _extreme, "maximum": _extreme, "neg": _inverse, "bit_not": _inverse, "logical_not": _inverse,
    "abs": _abs, **dict.fromkeys(_ROUNDING, _round), "where": _where, "cast": _cast, "convert": _convert,
    "logical_and": _logic(False), "bit_and": _logic(False), "logical_or": _logic(True), "bit_or": _logic(True),
    "floor_div": lambda e: None if e.kind in FLOATS else _neutral(e, 1, both=False),
}  # fmt: skip
