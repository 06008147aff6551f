# SPDX-License-Identifier: Apache-2.0
"""Pointwise ops, views, joins, lookups, reductions and scans. Semantics are torch's.

Each name is an op to be called on graph values, but ``squeeze``, ``split``, ``chunk`` and ``unbind`` are functions made
of ops, and ``statistics_dtype`` and ``size_as_value`` help to write some.
"""
# ruff: noqa: I001
# fmt: off

from ait_ops_tensor.activations import (
    celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, prelu, relu,
    selu, sigmoid, silu, softplus, softshrink, softsign, tanhshrink, threshold,
)
from ait_ops_tensor.arithmetic import (
    abs, add, ceil, clamp, copysign, div, floor, floor_div, fmod, frac, hypot, lerp, maximum, minimum, mul, neg,
    pow, remainder, round, sign, square, sub, trunc,
)
from ait_ops_tensor.elementary import (
    acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, erf, exp, exp2, expm1, log, log10, log1p, log2,
    logaddexp, logit, reciprocal, rsqrt, sin, sinh, sqrt, tan, tanh, xlogy,
)
from ait_ops_tensor.indexed import eye, full, iota, pad, repeat, repeat_interleave, roll, tril, triu, unfold
from ait_ops_tensor.joins import concat, stack
from ait_ops_tensor.logic import (
    bit_and, bit_not, bit_or, bit_xor, cast, eq, ge, gt, isfinite, isinf, isnan, le, logical_and, logical_not,
    logical_or, logical_xor, lt, nan_to_num, ne, shift_left, shift_right, signbit, where,
)
from ait_ops_tensor.lookup import embedding, gather, index, index_select, one_hot, take_along
from ait_ops_tensor.reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, logsumexp, mean, norm, prod, size_as_value,
    statistics_dtype, std, sum, var,
)
from ait_ops_tensor.scans import cumsum, sort, topk
from ait_ops_tensor.views import (
    chunk, expand, flatten, flip, movedim, permute, reshape, select, slice, split, squeeze, squeeze_axes, transpose,
    unbind, unflatten, unsqueeze,
)

__all__ = [
    "abs", "acos", "acosh", "add", "all", "amax", "amin", "any", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "bit_and", "bit_not", "bit_or", "bit_xor", "cast", "ceil", "celu", "chunk", "clamp", "concat",
    "copysign", "cos", "cosh", "count_nonzero", "cumsum", "div", "elu", "embedding", "eq", "erf", "exp", "exp2",
    "expand", "expm1", "eye", "flatten", "flip", "floor", "floor_div", "fmod", "frac", "full", "gather", "ge",
    "gelu", "glu", "gt", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hypot", "index", "index_select",
    "iota", "isfinite", "isinf", "isnan", "le", "leaky_relu", "lerp", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logsigmoid", "logsumexp", "lt", "maximum",
    "mean", "minimum", "mish", "movedim", "mul", "nan_to_num", "ne", "neg", "norm", "one_hot", "pad", "permute",
    "pow", "prelu", "prod", "reciprocal", "relu", "remainder", "repeat", "repeat_interleave", "reshape", "roll",
    "round", "rsqrt", "select", "selu", "shift_left", "shift_right", "sigmoid", "sign", "signbit", "silu", "sin",
    "sinh", "size_as_value", "slice", "softplus", "softshrink", "softsign", "sort", "split", "sqrt", "square",
    "squeeze", "squeeze_axes", "stack", "statistics_dtype", "std", "sub", "sum", "take_along", "tan", "tanh",
    "tanhshrink", "threshold", "topk", "transpose", "tril", "triu", "trunc", "unbind", "unflatten", "unfold",
    "unsqueeze", "var", "where", "xlogy",
]
