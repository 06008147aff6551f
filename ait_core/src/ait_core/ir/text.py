# SPDX-License-Identifier: Apache-2.0
"""The text form of a graph, for reading, for tests, and for keeping graphs that fail::

    dim batch = 1..64
    input %x: float32[batch, 3]
    const %half: float32[] = 0.5
    const %w: float32[3, 4096] = #0f3a9c... parameter "fc.weight"
    %y: float32[batch, 3] = tensor.mul(%x, %half)
    %z: float32[batch, 1] = tensor.sum(%y; axes=(1,), keepdim=True) origin "norm.layer_norm" source "model.py:7"
    output "out" = %z

Symbolic sizes among attributes stand in braces, absent operands are ``none``, names that are no identifiers are quoted.
``parse(show(graph), ...)`` gives the same graph and ``show`` of it the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from ait_core.declare.op import Op
from ait_core.errors import AITError, GraphError
from ait_core.ir import dims, dtypes
from ait_core.ir.graph import Constant, Graph, Node, Value, emit
from ait_core.ir.types import TensorType

INLINE = 16  # elements; larger constants are shown by hash
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def show(graph: Graph) -> str:
    """The graph as text, with a final newline."""
    symbols = dims.symbols(s for v in [*graph.inputs, *(o for n in graph.nodes for o in n.outputs)] for s in v.shape)
    lines = [f"dim {s.name} = {s.lo}..{s.hi}" for s in sorted(symbols, key=lambda s: (s.name, s.lo, s.hi))]
    lines += [f"input {_value(v)}" for v in graph.inputs]
    lines += [f"const {_value(v)} = {_constant(v.constant)}" for v in graph.constants]  # type: ignore[arg-type]
    lines += [_node(n) for n in graph.nodes]
    lines += [f"output {json.dumps(k)} = %{_name(v.name)}" for k, v in graph.outputs.items()]
    return "\n".join(lines) + "\n"


def fingerprint(array: np.ndarray) -> str:
    """A short hash of dtype, shape and bits of an array."""
    h = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    h.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return h.hexdigest()[:16]


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name not in ("inf", "nan") else json.dumps(name)


def _value(v: Value) -> str:
    return f"%{_name(v.name)}: {v.type}"


def _number(x: Any) -> str:
    return repr(bool(x)) if isinstance(x, np.bool_) else repr(int(x)) if isinstance(x, np.integer) else repr(float(x))


def _constant(c: Constant) -> str:
    if c.array.size > INLINE:
        data = "#" + fingerprint(c.array)
    else:
        items = ", ".join(_number(x) for x in c.array.reshape(-1))
        data = items if c.array.ndim == 0 else f"[{items}]"
    return data if c.parameter is None else f"{data} parameter {json.dumps(c.parameter)}"


def _node(n: Node) -> str:
    operands = ", ".join("none" if v is None else f"%{_name(v.name)}" for v in n.inputs)
    attrs = ", ".join(f"{k}={_attr(a)}" for k, a in n.attrs.items())
    tail = "".join(f" {k} {json.dumps(text)}" for k, text in (("origin", n.origin), ("source", n.source)) if text)
    return f"{', '.join(map(_value, n.outputs))} = {n.op.name}({operands}{'; ' if attrs else ''}{attrs}){tail}"


def _attr(a: Any) -> str:
    if isinstance(a, tuple):
        return f"({', '.join(map(_attr, a))}{',' if len(a) == 1 else ''})"
    if isinstance(a, sympy.Expr):
        return f"{{{dims.text(a)}}}"
    return json.dumps(a) if isinstance(a, str) else repr(a)


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*") | (?P<size>\{[^}]*\}) | (?P<hash>\#[0-9a-f]+)
    | (?P<number>-?(?:inf|nan)(?![\w.]) | -?\d+(?:\.(?!\.)\d*)?(?:e[-+]?\d+)?) | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
    | (?P<sign>\.\.|[%:=,;()\[\]]))""",
    re.VERBOSE,
)


def parse(text: str, ops: Mapping[str, Op], arrays: Mapping[str, np.ndarray] | None = None) -> Graph:
    """Read a graph that :func:`show` wrote.

    Args:
        ops: by name.
        arrays: the constants that are too large to stand in the text, by the names they have there.

    Raises:
        GraphError: with the number of the line that cannot be read, names an unknown op or value, shows another type
            than the op infers, or needs an array that is missing or has other content.
    """
    reader = _Reader(ops, arrays or {})
    for number, line in enumerate(text.split("\n"), 1):
        try:
            reader.line(line)
        except AITError as e:
            raise GraphError(f"Line {number}: {e} The line is: {line.strip()}") from e
    return Graph(reader.outputs, reader.inputs)


class _Reader:
    def __init__(self, ops: Mapping[str, Op], arrays: Mapping[str, np.ndarray]) -> None:
        self.ops, self.arrays = ops, arrays
        self.dims: dict[str, dims.DimSymbol] = {}
        self.values: dict[str, Value] = {}
        self.inputs: list[Value] = []
        self.outputs: dict[str, Value] = {}
        self.rest = ""

    def line(self, line: str) -> None:
        self.rest = line
        if not line.strip():
            return
        kind = "node" if self.peek("%") else self.take("name")
        if kind == "dim":
            name = self.take("name")
            self.want("=")
            lo = self.integer()
            self.want("..")
            if name in self.dims:
                raise GraphError(f"There are two dims called {name!r}.")
            self.dims[name] = dims.dim(name, lo, self.integer())
        elif kind == "input":
            self.inputs.append(self.define(Value(*self.typed())))
        elif kind == "const":
            name, type = self.typed()
            self.want("=")
            array, parameter = self.data(name, type), None
            if self.word("parameter"):
                parameter = self.string()
            self.define(Value(name, type, constant=Constant(array, parameter)))
        elif kind == "output":
            name = self.string()
            self.want("=")
            if name in self.outputs:
                raise GraphError(f"There are two outputs called {name!r}.")
            self.outputs[name] = self.value()
        elif kind == "node":
            self.node()
        else:
            raise GraphError(f"A line starts with dim, input, const, output or a %value, not with {kind!r}.")
        if self.rest.strip():
            raise GraphError(f"Expected the end of the line, found {self.rest.strip()!r}.")

    def node(self) -> None:
        targets = self.several(self.typed, "=")
        name = self.take("name")
        if name not in self.ops:
            raise GraphError(f"There is no op {name!r}; is its pack installed?")
        self.want("(")
        operands, attrs = [], {}
        while not self.peek(")") and not self.peek(";"):
            operands.append(None if self.word("none") else self.value())
            if not self.peek(")") and not self.peek(";"):
                self.want(",")
        if self.accept(";"):
            attrs = dict(self.several(self.attribute, ")"))
        else:
            self.want(")")
        origin = self.string() if self.word("origin") else ""
        source = self.string() if self.word("source") else ""
        made = emit(self.ops[name], operands, attrs, source=source, origin=origin)
        outputs = made if isinstance(made, tuple) else (made,)
        if len(targets) != len(outputs) or any(
            t.dtype != v.dtype or not dims.same_shape(t.shape, v.shape)
            for (_, t), v in zip(targets, outputs, strict=True)
        ):
            raise GraphError(f"{name} gives {', '.join(str(v.type) for v in outputs)}.")
        for (target, type), v in zip(targets, outputs, strict=True):
            v.name, v.type = target, type  # the type is written as the graph had it: n*(m + 1) and n*m + n are the same
            self.define(v)

    def attribute(self) -> tuple[str, Any]:
        name = self.take("name")
        self.want("=")
        return name, self.attr()

    def attr(self) -> Any:
        if self.accept("("):
            items = []
            while not self.accept(")"):
                items.append(self.attr())
                if not self.peek(")"):
                    self.want(",")
            return tuple(items)
        kind, token = self.token()
        words: dict[str, Any] = {"True": True, "False": False, "None": None, **dtypes.ALL}
        if kind == "number":
            return _to_number(token)
        if kind == "string":
            return self.unquote(token)
        if kind == "size":
            return dims.parse(token[1:-1], self.dims)
        if kind == "name" and token in words:
            return words[token]
        raise GraphError(f"Expected an attribute's value, found {token!r}.")

    def data(self, name: str, type: TensorType) -> np.ndarray:
        kind, token = self.token()
        if kind == "hash":
            if name not in self.arrays:
                raise GraphError(f"The array of constant {name!r}, a {type}, is not in the text: pass it in arrays.")
            array = np.asarray(self.arrays[name])
            if "#" + fingerprint(array) != token:
                raise GraphError(f"The array given for constant {name!r} has other content than {token}.")
            return array
        items = self.several(lambda: self.scalar(*self.token()), "]") if token == "[" else [self.scalar(kind, token)]
        try:
            return np.array(items, dtype=type.dtype.numpy).reshape(type.shape)
        except (ValueError, OverflowError, TypeError) as e:
            raise GraphError(f"The numbers are no {type}: {e}.") from None

    def scalar(self, kind: str, token: str) -> bool | int | float:
        if kind == "number":
            return _to_number(token)
        if token in ("True", "False"):
            return token == "True"
        raise GraphError(f"Expected a number, found {token!r}.")

    def typed(self) -> tuple[str, TensorType]:
        """``%name: dtype[sizes]``"""
        self.want("%")
        name = self.identifier()
        self.want(":")
        element = dtypes.dtype(self.take("name"))
        self.want("[")
        inside, bracket, self.rest = self.rest.partition("]")
        if not bracket:
            raise GraphError("Expected ']' after the sizes of a type.")
        return name, TensorType(element, tuple(dims.parse(s, self.dims) for s in _split_sizes(inside)))

    def several(self, item: Callable[[], Any], end: str) -> list[Any]:
        out: list[Any] = []
        while not self.accept(end):
            if out:
                self.want(",")
            out.append(item())
        return out

    def define(self, v: Value) -> Value:
        if v.name in self.values:
            raise GraphError(f"%{v.name} is defined twice.")
        self.values[v.name] = v
        return v

    def value(self) -> Value:
        self.want("%")
        name = self.identifier()
        if name not in self.values:
            raise GraphError(f"%{name} is not defined above.")
        return self.values[name]

    def identifier(self) -> str:
        kind, token = self.token()
        if kind not in ("name", "string"):
            raise GraphError(f"Expected a name, found {token!r}.")
        return token if kind == "name" else self.unquote(token)

    def string(self) -> str:
        return self.unquote(self.take("string"))

    def unquote(self, token: str) -> str:
        try:
            return json.loads(token)
        except ValueError as e:
            raise GraphError(f"{token} is no string: {e}.") from None

    def integer(self) -> int:
        token = self.take("number")
        if not isinstance(_to_number(token), int):
            raise GraphError(f"Expected an integer, found {token!r}.")
        return int(token)

    def token(self) -> tuple[str, str]:
        found = _TOKEN.match(self.rest)
        if not found:
            raise GraphError(f"Expected more, found {self.rest.strip()[:40]!r}.")
        self.rest = self.rest[found.end() :]
        return found.lastgroup or "", found[found.lastgroup or 0]

    def take(self, kind: str) -> str:
        got, token = self.token()
        if got != kind:
            raise GraphError(f"Expected a {kind}, found {token!r}.")
        return token

    def peek(self, sign: str) -> bool:
        return self.rest.lstrip().startswith(sign)

    def accept(self, sign: str) -> bool:
        found = self.peek(sign)
        if found:
            self.rest = self.rest.lstrip()[len(sign) :]
        return found

    def want(self, sign: str) -> None:
        if not self.accept(sign):
            raise GraphError(f"Expected {sign!r}, found {self.rest.strip()[:40]!r}.")

    def word(self, word: str) -> bool:
        found = _TOKEN.match(self.rest)
        if found is None or found["name"] != word:
            return False
        self.rest = self.rest[found.end() :]
        return True


def _to_number(token: str) -> int | float:
    return int(token) if re.fullmatch(r"-?\d+", token) else float(token)


def _split_sizes(inside: str) -> list[str]:
    """Sizes at the commas that no parenthesis of ``min(a, b)`` holds."""
    out, depth = [""], 0
    for c in inside:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [s for s in out if s.strip()] if len(out) == 1 else out
