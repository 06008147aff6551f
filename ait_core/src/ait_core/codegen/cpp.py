# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions as C++ statements, each placed in the outermost block where its loop variables are known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ait_core.errors import InternalError
from ait_core.fuse.nest import walk
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Value
from ait_core.ir.index import Affine, affine
from ait_core.ir.layout import Layout
from ait_core.scalar.expr import Expr
from ait_core.scalar.primitives import PRIMITIVES

ROW = "@row"  # marks the block of one row: what a reduction left is known there
ELEMENT = "@element"  # marks the block of one element: the anchor's accumulator is known there


@dataclass
class Site:
    """Where a value lies, as the kernel sees it."""

    pointer: str
    storage: str


@dataclass(eq=False)
class Block:
    """A C++ block. ``known`` are the loop variables (and markers) it introduces."""

    parent: Block | None = None
    known: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)
    names: dict[object, str] = field(default_factory=dict)

    def child(self, *known: str) -> Block:
        return Block(self, frozenset(known))

    def chain(self) -> list[Block]:
        """From the outermost block to this one."""
        out = [self]
        while out[0].parent is not None:
            out.insert(0, out[0].parent)
        return out

    def home(self, needs: frozenset[str]) -> Block:
        """The outermost block that knows all of ``needs``."""
        known: set[str] = set()
        for b in self.chain():
            known |= b.known
            if needs <= known:
                return b
        raise InternalError(f"Code generation: {sorted(needs - known)} are not known here.")

    def find(self, key: object) -> str | None:
        for b in self.chain():
            if key in b.names:
                return b.names[key]
        return None


def indent(lines: list[str], by: int = 1) -> list[str]:
    return ["  " * by + line if line and not line.startswith("#") else line for line in lines]


class Emitter:
    """Writes expressions into blocks.

    Args:
        site: where a loaded or stored value lies, from a constant number of elements on.
        layout: strides of such a value.
        size: C++ for a symbolic size.
    """

    def __init__(self, site: Callable[[Value, Dim], Site], layout: Callable[[Value], Layout],
                 size: Callable[[Dim], str]) -> None:  # fmt: skip
        self.site, self.layout, self.size = site, layout, size
        self.carried: dict[object, Callable[[Block, Expr], str]] = {}
        self._needs: dict[Expr, frozenset[str]] = {}
        self._count = 0

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def needs(self, e: Expr) -> frozenset[str]:
        """The loop variables and markers an expression depends on."""
        stack = [e]
        while stack:
            x = stack[-1]
            todo = [a for a in x.args if a not in self._needs]
            if x in self._needs or not todo:
                if x not in self._needs:
                    own = {x.payload.name} if x.op == "var" else set()
                    if x.op == "carry":
                        own |= {ROW} if x.payload.what != "acc" or x.args else {ELEMENT}
                    self._needs[x] = frozenset(own).union(*(self._needs[a] for a in x.args))
                stack.pop()
            else:
                stack.extend(todo)
        return self._needs[e]

    def emit(self, e: Expr, block: Block) -> str:
        """C++ naming the value of ``e`` inside ``block``; statements are added where they belong."""
        found = block.find(e)
        if found is not None:
            return found
        match e.op:
            case "const":
                return literal(e.payload, e.kind)
            case "size":
                return _tight(self.size(e.payload))
            case "var":
                return e.payload.name
        home = block.home(self.needs(e))
        match e.op:
            case "load":
                text = self._load(e, home)
            case "carry":
                text = self.carried[e.payload.what](home, e)
            case "cast":
                inner = self.emit(e.args[0], home)
                text = f"ait::cast<{e.kind}>(ait::cast<{e.payload.storage}>({inner}))"
                if e.payload.storage == e.kind:
                    text = f"ait::cast<{e.kind}>({inner})"
            case "convert":
                text = f"ait::cast<{e.kind}>({self.emit(e.args[0], home)})"
            case "idiv" | "imod":
                a = self.address(affine(e.args[0]), home)
                text = f"({a}) {'/' if e.op == 'idiv' else '%'} {self.emit(e.args[1], home)}"
            case "clamp":
                text = f"ait::clamp_index({self.emit(e.args[0], home)}, {self.emit(e.args[1], home)})"
            case "check":
                text = f"ait::check_index({self.emit(e.args[0], home)}, {self.emit(e.args[1], home)}, ctx)"
            case _:
                text = PRIMITIVES[e.op].cpp.format(*(self._argument(a, home) for a in e.args))
        name = self.fresh("v")
        home.lines.append(f"const {e.kind} {name} = {text};")
        home.names[e] = name
        return name

    def _argument(self, e: Expr, block: Block) -> str:
        """``e`` with its own C++ type, from which templates deduce theirs, fit to stand behind an operator."""
        return _tight(literal(e.payload, e.kind, typed=True) if e.op == "const" else self.emit(e, block))

    def address(self, at: Affine, block: Block) -> str:
        """C++ for a sum of terms."""
        parts = []
        for term, c in at.terms.items():
            t = self.emit(term, block)
            parts.append(t if c == 1 else f"{t} * {_tight(self.size(c))}")
        if at.constant != 0 or not parts:
            parts.append(self.size(at.constant))
        return " + ".join(parts)

    def element(self, v: Value, coords: tuple[Affine, ...], block: Block) -> tuple[str, Block]:
        """C++ pointer to an element, with everything that does not change in the innermost loop hoisted out."""
        at = linear(coords, self.layout(v).strides)
        site = self.site(v, at.constant)  # constant offsets go into the operand, so that equal kernels stay equal
        return self._pointer(site.pointer, site.storage, Affine(at.terms, 0), block, (v, at.constant))

    def pointer(self, base: str, storage: str, layout: Layout, coords, block: Block, key: object) -> tuple[str, Block]:
        """The same for an array that the kernel itself made."""
        return self._pointer(base, storage, linear(coords, layout.strides), block, key)

    def _pointer(self, base: str, storage: str, at: Affine, block: Block, key: object) -> tuple[str, Block]:
        home = block.home(frozenset().union(*(self.needs(t) for t in at.terms)) if at.terms else frozenset())
        outer = home.chain()[:-1]
        if outer and at.terms:
            above = outer[-1]
            known = frozenset().union(*(b.known for b in outer))
            fixed = {t: c for t, c in at.terms.items() if self.needs(t) <= known}
            if fixed and len(fixed) < len(at.terms):
                moved = Affine(fixed, at.constant)
                memo = (key, base, moved, "pointer")
                name = above.find(memo)
                if name is None:
                    name = self.fresh(f"{base}_")
                    above.lines.append(f"{storage}* {name} = {base} + {_paren(self.address(moved, above))};")
                    above.names[memo] = name
                base, at = name, Affine({t: c for t, c in at.terms.items() if t not in fixed}, 0)
        return f"{base} + {_paren(self.address(at, block))}" if at.terms or at.constant != 0 else base, home

    def _load(self, e: Expr, block: Block) -> str:
        v: Value = e.payload
        coords = tuple(affine(a) for a in e.args)
        text = f"ait::load({self.element(v, coords, block)[0]})"
        if dims.bounds(v.type.numel)[0] == 0 and any(x.op == "clamp" for x in walk(e.args)):
            return f"{self.size(v.type.numel)} > 0 ? {text} : {e.kind}(0)"
        return text

    def store(self, v: Value, coords: tuple[Affine, ...], e: Expr, block: Block) -> None:
        """Append the statement that writes ``e`` to an element of ``v``."""
        if e.op == "cast" and e.payload == v.dtype:
            e = e.args[0]  # storing rounds
        value = self.emit(e, block)
        where, _ = self.element(v, coords, block)
        block.lines.append(f"ait::store({where}, {value});")


def linear(coords: tuple[Affine, ...], strides: tuple[Dim, ...]) -> Affine:
    """The address of an element, in elements."""
    at = Affine.of(0)
    for c, stride in zip(coords, strides, strict=True):
        at = at + c * stride
    return at.recombined()


def _tight(text: str) -> str:
    """``text`` fit to stand behind any operator: a name, a number, a macro's call, or parentheses."""
    return text if re.fullmatch(r"[\w.:<>]+(\(-?\w+\))?", text) else f"({text})"


def _paren(text: str) -> str:
    return f"({text})" if " " in text else text


def literal(value: float | int | bool, kind: str, typed: bool = False) -> str:
    """A C++ literal that reads back exactly; a small ``std::int64_t`` is an ``int`` unless it must be ``typed``."""
    if kind == "bool":
        return "true" if value else "false"
    if kind in ("float", "double"):
        if math.isnan(value):
            return f"ait::nan<{kind}>"
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}ait::infinity<{kind}>"
        text = repr(float(value))
        text = text if any(c in text for c in ".en") else text + ".0"
        return f"{text}f" if kind == "float" else text
    if value == (-(1 << 31) if kind == "std::int32_t" else -(1 << 63)):  # C++ has no negative literals
        return f"({literal(value + 1, kind, typed)} - 1)"
    plain = kind == "std::int32_t" or (not typed and -(1 << 31) < value < (1 << 31))
    return str(value) if plain else f"INT64_C({value})"
