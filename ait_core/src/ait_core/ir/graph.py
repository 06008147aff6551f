# SPDX-License-Identifier: Apache-2.0
"""The graph: typed SSA. Values are made by ops and know their producer; a :class:`Graph` is what some outputs need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from ait_core.declare.op import Op
from ait_core.declare.rule import AnyAttr, AnyScalar
from ait_core.errors import AITError, GraphError, InternalError
from ait_core.ir import dims
from ait_core.ir.dtypes import DType, dtype
from ait_core.ir.types import TensorType


@dataclass(frozen=True, eq=False)
class Constant:
    """Data known at build time. A ``parameter`` is a named weight that users may replace in the built model;
    anything else may be folded away. ``array`` may share memory with its owner and is never written. ``capture`` is
    set in the patterns of rules only: this constant stands for any number, to be captured under that name."""

    array: np.ndarray
    parameter: str | None = None
    capture: str | None = None


class Value:
    """One tensor in a graph: an input, a constant, or result ``index`` of a node."""

    __slots__ = ("name", "type", "node", "index", "constant")

    def __init__(
        self, name: str, type: TensorType, node: Node | None = None, index: int = 0, constant: Constant | None = None
    ) -> None:
        self.name, self.type, self.node, self.index, self.constant = name, type, node, index, constant

    @property
    def shape(self) -> dims.Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def is_input(self) -> bool:
        return self.node is None and self.constant is None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


class Node:
    """An op applied. ``inputs`` has one entry a parameter (``None`` where an optional operand is absent), then the
    operands of a variadic one. ``source`` is where the user wrote it; ``origin`` the composite ops it came out of."""

    __slots__ = ("op", "inputs", "attrs", "outputs", "source", "origin")

    def __init__(self, op: Op, inputs: tuple[Value | None, ...], attrs: dict[str, Any], name: str,
                 source: str = "", origin: str = "") -> None:  # fmt: skip
        self.op, self.inputs, self.attrs, self.source, self.origin = op, inputs, attrs, source, origin
        concrete = {k: v.example if isinstance(v, AnyAttr) else v for k, v in attrs.items()}
        types = op.infer(*(None if v is None else v.type for v in inputs), **concrete)
        many = [types] if isinstance(types, TensorType) else list(types)
        self.outputs = tuple(
            Value(name if len(many) == 1 else f"{name}_{i}", t, self, i) for i, t in enumerate(many)
        )

    def with_inputs(self, inputs: tuple[Value | None, ...]) -> Node:
        """The same node on other inputs of the same types; nothing is inferred again."""
        new = object.__new__(Node)
        new.op, new.inputs, new.attrs, new.source, new.origin = self.op, inputs, self.attrs, self.source, self.origin
        new.outputs = tuple(Value(v.name, v.type, new, v.index) for v in self.outputs)
        return new

    @property
    def operands(self) -> list[Value]:
        """The inputs that are present."""
        return [v for v in self.inputs if v is not None]

    @property
    def output(self) -> Value:
        return self.outputs[0]

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.outputs))} = {self.op.name}({', '.join(f'%{v.name}' for v in self.operands)})"


def input(name: str, shape: Iterable[object], dtype: object = "float32") -> Value:
    """A graph input. ``shape`` holds integers and dims."""
    from ait_core.ir.dtypes import dtype as as_dtype

    return Value(str(name), TensorType(as_dtype(dtype), dims.as_shape(shape)))


def constant(array: Any, name: str | None = None, *, parameter: bool | None = None) -> Value:
    """A constant from an array or number. A named one is a parameter (replaceable in the built model) unless
    ``parameter=False``."""
    a = np.asarray(array)
    if a.dtype == np.float64 and not isinstance(array, (np.ndarray, np.generic)):
        a = a.astype(np.float32)
    named = name if name is not None and parameter is not False else None
    return Value(name or "const", TensorType(dtype(a.dtype), a.shape), constant=Constant(a, named))


def emit(op: Op, operands: Sequence[Any], attrs: dict[str, Any], *, name: str = "", source: str = "",
         origin: str = "") -> Any:  # fmt: skip
    """Apply ``op``: type check, shape inference, and a new node. Python numbers become 0-d constants.

    Raises:
        GraphError: naming the op and its operands if they do not fit.
    """
    bound = op.bind(attrs)
    variadic = bool(op.params) and op.params[-1].variadic
    fixed = op.params[:-1] if variadic else op.params
    required = sum(not p.optional for p in fixed)
    if len(operands) < required or (len(operands) > len(fixed) and not variadic) or (variadic and not operands):
        raise GraphError(
            f"{op.name} takes {', '.join(p.name + ('=None' if p.optional else '') for p in op.params)}; "
            f"got {len(operands)} operands."
        )
    given = list(operands) + [None] * (len(fixed) - len(operands))
    inputs = tuple(_as_value(op, v, given) for v in given)
    for p, v in zip(fixed, inputs, strict=False):
        if v is None and not p.optional:
            raise GraphError(f"{op.name}: operand {p.name} may not be None.")
    try:
        node = Node(op, inputs, bound, name or op.name.split(".")[1], source, origin)
    except AITError as e:
        shown = ", ".join("None" if v is None else str(v.type) for v in inputs)
        raise type(e)(f"{op.name}({shown}){' at ' + source if source else ''}: {e}") from e
    return node.outputs[0] if len(node.outputs) == 1 else node.outputs


def _as_value(op: Op, v: Any, others: list[Any]) -> Value | None:
    if v is None or isinstance(v, Value):
        return v
    if isinstance(v, AnyScalar):
        like = _as_value(op, v.example, others)
        return Value(v.name, like.type, constant=Constant(like.constant.array, capture=v.name))  # type: ignore[union-attr]
    if isinstance(v, (bool, int, float, np.generic)):
        like = next((o.dtype for o in others if isinstance(o, Value)), None)
        kind = "bool" if isinstance(v, (bool, np.bool_)) else "int64" if isinstance(v, (int, np.integer)) else "float32"
        if like is not None and like.is_float and kind != "bool":
            kind = "float64" if like.name == "float64" else "float32"
        return constant(np.asarray(v, dtype(kind).numpy), parameter=False)
    if isinstance(v, np.ndarray):
        return constant(v)
    raise GraphError(f"{op.name}: an operand must be a value, an array or a number; got {type(v).__name__}.")


@dataclass(eq=False)
class Graph:
    """The nodes that ``outputs`` need, in topological order. ``inputs`` fixes the order of the inputs (and may name
    some that nothing reads); by default they come in the order they are met."""

    outputs: dict[str, Value]
    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(init=False)
    constants: list[Value] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes, self.constants = [], []
        known = {id(v) for v in self.inputs}
        seen: set[int] = set()
        stack: list[tuple[Value, bool]] = [(v, False) for v in reversed(list(self.outputs.values()))]
        while stack:
            v, done = stack.pop()
            key = id(v.node) if v.node else id(v)
            if done:
                self.nodes.append(v.node)  # type: ignore[arg-type]
            elif key not in seen:
                seen.add(key)
                if v.node:
                    stack.append((v, True))
                    stack.extend((o, False) for o in reversed(v.node.operands))
                elif v.constant:
                    self.constants.append(v)
                elif key not in known:
                    self.inputs.append(v)
        self._name()

    def _name(self) -> None:
        """Make names unique, deterministically, keeping those of inputs."""
        taken: set[str] = set()
        for v in self.inputs:
            if v.name in taken:
                raise GraphError(f"Two inputs are called {v.name!r}: give each its own name.")
            taken.add(v.name)
        counts: dict[str, int] = {}
        for v in [*self.constants, *(o for n in self.nodes for o in n.outputs)]:
            base = v.name
            while v.name in taken:
                counts[base] = counts.get(base, 0) + 1
                v.name = f"{base}_{counts[base]}"
            taken.add(v.name)

    @property
    def symbols(self) -> list[dims.DimSymbol]:
        """The symbolic dims of the inputs, sorted by name.

        Raises:
            GraphError: if two different dims share a name.
        """
        found = sorted(dims.symbols(s for v in self.inputs for s in v.shape), key=lambda s: s.name)
        for a, b in zip(found, found[1:], strict=False):
            if a.name == b.name:
                raise GraphError(f"Two dims are called {a.name!r}, {a.lo}..{a.hi} and {b.lo}..{b.hi}: they must agree.")
        return found

    def users(self) -> dict[Value, list[tuple[Node, int]]]:
        """Who reads each value: (node, position among its inputs)."""
        out: dict[Value, list[tuple[Node, int]]] = {}
        for n in self.nodes:
            for i, v in enumerate(n.inputs):
                if v is not None:
                    out.setdefault(v, []).append((n, i))
        return out

    def rewrite(self, visit: Callable[[Node, tuple[Value | None, ...]], Sequence[Value] | None]) -> Graph:
        """A new graph. ``visit(node, new_inputs)`` returns the values to use in place of the node's outputs, or None
        to keep the node. Nodes are visited in topological order. Where nothing changes, the graph itself comes back.

        Raises:
            InternalError: naming the node, if ``visit`` fails or returns values of other types.
        """
        new: dict[Value, Value] = {}
        for n in self.nodes:
            ins = tuple(new.get(v, v) if v is not None else None for v in n.inputs)
            try:
                made = visit(n, ins)
            except Exception as e:
                raise InternalError(f"{type(e).__name__} at {n}: {e}") from e
            if made is None:
                if all(a is b for a, b in zip(ins, n.inputs, strict=True)):
                    continue
                made = n.with_inputs(ins).outputs
            for old, fresh in zip(n.outputs, made, strict=True):
                if fresh.dtype != old.dtype or not dims.same_shape(fresh.shape, old.shape):
                    raise InternalError(f"A rewrite of {n} changes its type: {old.type} became {fresh.type}.")
                new[old] = fresh
        if not new:
            return self
        return Graph({k: new.get(v, v) for k, v in self.outputs.items()}, list(self.inputs))

    def substitute(self, instead: Mapping[Value, Value]) -> Graph:
        """A new graph with values replaced by others of the same types. These may be made of replaced values, which
        are then replaced in turn.

        Raises:
            InternalError: if a value is needed for its own replacement.
        """
        if not instead:
            return self
        done: dict[Value, Value] = {}
        entered: set[Value] = set()

        def ready(v: Value) -> Value | None:
            return done.get(v) if v.node or v in instead else v

        stack = list(self.outputs.values())
        while stack:
            v = stack[-1]
            needs = [instead[v]] if v in instead else v.node.operands if v.node else []
            pending = [] if ready(v) else [o for o in needs if ready(o) is None]
            if pending:
                if v in entered:
                    raise InternalError(f"{v!r} is needed for its own replacement.")
                entered.add(v)
                stack.extend(pending)
                continue
            stack.pop()
            if ready(v):
                continue
            if v in instead:
                done[v] = ready(instead[v])  # type: ignore[assignment]
                continue
            node: Node = v.node  # type: ignore[assignment]
            ins = tuple(o and ready(o) for o in node.inputs)
            kept = all(a is b for a, b in zip(ins, node.inputs, strict=True))
            for old, new in zip(node.outputs, (node if kept else node.with_inputs(ins)).outputs, strict=True):
                if old not in instead:
                    done[old] = new
        return Graph({k: ready(v) for k, v in self.outputs.items()}, list(self.inputs))  # type: ignore[misc]

    def __str__(self) -> str:
        from ait_core.ir.text import show

        return show(self)


def evaluate(attr: Any, sizes: Mapping[str, int]) -> Any:
    """An attribute with its symbolic sizes replaced by numbers."""
    if isinstance(attr, tuple):
        return tuple(evaluate(a, sizes) for a in attr)
    if isinstance(attr, sympy.Expr):
        return int(attr.subs({s: sizes[s.name] for s in attr.free_symbols}))
    return attr


def run_node(node: Node, arrays: Sequence[np.ndarray | None], sizes: Mapping[str, int]) -> list[np.ndarray]:
    """The outputs of one node by its op's NumPy reference."""
    made = node.op.reference(*arrays, **{k: evaluate(v, sizes) for k, v in node.attrs.items()})
    many = list(made) if isinstance(made, (tuple, list)) else [made]
    return [np.asarray(m) for m in many]


def run_reference(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All outputs by the ops' NumPy references; inputs by name."""
    env = run_all(graph, inputs)
    return {name: env[v] for name, v in graph.outputs.items()}


def run_all(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """Every value of the graph by the ops' NumPy references."""
    env: dict[Value, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for v in graph.inputs:
        env[v] = np.asarray(inputs[v.name])
        for want, got in zip(v.shape, env[v].shape, strict=True):
            if isinstance(want, sympy.Symbol):
                sizes[want.name] = got
    for v in graph.constants:
        env[v] = v.constant.array  # type: ignore[union-attr]
    for n in graph.nodes:
        made = run_node(n, [None if v is None else env[v] for v in n.inputs], sizes)
        env.update(zip(n.outputs, made, strict=True))
    return env


def _placeholders(types: Sequence[TensorType | None]) -> list[Value | None]:
    return [None if t is None else Value(f"x{i}", t) for i, t in enumerate(types)]


def build_types(fn: Callable, types: Sequence[TensorType | None], attrs: dict[str, Any]) -> list[TensorType]:
    """The result types of a composite's function."""
    made = fn(*_placeholders(types), **attrs)
    return [v.type for v in (made if isinstance(made, tuple) else (made,))]


def run_composite(fn: Callable, arrays: Sequence[np.ndarray | None], attrs: dict[str, Any]) -> Any:
    """A composite's function on arrays, through the references of the ops it uses."""
    types = [None if a is None else TensorType(dtype(a.dtype), a.shape) for a in arrays]
    values = _placeholders(types)
    made = fn(*values, **attrs)
    many = made if isinstance(made, tuple) else (made,)
    graph = Graph({str(i): v for i, v in enumerate(many)}, [v for v in values if v is not None])
    out = run_reference(graph, {v.name: a for v, a in zip(values, arrays, strict=True) if v is not None and a is not None})
    results = tuple(out[str(i)] for i in range(len(many)))
    return results if isinstance(made, tuple) else results[0]
