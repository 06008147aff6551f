# SPDX-License-Identifier: Apache-2.0
"""Walking an exported program: every node that a result needs becomes values, through the lowering of its op."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ait_core.declare.rule import Lowering
from ait_core.errors import AITError, InternalError, UnsupportedError
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Constant, Value
from ait_core.ir.types import TensorType
from ait_frontend_torch import source
from ait_frontend_torch.symbols import Symbols
from ait_frontend_torch.tensors import ait_dtype, identity, share

Lowerings = Mapping[str, Lowering]
_DROPPED = (torch.device, torch.layout, torch.memory_format)
_DROPPED_NAMES = ("device", "layout", "memory_format", "pin_memory", "non_blocking")
_INLINE = {"higher_order.wrap_with_set_grad_enabled": 1, "higher_order.wrap_with_autocast": 4}


class Refused(UnsupportedError):
    """A lowering's ``ctx.error``: it cannot serve this use of its op."""


@dataclass
class Context:
    """What a lowering gets as ``ctx``: the node's result types as torch has them, and a way to decline.

    Lowerings receive graph values for tensors, ints or sympy sizes for ints, ``DType`` for dtypes, tuples for lists,
    and None for devices, layouts and memory formats; positional arguments come in the order of torch's schema, and only
    keyword-only ones by name. They return a value, or a tuple where torch returns several.
    """

    target: str
    _node: torch.fx.Node
    _infer: Callable[[], tuple[TensorType, ...]]

    @cached_property
    def types(self) -> tuple[TensorType, ...]:
        """dtypes and shapes of the results."""
        return self._infer()

    @property
    def type(self) -> TensorType:
        """dtype and shape of the (first) result."""
        return self.types[0]

    def is_contiguous(self, argument: int) -> bool:
        """Whether the tensor given as a positional argument lies row-major without gaps in torch's memory."""
        return self._node.args[argument].meta["val"].is_contiguous()

    def error(self, reason: str) -> None:
        """Say that this use of the op cannot be lowered: torch's decomposition is tried, and ``reason`` is reported if
        there is none."""
        raise Refused(reason)


@dataclass(frozen=True)
class Problem:
    """A node that cannot be imported: ``reason`` is empty where just no lowering exists."""

    node: torch.fx.Node
    target: str
    error: UnsupportedError

    @property
    def reason(self) -> str:
        return str(self.error)


_FAILED = object()


class Importer:
    """One walk over a program. ``problems`` holds every node that could not be imported afterwards."""

    def __init__(self, program: ExportedProgram, symbols: Symbols, lowerings: Lowerings, constants: dict) -> None:
        self.program, self.symbols, self.lowerings = program, symbols, lowerings
        self.problems: list[Problem] = []
        self.inputs: dict[str, Value] = {}
        self._constants: dict[tuple, tuple[torch.Tensor, Value]] = constants
        self._known: set[int] = set()

    def run(self) -> list[Any]:
        """The program's results in the order of its signature: values, dims, numbers or None; meaningless if there are
        ``problems``."""
        specs = {s.arg.name: s for s in self.program.graph_signature.input_specs}
        env: dict[torch.fx.Node, Any] = {}
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                env[node] = self._guard(node, lambda node: self._placeholder(node, specs[node.name]))
        made = self._body(self.program.graph_module, env)
        by_name = {n.name: v for n, v in env.items()}
        outputs = self.program.graph.output_node().args[0]
        return [by_name[o.name] if isinstance(o, torch.fx.Node) else o for o in outputs] if made is not None else []

    # -- leaves

    def _placeholder(self, node: torch.fx.Node, spec: Any) -> Any:
        if spec.kind is InputKind.USER_INPUT:
            seen = node.meta.get("val")
            if isinstance(seen, torch.Tensor):
                self.inputs[node.name] = Value(node.name, self._type(seen))
                self._known.add(id(self.inputs[node.name]))
                return self.inputs[node.name]
            if isinstance(seen, (torch.SymInt, torch.SymFloat)):
                raise Refused("a number among the inputs is dynamic: pass it as a tensor, or take it from a shape")
            return seen
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            persistent = spec.kind is InputKind.PARAMETER or spec.persistent
            tensor = (self.program.state_dict if persistent else self.program.constants)[spec.target]
            return self._constant(tensor, spec.target, parameter=True)
        if spec.kind is InputKind.CONSTANT_TENSOR:
            return self._constant(self.program.constants[spec.target], spec.target, parameter=False)
        raise Refused(f"an input of kind {spec.kind.name.lower()} ({spec.target}) is no tensor")

    def _constant(self, tensor: torch.Tensor, name: str, *, parameter: bool) -> Value:
        key = identity(tensor)
        if key not in self._constants:
            array = share(tensor, name)
            kind = TensorType(ait_dtype(tensor.dtype), array.shape)
            made = Value(name, kind, constant=Constant(array, name if parameter else None))
            self._constants[key] = (tensor, made)  # a key means something only as long as its tensor lives
        self._known.add(id(self._constants[key][1]))
        return self._constants[key][1]

    def _type(self, tensor: torch.Tensor) -> TensorType:
        return TensorType(ait_dtype(tensor.dtype), tuple(self.symbols.dim(s) for s in tensor.shape))

    # -- nodes

    def _body(self, module: torch.fx.GraphModule, env: dict[torch.fx.Node, Any]) -> list[Any] | None:
        """Import what the module's output needs; None if some of that failed."""
        output = module.graph.output_node()
        live = {output}
        for node in reversed(module.graph.nodes):
            if node in live:
                live.update(node.all_input_nodes)
            elif isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
                self.problems.append(Problem(node, target_name(node.target), UnsupportedError("it writes in place")))
        for node in module.graph.nodes:
            if node in live and node not in env and node.op != "output":
                failed = any(env[n] is _FAILED for n in node.all_input_nodes)
                made = self._guard(node, lambda n, f=failed: self._lowering(n) if f else self._node(module, n, env))
                env[node] = _FAILED if failed else made
        made = torch.fx.map_arg(output.args[0], lambda n: env[n])
        return None if any(m is _FAILED for m in made) else list(made)

    def _guard(self, node: torch.fx.Node, make: Callable[[torch.fx.Node], Any]) -> Any:
        """``make(node)``; what cannot be imported is noted, so that one report lists everything."""
        try:
            return make(node)
        except UnsupportedError as e:
            self.problems.append(Problem(node, target_name(node.target), e))
            return _FAILED

    def _node(self, module: torch.fx.GraphModule, node: torch.fx.Node, env: Mapping[torch.fx.Node, Any]) -> Any:
        lowering = self._lowering(node)
        seen, name = node.meta.get("val"), target_name(node.target)
        if node.op == "get_attr":
            found = operator.attrgetter(node.target)(module)
            return self._constant(found, node.target, parameter=False) if isinstance(found, torch.Tensor) else found
        if node.target is operator.getitem:
            return env[node.args[0]][node.args[1]]
        if name in _INLINE:
            return self._inline(node, _INLINE[name], env)
        if lowering is None:
            return self.symbols.dim(seen)
        many = seen if isinstance(seen, (tuple, list)) else (seen,)
        args, kwargs = self._arguments(node, env)
        ctx = Context(name, node, lambda: tuple(self._type(t) for t in many if isinstance(t, torch.Tensor)))
        try:
            inspect.signature(lowering.fn).bind(ctx, *args, **kwargs)
        except TypeError as e:
            raise UnsupportedError(f"its lowering does not know this form of it: {e}") from None
        try:
            made = lowering.fn(ctx, *args, **kwargs)
        except UnsupportedError:
            raise
        except AITError as e:
            raise UnsupportedError(f"its lowering fails: {e}") from e
        self._check(node, made, many)
        self._label(node, made)
        return made

    def _lowering(self, node: torch.fx.Node) -> Lowering | None:
        """The lowering of the node's op, None if it needs none.

        Raises:
            UnsupportedError: if there is none.
        """
        seen = node.meta.get("val")
        own = node.op == "get_attr" or node.target is operator.getitem or target_name(node.target) in _INLINE
        if own or (isinstance(seen, (int, torch.SymInt)) and not isinstance(seen, bool)):
            return None
        name = target_name(node.target)
        found = self.lowerings.get(name) or self.lowerings.get(name.rpartition(".")[0])
        if found is None:
            raise UnsupportedError("")
        return found

    def _inline(self, node: torch.fx.Node, skip: int, env: Mapping[torch.fx.Node, Any]) -> Any:
        """A region that only switches gradients or autocast off is part of the graph around it."""
        if skip == 4 and node.args[2]:
            raise UnsupportedError("autocast changes dtypes")
        body = getattr(node.graph.owning_module, node.args[skip].target)
        places = [n for n in body.graph.nodes if n.op == "placeholder"]
        values = [env[a] if isinstance(a, torch.fx.Node) else a for a in node.args[skip + 1 :]]
        made = self._body(body, dict(zip(places, values, strict=True)))
        return _FAILED if made is None else tuple(made)

    def _arguments(self, node: torch.fx.Node, env: Mapping[torch.fx.Node, Any]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = [self._convert(a, env) for a in node.args]
        named = dict(node.kwargs)
        if not isinstance(node.target, torch._ops.OpOverload):
            return args, {k: self._convert(v, env) for k, v in named.items()}
        kwargs: dict[str, Any] = {}
        for i, a in enumerate(node.target._schema.arguments):
            if a.kwarg_only:
                if a.name in named and a.name not in _DROPPED_NAMES:
                    kwargs[a.name] = self._convert(named[a.name], env)
            elif i >= len(args) and any(b.name in named for b in node.target._schema.arguments[i:] if not b.kwarg_only):
                args.append(self._convert(named.pop(a.name, a.default_value), env))
        return args, kwargs

    def _convert(self, a: Any, env: Mapping[torch.fx.Node, Any]) -> Any:
        if isinstance(a, torch.fx.Node):
            return env[a]
        if isinstance(a, (list, tuple)):
            return tuple(self._convert(x, env) for x in a)
        if isinstance(a, torch.dtype):
            return ait_dtype(a)
        return None if isinstance(a, _DROPPED) else a

    def _check(self, node: torch.fx.Node, made: Any, seen: Any) -> None:
        """A lowering must give what torch gives: the same dtype and shape."""
        made = made if isinstance(made, tuple) else (made,)
        for value, tensor in zip(made, seen, strict=False):
            if value is None or not isinstance(tensor, torch.Tensor):
                continue
            want = self._type(tensor)
            if not isinstance(value, Value) or value.dtype != want.dtype or not _agree(value.shape, want.shape):
                got = value.type if isinstance(value, Value) else type(value).__name__
                where = source.describe(node)
                raise InternalError(f"The lowering of {node.target} gives {got} where torch has {want}: {where}")

    def _label(self, node: torch.fx.Node, made: Any) -> None:
        """Name the new nodes after the module they came from, and note the line in the user's source."""
        where, name = source.short(node), source.label(node)
        stack = [v for v in (made if isinstance(made, tuple) else (made,)) if isinstance(v, Value)]
        while stack:
            v = stack.pop()
            if id(v) in self._known or v.node is None:
                continue
            self._known.update(id(o) for o in v.node.outputs)
            v.node.source = where
            for o in v.node.outputs:
                o.name = name if len(v.node.outputs) == 1 else f"{name}_{o.index}"
            stack += v.node.operands


def target_name(target: Any) -> str:
    """What a lowering of it is registered as: ``aten.add.Tensor``, ``python.truediv``, ``higher_order.cond``."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return target if isinstance(target, str) else f"python.{re.sub('^_', '', getattr(target, '__name__', str(target)))}"


def _agree(a: dims.Shape, b: dims.Shape) -> bool:
    """Whether two shapes are equal for some sizes of their dims: forms may differ, so equality cannot be proven."""
    if len(a) != len(b):
        return False
    symbols = sorted(dims.symbols((*a, *b)), key=str)
    probes = [{s: min(max(s.lo, 7 + 4 * i), s.hi) for i, s in enumerate(symbols)}, {s: s.hi for s in symbols}]
    return all(_at(x, p) == _at(y, p) for x, y in zip(a, b, strict=True) for p in probes)


def _at(size: Dim, sizes: Mapping[Any, int]) -> int:
    return size if isinstance(size, int) else int(size.subs(sizes))
