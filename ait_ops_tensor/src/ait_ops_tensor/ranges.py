# SPDX-License-Identifier: Apache-2.0
"""Python's rules for slices and indices, on sizes that may be symbolic."""

from __future__ import annotations

import sympy

from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dims import Dim


def minus(a: Dim, b: Dim) -> Dim:
    """``a - b`` with minima and maxima outside: ``n - max(n - 5, 0)`` becomes ``min(5, n)``, whose bounds are tight."""
    for value, other, flipped in ((b, a, True), (a, b, False)):
        if isinstance(value, (sympy.Min, sympy.Max)):
            lower = isinstance(value, sympy.Min) != flipped
            parts = [minus(other, p) if flipped else minus(p, other) for p in map(dims.as_dim, value.args)]
            return dims.as_dim((sympy.Min if lower else sympy.Max)(*parts))
    return dims.as_dim(a - b)


def _max(a: Dim, b: Dim) -> Dim:
    return a if dims.at_least(a, b) else b if dims.at_least(b, a) else dims.dim_max(a, b)


def _min(a: Dim, b: Dim) -> Dim:
    return a if dims.at_least(b, a) else b if dims.at_least(a, b) else dims.dim_min(a, b)


def _from_front(value: Dim, n: Dim) -> Dim:
    if dims.at_least(value, 0):
        return value
    if dims.at_least(-1, value):
        return dims.as_dim(value + n)
    lo, hi = dims.bounds(sympy.expand(value))
    raise GraphError(
        f"Whether {dims.text(value)} counts from the front or from the end is not known: it lies in {lo}..{hi}. "
        "Give its dims bounds that decide, or use max(..., 0)."
    )


def python_range(start: Dim | None, end: Dim | None, step: int, n: Dim) -> tuple[Dim, Dim]:
    """First index and number of elements of ``range(n)[start:end:step]``.

    Raises:
        GraphError: if ``step`` is 0 or the sign of a symbolic bound is undecided.
    """
    if not isinstance(step, int) or step == 0:
        raise GraphError(f"A slice steps by an integer other than 0; got {step!r}.")
    lo, hi = (0, n) if step > 0 else (-1, n - 1)  # where bounds may lie
    first = (lo if step > 0 else hi) if start is None else _min(_max(_from_front(start, n), lo), hi)
    last = (hi if step > 0 else lo) if end is None else _min(_max(_from_front(end, n), lo), hi)
    span = minus(last, first) if step > 0 else minus(first, last)
    return first, dims.ceil_div(_max(span, 0), abs(step))


def within(index: Dim, n: Dim) -> Dim:
    """``index`` counted from the front.

    Raises:
        GraphError: if it may lie outside ``-n .. n - 1``.
    """
    at = _from_front(index, n)
    if not (dims.at_least(at, 0) and dims.at_least(n - 1, at)):
        raise GraphError(
            f"Index {dims.text(index)} may be outside an axis of size {dims.text(n)}: "
            "give the dim a lower bound that makes room for it."
        )
    return at
