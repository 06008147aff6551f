# SPDX-License-Identifier: Apache-2.0
"""Sizes: from torch's symbols, ranges and sympy functions to AIT's dims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram

from ait_core.errors import UnsupportedError
from ait_core.ir import dims
from ait_core.ir.dims import Dim, DimSymbol
from ait_runtime.signature import Tree

_ROUNDS_DOWN = ("FloorToInt", "TruncToInt", "floor")  # sizes are never negative, so truncation is the same


class Symbols:
    """The dims of an exported program: named as the user's ``torch.export.Dim`` where there is one, else ``dim0``,
    ``dim1``, ... in the order of the inputs; bounded as torch found.

    ``places`` tells for each dim's name an input and an axis that have that size.
    """

    def __init__(self, program: ExportedProgram, arguments: Mapping[str, Tree], dynamic_shapes: Any) -> None:
        self._ranges = program.range_constraints
        self._dims: dict[sympy.Symbol, DimSymbol] = {}
        self.places: dict[str, tuple[str, int]] = {}
        values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
        given: dict[sympy.Symbol, Any] = {}
        places: dict[sympy.Symbol, tuple[str, int]] = {}
        for name, spec in _specs(arguments, dynamic_shapes):
            for axis, size in enumerate(getattr(values[name], "shape", ())):
                expr = size.node.expr if isinstance(size, torch.SymInt) else None
                if isinstance(expr, sympy.Symbol):
                    places.setdefault(expr, (name, axis))
                    given[expr] = given.get(expr) or _axis(spec, axis)
        taken = {_name(d) for d in given.values()} - {None}
        fresh = (name for i in range(len(given) + len(taken)) if (name := f"dim{i}") not in taken)
        for symbol, place in places.items():
            found = self._bounded(symbol, _name(given[symbol]) or next(fresh), given[symbol])
            self._dims[symbol], self.places[found.name] = found, place

    def dim(self, size: Any) -> Dim:
        """The dim of an int, a ``SymInt`` or a sympy expression over torch's symbols.

        Raises:
            UnsupportedError: if the size depends on data, or on something that is no size of an input.
        """
        if isinstance(size, torch.SymInt):
            size = size.node.expr
        return dims.as_dim(self._expr(size)) if isinstance(size, sympy.Basic) else int(size)

    def _expr(self, e: Any) -> Any:
        if e.is_Integer:
            return int(e)
        if e.is_Rational:
            return e
        if isinstance(e, sympy.Symbol):
            if e not in self._dims:
                raise UnsupportedError(
                    f"the size {e} is not a size of an input. Either it depends on data (nonzero(), item(), boolean "
                    "masks), which a compiled model cannot have, or the inputs only have it inside an expression such "
                    "as 2*batch: then give the model an input that has this size itself"
                )
            return self._dims[e]
        kind = type(e).__name__
        if kind == "CeilToInt" or (kind in _ROUNDS_DOWN and not e.args[0].is_integer):
            return (dims.ceil_div if kind == "CeilToInt" else dims.floor_div)(*self._ratio(e.args[0]))
        args = [self._expr(a) for a in e.args]
        if kind in ("FloorDiv", "CleanDiv"):
            return dims.floor_div(dims.as_dim(args[0]), dims.as_dim(args[1]))
        if kind in ("Mod", "PythonMod"):
            return sympy.Mod(*args)
        if kind == "ModularIndexing":
            return sympy.Mod(dims.floor_div(dims.as_dim(args[0]), dims.as_dim(args[1])), args[2])
        if kind in ("Add", "Mul", "Max", "Min"):
            return getattr(sympy, kind)(*args)
        if kind in ("Pow", "PowByNatural") and e.args[1].is_Integer:
            return sympy.Pow(*args)
        if kind in (*_ROUNDS_DOWN, "Identity", "ToFloat"):
            return args[0]
        raise UnsupportedError(f"the size {e} uses {kind}: sizes may be made of + - * // % min and max")

    def _ratio(self, e: Any) -> tuple[Dim, Dim]:
        """Numerator and denominator of a true division that is about to be rounded."""
        if type(e).__name__ in ("IntTrueDiv", "FloatTrueDiv"):
            return dims.as_dim(self._expr(e.args[0])), dims.as_dim(self._expr(e.args[1]))
        num, den = sympy.sympify(self._expr(e)).as_numer_denom()
        return dims.as_dim(num), dims.as_dim(den)

    def _bounded(self, symbol: sympy.Symbol, name: str, given: Any) -> DimSymbol:
        found = self._ranges[symbol]
        # torch traces as if no size were 0 or 1 and so reports hints from 2 up; AIT specialises on neither, so an
        # explicit lower bound of a hint holds, as it does for a named dim
        explicit = getattr(given, "min", None)
        lo = found.lower if explicit is None or found.lower > 2 else explicit
        hi = int(found.upper) if isinstance(found.upper, (int, sympy.Integer)) else 1 << 31
        return dims.dim(name, int(lo), min(hi, 1 << 31))


def _specs(arguments: Mapping[str, Tree], dynamic_shapes: Any) -> Iterator[tuple[str, Any]]:
    """Each input tensor with its part of ``dynamic_shapes``."""
    by_name = isinstance(dynamic_shapes, Mapping)
    for i, (name, tree) in enumerate(arguments.items()):
        if dynamic_shapes is None:
            yield from _walk(tree, None)
        elif by_name:
            yield from _walk(tree, dynamic_shapes.get(name))
        else:
            yield from _walk(tree, dynamic_shapes[i] if i < len(dynamic_shapes) else None)


def _walk(tree: Tree, spec: Any) -> Iterator[tuple[str, Any]]:
    if "tensor" in tree:
        yield tree["tensor"], spec
    for i, item in enumerate(tree.get("items", ())):
        keys = tree.get("keys")
        if isinstance(spec, Mapping):
            part = spec.get(keys[i]) if keys else None
        else:
            part = spec[i] if isinstance(spec, (tuple, list)) and i < len(spec) else None
        yield from _walk(item, part)


def _axis(spec: Any, axis: int) -> Any:
    if isinstance(spec, Mapping):
        return spec.get(axis)
    return spec[axis] if isinstance(spec, (tuple, list)) and axis < len(spec) else None


def _name(given: Any) -> str | None:
    """The name of a ``Dim``; hints (``Dim.AUTO``), numbers and dims derived from another have none."""
    name = getattr(given, "__name__", None)
    return name if name is not None and dims.NAME.fullmatch(name) else None
