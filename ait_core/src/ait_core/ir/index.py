# SPDX-License-Identifier: Apache-2.0
"""Index arithmetic: coordinates as sums ``coefficient * term + constant``, simplified with the ranges of the terms.

Terms are loop variables, or expressions the sum cannot see into (quotients, remainders, looked-up indices).
Coefficients are sizes. This is what lets a reshape fused into a reader cost no division.
"""

from __future__ import annotations

from dataclasses import dataclass

from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.scalar.expr import INDEX, Expr, apply, const


@dataclass(frozen=True)
class Var:
    """A loop variable: ``0 <= var < size``."""

    name: str
    size: Dim


def var(name: str, size: Dim) -> Affine:
    """The coordinate that is this loop variable; 0 where the loop has one turn."""
    return Affine.of(0) if size == 1 else Affine.term(Expr("var", (), INDEX, Var(name, size)))


class Affine:
    """``constant + sum(coefficient * term)``; terms are :class:`Expr` of kind index."""

    __slots__ = ("terms", "constant")

    def __init__(self, terms: dict[Expr, Dim], constant: Dim) -> None:
        self.terms = {t: c for t, c in terms.items() if c != 0}
        self.constant = constant

    @staticmethod
    def of(value: Dim) -> Affine:
        return Affine({}, value)

    @staticmethod
    def term(term: Expr) -> Affine:
        return Affine({term: 1}, 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine) or self.terms.keys() != other.terms.keys():
            return False
        return dims.same(self.constant, other.constant) and all(dims.same(c, other.terms[t]) for t, c in self.terms.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.terms))

    def __repr__(self) -> str:
        parts = [f"{c}*{t.payload.name if t.op == 'var' else t}" for t, c in self.terms.items()]
        return " + ".join([*parts, str(self.constant)])

    def __add__(self, other: Affine | Dim) -> Affine:
        other = other if isinstance(other, Affine) else Affine.of(other)
        terms = dict(self.terms)
        for t, c in other.terms.items():
            terms[t] = dims.as_dim(terms[t] + c) if t in terms else c
        return Affine(terms, dims.as_dim(self.constant + other.constant))

    def __sub__(self, other: Affine | Dim) -> Affine:
        return self + (other * -1 if isinstance(other, Affine) else -other)

    def __mul__(self, by: Dim) -> Affine:
        if by == 0:
            return Affine.of(0)
        return Affine({t: dims.prod((c, by)) for t, c in self.terms.items()}, dims.prod((self.constant, by)))

    def recombined(self) -> Affine:
        """The same sum with quotients and remainders of one division put together again where they fit:
        ``(x // n) * n * c + (x % n) * c`` is ``x * c``."""
        for t, c in self.terms.items():
            if t.op != "imod":
                continue
            other = Expr("idiv", t.args, INDEX)
            whole = self.terms.get(other)
            if whole is not None and dims.same(whole, dims.prod((c, t.args[1].payload))):
                rest = Affine({k: v for k, v in self.terms.items() if k not in (t, other)}, self.constant)
                return (rest + affine(t.args[0]) * c).recombined()
        return self

    def range(self) -> tuple[Dim, Dim] | None:
        """Smallest and largest value as sizes, or None if a term is unbounded or a sign unknown."""
        lo: Dim = self.constant
        hi: Dim = self.constant
        for t, c in self.terms.items():
            top = _top(t)
            if top is None:
                return None
            if dims.at_least(c, 0):
                hi = hi + c * top
            elif dims.at_least(0, c):
                lo = lo + c * top
            else:
                return None
        return dims.as_dim(lo), dims.as_dim(hi)

    def within(self, size: Dim) -> bool:
        """Whether ``0 <= self < size`` holds for certain."""
        r = self.range()
        return r is not None and dims.at_least(r[0], 0) and dims.at_least(size - 1, r[1])

    def split(self, by: Dim) -> tuple[Affine, Affine]:
        """Quotient and remainder by ``by``; 0 where ``by`` is 0, since a tensor without elements has no coordinates."""
        if by == 1 or by == 0:
            return self * by, Affine.of(0)
        whole: dict[Expr, Dim] = {}
        rest: dict[Expr, Dim] = {}
        for t, c in self.terms.items():
            q = _exact(c, by)
            (rest if q is None else whole)[t] = c if q is None else q
        q = _exact(self.constant, by)
        quotient = Affine(whole, 0 if q is None else q)
        remainder = Affine(rest, self.constant if q is None else 0)
        if remainder.within(by):
            return quotient, remainder
        if isinstance(remainder.constant, int) and isinstance(by, int) and not remainder.terms:
            return quotient + remainder.constant // by, Affine.of(remainder.constant % by)
        inner, divisor = remainder.expr(), size(by)
        return (
            quotient + Affine.term(Expr("idiv", (inner, divisor), INDEX)),
            Affine.term(Expr("imod", (inner, divisor), INDEX)),
        )

    def expr(self) -> Expr:
        """As a scalar expression."""
        out: Expr | None = None
        for t, c in self.terms.items():
            e = t if c == 1 else apply("mul", t, size(c))
            out = e if out is None else apply("add", out, e)
        if out is None:
            return size(self.constant)
        return out if self.constant == 0 else apply("add", out, size(self.constant))


def size(value: Dim) -> Expr:
    """A size as a scalar expression."""
    return const(value, INDEX) if isinstance(value, int) else Expr("size", (), INDEX, value)


def affine(e: Expr, memo: dict[Expr, Affine] | None = None) -> Affine:
    """An index expression as a sum; what is not linear becomes an opaque term. ``memo`` keeps what is shared from being
    looked at again for each of its users."""
    memo = {} if memo is None else memo
    if e not in memo:
        memo[e] = _affine(e, memo)
    return memo[e]


def _affine(e: Expr, memo: dict[Expr, Affine]) -> Affine:
    match e.op:
        case "const" | "size":
            return Affine.of(e.payload)
        case "add":
            return affine(e.args[0], memo) + affine(e.args[1], memo)
        case "sub":
            return affine(e.args[0], memo) - affine(e.args[1], memo)
        case "neg":
            return affine(e.args[0], memo) * -1
        case "convert" if e.args[0].kind in ("std::int32_t", INDEX):
            return affine(e.args[0], memo)
        case "mul":
            a, b = affine(e.args[0], memo), affine(e.args[1], memo)
            if not b.terms:
                return a * b.constant
            if not a.terms:
                return b * a.constant
        case "floor_div" | "remainder":
            a, b = affine(e.args[0], memo), affine(e.args[1], memo)
            r = a.range()
            if not b.terms and dims.at_least(b.constant, 1) and r is not None and dims.at_least(r[0], 0):
                return a.split(b.constant)[e.op == "remainder"]
    return Affine.term(e)


def compare(name: str, a: Expr, b: Expr) -> bool | None:
    """The truth of an index comparison if the ranges decide it."""
    r = (affine(a) - affine(b)).range()
    if r is None:
        return None
    lo, hi = r
    if name in ("lt", "ge"):
        known = True if dims.at_least(-1, hi) else False if dims.at_least(lo, 0) else None
        return known if known is None or name == "lt" else not known
    if name in ("gt", "le"):
        known = True if dims.at_least(lo, 1) else False if dims.at_least(0, hi) else None
        return known if known is None or name == "gt" else not known
    if dims.same(lo, 0) and dims.same(hi, 0):
        return name == "eq"
    if dims.at_least(lo, 1) or dims.at_least(-1, hi):
        return name == "ne"
    return None


def _top(term: Expr) -> Dim | None:
    """The largest value of a term that is never negative."""
    if term.op == "var":
        return term.payload.size - 1
    if term.op in ("check", "remainder"):  # what is left by a positive divisor is never negative
        n = affine(term.args[1])
        return None if n.terms or not dims.at_least(n.constant, 1) else n.constant - 1
    if term.op in ("idiv", "imod"):
        by = term.args[1].payload
        if term.op == "imod":
            return by - 1
        r = affine(term.args[0]).range()
        return None if r is None else dims.floor_div(r[1], by)
    return None


def _exact(value: Dim, by: Dim) -> Dim | None:
    """``value / by`` if it divides for certain."""
    if value == 0:
        return 0
    if isinstance(value, int) and isinstance(by, int):
        return value // by if value % by == 0 else None
    q = dims.floor_div(value, by)
    return q if dims.same(dims.prod((q, by)), value) else None
