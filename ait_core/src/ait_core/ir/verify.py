# SPDX-License-Identifier: Apache-2.0
"""The invariants of a graph. Runs after every pass, so that a fault is reported by the pass that made it."""

from __future__ import annotations

from typing import Any

import sympy

from ait_core.errors import AITError, InternalError
from ait_core.ir import dims
from ait_core.ir.dtypes import DType, dtype
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.types import TensorType


def verify(graph: Graph, after: str) -> None:
    """Check a graph in one walk over its nodes.

    Args:
        graph: what to check.
        after: the pass that made it, for the message.

    Raises:
        InternalError: naming the pass, and the node or value, of the first broken invariant: inputs, constants and
            nodes known and in topological order; names unique; types as the ops infer them; operands present;
            attributes complete and plain; symbolic sizes made of the inputs' dims.
    """

    def broken(what: str, where: object = "graph") -> InternalError:
        return InternalError(f"After pass {after!r}: {what}, in {where}. A bug in the pass or in an op it used.")

    try:
        known_dims = set(graph.symbols)
    except AITError as e:
        raise broken(str(e)) from e
    seen: set[Value] = set()
    names: set[str] = set()

    def define(v: Value, where: object) -> None:
        if v in seen:
            raise broken(f"%{v.name} is defined twice", where)
        if not isinstance(v.name, str) or not v.name or v.name in names:
            raise broken(f"the name {v.name!r} is empty or taken", where)
        loose = dims.symbols(v.shape) - known_dims
        if loose:
            raise broken(f"no input has the dim {sorted(s.name for s in loose)} of {v!r}", where)
        seen.add(v)
        names.add(v.name)

    for v in graph.inputs:
        if not v.is_input:
            raise broken(f"%{v.name} is listed as an input but has a producer or data")
        define(v, "the inputs")
    for v in graph.constants:
        if v.constant is None or v.node is not None:
            raise broken(f"%{v.name} is listed as a constant but has no data")
        a = v.constant.array
        if TensorType(dtype(a.dtype), a.shape) != v.type:
            raise broken(f"constant {v!r} holds {a.dtype}{list(a.shape)}")
        define(v, "the constants")
    for n in graph.nodes:
        _check_node(n, seen, known_dims, broken)
        for i, v in enumerate(n.outputs):
            if v.node is not n or v.index != i:
                raise broken(f"output {i} does not know its producer", n)
            define(v, n)
    for name, v in graph.outputs.items():
        if not isinstance(name, str) or not name:
            raise broken(f"an output is called {name!r}: names are non-empty strings")
        if v not in seen:
            raise broken(f"output {name!r} is {v!r}, which is no input, constant or node of the graph")


def _check_node(n: Node, seen: set[Value], known_dims: set[dims.DimSymbol], broken: Any) -> None:
    variadic = bool(n.op.params) and n.op.params[-1].variadic
    fixed = len(n.op.params) - variadic
    if len(n.inputs) < fixed or (len(n.inputs) > fixed and not variadic):
        raise broken(f"{n.op.name} has {len(n.inputs)} operands instead of {fixed}", n)
    for i, v in enumerate(n.inputs):
        if v is None and i < fixed and not n.op.params[i].optional:
            raise broken(f"operand {i} is missing", n)
        if v is not None and v not in seen:
            raise broken(f"operand %{v.name} is used before it is defined, or is no part of the graph", n)
    if n.attrs.keys() != {a.name for a in n.op.attrs}:
        raise broken(f"the attributes are {sorted(n.attrs)} instead of {sorted(a.name for a in n.op.attrs)}", n)
    for k, a in n.attrs.items():
        _check_attr(a, known_dims, lambda what, k=k: broken(f"attribute {k} {what}", n))
    try:
        made = n.op.infer(*(None if v is None else v.type for v in n.inputs), **n.attrs)
    except AITError as e:
        raise broken(f"the operands do not fit: {e}", n) from e
    many = [made] if isinstance(made, TensorType) else list(made)
    if len(many) != len(n.outputs):
        raise broken(f"there are {len(n.outputs)} outputs; the op infers {len(many)}", n)
    for t, v in zip(many, n.outputs, strict=True):
        if t.dtype != v.dtype or not dims.same_shape(t.shape, v.shape):
            raise broken(f"{v!r} should have the type {t}", n)


def _check_attr(value: Any, known_dims: set[dims.DimSymbol], broken: Any) -> None:
    if isinstance(value, tuple):
        for v in value:
            _check_attr(v, known_dims, broken)
    elif isinstance(value, sympy.Expr):
        loose = value.free_symbols - known_dims
        if loose:
            raise broken(f"uses the dim {sorted(s.name for s in loose)}, which no input has")
    elif not (value is None or isinstance(value, (bool, int, float, str, DType))):
        raise broken(f"holds a {type(value).__name__}; attributes are numbers, strings, dtypes, sizes and tuples")
