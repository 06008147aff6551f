# SPDX-License-Identifier: Apache-2.0
"""The closed set of scalar primitives. One row a primitive: how it runs on arrays, and how it is spelt in C++.

A pointwise op is a Python function over these. Run on NumPy arrays it is the op's reference; run on symbols
(:class:`ait_core.scalar.expr.Expr`) it becomes C++ for every backend. The C++ names are functions of namespace ``ait``
that each backend's prelude header offers for ``float``, ``double``, ``std::int32_t``, ``std::int64_t`` and ``bool``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Primitive:
    """``result``: the kind of the value: of the operands, a truth value, or a float (integers become float)."""

    name: str
    arity: int
    numpy: Callable
    cpp: str
    result: Literal["same", "bool", "float"] = "same"
    cost: int = 1  # in additions, for the cost model


def _vectorised(fn: Callable[[float], float]) -> Callable:
    """A ``math`` function over arrays, keeping the array's dtype; NaN where it is undefined."""

    def guarded(x: float) -> float:
        try:
            return fn(x)
        except (ValueError, OverflowError):
            return math.nan

    loop = np.frompyfunc(guarded, 1, 1)

    def on_array(x):
        x = np.asarray(x)
        return np.asarray(loop(x)).astype(x.dtype if x.dtype.kind == "f" else np.float32)

    return on_array


def _sign(x):
    return np.sign(x)


def _div(a, b):
    return np.true_divide(a, b) if _floating(a, b) else np.true_divide(a, b, dtype=np.float32)


def _floating(*xs) -> bool:
    return any(isinstance(x, float) or getattr(x, "dtype", np.dtype(int)).kind == "f" for x in xs)


def _and(a, b):
    return np.logical_and(a, b) if _truth(a) and _truth(b) else np.bitwise_and(a, b)


def _or(a, b):
    return np.logical_or(a, b) if _truth(a) and _truth(b) else np.bitwise_or(a, b)


def _xor(a, b):
    return np.logical_xor(a, b) if _truth(a) and _truth(b) else np.bitwise_xor(a, b)


def _not(a):
    return np.logical_not(a) if _truth(a) else np.bitwise_not(a)


def _truth(x) -> bool:
    return isinstance(x, (bool, np.bool_)) or getattr(x, "dtype", None) == np.bool_


def _add(a, b):  # NumPy reads + of bools as "or"; so does AIT
    return np.add(a, b)


def _pow(a, b):
    if _floating(a, b):
        return np.power(a, b)
    a, b = np.asarray(a), np.asarray(b)  # 1 / a**n truncated: only +-1 leave something of a negative exponent
    return np.where((b >= 0) | (abs(a) == 1), np.power(a, abs(b)), 0)


def _round(x):
    return np.rint(x) if _floating(x) else x


def _rsqrt(x):
    x = np.asarray(x)
    return (1 / np.sqrt(x)).astype(x.dtype if x.dtype.kind == "f" else np.float32)


_TABLE = (
    Primitive("add", 2, _add, "({0} + {1})"),
    Primitive("sub", 2, np.subtract, "({0} - {1})"),
    Primitive("mul", 2, np.multiply, "({0} * {1})"),
    Primitive("div", 2, _div, "({0} / {1})", "float", 4),
    Primitive("floor_div", 2, np.floor_divide, "ait::floor_div({0}, {1})", "same", 8),
    Primitive("remainder", 2, np.remainder, "ait::remainder({0}, {1})", "same", 8),
    Primitive("fmod", 2, np.fmod, "ait::fmod({0}, {1})", "same", 8),
    Primitive("pow", 2, _pow, "ait::pow({0}, {1})", "same", 30),
    Primitive("atan2", 2, np.arctan2, "ait::atan2({0}, {1})", "float", 30),
    Primitive("minimum", 2, np.minimum, "ait::min({0}, {1})"),
    Primitive("maximum", 2, np.maximum, "ait::max({0}, {1})"),
    Primitive("neg", 1, np.negative, "(-{0})"),
    Primitive("abs", 1, np.abs, "ait::abs({0})"),
    Primitive("sign", 1, _sign, "ait::sign({0})", "same", 2),
    Primitive("floor", 1, np.floor, "ait::floor({0})"),
    Primitive("ceil", 1, np.ceil, "ait::ceil({0})"),
    Primitive("round", 1, _round, "ait::round({0})"),
    Primitive("trunc", 1, np.trunc, "ait::trunc({0})"),
    Primitive("exp", 1, np.exp, "ait::exp({0})", "float", 12),
    Primitive("expm1", 1, np.expm1, "ait::expm1({0})", "float", 16),
    Primitive("log", 1, np.log, "ait::log({0})", "float", 14),
    Primitive("log2", 1, np.log2, "ait::log2({0})", "float", 14),
    Primitive("log1p", 1, np.log1p, "ait::log1p({0})", "float", 16),
    Primitive("sqrt", 1, np.sqrt, "ait::sqrt({0})", "float", 8),
    Primitive("rsqrt", 1, _rsqrt, "ait::rsqrt({0})", "float", 8),
    Primitive("tanh", 1, np.tanh, "ait::tanh({0})", "float", 16),
    Primitive("erf", 1, _vectorised(math.erf), "ait::erf({0})", "float", 20),
    Primitive("sin", 1, np.sin, "ait::sin({0})", "float", 16),
    Primitive("cos", 1, np.cos, "ait::cos({0})", "float", 16),
    Primitive("tan", 1, np.tan, "ait::tan({0})", "float", 30),
    Primitive("asin", 1, np.arcsin, "ait::asin({0})", "float", 30),
    Primitive("acos", 1, np.arccos, "ait::acos({0})", "float", 30),
    Primitive("atan", 1, np.arctan, "ait::atan({0})", "float", 20),
    Primitive("sinh", 1, np.sinh, "ait::sinh({0})", "float", 30),
    Primitive("cosh", 1, np.cosh, "ait::cosh({0})", "float", 30),
    Primitive("asinh", 1, np.arcsinh, "ait::asinh({0})", "float", 30),
    Primitive("acosh", 1, np.arccosh, "ait::acosh({0})", "float", 30),
    Primitive("atanh", 1, np.arctanh, "ait::atanh({0})", "float", 30),
    Primitive("lt", 2, np.less, "({0} < {1})", "bool"),
    Primitive("le", 2, np.less_equal, "({0} <= {1})", "bool"),
    Primitive("gt", 2, np.greater, "({0} > {1})", "bool"),
    Primitive("ge", 2, np.greater_equal, "({0} >= {1})", "bool"),
    Primitive("eq", 2, np.equal, "({0} == {1})", "bool"),
    Primitive("ne", 2, np.not_equal, "({0} != {1})", "bool"),
    Primitive("isnan", 1, np.isnan, "ait::isnan({0})", "bool"),
    Primitive("isinf", 1, np.isinf, "ait::isinf({0})", "bool"),
    Primitive("logical_and", 2, np.logical_and, "(ait::cast<bool>({0}) & ait::cast<bool>({1}))", "bool"),
    Primitive("logical_or", 2, np.logical_or, "(ait::cast<bool>({0}) | ait::cast<bool>({1}))", "bool"),
    Primitive("logical_not", 1, np.logical_not, "(!ait::cast<bool>({0}))", "bool"),
    Primitive("bit_and", 2, _and, "ait::bit_and({0}, {1})"),
    Primitive("bit_or", 2, _or, "ait::bit_or({0}, {1})"),
    Primitive("bit_xor", 2, _xor, "ait::bit_xor({0}, {1})"),
    Primitive("bit_not", 1, _not, "ait::bit_not({0})"),
    Primitive("shift_left", 2, np.left_shift, "ait::shift_left({0}, {1})"),
    Primitive("shift_right", 2, np.right_shift, "ait::shift_right({0}, {1})"),
    Primitive("where", 3, np.where, "ait::where({0}, {1}, {2})"),
)

PRIMITIVES: dict[str, Primitive] = {p.name: p for p in _TABLE}
