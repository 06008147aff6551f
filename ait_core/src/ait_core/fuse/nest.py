# SPDX-License-Identifier: Apache-2.0
"""A loop nest: how the pointwise work, reductions and gathers of one group run over rows.

Outer iterations are independent. Within one, stages run in order; each stage is a loop over inner variables that
computes reductions, stores results, or both. What a later stage needs again is carried in scratch memory, so a layer
norm reads its input once and a softmax takes each exponential once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ait_core.declare import roles
from ait_core.fuse.lower import Carry, Lowerer, NotFusable, view_steps
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.graph import Node, Value
from ait_core.ir.index import Affine, Var, var
from ait_core.ir.views import Coords, Reshape
from ait_core.scalar import expr as E
from ait_core.scalar.expr import Expr
from ait_core.scalar.primitives import PRIMITIVES

LONG = 8192  # terms; a longer sum of floats is accumulated in double
CARRY_COST = 2  # what reading a carried value back costs, in additions


@dataclass(eq=False)
class Reduce:
    """Accumulate ``expr`` over the stage's loops into the reduction ``value``, at ``into`` (empty: a scalar)."""

    value: Value
    combine: str
    expr: Expr
    into: Coords
    shape: Shape
    position: Expr | None = None  # of argmax and argmin: the index along the reduced axes
    count: Dim = 1  # elements that one result is made of

    @property
    def kind(self) -> str:
        """C++ type that is accumulated in: a long sum in float would stop growing once it is 2**24 times its terms."""
        long = self.combine in ("sum", "prod") and dims.bounds(self.count)[1] > LONG
        return "double" if long and self.expr.kind == "float" else self.expr.kind

    @property
    def arrays(self) -> dict[str, str]:
        """What is accumulated, by the C++ type of an element: an extreme's place, and the extreme itself."""
        return {"sums": self.kind} if self.position is None else {"at": E.INDEX, "best": self.expr.kind}


@dataclass(eq=False)
class Store:
    """Write ``expr`` to element ``coords`` of the tensor ``value``."""

    value: Value
    coords: Coords
    expr: Expr


@dataclass(eq=False)
class Scratch:
    """A carried value: ``expr`` of one stage kept for later ones, one element an inner iteration."""

    name: str
    expr: Expr
    loops: tuple[Var, ...]

    @property
    def shape(self) -> Shape:
        return tuple(v.size for v in self.loops)


@dataclass(eq=False)
class Stage:
    loops: tuple[Var, ...]
    reduces: list[Reduce] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    carries: list[Scratch] = field(default_factory=list)

    def exprs(self) -> Iterable[Expr]:
        yield from (r.expr for r in self.reduces)
        yield from (r.position for r in self.reduces if r.position is not None)
        yield from (s.expr for s in self.stores)
        yield from (c.expr for c in self.carries)


@dataclass(eq=False)
class LoopNest:
    """``outer`` are the coordinates of one row; ``rows`` the loop variable they are made of (absent in an epilogue,
    where the anchor kernel gives the row)."""

    outer: Coords
    rows: Var | None
    stages: list[Stage]

    @property
    def scratch(self) -> list[Scratch]:
        return [c for s in self.stages for c in s.carries]

    @property
    def accumulators(self) -> list[Reduce]:
        """Reductions that leave more than one number a row."""
        return [r for s in self.stages for r in s.reduces if r.shape]

    def scratch_bytes(self) -> Dim:
        """Bytes of scratch memory one thread needs: carried rows and accumulator rows."""
        sizes = [dims.prod(c.shape) for c in self.scratch]
        sizes += [dims.prod(r.shape) for r in self.accumulators for _ in r.arrays]
        return sum((dims.ceil_div(n * 8, 64) * 64 for n in sizes), start=0)


def reduced_axes(node: Node) -> list[int]:
    x = node.inputs[0]
    return sorted(x.type.axis(a) for a in node.attrs["axes"])  # type: ignore[union-attr]


@dataclass(frozen=True)
class Anchor:
    """The kernel a nest is the epilogue of: its result is read as the ``acc`` of the running row."""

    value: Value
    coords: Coords  # of the element ``(row..., j)`` in the value's own shape
    rank: int  # how many leading coordinates the kernel fixes per row


def build_nest(nodes: list[Node], outputs: list[Value], inside: Callable[[Node], bool],
               anchor: Anchor | None = None, inner_rank: int = 1) -> LoopNest:  # fmt: skip
    """Schedule the pointwise, indexed and reduction nodes of a group.

    Args:
        nodes: the group's nodes in topological order.
        outputs: what must be stored.
        inside: whether a node's value is computed here (also nodes of other groups that are cheap to compute again).
        anchor: the kernel this is the row-wise epilogue of.
        inner_rank: without reductions, how many trailing axes the inner loop covers.

    Raises:
        NotFusable: with the reason in words, if the nodes do not fit one nest.
    """
    reductions = [n for n in nodes if isinstance(n.op.role, roles.Reduction)]
    if anchor is not None:
        sizes = anchor.value.shape[: anchor.rank]
        outer: Coords = anchor.coords[: anchor.rank]
        rows = None
    else:
        first = reductions[0].inputs[0].shape if reductions else outputs[0].shape  # type: ignore[union-attr]
        rank = min((reduced_axes(n)[0] if reduced_axes(n) else n.inputs[0].type.rank for n in reductions),  # type: ignore[union-attr]
                   default=max(0, len(first) - inner_rank))  # fmt: skip
        if reductions:
            rank = min(rank, *(v.type.rank for v in outputs))
        sizes = first[:rank]
        rows = Var("row", dims.prod(sizes))
        outer = _rows(sizes, rows)
    rank = len(outer)

    leaves: dict[Value, Callable[[Coords], Expr]] = {}

    def same_row(v: Value, at: Coords) -> None:
        if len(at) < rank or any(a != b for a, b in zip(at[:rank], outer, strict=False)):
            raise NotFusable(f"{v.name} is needed for other rows than the one that is being computed")

    if anchor is not None:
        def read_acc(at: Coords) -> Expr:
            same_row(anchor.value, at)
            return Expr("carry", tuple(c.expr() for c in at[rank:]), anchor.value.dtype.compute, Carry("acc"))

        leaves[anchor.value] = read_acc
    lower = Lowerer(inside, leaves)
    level: dict[Value, int] = {}
    stages: dict[tuple, Stage] = {}

    def stage_for(exprs: list[Expr], loops: tuple[Var, ...]) -> tuple[int, Stage]:
        at = max((level[c] + 1 for e in exprs for c in _carried(e) if isinstance(c, Value)), default=0)
        return at, stages.setdefault((at, loops), Stage(loops))

    def inner(shape: Shape) -> tuple[tuple[Var, ...], Coords]:
        if len(shape) < rank or not dims.same_shape(shape[:rank], sizes):
            raise NotFusable(f"its rows [{_text(shape[:rank])}] are not the group's [{_text(sizes)}]")
        if anchor is None and not reductions:  # one loop over all inner axes
            size = dims.prod(shape[rank:])
            loop = () if size == 1 else (Var("i", size),)
            return loop, (*outer, *Reshape((size,)).coords((var("i", size),), shape[rank:]))
        loops = tuple(Var(f"i{k}", n) for k, n in enumerate(shape[rank:]))
        return tuple(v for v in loops if v.size != 1), (*outer, *(var(v.name, v.size) for v in loops))

    for n in reductions:
        x, axes = n.inputs[0], reduced_axes(n)
        loops, coords = inner(x.shape)  # type: ignore[union-attr]
        if any(a < rank for a in axes):
            raise NotFusable(f"{n.op.name} reduces over the rows of the group")
        expr = lower.at(x, coords)  # type: ignore[arg-type]
        kept = [a for a in range(x.type.rank) if a not in axes]  # type: ignore[union-attr]
        into = tuple(coords[a] for a in kept[rank:])
        shape = tuple(x.shape[a] for a in kept[rank:])  # type: ignore[union-attr]
        combine = n.op.role.combine  # type: ignore[union-attr]
        position = None
        if combine.startswith("arg"):
            flat = Affine.of(0)
            for a in axes:
                flat = flat * x.shape[a] + coords[a]  # type: ignore[union-attr]
            position = flat.expr()
        kind = n.output.dtype.compute if not combine.startswith("arg") else expr.kind
        r = Reduce(n.output, combine, _prepare(expr, combine, kind), into, shape, position)
        r.count = dims.prod(x.shape[a] for a in axes)  # type: ignore[union-attr]
        level[n.output], stage = stage_for([r.expr], loops)
        stage.reduces.append(r)
        keepdim = n.attrs.get("keepdim", False)

        def read(at: Coords, n: Node = n, kept: list[int] = kept, keepdim: bool = keepdim) -> Expr:
            at = tuple(at[a] for a in kept) if keepdim else at
            same_row(n.output, at)
            return Expr("carry", tuple(c.expr() for c in at[rank:]), n.output.dtype.compute, Carry(n.output))

        leaves[n.output] = read

    for v in outputs:
        if anchor is None and not reductions and v is not outputs[0] and not dims.same_shape(v.shape, outputs[0].shape):
            raise NotFusable(f"its shape [{_text(v.shape)}] is not the group's [{_text(outputs[0].shape)}]")
        loops, coords = inner(v.shape)
        expr = lower.at(v, coords)
        stage_for([expr], loops)[1].stores.append(Store(v, coords, expr))

    ordered = [stages[k] for k in sorted(stages, key=lambda k: (k[0], len(k[1])))]
    if len(ordered) > 1:
        _Carrier(ordered)
    return LoopNest(outer, rows, ordered)


def _rows(sizes: Shape, rows: Var) -> Coords:
    """Coordinates of a row from the one loop over all rows."""
    if not sizes:
        return ()
    return Reshape((rows.size,)).coords((var("row", rows.size),), sizes)


def _prepare(e: Expr, combine: str, kind: str) -> Expr:
    if combine in ("any", "all"):
        return e if e.kind == "bool" else E.apply("ne", e, 0)
    return E.convert(e, kind)


def _text(shape: Shape) -> str:
    return ", ".join(map(dims.text, shape))


def walk(roots: Iterable[Expr]) -> Iterable[Expr]:
    """Every expression below ``roots`` once, operands before users."""
    seen: set[Expr] = set()
    stack = [(r, False) for r in roots]
    while stack:
        e, done = stack.pop()
        if done:
            yield e
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack.extend((a, False) for a in reversed(e.args))


def _carried(e: Expr) -> list:
    return [x.payload.what for x in walk([e]) if x.op == "carry"]


def cost(e: Expr, memo: dict[Expr, int]) -> int:
    """What computing ``e`` costs per element, in additions; sharing is not counted twice per operand."""
    for x in walk([e]):
        if x not in memo:
            own = PRIMITIVES[x.op].cost if x.op in PRIMITIVES else 1 if x.op in ("load", "carry") else 0
            memo[x] = own + sum(memo[a] for a in x.args)
    return memo[e]


class _Carrier:
    """Replaces what an earlier stage has computed per element by what it kept in scratch memory."""

    def __init__(self, stages: list[Stage]) -> None:
        self.stages = stages
        self.made: dict[tuple[Expr, tuple[Var, ...]], tuple[int, Expr]] = {}  # first stage, and the expression there
        self.kept: dict[tuple[Expr, tuple[Var, ...]], Scratch] = {}
        self.costs: dict[Expr, int] = {}
        for i, stage in enumerate(stages):
            self._stage(i, stage)

    def _stage(self, i: int, stage: Stage) -> None:
        names = {v.name for v in stage.loops}
        varies: dict[Expr, bool] = {}
        before = list(stage.exprs())
        for e in walk(before):
            varies[e] = (e.op == "var" and e.payload.name in names) or any(varies[a] for a in e.args)
        new: dict[Expr, Expr] = {}
        for r in stage.reduces:
            r.expr = self._replaced(r.expr, i, stage, varies, new)
            r.position = None if r.position is None else self._replaced(r.position, i, stage, varies, new)
        for s in stage.stores:
            s.expr = self._replaced(s.expr, i, stage, varies, new)
        for e in walk(before):
            if varies[e]:
                self.made.setdefault((e, stage.loops), (i, new.get(e, e)))

    def _replaced(self, root: Expr, i: int, stage: Stage, varies: dict[Expr, bool], new: dict[Expr, Expr]) -> Expr:
        stack = [root]
        while stack:
            e = stack[-1]
            known = self.made.get((e, stage.loops))
            todo = [a for a in e.args if a not in new]
            if e in new:
                stack.pop()
            elif known is not None and known[0] < i and varies[e] and cost(e, self.costs) > CARRY_COST:
                new[e] = self._read_back(e, stage.loops, *known)
            elif todo:
                stack.extend(todo)
            else:
                new[e] = Expr(e.op, tuple(new[a] for a in e.args), e.kind, e.payload)
        return new[root]

    def _read_back(self, e: Expr, loops: tuple[Var, ...], first: int, there: Expr) -> Expr:
        scratch = self.kept.get((e, loops))
        if scratch is None:
            scratch = self.kept[e, loops] = Scratch(f"kept{len(self.kept)}", there, loops)
            self.stages[first].carries.append(scratch)
        return Expr("carry", tuple(var(v.name, v.size).expr() for v in loops), e.kind, Carry(scratch))


def bijective(node: Node) -> bool:
    """Whether every element of a view's operand appears exactly once in its result."""
    return all(step.inverse(shape) is not None for step, shape in view_steps(node))
