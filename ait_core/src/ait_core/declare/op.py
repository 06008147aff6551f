# SPDX-License-Identifier: Apache-2.0
"""Declaring an op. The decorators here turn one Python function into an :class:`Op`; its signature is the op's
signature: positional parameters are tensors (``= None`` makes one optional, ``*xs`` takes any number), keyword-only
parameters are attributes with their annotated types and defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ait_core.declare import roles
from ait_core.declare.roles import Role
from ait_core.errors import GraphError
from ait_core.ir import dims, dtypes
from ait_core.ir.dims import Dim
from ait_core.ir.types import TensorType, broadcast

OP_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Param:
    """A tensor parameter."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class Attr:
    """An attribute: its annotation (as written) and default; ``inspect.Parameter.empty`` if it must be given."""

    name: str
    type: str
    default: Any = inspect.Parameter.empty


@dataclass(frozen=True, eq=False)
class Op:
    """An operation, known to the core only by what is declared here.

    ``infer(*types, **attrs)`` gives the result type (or a sequence of them); ``reference(*arrays, **attrs)`` computes
    the truth with NumPy. Optional operands that are absent are passed as ``None``. ``commutative`` lets rules match
    the first two operands in either order. ``flops(*types, **attrs)`` counts the arithmetic of an op that only a kernel
    template can compute, for ``ait bench``; that of other ops follows from their roles.
    """

    name: str
    params: tuple[Param, ...]
    attrs: tuple[Attr, ...]
    role: Role
    infer: roles.InferFn
    reference: Callable[..., Any]
    doc: str = ""
    commutative: bool = False
    flops: Callable[..., Dim] | None = None

    def __post_init__(self) -> None:
        if not OP_NAME.fullmatch(self.name):
            raise GraphError(f"An op is named pack.op in lower case; got {self.name!r}.")

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        """Add the op to the graph of its operands; returns its value, or a tuple if it has several."""
        from ait_core.ir.graph import emit

        return emit(self, operands, attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def bind(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """All attributes with defaults filled in.

        Raises:
            GraphError: on an unknown or a missing attribute.
        """
        known = {a.name: a for a in self.attrs}
        unknown = attrs.keys() - known.keys()
        out = {n: attrs.get(n, a.default) for n, a in known.items()}
        missing = [n for n, v in out.items() if v is inspect.Parameter.empty]
        if unknown or missing:
            raise GraphError(
                f"{self.name} takes the attributes {', '.join(known) or 'none'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(sorted(unknown)) or 'none'}."
            )
        return {n: _plain(v) for n, v in out.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_plain(v) for v in value)
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    return dims.as_dim(value) if hasattr(value, "free_symbols") else value  # a symbolic size


def signature(fn: Callable, skip: int = 0) -> tuple[tuple[Param, ...], tuple[Attr, ...]]:
    """Tensor parameters and attributes of a function, leaving out the first ``skip`` positional ones."""
    params: list[Param] = []
    attrs: list[Attr] = []
    for p in list(inspect.signature(fn).parameters.values())[skip:]:
        if p.kind is p.KEYWORD_ONLY:
            shown = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
            attrs.append(Attr(p.name, shown if p.annotation is not p.empty else "", p.default))
        else:
            params.append(Param(p.name, p.default is None, p.kind is p.VAR_POSITIONAL))
    return tuple(params), tuple(attrs)


def _make(name: str, fn: Callable, role: Role, infer, reference, skip: int = 0, commutative: bool = False,
          flops: Callable[..., Dim] | None = None) -> Op:  # fmt: skip
    params, attrs = signature(fn, skip)
    return Op(name, params, attrs, role, infer, reference, inspect.getdoc(fn) or "", commutative, flops)


def pointwise(name: str, *, result: str | Callable = "promote", commutative: bool = False) -> Callable[[Callable], Op]:
    """Declare a pointwise op from one function over scalar primitives (:mod:`ait_core.scalar`).

    Args:
        name: ``pack.op``.
        result: dtype of the result: ``"promote"`` (the common dtype of the operands), ``"float"`` (the same, but
            float32 for integers, which are converted before the function sees them), a dtype name, or
            ``fn(*types, **attrs) -> DType``.
    """

    def wrap(declared: Callable) -> Op:
        fn = _of_floats(declared) if result == "float" else declared

        def infer(*types: TensorType | None, **attrs: Any) -> TensorType:
            given = [t for t in types if t is not None]
            if callable(result):
                dtype = result(*types, **attrs)
            elif result in ("promote", "float"):
                dtype = promote_types(given)
                dtype = dtypes.float32 if result == "float" and not dtype.is_float else dtype
            else:
                dtype = dtypes.dtype(result)
            return TensorType(dtype, broadcast(*(t.shape for t in given)))

        def reference(*arrays: np.ndarray | None, **attrs: Any) -> np.ndarray:
            given = [a for a in arrays if a is not None]
            common = promote_types([TensorType(dtypes.dtype(a.dtype), a.shape) for a in given])
            wide = _computed(common)
            keep = {a.dtype for a in given} == {np.dtype("?")}
            mixed = [a if a is None or keep or a.dtype == bool else _widen(a, wide) for a in arrays]
            with np.errstate(all="ignore"):
                out = np.asarray(fn(*mixed, **attrs))
                types = [None if a is None else TensorType(dtypes.dtype(a.dtype), a.shape) for a in arrays]
                made = infer(*types, **attrs)
                return np.broadcast_to(out.astype(made.dtype.numpy), made.shape)

        return _make(name, declared, roles.Pointwise(fn), infer, reference, commutative=commutative)

    return wrap


def _of_floats(fn: Callable) -> Callable:
    """``fn`` of operands that all are the widest float among them, float32 at least: before any function is applied, so
    that the logarithm of a float32 beside a float64 is taken in float64."""

    def on_floats(*operands: Any, **attrs: Any) -> Any:
        from ait_core.scalar import expr

        given = [x for x in operands if x is not None]
        if any(isinstance(x, expr.Expr) for x in given):
            kind = "double" if any(x.kind == "double" for x in given) else "float"
            return fn(*(x if x is None else expr.convert(x, kind) for x in operands), **attrs)
        wide = np.float64 if any(x.dtype == np.float64 for x in given) else np.float32
        return fn(*(x if x is None else x.astype(wide) for x in operands), **attrs)

    return on_floats


def _computed(t: dtypes.DType) -> np.dtype:
    """The NumPy dtype of what ``t`` computes in."""
    return np.dtype({"bool": "?", "float": "f4", "double": "f8"}.get(t.compute, t.compute[5:-2]))


def _widen(a: np.ndarray, wide: np.dtype) -> np.ndarray:
    own = np.dtype("f4") if a.dtype.itemsize == 2 and dtypes.dtype(a.dtype).is_float else a.dtype
    return a.astype(np.promote_types(own, wide) if own.kind == wide.kind else wide)  # integers beside floats are floats


def promote_types(types: Iterable[TensorType]) -> dtypes.DType:
    """The common dtype. As in torch, a 0-d operand widens the result only if its kind (bool, int, float) is higher."""
    types = list(types)
    ranked, scalars = [t.dtype for t in types if t.rank], [t.dtype for t in types if not t.rank]
    common = dtypes.promote(*(ranked or scalars))
    highest = dtypes.promote(*(scalars or ranked))
    return highest if _kind(highest) > _kind(common) else common


def _kind(t: dtypes.DType) -> int:
    return 2 if t.is_float else 1 if t.is_int else 0


def view(name: str) -> Callable[[Callable], Op]:
    """Declare a view op: the function maps the operand's type and the attributes to a list of view primitives
    (:mod:`ait_core.ir.views`)."""

    def wrap(fn: Callable) -> Op:
        def infer(x: TensorType, **attrs: Any) -> TensorType:
            shape = x.shape
            for step in fn(x, **attrs):
                shape = step.shape(shape)
            return x.of_shape(shape)

        def reference(x: np.ndarray, **attrs: Any) -> np.ndarray:
            for step in fn(TensorType(dtypes.dtype(x.dtype), x.shape), **attrs):
                x = step.array(x, tuple(step.shape(x.shape)))
            return x

        return _make(name, fn, roles.Viewing(fn), infer, reference)

    return wrap


def indexed(name: str, *, infer: roles.InferFn, reference: Callable | None = None) -> Callable[[Callable], Op]:
    """Declare an op that computes each element from its coordinates: ``fn(at, *reads, **attrs)``
    (:class:`ait_core.declare.roles.Indexed`)."""

    def wrap(fn: Callable) -> Op:
        def by_coordinates(*arrays: np.ndarray | None, **attrs: Any) -> np.ndarray:
            types = [None if a is None else TensorType(dtypes.dtype(a.dtype), a.shape) for a in arrays]
            made = infer(*types, **attrs)
            at = tuple(np.ogrid[tuple(slice(0, n) for n in made.shape)]) if made.shape else ()
            with np.errstate(all="ignore"):
                out = np.asarray(fn(at, *(None if a is None else ArrayRead(a) for a in arrays), **attrs))
            return np.broadcast_to(out.astype(made.dtype.numpy), made.shape)

        return _make(name, fn, roles.Indexed(fn), infer, reference or by_coordinates, skip=1)

    return wrap


class ArrayRead:
    """How an indexed op reads an array: called with coordinates, clamped to the array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, array.shape, dtypes.dtype(array.dtype)

    def __call__(self, *at: Any) -> np.ndarray:
        if 0 in self.shape:
            return np.zeros(np.broadcast_shapes(*(np.shape(i) for i in at)), self.array.dtype)
        found = self.array[tuple(np.clip(i, 0, n - 1) for i, n in zip(at, self.shape, strict=True))]
        return found.astype(_computed(self.dtype))


def reduction(name: str, *, combine: str, result: str | Callable = "same") -> Callable[[Callable], Op]:
    """Declare a reduction. The function is only the signature ``(x, *, axes, keepdim=False)`` and the documentation.

    ``result``: ``"same"``, a dtype name, or ``fn(type) -> DType``.
    """

    def wrap(fn: Callable) -> Op:
        def infer(x: TensorType, *, axes: Sequence[int], keepdim: bool = False) -> TensorType:
            over = {x.axis(a) for a in axes}
            shape = [1 if i in over else n for i, n in enumerate(x.shape) if keepdim or i not in over]
            if combine in ("maximum", "minimum", "argmax", "argmin") and any(x.shape[a] == 0 for a in over):
                raise GraphError(f"{name} over an empty axis has no value: {x}, axes {tuple(axes)}.")
            dtype = x.dtype if result == "same" else result(x) if callable(result) else dtypes.dtype(result)
            return TensorType(dtype, tuple(shape))

        def reference(x: np.ndarray, *, axes: Sequence[int], keepdim: bool = False) -> np.ndarray:
            made = infer(TensorType(dtypes.dtype(x.dtype), x.shape), axes=axes, keepdim=keepdim)
            over = tuple(a % x.ndim for a in axes)
            wide = x.astype(np.float64) if dtypes.dtype(x.dtype).is_float else x
            if combine in ("argmax", "argmin"):
                rest = [a for a in range(x.ndim) if a not in over]
                sizes = [x.shape[a] for a in rest]
                flat = wide.transpose(*rest, *over).reshape(*sizes, int(np.prod([x.shape[a] for a in over], dtype=int)))
                out = getattr(np, combine)(flat, axis=-1)
            else:
                fn_ = {"maximum": np.max, "minimum": np.min}.get(combine) or getattr(np, combine)
                with np.errstate(all="ignore"):
                    out = fn_(wide, axis=over) if over else _unreduced(wide, combine)
            return np.asarray(out).astype(made.dtype.numpy).reshape(made.shape)

        return _make(name, fn, roles.Reduction(combine), infer, reference)  # type: ignore[arg-type]

    return wrap


def _unreduced(x: np.ndarray, combine: str) -> np.ndarray:
    return x.astype(bool) if combine in ("any", "all") else x


def join(name: str) -> Callable[[Callable], Op]:
    """Declare an op that puts its operands side by side; the function returns the axis."""

    def wrap(fn: Callable) -> Op:
        def infer(*types: TensorType, **attrs: Any) -> TensorType:
            axis = fn(*types, **attrs)
            first = types[0]
            for t in types:
                rest = [i for i in range(first.rank) if i != axis]
                if t.rank != first.rank or not all(dims.same(t.shape[i], first.shape[i]) for i in rest):
                    raise GraphError(f"{name} needs equal shapes but for axis {axis}; got {', '.join(map(str, types))}.")
            total = sum((t.shape[axis] for t in types), start=0)
            dtype = dtypes.promote(*(t.dtype for t in types))
            return TensorType(dtype, dims.as_shape((*first.shape[:axis], total, *first.shape[axis + 1 :])))

        def reference(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
            types = [TensorType(dtypes.dtype(a.dtype), a.shape) for a in arrays]
            made = infer(*types, **attrs)
            return np.concatenate([a.astype(made.dtype.numpy) for a in arrays], axis=fn(*types, **attrs))

        return _make(name, fn, roles.Join(fn), infer, reference)

    return wrap


def contraction(name: str, *, infer: roles.InferFn, reference: Callable) -> Callable[[Callable], Op]:
    """Declare ``a[..., m, k] * b[..., k, n]``; the function is the signature and the documentation."""
    return lambda fn: _make(name, fn, roles.Contraction(), infer, reference)


def composite(
    name: str, *, reference: Callable | None = None, infer: roles.InferFn | None = None
) -> Callable[[Callable], Op]:
    """Declare an op made of other ops: the function takes and returns graph values. Without ``infer`` its type is that
    of what it is made of; without ``reference`` it is computed by the references of what it is made of."""

    def wrap(fn: Callable) -> Op:
        from ait_core.ir.graph import build_types, run_composite

        return _make(
            name, fn, roles.Composite(fn),
            infer or (lambda *types, **attrs: build_types(fn, types, attrs)),
            reference or (lambda *arrays, **attrs: run_composite(fn, arrays, attrs)),
        )  # fmt: skip

    return wrap


def opaque(name: str, *, infer: roles.InferFn, reference: Callable,
           flops: Callable[..., Dim] | None = None) -> Callable[[Callable], Op]:  # fmt: skip
    """Declare an op that only kernel templates can compute; the function is the signature and the documentation."""
    return lambda fn: _make(name, fn, roles.Opaque(), infer, reference, flops=flops)


def ops_in(*modules: ModuleType) -> list[Op]:
    """All ops defined at the top level of some modules: what the hook ``ait_ops`` returns."""
    return list({id(v): v for m in modules for v in vars(m).values() if isinstance(v, Op)}.values())
