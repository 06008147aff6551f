# SPDX-License-Identifier: Apache-2.0
"""Vertical fusion: which nodes share a kernel.

Every node that needs a kernel template of its own (contraction, attention, ...) anchors a group. Pointwise work,
reductions and gathers then join the group of a producer, the anchor's first, wherever the template can absorb them and
the loop nest can be built; what is left becomes groups of its own. Groups that are cheap to compute again are computed
inside their readers. Nothing here knows an op by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ait_core.declare import roles
from ait_core.declare.kernel import Absorbs, Kernel
from ait_core.fuse.lower import Lowerer, NotFusable, base_of, forward
from ait_core.fuse.nest import Anchor, LoopNest, bijective, build_nest, cost, reduced_axes
from ait_core.ir import dims
from ait_core.ir.dims import Shape
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.index import var
from ait_core.ir.views import Coords, Reshape
from ait_core.scalar.expr import Expr

MAX_NODES = 96  # a kernel with more statements compiles slowly and runs out of registers
RECOMPUTE_COST = 12  # additions an element; up to this a group is computed again rather than stored
LIGHT_COST = 4  # the same for one node of a group, which then need not be stored for readers in other kernels

Role = roles.Role


def is_loop(node: Node) -> bool:
    """Whether a node can run inside a loop nest."""
    return isinstance(node.op.role, (roles.Pointwise, roles.Indexed, roles.Reduction))


@dataclass(eq=False)
class Group:
    """Nodes that become one kernel launch."""

    index: int
    anchor: Node | None = None
    kernel: Kernel | None = None
    nodes: list[Node] = field(default_factory=list)
    load_time: bool = False  # depends on weights only: runs when the model is loaded
    inlined: bool = False  # computed inside every reader instead
    rowwise: bool = False  # has reductions in the anchor's epilogue
    outputs: list[Value] = field(default_factory=list)
    name: str = ""

    @property
    def members(self) -> list[Node]:
        return ([self.anchor] if self.anchor else []) + self.nodes

    @property
    def ops(self) -> str:
        """The ops it came from, for people: composite ops by their own name, once."""
        names: list[str] = []
        for n in self.members:
            shown = n.origin or n.op.name
            if not names or names[-1] != shown:
                names.append(shown)
        return " + ".join(dict.fromkeys(names))


@dataclass
class Decision:
    """Why an edge was or was not fused, for ``ait explain``."""

    producer: str
    consumer: str
    fused: bool
    reason: str


class Fuser:
    """Groups the nodes of one graph.

    Args:
        kernels: the template chosen for an anchor node, or None if it runs in loops.
        vertical: off puts every node in a group of its own (the passes' off switch).
    """

    def __init__(self, graph: Graph, kernels: Callable[[Node], Kernel | None], vertical: bool = True) -> None:
        self.graph, self.vertical = graph, vertical
        self.groups: list[Group] = []
        self.of: dict[Node, Group] = {}
        self.above: list[int] = []  # bit set of the groups each group depends on
        self.decisions: list[Decision] = []
        self.light: set[Node] = set()
        self.users = graph.users()
        self.constant = load_time_values(graph)
        for node in graph.nodes:
            load = node.output in self.constant
            if isinstance(node.op.role, (roles.Viewing, roles.Join)):
                continue
            kernel = kernels(node)
            if kernel is None and is_loop(node) and self._join(node, load):
                continue
            self._new(node, kernel, load)
        self._inline()
        self._lighten()
        self._merge()
        self._outputs()
        self.order = self._sort()

    # -- growing -------------------------------------------------------------------------------------------------------

    def _producers(self, node: Node) -> list[Group]:
        """Groups whose values the node reads, also through views and joins."""
        found: dict[int, Group] = {}
        stack = list(node.operands)
        seen: set[Value] = set()
        while stack:
            v, _ = base_of(stack.pop())
            if v in seen or v.node is None:
                continue
            seen.add(v)
            if isinstance(v.node.op.role, roles.Join):
                stack += v.node.operands
            else:
                found[self.of[v.node].index] = self.of[v.node]
        return list(found.values())

    def _new(self, node: Node, kernel: Kernel | None, load: bool) -> Group:
        g = Group(len(self.groups), node if kernel else None, kernel, [] if kernel else [node], load)
        self.groups.append(g)
        self.of[node] = g
        self.above.append(0)
        self._depend(g, self._producers(node))
        return g

    def _depend(self, g: Group, producers: list[Group]) -> None:
        new = 0
        for p in producers:
            if p is not g:
                new |= self.above[p.index] | 1 << p.index
        new &= ~self.above[g.index]
        if new:
            self.above[g.index] |= new
            for i, above in enumerate(self.above):
                if above >> g.index & 1:
                    self.above[i] |= new

    def _join(self, node: Node, load: bool) -> bool:
        """Put a loop node into the group of one of its producers, if one can take it."""
        producers = self._producers(node)
        direct = [base_of(v)[0] for v in node.operands]
        candidates = [g for g in producers if any(v.node in self.of and self.of[v.node] is g for v in direct if v.node)]
        candidates.sort(key=lambda g: (g.anchor is not None, g.index), reverse=True)
        for g in candidates:
            reason = self._why_not(node, g, producers, load)
            source = next(v for v in direct if v.node and self.of.get(v.node) is g)
            self.decisions.append(Decision(source.name, node.output.name, reason is None, reason or _how(g, node)))
            if reason is None:
                g.nodes.append(node)
                g.rowwise |= g.anchor is not None and isinstance(node.op.role, roles.Reduction)
                self.of[node] = g
                self._depend(g, producers)
                return True
        return False

    def _why_not(self, node: Node, g: Group, producers: list[Group], load: bool) -> str | None:
        if not self.vertical:
            return "vertical fusion is switched off"
        if g.load_time != load:
            return "one runs when the model is loaded, the other on every call"
        if len(g.nodes) >= MAX_NODES:
            return f"the kernel already holds {MAX_NODES} nodes"
        if any(p is not g and self.above[p.index] >> g.index & 1 for p in producers):
            return "another operand is computed from this kernel's result by a kernel in between"
        try:
            if g.anchor is not None:
                self._check_epilogue(node, g)
            elif not self._trivial(node, g):
                nodes = [*g.nodes, node]
                build_nest(nodes, self._stored(nodes), lambda n: n in nodes or self.recomputed(n))
        except NotFusable as e:
            return str(e)
        return None

    def _trivial(self, node: Node, g: Group) -> bool:
        """Same shapes, no views, no reductions: always fits, without building the nest."""
        shape = node.output.shape
        return isinstance(node.op.role, roles.Pointwise) and all(
            isinstance(n.op.role, roles.Pointwise) and dims.same_shape(n.output.shape, shape) for n in g.nodes
        ) and all(v.node is None or v.node in self.of or isinstance(v.node.op.role, roles.Join) for v in node.operands)  # fmt: skip

    def _check_epilogue(self, node: Node, g: Group) -> None:
        absorbs: Absorbs = g.kernel.absorbs  # type: ignore[union-attr]
        what = f"the template {g.kernel.name}"  # type: ignore[union-attr]
        if not absorbs.epilogue:
            raise NotFusable(f"{what} absorbs no epilogue")
        if isinstance(node.op.role, roles.Indexed):
            raise NotFusable("an indexed op reads elements that other threads may not have computed yet")
        nodes = [*g.nodes, node]
        rowwise = g.rowwise or isinstance(node.op.role, roles.Reduction)
        out = g.anchor.output  # type: ignore[union-attr]
        if rowwise:
            if not absorbs.rows:
                raise NotFusable(f"{what} absorbs no reductions in its epilogue")
            if dims.bounds(out.shape[-1])[0] == 0:
                raise NotFusable("rows may be empty: they have a result, but there is nothing to compute them behind")
            if isinstance(node.op.role, roles.Reduction) and reduced_axes(node) != [node.inputs[0].type.rank - 1]:  # type: ignore[union-attr]
                raise NotFusable(f"{what} reduces over the last axis only")
            build_nest(nodes, self._stored(nodes), lambda n: n in nodes or self.recomputed(n), natural_anchor(out))
        else:
            epilogue(out, nodes, [node.output], lambda n: n in nodes or self.recomputed(n), out.shape)

    def recomputed(self, n: Node) -> bool:
        """Whether readers in other kernels compute a node's value themselves."""
        g = self.of.get(n)
        return n in self.light or (g is not None and g.inlined)

    def _stored(self, nodes: list[Node]) -> list[Value]:
        """What a group of these nodes must store: values with readers outside, or the last one."""
        inside = set(nodes)
        outs = set(self.graph.outputs.values())
        kept = [n.output for n in nodes if n.output in outs or not all(self._read_inside(n.output, inside))]
        return kept or [nodes[-1].output]

    def _read_inside(self, v: Value, inside: set[Node]):
        for user, _ in self.users.get(v, ()):
            if isinstance(user.op.role, roles.Viewing):
                out = user.output
                yield out not in self.graph.outputs.values() and all(self._read_inside(out, inside))
            else:
                yield user in inside

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def _inline(self) -> None:
        """Compute cheap groups inside their readers. A group is cheap if its elements cost little and every reader
        can take elements through a functor or a loop."""
        if not self.vertical:
            return
        outs = {base_of(v)[0] for v in self.graph.outputs.values()}
        held = [len(g.nodes) for g in self.groups]  # nodes that each kernel computes, with those of inlined groups
        for g in self.groups:
            if g.anchor or g.load_time or any(isinstance(n.op.role, roles.Reduction) for n in g.nodes):
                continue
            readers = [(v, r) for n in g.nodes for v in n.outputs for r in self._readers(v) if self.of.get(r[0]) is not g]
            if any(v in outs for n in g.nodes for v in n.outputs) or not readers:
                continue
            if not all(self._takes_elements(user, i) for _, (user, i) in readers):
                continue
            into = {self.of[user].index for _, (user, _) in readers}
            if any(held[g.index] + held[r] > MAX_NODES for r in into):
                continue
            inside = set(g.nodes)
            lower = Lowerer(lambda n, inside=inside: n in inside or self.recomputed(n), {})
            memo: dict[Expr, int] = {}
            worst = max(cost(lower.at(v, _vars(v.shape)), memo) for v, _ in readers)
            # a kernel shares what its loops compute; each operand of an anchor is computed for itself
            places = {(self.of[user].index, i if self.of[user].anchor is user else None) for _, (user, i) in readers}
            once = len(places) == 1 and all(self._once(user, i) for _, (user, i) in readers)
            if worst <= RECOMPUTE_COST or once:
                g.inlined = True
                for r in into:
                    held[r] += held[g.index]

    def _lighten(self) -> None:
        """Find nodes that cost next to nothing and read only inputs and constants: a cast, a comparison, a range."""
        memo: dict[Expr, int] = {}
        lower = Lowerer(self.light.__contains__, {})
        for n in self.graph.nodes if self.vertical else ():
            g = self.of.get(n)
            if g is None or g.anchor or g.load_time or isinstance(n.op.role, roles.Reduction):
                continue
            bases = (base_of(x)[0].node for x in n.operands)  # all of them: what reads other places may need others
            if all(m is None or m in self.light for m in bases):
                self.light.add(n)
                if cost(lower.at(n.output, _vars(n.output.shape)), memo) > LIGHT_COST:
                    self.light.remove(n)

    def _merge(self) -> None:
        """Move a loop group into the one loop group that reads it, where one nest can hold both."""
        for p in reversed(self.groups) if self.vertical else ():
            readers = {
                self.of[user].index
                for n in p.nodes
                for user, i in self._readers(n.output)
                if user in self.of and not (n in self.light and self._takes_elements(user, i))
            }
            readers.discard(p.index)
            alone = len(readers) == 1 and not self._escapes(p)
            c = self.groups[min(readers)] if alone else p
            if c is p or p.anchor or c.anchor or p.inlined or c.inlined or p.load_time != c.load_time:
                continue
            nodes = [*p.nodes, *c.nodes]
            if len(nodes) > MAX_NODES:
                continue
            try:
                build_nest(nodes, self._stored(nodes), lambda n, nodes=nodes: n in nodes or self.recomputed(n))
            except NotFusable as e:
                self.decisions.append(Decision(p.nodes[-1].output.name, c.nodes[0].output.name, False, str(e)))
                continue
            self.decisions.append(Decision(p.nodes[-1].output.name, c.nodes[0].output.name, True, "one loop nest"))
            c.nodes = nodes
            for n in p.nodes:
                self.of[n] = c
            p.nodes, p.inlined = [], True
            self.above[c.index] |= self.above[p.index]

    def _escapes(self, g: Group) -> bool:
        """Whether a value of the group is needed by a join or by the caller."""
        outs = {base_of(v)[0] for v in self.graph.outputs.values()}
        return any(
            n.output in outs or any(isinstance(user.op.role, roles.Join) for user, _ in self._readers(n.output))
            for n in g.nodes
        )

    def _readers(self, v: Value):
        for user, i in self.users.get(v, ()):
            if isinstance(user.op.role, roles.Viewing):
                yield from self._readers(user.output)
            else:
                yield user, i

    def _takes_elements(self, user: Node, i: int) -> bool:
        if isinstance(user.op.role, roles.Join):
            return False
        g = self.of[user]
        if g.anchor is user:
            return param_name(user, i) in g.kernel.absorbs.prologue  # type: ignore[union-attr]
        return True

    def _once(self, user: Node, i: int) -> bool:
        """Whether a reader reads each element, perhaps through views, at most once."""
        x, g = user.inputs[i], self.of[user]
        for step, shape in base_of(x)[1]:  # type: ignore[arg-type]
            if not dims.at_least(dims.prod(shape), dims.prod(step.shape(shape))):
                return False  # the view repeats elements
        if g.anchor is user:
            return param_name(user, i) in g.kernel.absorbs.reads_once  # type: ignore[union-attr]
        return isinstance(user.op.role, roles.Pointwise) and dims.same(user.output.type.numel, x.type.numel)  # type: ignore[union-attr]

    def _outputs(self) -> None:
        """Which values of each group are stored: those that somebody outside reads from memory."""
        outs = {base_of(v)[0] for v in self.graph.outputs.values()}
        for g in self.groups:
            if g.inlined:
                continue
            for n in g.members:
                for v in n.outputs:
                    if v in outs or any(self._needs_memory(g, n, user, i) for user, i in self._readers(v)):
                        g.outputs.append(v)

    def _needs_memory(self, g: Group, node: Node, user: Node, i: int) -> bool:
        """Whether ``user`` reads input ``i``, computed by ``node`` of group ``g``, from memory."""
        if isinstance(user.op.role, roles.Join):
            return True
        r = self.of[user]
        if r is g or (node in self.light and self._takes_elements(user, i)):
            return False
        if not r.inlined:
            return True
        return any(self._needs_memory(g, node, u, j) for v in user.outputs for u, j in self._readers(v))

    def _sort(self) -> list[Group]:
        """Live groups so that producers come first; otherwise in the order of the graph."""
        live = [g for g in self.groups if not g.inlined]
        done = 0
        for g in self.groups:
            if g.inlined:
                done |= 1 << g.index
        out: list[Group] = []
        rest = live
        while rest:
            later = []
            for g in rest:
                if self.above[g.index] & ~done & ~(1 << g.index):
                    later.append(g)
                else:
                    out.append(g)
                    done |= 1 << g.index
            rest = later
        return out


def load_time_values(graph: Graph) -> set[Value]:
    """Constants and what follows from constants alone, with fixed sizes: known when the model is loaded."""
    found: set[Value] = set(graph.constants)
    for n in graph.nodes:
        if n.operands and all(v in found for v in n.operands) and not any(dims.symbols(v.shape) for v in n.outputs):
            found.update(n.outputs)
    return found


def param_name(node: Node, i: int) -> str:
    """The parameter that input ``i`` of a node is for."""
    params = node.op.params
    return params[min(i, len(params) - 1)].name


def _how(g: Group, node: Node) -> str:
    if g.anchor is None:
        return "one loop nest"
    return "row-wise epilogue" if isinstance(node.op.role, roles.Reduction) else "epilogue"


def _vars(shape: Shape) -> Coords:
    return tuple(var(f"i{k}", n) for k, n in enumerate(shape))


def natural_anchor(out: Value, shape: Shape | None = None) -> Anchor:
    """An anchor whose kernel walks its result as ``shape`` (its own by default), the last axis inside a row."""
    shape = shape or out.shape
    at = tuple(var(f"k{i}", n) for i, n in enumerate(shape))
    return Anchor(out, Reshape(shape).coords(at, out.shape), out.type.rank - 1)


@dataclass
class Epilogue:
    """The elementwise work on one element of an anchor's result: stores of expressions over ``acc`` and loads."""

    coords: Coords  # the kernel's loop variables
    stores: list[tuple[Value, Coords, Expr]]


def epilogue(out: Value, nodes: list[Node], stored: list[Value], inside: Callable[[Node], bool], shape: Shape) -> Epilogue:
    """Lower what is stored after an anchor to expressions over its result, for a kernel that walks it as ``shape``.

    Raises:
        NotFusable: if something stored needs other elements than the one being computed.
    """
    from ait_core.fuse.lower import Carry

    at = tuple(var(f"k{i}", n) for i, n in enumerate(shape))
    own = Reshape(shape).coords(at, out.shape)

    def read(coords: Coords) -> Expr:
        if coords != own:
            raise NotFusable("needs other elements of the result than the one that is being computed")
        return Expr("carry", (), out.dtype.compute, Carry("acc"))

    lower = Lowerer(inside, {out: read})
    stores = []
    for v in stored:
        if not dims.same(v.type.numel, out.type.numel):
            raise NotFusable(f"broadcasts or shrinks the result from [{out.type}] to [{v.type}]")
        coords = forward(own, _path(out, v, set(nodes)))
        stores.append((v, coords, lower.at(v, coords)))
    return Epilogue(at, stores)


def _path(source: Value, to: Value, inside: set[Node]) -> list[Node]:
    """The nodes from one value to another that keep one element one element."""
    path: list[Node] = []
    v = to
    while v is not source:
        node = v.node
        if node is None or not (node in inside or isinstance(node.op.role, roles.Viewing)):
            raise NotFusable("does not depend on the result element by element")
        path.insert(0, node)
        options = [x for x in node.operands if x is source or (x.node and _depends(x, source, inside))]
        sized = [x for x in options if dims.same(x.type.numel, v.type.numel)]
        if not sized or (isinstance(node.op.role, roles.Viewing) and not bijective(node)):
            raise NotFusable("broadcasts, drops or repeats elements of the result")
        v = sized[0]
    return path


def _depends(v: Value, source: Value, inside: set[Node]) -> bool:
    stack, seen = [v], set()
    while stack:
        x = stack.pop()
        if x is source:
            return True
        if x.node and x.node not in seen and (x.node in inside or isinstance(x.node.op.role, roles.Viewing)):
            seen.add(x.node)
            stack += x.node.operands
    return False


__all__ = ["Decision", "Epilogue", "Fuser", "Group", "LoopNest", "epilogue", "is_loop", "natural_anchor", "param_name"]
