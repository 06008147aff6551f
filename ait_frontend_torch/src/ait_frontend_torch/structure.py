# SPDX-License-Identifier: Apache-2.0
"""The structure of a model's arguments and results: from torch's pytree specs to the JSON of AIT's signatures."""

from __future__ import annotations

import inspect
import re
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.utils import _pytree as pytree

from ait_core.errors import UnsupportedError
from ait_runtime.signature import Tree


def arguments(program: ExportedProgram, forward: Callable | None) -> dict[str, Any]:
    """The arguments' half of a signature. ``forward`` is what the user calls; None for a program that was exported
    elsewhere, whose arguments are then named as torch named them. Tensors are named as the program's placeholders."""
    specs = program.graph_signature.input_specs
    leaves = iter([_leaf(s.arg) for s in specs if s.kind is InputKind.USER_INPUT])
    args_spec, kwargs_spec = program.call_spec.in_spec.children()
    args = [encode(s, leaves) for s in args_spec.children()]
    kwargs = dict(zip(kwargs_spec.context, (encode(s, leaves) for s in kwargs_spec.children()), strict=True))
    if forward is None:
        names = program.module_call_graph[0].signature.forward_arg_names or []
        names = names if len(names) == len(args) + len(kwargs) else [f"arg{i}" for i in range(len(args))]
        positional = names[: len(args)]
        named = dict(zip(positional, args, strict=True)) | kwargs
        return {"arguments": named, "positional": positional, "varargs": None, "varkw": None}
    signature = inspect.signature(forward)
    kinds: dict[Any, list[str]] = {}
    for p in signature.parameters.values():
        kinds.setdefault(p.kind, []).append(p.name)
    varargs = kinds.get(inspect.Parameter.VAR_POSITIONAL, [None])[0]
    varkw = kinds.get(inspect.Parameter.VAR_KEYWORD, [None])[0]
    bound: dict[str, Any] = dict(signature.bind(*args, **kwargs).arguments)
    if varargs in bound:
        bound[varargs] = {"kind": "tuple", "items": list(bound[varargs])}
    if varkw in bound:
        bound[varkw] = {"kind": "dict", "keys": list(bound[varkw]), "items": list(bound[varkw].values())}
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p.name for p in signature.parameters.values() if p.kind in by_place]
    return {"arguments": bound, "positional": positional, "varargs": varargs, "varkw": varkw}


def _leaf(argument: Any) -> Tree:
    return constant(argument.value) if isinstance(argument, ConstantArgument) else {"tensor": argument.name}


def constant(value: Any) -> Tree:
    """A leaf that is no tensor; what JSON cannot hold is kept as text, to compare with."""
    return {"constant": value if value is None or isinstance(value, (bool, int, float, str)) else str(value)}


def encode(spec: pytree.TreeSpec, leaves: Iterator[Tree]) -> Tree:
    """The JSON of a pytree spec around its leaves."""
    if spec.is_leaf():
        return next(leaves)
    items = [encode(s, leaves) for s in spec.children()]
    kind, context = spec.type, spec.context
    if kind in (tuple, list):
        return {"kind": kind.__name__, "items": items}
    if kind in (dict, OrderedDict, defaultdict):
        keys = context[1] if kind is defaultdict else context
        return {"kind": "dict", "keys": [_key(k) for k in keys], "items": items}
    cls = context if kind is namedtuple else kind
    return {"kind": "object", "class": f"{cls.__module__}:{cls.__qualname__}", "keys": _keys(cls, context, len(items)),
            "items": items}  # fmt: skip


def _key(key: Any) -> Any:
    if not isinstance(key, (str, int, bool, float)):
        raise UnsupportedError(f"A dict among the inputs or outputs has the key {key!r}: use strings or numbers.")
    return key


def _keys(cls: type, context: Any, count: int) -> list[str] | None:
    """The field names of a record, as named tuples, dataclasses and ``transformers``' outputs keep them."""
    nested = context[0] if isinstance(context, Sequence) and len(context) == 2 else None
    for names in (getattr(cls, "_fields", None), context, nested):
        if isinstance(names, (list, tuple)) and len(names) == count and all(isinstance(n, str) for n in names):
            return list(names)
    return None


def result_names(tree: Tree, taken: set[str], path: str = "output") -> None:
    """Name the tensors of a result (``{"tensor": None}``) after their places in it, in place: ``output``,
    ``output_0``, or the key if they have one."""
    if "tensor" in tree:
        base = re.sub(r"\W", "_", path, flags=re.ASCII)
        name, n = base, 0
        while name in taken:
            name, n = f"{base}_{(n := n + 1)}", n
        taken.add(name)
        tree["tensor"] = name
    for key, item in zip(tree.get("keys") or range(len(tree.get("items", ()))), tree.get("items", ()), strict=True):
        prefix = "" if path == "output" and isinstance(key, str) and key[:1].isalpha() else f"{path}_"
        result_names(item, taken, f"{prefix}{key}")


def open_node(value: Any) -> Sequence[Any] | None:
    """The items of an object that torch's pytree can open."""
    node = pytree.SUPPORTED_NODES.get(pytree._get_node_type(value))
    return None if node is None else list(node.flatten_fn(value)[0])
