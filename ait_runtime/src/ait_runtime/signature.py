# SPDX-License-Identifier: Apache-2.0
"""How a model is called: its arguments and results as nested Python structures around flat tensors.

The description is plain JSON, so that an artifact can carry it and a process without the model's framework can read it.
A structure is one of::

    {"tensor": "input_ids"}                                 a tensor, by its name in the graph
    {"constant": 3}                                         a number, string or None fixed when the model was imported
    {"size": "2*batch", "dims": {"batch": ["x", 0]}}        an integer result, from sizes of inputs
    {"kind": "tuple" | "list", "items": [...]}
    {"kind": "dict", "keys": [...], "items": [...]}
    {"kind": "object", "class": "module:Name", "keys": [...] | null, "items": [...]}     dataclasses, named tuples, ...

and a signature is ``{"arguments": {name: structure}, "positional": [name, ...], "varargs": name | null, "varkw": name |
null, "result": structure}``. ``positional`` names all parameters that take a position, also those not used.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ait_runtime.errors import ArtifactError, InputError

Tree = dict[str, Any]
Open = Callable[[Any], Sequence[Any] | None]
_MISSING = object()


class Signature:
    """Flattens arguments into the graph's inputs and rebuilds the result, as ``data`` (JSON, see above) says."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)
        self.arguments: dict[str, Tree] = self.data["arguments"]
        self.positional: list[str] = self.data["positional"]
        self.inputs = [name for tree in self.arguments.values() for name in tensors(tree)]
        first = list(self.arguments)
        self._flat = all("tensor" in t for t in self.arguments.values()) and first == self.positional[: len(first)]

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any], open: Open | None = None) -> Sequence[Any]:
        """The tensors of a call in the order of ``inputs``. ``open`` gives the items of an object that is none of
        the built-in containers.

        Raises:
            InputError: if an argument is missing, unknown, of another structure, or differs from a constant that the
                model was imported with.
        """
        if self._flat and not kwargs and len(args) == len(self.arguments):
            return args
        given = self._bind(args, kwargs)
        out: list[Any] = []
        for name, tree in self.arguments.items():
            self._flatten(tree, given.pop(name, _MISSING), name, out, open or _open)
        for name, value in given.items():
            if value is not None and value not in ((), {}):
                raise InputError(
                    f"Argument {name!r} was not given when the model was imported, so it is not part of it. "
                    f"It takes: {', '.join(self.arguments)}. Import the model again with an example of {name!r}."
                )
        return out

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(zip(self.positional, args, strict=False))
        rest = tuple(args[len(self.positional) :])
        if self.data["varargs"]:
            given[self.data["varargs"]] = rest
        elif rest:
            raise InputError(f"Takes {len(self.positional)} positional arguments ({', '.join(self.positional)}); "
                             f"got {len(args)}.")  # fmt: skip
        twice = [k for k in kwargs if k in given]
        if twice:
            raise InputError(f"Argument {twice[0]!r} is given by position and by name: give it once.")
        varkw = self.data["varkw"]
        known = {*self.positional, *self.arguments}
        extra = {k: v for k, v in kwargs.items() if varkw and k not in known}
        given |= {k: v for k, v in kwargs.items() if k not in extra}
        return given | ({varkw: extra} if extra else {})

    def _flatten(self, tree: Tree, value: Any, path: str, out: list[Any], open: Open) -> None:
        if "tensor" in tree:
            if value is _MISSING or value is None:
                raise InputError(f"Argument {path} is missing: the model was imported with a tensor there.")
            out.append(value)
        elif "constant" in tree:
            fixed = tree["constant"]
            if value is not _MISSING and not (value is fixed or str(value) == str(fixed)):
                raise InputError(
                    f"Argument {path} is {value!r}, but the model was imported with {fixed!r} there, which is now a "
                    f"constant of it. Import the model again with {path}={value!r}."
                )
        else:
            items = [_MISSING] * len(tree["items"]) if value is _MISSING else _items(tree, value, open)
            if items is None or len(items) != len(tree["items"]):
                want = describe(tree)
                raise InputError(f"Argument {path} must be {want}, as in the example inputs; got {value!r:.200}.")
            for key, sub, item in zip(tree.get("keys") or range(len(items)), tree["items"], items, strict=True):
                self._flatten(sub, item, f"{path}[{key!r}]", out, open)

    def unflatten(self, outputs: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
        """The result around the output tensors (by name); ``inputs`` as ``flatten`` gave them."""
        return _build(self.data["result"], outputs, dict(zip(self.inputs, inputs, strict=True)))


class Structured:
    """A model that takes tensors and returns tensors, called with the structures of a signature. Everything else
    (``save``, ``profile``, ...) is the model's own."""

    def __init__(self, model: Callable[..., Any], signature: Signature, open: Open | None = None,
                 build: Callable[[Mapping[str, Any], Sequence[Any]], Any] | None = None) -> None:  # fmt: skip
        self.model, self.signature = model, signature
        self._open, self._build = open, build or signature.unflatten
        self._names = list(dict.fromkeys(tensors(signature.data["result"])))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = self.signature.flatten(args, kwargs, self._open)
        made = self.model(*inputs)
        many = (made,) if len(self._names) == 1 else made
        return self._build(dict(zip(self._names, many or (), strict=True)), inputs)

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # while unpickling or copying, before __init__
            raise AttributeError(name)
        return getattr(self.model, name)


def tensors(tree: Tree) -> Iterator[str]:
    """The names of the tensors of a structure, in order."""
    if "tensor" in tree:
        yield tree["tensor"]
    for item in tree.get("items", ()):
        yield from tensors(item)


def describe(tree: Tree) -> str:
    """A structure in words, for messages."""
    kind = tree["class"].split(":")[-1] if tree["kind"] == "object" else tree["kind"]
    keys = tree.get("keys")
    return f"a {kind} with {', '.join(map(repr, keys))}" if keys else f"a {kind} of {len(tree['items'])}"


def _items(tree: Tree, value: Any, open: Open) -> Sequence[Any] | None:
    if tree["kind"] == "dict":
        same = isinstance(value, Mapping) and set(value) == set(tree["keys"])
        return [value[k] for k in tree["keys"]] if same else None
    if tree["kind"] == "object":
        return open(value)
    return value if isinstance(value, (tuple, list)) else None


def _open(value: Any) -> Sequence[Any] | None:
    if isinstance(value, Mapping):
        return list(value.values())
    if dataclasses.is_dataclass(value):
        return [getattr(value, f.name) for f in dataclasses.fields(value)]
    return value if isinstance(value, (tuple, list)) else None


def _build(tree: Tree, outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    if "tensor" in tree:
        return outputs[tree["tensor"]]
    if "constant" in tree:
        return tree["constant"]
    if "size" in tree:
        sizes = {name: inputs[tensor].shape[axis] for name, (tensor, axis) in tree["dims"].items()}
        return _size(tree["size"], sizes)
    items = [_build(item, outputs, inputs) for item in tree["items"]]
    keys = tree.get("keys")
    if tree["kind"] == "object":
        cls = _loaded(tree["class"])
        if cls is not None and keys is not None:  # a class of a library this process has not loaded stays plain
            return cls(**dict(zip(keys, items, strict=True)))
    if keys is not None:
        return dict(zip(keys, items, strict=True))
    return items if tree["kind"] == "list" else tuple(items)


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Mod: operator.mod}  # fmt: skip


def _size(text: str, sizes: Mapping[str, int]) -> int:
    """The value of a printed size. Nothing is evaluated but integers, known names, five operators, min and max."""

    def walk(n: ast.AST) -> int:
        match n:
            case ast.Constant(value=int(v)):
                return v
            case ast.Name(id=name) if name in sizes:
                return sizes[name]
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -walk(x)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(a), walk(b))
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args) if args:
                return (min if name == "min" else max)(map(walk, args))
        raise ArtifactError(f"The manifest holds {text!r} where a size belongs. Compile the model again.")

    return walk(ast.parse(text, mode="eval").body)


def _loaded(name: str) -> type | None:
    """The class ``module:Qualified.Name`` if its module is already imported and it is a record; imports nothing."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    record = isinstance(found, type) and (dataclasses.is_dataclass(found) or hasattr(found, "_fields"))
    return found if record else None
