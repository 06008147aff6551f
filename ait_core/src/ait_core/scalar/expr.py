# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions: what a pointwise function becomes when it is run on symbols instead of arrays.

Expressions are interned, so equal ones are the same object and a DAG stays a DAG. Kinds are the C++ compute types
``float``, ``double``, ``std::int32_t``, ``std::int64_t`` and ``bool``.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from ait_core.errors import GraphError
from ait_core.ir.dtypes import DType
from ait_core.scalar.primitives import PRIMITIVES

KINDS = ("bool", "std::int32_t", "std::int64_t", "float", "double")  # in order of promotion
INDEX = "std::int64_t"
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_interned: weakref.WeakValueDictionary[tuple, Expr] = weakref.WeakValueDictionary()


class Expr:
    """One scalar value: ``op`` is a primitive's name or one of the leaves and structural ops below.

    ``const`` (payload: the number) · ``size`` (payload: a symbolic size) · ``var`` (payload: a loop variable) ·
    ``load`` (payload: what is read; args: its coordinates) · ``cast`` (payload: a DType to round through) ·
    ``check`` (payload: what is looked up; args: index, size) · ``carry`` (payload: a name: a value that another
    stage or the anchor kernel provides).
    """

    __slots__ = ("op", "args", "kind", "payload", "__weakref__")
    op: str
    args: tuple[Expr, ...]
    kind: str
    payload: Any

    def __new__(cls, op: str, args: tuple[Expr, ...], kind: str, payload: Any = None) -> Expr:
        shown = (type(payload), repr(payload)) if isinstance(payload, float) else payload  # tells 0.0 from -0.0 and NaN
        key = (op, args, kind, shown)
        found = _interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.kind, found.payload = op, args, kind, payload
            _interned[key] = found
        return found

    def __repr__(self) -> str:
        inner = [repr(a) for a in self.args] + ([repr(self.payload)] if self.payload is not None else [])
        return f"{self.op}({', '.join(inner)})"

    # fmt: off
    def __add__(self, o): return apply("add", self, o)
    def __radd__(self, o): return apply("add", o, self)
    def __sub__(self, o): return apply("sub", self, o)
    def __rsub__(self, o): return apply("sub", o, self)
    def __mul__(self, o): return apply("mul", self, o)
    def __rmul__(self, o): return apply("mul", o, self)
    def __truediv__(self, o): return apply("div", self, o)
    def __rtruediv__(self, o): return apply("div", o, self)
    def __floordiv__(self, o): return apply("floor_div", self, o)
    def __mod__(self, o): return apply("remainder", self, o)
    def __pow__(self, o): return apply("pow", self, o)
    def __neg__(self): return apply("neg", self)
    def __abs__(self): return apply("abs", self)
    def __lt__(self, o): return apply("lt", self, o)
    def __le__(self, o): return apply("le", self, o)
    def __gt__(self, o): return apply("gt", self, o)
    def __ge__(self, o): return apply("ge", self, o)
    def __and__(self, o): return apply("bit_and", self, o)
    def __rand__(self, o): return apply("bit_and", o, self)
    def __or__(self, o): return apply("bit_or", self, o)
    def __xor__(self, o): return apply("bit_xor", self, o)
    def __invert__(self): return apply("bit_not", self)
    # fmt: on

    def __bool__(self) -> bool:
        raise GraphError(
            "A scalar function may not branch on a value: `if x > 0` has no meaning for symbols. "
            "Use ait_core.scalar.where(condition, a, b)."
        )


def const(value: float | int | bool, kind: str | None = None) -> Expr:
    """A literal; the kind follows the Python type unless given."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is None:
        kind = "bool" if isinstance(value, bool) else INDEX if isinstance(value, int) else "float"
    if kind == "bool":
        value = bool(value)
    elif kind in ("float", "double"):
        value = float(np.float32(value)) if kind == "float" else float(value)
    else:
        value = int(value) if math.isfinite(value) else 0
    return Expr("const", (), kind, value)


def cast(x: Any, to: DType) -> Expr:
    """``x`` rounded to what ``to`` can store, in the compute kind of ``to``."""
    x = x if isinstance(x, Expr) else const(x)
    wraps = to.is_int and x.op == "const" and not _in_range(x.payload, to)
    if x.op == "const" and to.name not in ("float16", "bfloat16") and not wraps:
        return const(x.payload, to.compute)
    if x.op == "cast" and x.payload == to:
        return x
    return Expr("cast", (x,), to.compute, to)


def _in_range(value: float, to: DType) -> bool:
    limits = np.iinfo(to.numpy)
    return limits.min <= value <= limits.max


def convert(x: Expr, kind: str) -> Expr:
    """``x`` in another compute kind; no rounding to a storage type."""
    if x.kind == kind:
        return x
    if x.op == "const":
        return const(x.payload, kind)
    if x.op == "size" and kind == INDEX:
        return x
    return Expr("convert", (x,), kind)


def apply(name: str, *operands: Any) -> Expr:
    """The primitive ``name`` over expressions, sizes and Python numbers; numbers take the kind of the expressions."""
    p = PRIMITIVES[name]
    operands = tuple(Expr("size", (), INDEX, o) if hasattr(o, "free_symbols") else o for o in operands)
    exprs = [o for o in operands if isinstance(o, Expr)]
    typed = exprs[1:] if name == "where" and isinstance(operands[0], Expr) else exprs
    kinds = [e.kind for e in typed]
    numbers = [o for o in (operands[1:] if name == "where" else operands) if not isinstance(o, Expr)]
    kind = max(kinds, key=KINDS.index) if kinds else max((const(n).kind for n in numbers), key=KINDS.index)
    if any(isinstance(n, (float, np.floating)) for n in numbers) and KINDS.index(kind) < KINDS.index("float"):
        kind = "float"
    if kind == "bool" and any(isinstance(n, (int, np.integer)) and not isinstance(n, (bool, np.bool_)) for n in numbers):
        kind = INDEX
    if p.result == "float" and KINDS.index(kind) < KINDS.index("float"):
        kind = "float"
    if kind == "bool" and name == "mul":
        name = "bit_and"
    if kind == "bool" and name in ("sub", "neg", "abs", "sign", "floor_div", "remainder"):
        kind = "std::int32_t"
    args = [
        o if name == "where" and i == 0 and isinstance(o, Expr) and o.kind == "bool"
        else convert(o if isinstance(o, Expr) else const(o, None if name == "where" and i == 0 else kind),
                     "bool" if name == "where" and i == 0 else kind)
        for i, o in enumerate(operands)
    ]  # fmt: skip
    if name in ("floor", "ceil", "round", "trunc") and kind not in ("float", "double"):
        return args[0]
    if name in ("isnan", "isinf") and kind not in ("float", "double"):
        return const(False)
    if kind == INDEX and name in COMPARISONS:
        from ait_core.ir.index import compare

        known = compare(name, *args)
        if known is not None:
            return const(known)
    if name in ("bit_and", "logical_and") and kind == "bool":  # a range that is known to hold leaves no trace
        for a, b in (args, args[::-1]):
            if a.op == "const":
                return b if a.payload else a
    if name == "where" and args[0].op == "const":
        return args[1] if args[0].payload else args[2]
    if name == "where" and args[1] is args[2]:
        return args[1]
    return Expr(name, tuple(args), "bool" if p.result == "bool" else kind)
