# SPDX-License-Identifier: Apache-2.0
"""torch's constructors, padding, triangles and repeats."""

from __future__ import annotations

from typing import Any

import sympy

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir.graph import Value
from ait_ops_tensor.lowerings.common import filled, fit, shaped


@lowering("torch", "aten.full", "aten.full_like", "aten.new_full", "aten.fill")
def full(ctx: Any, _: Any, *value: Any, **__: Any) -> Value:
    return filled(ctx, value[-1])


@lowering("torch", "aten.scalar_tensor")
def scalar_tensor(ctx: Any, value: Any, **_: Any) -> Value:
    return filled(ctx, value)


@lowering("torch", "aten.ones", "aten.ones_like", "aten.new_ones")
def ones(ctx: Any, *_: Any, **__: Any) -> Value:
    return filled(ctx, 1)


@lowering(
    "torch", "aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty", "aten.empty_like", "aten.new_empty",
    "aten.empty_permuted", "aten.empty_strided", "aten.new_empty_strided", "aten.zero",
)  # fmt: skip
def zeros(ctx: Any, *_: Any, **__: Any) -> Value:
    return filled(ctx, 0)


@lowering("torch", "aten.copy")
def copy(ctx: Any, x: Value, source: Value, *_: Any) -> Value:
    return t.expand(fit(ctx, source), shape=ctx.type.shape)


@lowering("torch", "aten.arange", "prims.iota")
def arange(ctx: Any, *bounds: Any, start: Any = 0, step: Any = 1, **_: Any) -> Value:
    if len(bounds) > 1:  # (start, end[, step])
        start, step = bounds[0], (*bounds, 1)[2]
    return t.iota(size=ctx.type.shape[0], start=start, step=step, dtype=ctx.type.dtype.name)


@lowering("torch", "aten.linspace")
def linspace(ctx: Any, start: Any, end: Any, steps: Any, **_: Any) -> Value:
    if any(isinstance(v, (Value, sympy.Expr)) for v in (start, end, steps)):
        ctx.error("its bounds are no plain numbers")
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    wide = "float64" if ctx.type.dtype.name == "float64" else "float32"
    return fit(ctx, t.iota(size=steps, start=float(start), step=step, dtype=wide))


@lowering("torch", "aten.eye")
def eye(ctx: Any, n: Any, m: Any = None, **_: Any) -> Value:
    return t.eye(n=n, m=m, dtype=ctx.type.dtype.name)


@lowering("torch", "aten.tril")
def tril(ctx: Any, x: Value, diagonal: Any = 0) -> Value:
    return t.tril(x, diagonal=diagonal)


@lowering("torch", "aten.triu")
def triu(ctx: Any, x: Value, diagonal: Any = 0) -> Value:
    return t.triu(x, diagonal=diagonal)


@lowering("torch", "aten.roll")
def roll(ctx: Any, x: Value, shifts: tuple, axes: tuple = ()) -> Value:
    if axes:
        return t.roll(x, shifts=shifts, dims=axes)
    flat = t.roll(t.reshape(x, shape=(x.type.numel,)), shifts=shifts, dims=(0,))
    return shaped(ctx, flat)


@lowering("torch", "aten.repeat", "aten.tile")
def repeat(ctx: Any, x: Value, repeats: tuple) -> Value:
    repeats = (1,) * (x.type.rank - len(repeats)) + tuple(repeats)
    return t.repeat(x, repeats=repeats)


@lowering("torch", "aten.repeat_interleave.self_int")
def repeat_interleave(ctx: Any, x: Value, repeats: int, dim: int | None = None, **_: Any) -> Value:
    if dim is None:
        x, dim = t.reshape(x, shape=(x.type.numel,)), 0
    return t.repeat_interleave(x, repeats=repeats, dim=dim)


@lowering("torch", "aten.constant_pad_nd")
def constant_pad(ctx: Any, x: Value, widths: tuple, value: Any = 0) -> Value:
    return _pad(x, widths, "constant", value)


@lowering("torch", "aten.pad")
def pad(ctx: Any, x: Value, widths: tuple, mode: str = "constant", value: Any = None) -> Value:
    return _pad(x, widths, mode, value or 0)


@lowering("torch", "aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d")
def reflection_pad(ctx: Any, x: Value, widths: tuple) -> Value:
    return _pad(x, widths, "reflect", 0)


@lowering("torch", "aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d")
def replication_pad(ctx: Any, x: Value, widths: tuple) -> Value:
    return _pad(x, widths, "replicate", 0)


def _pad(x: Value, widths: tuple, mode: str, value: Any) -> Value:
    """torch lists (before, after) from the last axis on."""
    rest = (0,) * (x.type.rank - len(widths) // 2)
    return t.pad(x, before=(*rest, *widths[-2::-2]), after=(*rest, *widths[::-2]), value=value, mode=mode)
