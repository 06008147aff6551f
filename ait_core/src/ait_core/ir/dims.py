# SPDX-License-Identifier: Apache-2.0
"""Sizes: a plain ``int``, or a sympy expression over bounded symbols (``ait.dim("batch", 1, 64)``)."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable
from functools import lru_cache

import sympy

from ait_core.errors import GraphError, ShapeError

Dim = int | sympy.Expr
Shape = tuple[Dim, ...]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class DimSymbol(sympy.Symbol):
    """A symbolic size with inclusive bounds; two symbols are the same if name and bounds are."""

    __slots__ = ("lo", "hi")
    lo: int
    hi: int

    def __new__(cls, name: str, lo: int, hi: int) -> DimSymbol:
        self = sympy.Symbol.__xnew__(cls, name, integer=True, nonnegative=True)
        self.lo, self.hi = lo, hi
        return self

    def __getnewargs_ex__(self):  # pickling and copying, both used by sympy itself
        return (self.name, self.lo, self.hi), {}

    def _hashable_content(self):
        return (*super()._hashable_content(), self.lo, self.hi)


def dim(name: str, lo: int = 1, hi: int = 1 << 31) -> DimSymbol:
    """A symbolic dimension of ``lo`` to ``hi`` elements, both inclusive.

    Raises:
        GraphError: if the name is no identifier or the bounds are not ``0 <= lo <= hi``.
    """
    if not NAME.fullmatch(name):
        raise GraphError(f"A dim is named by an identifier of at most 64 characters; got {name!r}.")
    if not 0 <= lo <= hi:
        raise GraphError(f"Bounds of dim {name!r} must hold 0 <= lo <= hi; got {lo} and {hi}.")
    return DimSymbol(name, lo, hi)


def as_dim(size: object) -> Dim:
    """``size`` in its simplest form: an ``int`` where it is constant."""
    if isinstance(size, (int,)):
        return int(size)
    if isinstance(size, sympy.Expr):
        return int(size) if size.is_Integer else _rebuilt(size)
    try:
        return operator.index(size)  # numpy integers
    except TypeError:
        raise GraphError(f"A size must be an integer or a dim; got {size!r}.") from None


@lru_cache(maxsize=65536)
def _rebuilt(size: sympy.Expr) -> Dim:
    """The size with its minima and maxima evaluated; sympy leaves ``Min(n - 2, n - 1)`` where it factors others out."""
    if not size.has(sympy.Min, sympy.Max):
        return size
    new = size.replace(lambda e: isinstance(e, (sympy.Min, sympy.Max)), lambda e: e.func(*e.args))
    return int(new) if new.is_Integer else new


def as_shape(shape: Iterable[object]) -> Shape:
    return tuple(as_dim(s) for s in shape)


@lru_cache(maxsize=65536)
def _zero(difference: sympy.Expr) -> bool:
    return sympy.expand(difference) == 0


def same(a: Dim, b: Dim) -> bool:
    """Whether two sizes are equal for every value of their symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a == b or _zero(a - b)


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def prod(sizes: Iterable[Dim]) -> Dim:
    """The product; of nothing, 1."""
    out: Dim = 1
    for s in sizes:
        out = out * s
    return as_dim(sympy.expand(out)) if isinstance(out, sympy.Expr) else out


@lru_cache(maxsize=65536)
def floor_div(a: Dim, b: Dim) -> Dim:
    """``a // b`` for positive ``b``: what divides exactly is taken out, the rest stays under one floor."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    whole, rest = sympy.Integer(0), sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(a)):
        q = sympy.cancel(term / b)
        if q.as_numer_denom()[1] == 1:
            whole += q
        else:
            rest += term
    if rest == 0 or (at_least(rest, 0) and at_least(b - 1, rest)):
        return as_dim(whole)
    if at_least(-1, rest) and at_least(rest, -b):
        return as_dim(whole - 1)
    return as_dim(whole + sympy.floor(sympy.cancel(rest / b)))


def ceil_div(a: Dim, b: Dim) -> Dim:
    return -(-a // b) if isinstance(a, int) and isinstance(b, int) else floor_div(a + b - 1, b)


def dim_min(a: Dim, b: Dim) -> Dim:
    return as_dim(sympy.Min(a, b))


def dim_max(a: Dim, b: Dim) -> Dim:
    return as_dim(sympy.Max(a, b))


@lru_cache(maxsize=65536)
def bounds(size: Dim) -> tuple[int, int]:
    """Inclusive integer bounds by interval arithmetic; symbols without bounds count as ``0 .. 2**31``."""
    if isinstance(size, int) or size.is_Integer:
        return int(size), int(size)
    if isinstance(size, sympy.Symbol):
        return getattr(size, "lo", 0), getattr(size, "hi", 1 << 31)
    if size.is_Rational:
        return int(sympy.floor(size)), int(sympy.ceiling(size))
    if isinstance(size, sympy.floor):
        num, den = (bounds(x) for x in size.args[0].as_numer_denom())
        corners = [n // max(1, d) for n in num for d in den]
        return min(corners), max(corners)
    parts = [bounds(a) for a in size.args]
    if isinstance(size, sympy.Add):
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    if isinstance(size, sympy.Mul):
        lo, hi = 1, 1
        for p, q in _exact_parts(size):
            corners = [lo * p, lo * q, hi * p, hi * q]
            lo, hi = min(corners), max(corners)
        return int(sympy.floor(lo)), int(sympy.ceiling(hi))
    if isinstance(size, sympy.Max):
        return max(p[0] for p in parts), max(p[1] for p in parts)
    if isinstance(size, sympy.Min):
        return min(p[0] for p in parts), min(p[1] for p in parts)
    if isinstance(size, sympy.Mod):
        return 0, max(0, parts[1][1] - 1)
    if isinstance(size, sympy.Pow) and size.exp.is_Integer and size.exp > 0:
        n = int(size.exp)
        return parts[0][0] ** n, parts[0][1] ** n
    raise GraphError(f"Cannot bound the size {size}: sizes are made of + - * // % min max.")


def _exact_parts(product: sympy.Mul):
    for a in product.args:
        yield (a, a) if a.is_Rational else bounds(a)


def at_least(a: Dim, b: Dim) -> bool:
    """Whether ``a >= b`` for every value within the bounds."""
    d = a - b
    return d >= 0 if isinstance(d, int) else bounds(sympy.expand(d))[0] >= 0


def symbols(shape: Iterable[Dim]) -> set[DimSymbol]:
    """The symbols that some sizes are made of."""
    return {s for d in shape if isinstance(d, sympy.Expr) for s in d.free_symbols}


def text(size: Dim) -> str:
    """Printable form, readable back by :func:`parse`: integers, names, ``+ - * // %`` and ``min() max()``."""
    return _print(size, lambda a, b, _: f"({a} // {b})", lambda a, b, _: f"({a} % {b})", "min", "max")


def cpp(size: Dim, names=str) -> str:
    """C++ expression of type ``index_t``; ``names`` maps a symbol to its C++ name."""
    def divide(sign: str, name: str):  # C++ rounds towards zero
        return lambda a, b, positive: f"({a} {sign} {b})" if positive else f"ait::{name}({a}, {b})"

    return _print(size, divide("/", "floor_index"), divide("%", "mod_index"), "ait::imin", "ait::imax", names)


def _print(size: Dim, div, mod, lo: str, hi: str, names=str) -> str:
    """``div`` and ``mod`` spell two texts divided; they are told whether the first is never negative."""

    def walk(e, tight: bool = False) -> str:
        if isinstance(e, int) or e.is_Integer:
            return str(int(e))
        if isinstance(e, sympy.Symbol):
            return names(e)
        if isinstance(e, (sympy.Min, sympy.Max)):
            name = lo if isinstance(e, sympy.Min) else hi
            args = [walk(a) for a in sorted(e.args, key=str)]
            out = args[0]
            for a in args[1:]:
                out = f"{name}({out}, {a})"
            return out
        if isinstance(e, sympy.Add):
            body = " + ".join(walk(a, False) for a in e.as_ordered_terms())
            return f"({body})" if tight else body
        if isinstance(e, sympy.Mod):
            return mod(walk(e.args[0], True), walk(e.args[1], True), bounds(e.args[0])[0] >= 0)
        if isinstance(e, sympy.floor):
            num, den = e.args[0].as_numer_denom()
            return div(walk(num, True), walk(den, True), bounds(num)[0] >= 0)
        if isinstance(e, sympy.Pow) and e.exp.is_Integer and e.exp > 0:
            return "*".join([walk(e.base, True)] * int(e.exp))
        if isinstance(e, sympy.Mul):
            num, den = e.as_numer_denom()
            if den != 1:  # divides exactly
                return div(walk(num, True), walk(den, True), True)
            return "*".join(walk(a, True) for a in e.as_ordered_factors())
        raise GraphError(f"Cannot print the size {e}: sizes are made of + - * // % min max.")

    return walk(size)


def parse(source: str, names: dict[str, DimSymbol]) -> Dim:
    """Read a size printed by :func:`text`. Nothing is evaluated but integers, known names and the five operators.

    Raises:
        ShapeError: on anything else.
    """

    def walk(n: ast.AST) -> Dim:
        match n:
            case ast.Expression(body=b):
                return walk(b)
            case ast.Constant(value=int(v)):
                return v
            case ast.Name(id=i) if i in names:
                return names[i]
            case ast.UnaryOp(op=ast.USub(), operand=o):
                return -walk(o)
            case ast.BinOp(left=a, op=op, right=b):
                x, y = walk(a), walk(b)
                match op:
                    case ast.Add():
                        return x + y
                    case ast.Sub():
                        return x - y
                    case ast.Mult():
                        return x * y
                    case ast.FloorDiv():
                        return floor_div(x, y)
                    case ast.Mod():
                        return as_dim(sympy.Mod(x, y))
            case ast.Call(func=ast.Name(id="min"), args=[a, b]):
                return dim_min(walk(a), walk(b))
            case ast.Call(func=ast.Name(id="max"), args=[a, b]):
                return dim_max(walk(a), walk(b))
        raise ShapeError(f"Not a size: {source!r}. Sizes are integers, dims ({', '.join(names)}) and + - * // %.")

    try:
        return as_dim(walk(ast.parse(source.strip(), mode="eval")))
    except (SyntaxError, RecursionError, ZeroDivisionError):
        raise ShapeError(f"Not a size: {source!r}.") from None
