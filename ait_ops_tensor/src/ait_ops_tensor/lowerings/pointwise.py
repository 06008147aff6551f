# SPDX-License-Identifier: Apache-2.0
"""Pointwise ops of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import Lowering, lowering
from ait_core.ir.graph import Value
from ait_ops_tensor.lowerings.common import fit, operand, to

# torch's operands in torch's order, no attributes: the same name, or the one given after "="
_SAME = """
abs acos acosh asin asinh atan atan2 atanh bitwise_and=bit_and bitwise_left_shift=shift_left bitwise_not=bit_not
bitwise_or=bit_or bitwise_right_shift=shift_right bitwise_xor=bit_xor ceil clamp copysign cos cosh div.Tensor=div
div.Scalar=div true_divide=div divide.Tensor=div divide.Scalar=div eq erf exp exp2 expm1 floor floor_divide=floor_div
fmod frac ge greater=gt greater_equal=ge gt hardsigmoid hardswish hypot isfinite isinf isnan le less=lt less_equal=le
lerp log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor lt maximum minimum mish mul
multiply=mul ne neg negative=neg not_equal=ne reciprocal relu remainder round.default=round rsqrt selu sgn=sign
sigmoid sign signbit silu sin sinh special_erf=erf special_expit=sigmoid special_exp2=exp2 special_expm1=expm1
special_log1p=log1p special_xlogy=xlogy sqrt square tan tanh trunc fix=trunc where.self=where where.ScalarSelf=where
where.ScalarOther=where where.Scalar=where xlogy max.other=maximum min.other=minimum __and__=bit_and __or__=bit_or
__xor__=bit_xor __lshift__=shift_left __rshift__=shift_right softshrink hardshrink
"""
_ATTRS = {"softshrink": ("lambd",), "hardshrink": ("lambd",)}


def _direct(op: Callable[..., Value]) -> Callable[..., Value]:
    return lambda ctx, *xs: fit(ctx, op(*map(operand, xs)))


def _with_attrs(op: Callable[..., Value], names: tuple[str, ...]) -> Callable[..., Value]:
    return lambda ctx, x, *attrs: fit(ctx, op(x, **dict(zip(names, attrs, strict=False))))


def _table() -> list[Lowering]:
    out = []
    for entry in _SAME.split():
        theirs, _, ours = entry.partition("=")
        if theirs not in _ATTRS:
            out.append(Lowering("torch", f"aten.{theirs}", _direct(getattr(t, ours or theirs))))
    attributes = {
        **_ATTRS, "leaky_relu": ("slope",), "elu": ("alpha", "scale", "input_scale"), "celu": ("alpha",),
        "softplus": ("beta", "threshold"), "hardtanh": ("lo", "hi"), "threshold": ("threshold", "value"),
        "nan_to_num": ("nan", "posinf", "neginf"), "log_sigmoid": (), "glu": ("dim",),
    }  # fmt: skip
    ours = {"log_sigmoid": "logsigmoid"}
    for name, attrs in attributes.items():
        out.append(Lowering("torch", f"aten.{name}", _with_attrs(getattr(t, ours.get(name, name)), attrs)))
    return out


TABLE = _table()


def _scaled(x: Any, by: Any) -> Any:
    if isinstance(by, (int, float)) and by == 1:
        return x
    return x * by if isinstance(x, (int, float)) and isinstance(by, (int, float)) else t.mul(operand(x), operand(by))


@lowering("torch", "aten.add")
def add(ctx: Any, x: Any, y: Any, alpha: Any = 1) -> Value:
    return fit(ctx, t.add(operand(x), operand(_scaled(y, alpha))))


@lowering("torch", "aten.sub", "aten.subtract")
def sub(ctx: Any, x: Any, y: Any, alpha: Any = 1) -> Value:
    return fit(ctx, t.sub(operand(x), operand(_scaled(y, alpha))))


@lowering("torch", "aten.rsub")
def rsub(ctx: Any, x: Any, y: Any, alpha: Any = 1) -> Value:
    return fit(ctx, t.sub(operand(y), operand(_scaled(x, alpha))))


@lowering("torch", "aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(ctx: Any, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    x, y = operand(x), operand(y)
    if rounding_mode == "floor":
        return fit(ctx, t.floor_div(x, y))
    if rounding_mode == "trunc" and ctx.type.dtype.is_int:
        return fit(ctx, t.floor_div(t.sub(x, t.fmod(x, y)), y))  # exact once the remainder is taken off
    quotient = t.div(x, y)
    return fit(ctx, quotient if rounding_mode is None else t.trunc(quotient))


@lowering("torch", "aten.pow")
def power(ctx: Any, x: Any, y: Any) -> Value:
    special = {2: t.square, 0.5: t.sqrt, -0.5: t.rsqrt, -1: t.reciprocal, 1: lambda v: v}
    if isinstance(y, (int, float)) and y in special and (y > 0 or ctx.type.dtype.is_float):
        return fit(ctx, special[y](to(x, ctx.type.dtype)))
    return fit(ctx, t.pow(operand(x), operand(y)))


@lowering("torch", "aten.clamp_min")
def clamp_min(ctx: Any, x: Value, lo: Any) -> Value:
    return fit(ctx, t.clamp(x, operand(lo)))


@lowering("torch", "aten.clamp_max")
def clamp_max(ctx: Any, x: Value, hi: Any) -> Value:
    return fit(ctx, t.clamp(x, None, operand(hi)))


@lowering("torch", "aten.relu6")
def relu6(ctx: Any, x: Value) -> Value:
    return fit(ctx, t.hardtanh(x, lo=0.0, hi=6.0))


@lowering("torch", "aten.gelu")
def gelu(ctx: Any, x: Value, approximate: str = "none") -> Value:
    return fit(ctx, t.gelu(x, approximate=approximate))


@lowering("torch", "aten.log_sigmoid_forward")
def log_sigmoid_forward(ctx: Any, x: Value) -> tuple[Value | None, ...]:
    return fit(ctx, t.logsigmoid(x)), None  # the second result only serves gradients


@lowering("torch", "aten.prelu", "aten._prelu_kernel")
def prelu(ctx: Any, x: Value, weight: Value) -> Value:
    if weight.type.rank == 1 and x.type.rank > 2:  # one slope a channel, axis 1
        weight = t.reshape(weight, shape=(weight.shape[0], *(1,) * (x.type.rank - 2)))
    return fit(ctx, t.prelu(x, weight))


@lowering("torch", "aten.logit")
def logit(ctx: Any, x: Value, eps: float | None = None) -> Value:
    return fit(ctx, t.logit(x if eps is None else t.clamp(x, eps, 1 - eps)))


@lowering("torch", "aten.masked_fill")
def masked_fill(ctx: Any, x: Value, mask: Value, value: Any) -> Value:
    value = operand(value)
    return fit(ctx, t.where(mask, to(value, x.dtype) if isinstance(value, Value) else value, x))


@lowering("torch", "aten.addcmul")
def addcmul(ctx: Any, x: Value, a: Value, b: Value, value: Any = 1) -> Value:
    return fit(ctx, t.add(x, _scaled(t.mul(a, b), value)))


@lowering("torch", "aten.addcdiv")
def addcdiv(ctx: Any, x: Value, a: Value, b: Value, value: Any = 1) -> Value:
    return fit(ctx, t.add(x, _scaled(t.div(a, b), value)))


@lowering("torch", "aten.to", "aten._to_copy", "aten.type_as", "prims.convert_element_type")
def cast(ctx: Any, x: Value, *_: Any, **__: Any) -> Value:
    return fit(ctx, x)


@lowering("torch", "aten.isposinf")
def isposinf(ctx: Any, x: Value) -> Value:
    return t.eq(x, float("inf"))


@lowering("torch", "aten.isneginf")
def isneginf(ctx: Any, x: Value) -> Value:
    return t.eq(x, float("-inf"))
