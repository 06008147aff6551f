# SPDX-License-Identifier: Apache-2.0
"""Lowering values to scalar expressions: what is element ``coords`` of ``value``, in terms of what lies in memory?

Views become index arithmetic, pointwise ops become arithmetic, gathers become loads at looked-up places, joins become
selections. Two ways to the same element give the same (interned) expression, so nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ait_core.declare import roles
from ait_core.ir import dims
from ait_core.ir.dims import Shape
from ait_core.ir.dtypes import DType
from ait_core.ir.graph import Node, Value
from ait_core.ir.index import Affine, affine, size
from ait_core.ir.views import Coords, View
from ait_core.scalar import expr as E
from ait_core.scalar.expr import Expr

NARROW = ("int8", "uint8", "int16")  # compute wider than they are stored, so results wrap when rounded
LOOP_ROLES = (roles.Pointwise, roles.Indexed, roles.Viewing, roles.Join)


class NotFusable(Exception):
    """Why two nodes cannot share a kernel, in words for ``ait explain``."""


@dataclass(frozen=True)
class Carry:
    """The payload of a ``carry`` leaf: ``what`` is ``"acc"`` (the anchor kernel's result) or a reduction's value."""

    what: Any


def view_steps(node: Node) -> list[tuple[View, Shape]]:
    """The view primitives of a view node, each with the shape it is applied to."""
    out = []
    x = node.inputs[0]
    shape = x.shape  # type: ignore[union-attr]
    for step in node.op.role.steps(x.type, **node.attrs):  # type: ignore[union-attr]
        out.append((step, shape))
        shape = step.shape(shape)
    return out


def base_of(v: Value) -> tuple[Value, list[tuple[View, Shape]]]:
    """The value that ``v`` is a view of, and the steps from there to ``v``."""
    steps: list[tuple[View, Shape]] = []
    while v.node is not None and isinstance(v.node.op.role, roles.Viewing):
        steps[:0] = view_steps(v.node)
        v = v.node.inputs[0]  # type: ignore[assignment]
    return v, steps


def spread(coords: Coords, shape: Shape) -> Coords:
    """Coordinates in an operand of ``shape`` that broadcasts to where ``coords`` points."""
    lead = len(coords) - len(shape)
    return tuple(Affine.of(0) if n == 1 else coords[lead + i] for i, n in enumerate(shape))


class Lowerer:
    """Lowers values of one kernel.

    Args:
        inside: whether a node is computed in this kernel; everything else is loaded.
        leaves: how to read values that the kernel provides itself (an accumulator, a reduction's result):
            ``leaf(coords) -> Expr``.
    """

    def __init__(self, inside: Callable[[Node], bool], leaves: dict[Value, Callable[[Coords], Expr]]) -> None:
        self.inside, self.leaves = inside, leaves
        self._memo: dict[tuple[Value, Coords], Expr] = {}

    def at(self, v: Value, coords: Coords) -> Expr:
        """Element ``coords`` of ``v``, in the compute kind of its dtype."""
        key = (v, coords)
        if key not in self._memo:
            self._memo[key] = self._at(v, coords)
        return self._memo[key]

    def _at(self, v: Value, coords: Coords) -> Expr:
        if v in self.leaves:
            return self.leaves[v](coords)
        if v.constant is not None and v.constant.parameter is None and v.constant.array.size == 1:
            return E.const(v.constant.array.reshape(()).item(), v.dtype.compute)
        node = v.node
        if node is None:
            return self.load(v, coords)
        match node.op.role:
            case roles.Viewing():
                for step, shape in reversed(view_steps(node)):
                    coords = step.coords(coords, shape)
                return self.at(node.inputs[0], coords)  # type: ignore[arg-type]
            case roles.Pointwise(fn) if self.inside(node):
                args = [None if x is None else self.at(x, spread(coords, x.shape)) for x in node.inputs]
                return result(fn(*args, **node.attrs), v.dtype)
            case roles.Indexed(fn) if self.inside(node):
                reads = [None if x is None else Read(self, x) for x in node.inputs]
                return result(fn(tuple(c.expr() for c in coords), *reads, **node.attrs), v.dtype)
            case roles.Join(axis) if self.inside(node):
                return self._join(node, axis(*(x.type for x in node.operands), **node.attrs), coords)
        return self.load(v, coords)

    def _join(self, node: Node, axis: int, coords: Coords) -> Expr:
        starts: list[dims.Dim] = [0]
        for x in node.operands[:-1]:
            starts.append(starts[-1] + x.shape[axis])
        out: Expr | None = None
        for x, start in reversed(list(zip(node.operands, starts, strict=True))):
            at = coords[axis] - start
            inner = at if at.within(x.shape[axis]) else Affine.term(clamp(at.expr(), x.shape[axis]))
            part = result(self.at(x, (*coords[:axis], inner, *coords[axis + 1 :])), node.output.dtype)
            out = part if out is None else E.apply("where", coords[axis].expr() < size(start + x.shape[axis]), part, out)
        return out  # type: ignore[return-value]

    def load(self, v: Value, coords: Coords) -> Expr:
        """Element ``coords`` of a tensor in memory."""
        return Expr("load", tuple(c.expr() for c in coords), v.dtype.compute, v)


def clamp(index: Expr, n: dims.Dim) -> Expr:
    """``index`` moved into ``0 .. n-1``."""
    return Expr("clamp", (index, size(n)), E.INDEX)


class Read:
    """How an indexed op reads an operand: called with coordinates; those not proven inside are clamped."""

    def __init__(self, lowerer: Lowerer, v: Value) -> None:
        self._lowerer, self._value, self.shape, self.dtype = lowerer, v, v.shape, v.dtype

    def __call__(self, *at: Any) -> Expr:
        coords = []
        for i, n in zip(at, self.shape, strict=True):
            c = affine(E.convert(i, E.INDEX)) if isinstance(i, Expr) else Affine.of(i)
            coords.append(c if c.within(n) else Affine.term(clamp(c.expr(), n)))
        return self._lowerer.at(self._value, tuple(coords))


def result(e: Any, dtype: DType) -> Expr:
    """``e`` as a value of ``dtype``: in its compute kind, wrapped if the storage is narrower than that."""
    e = e if isinstance(e, Expr) else E.const(e, dtype.compute)
    if dtype.name in NARROW or (e.kind != dtype.compute and not (dtype.is_float and e.kind in ("float", "double"))):
        return E.cast(e, dtype)
    return E.convert(e, dtype.compute)


def forward(coords: Coords, path: list[Node]) -> Coords:
    """Where element ``coords`` of the first operand of ``path[0]`` ends up after a path of pointwise and view nodes.

    Raises:
        NotFusable: if a view on the path drops or repeats elements.
    """
    for node in path:
        if isinstance(node.op.role, roles.Viewing):
            for step, shape in view_steps(node):
                back = step.inverse(shape)
                if back is None:
                    raise NotFusable(f"{node.op.name} drops or repeats elements")
                coords = back.coords(coords, step.shape(shape))
    return coords
