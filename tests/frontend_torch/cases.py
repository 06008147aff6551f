# SPDX-License-Identifier: Apache-2.0
"""Small functions that together use every lowering: name -> (function, inputs)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.frontend_torch.helpers import Input, b, f, i, u

# fmt: off
a = torch.ops.aten
CASES: dict[str, tuple[Callable[..., Any], tuple[Input, ...]]] = {}


def case(name: str, fn: Callable[..., Any], *inputs: Input) -> None:
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = (fn, inputs)


X, Y, V, N, M = f("B,4"), f("B,4"), f("4"), i("B,4"), b("B,4")

for op in ("abs ceil cos cosh erf exp exp2 expm1 floor frac hardsigmoid hardswish isfinite isinf isnan mish neg "
           "negative relu round selu sgn sigmoid sign signbit silu sin sinh special_erf special_exp2 special_expm1 "
           "special_expit square tan tanh trunc fix asinh atan positive log_sigmoid isposinf isneginf nan_to_num "
           "alias clone "
           "detach lift_fresh_copy logical_not gelu leaky_relu elu celu softplus hardtanh hardshrink softshrink "
           "relu6 resolve_conj resolve_neg").split():
    case(op, getattr(a, op), X)
for op in "log log10 log1p log2 reciprocal rsqrt sqrt special_log1p acos asin atanh logit".split():
    case(op, getattr(a, op), u("B,4"))
case("acosh", a.acosh, u("B,4", 1.1, 3.0))
for op in ("add sub subtract mul multiply div divide true_divide maximum minimum atan2 hypot logaddexp copysign eq ne "
           "lt le gt ge greater greater_equal less less_equal not_equal rsub floor_divide").split():
    case(f"{op}.tensor", getattr(a, op), X, Y)
for op in "add sub subtract mul multiply div divide true_divide eq ne lt le gt ge greater rsub floor_divide".split():
    case(f"{op}.int", lambda x, y, op=op: getattr(a, op)(x, y), N, i("4", 1, 6))
    case(f"{op}.scalar", lambda x, op=op: getattr(a, op)(x, 2.5), X)
    case(f"{op}.int_scalar", lambda x, op=op: getattr(a, op)(x, 3), N)
for op in "bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__".split():
    case(op, getattr(a, op), N, i("4", 1, 6))
    case(f"{op}.bool", getattr(a, op), M, b("4"))
for op in "logical_and logical_or logical_xor".split():
    case(op, getattr(a, op), M, b("4"))
for op in "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__".split():
    case(op, getattr(a, op), i("B,4", 0, 9), i("4", 0, 4))
for op in "remainder fmod".split():
    case(f"{op}.tensor", getattr(a, op), X, u("4", 0.5, 2.0))
    case(f"{op}.int", lambda x, op=op: getattr(a, op)(x, 3), N)
for op in "xlogy special_xlogy".split():
    case(op, getattr(a, op), u("B,4"), u("4"))
case("bitwise_not", a.bitwise_not, N)
case("add.alpha", lambda x, y: torch.add(x, y, alpha=0.5), X, V)
case("sub.alpha", lambda x, y: torch.sub(x, y, alpha=2), N, i("4"))
case("rsub.alpha", lambda x: torch.rsub(x, 1.0, alpha=2), X)
case("div.floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), X, u("4", 0.5, 2.0))
case("div.trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), X, u("4", 0.5, 2.0))
case("div.trunc_int", lambda x, y: torch.div(x, y, rounding_mode="trunc"), i("B,4", -20, 20), i("4", 2, 6))
case("div.floor_int", lambda x: torch.div(x, 3, rounding_mode="floor"), i("B,4", -20, 20))
case("div.overloads", lambda x: (a.div.Scalar(x, 2), a.divide.Scalar(x, 2),
                               a.div.Scalar_mode(x, 2, rounding_mode="floor")), X)
case("div.none", lambda x, y: torch.div(x, y, rounding_mode=None), N, i("4", 2, 6))
for p in (2, 3, 0.5, -0.5, -1, 1, 2.5):
    case(f"pow.{p}", lambda x, p=p: torch.pow(x, p), u("B,4"))
case("pow.int", lambda x: x**2, N)
case("pow.int_float", lambda x: x**0.5, i("B,4", 0, 9))
case("pow.tensor", torch.pow, u("B,4"), V)
case("pow.base", lambda x: 2.0**x, X)
case("clamp", lambda x: x.clamp(-0.5, 0.5), X)
case("clamp.tensor", torch.clamp, X, u("4", -1, -0.5), u("4", 0.5, 1))
case("clamp_min", lambda x: torch.clamp_min(x, 0.1), X)
case("clamp_max", torch.clamp_max, X, V)
case("clamp.int", lambda x: x.clamp(min=0), N)
case("gelu.tanh", lambda x: F.gelu(x, approximate="tanh"), X)
case("leaky_relu.slope", lambda x: F.leaky_relu(x, 0.3), X)
case("elu.alpha", lambda x: F.elu(x, 0.5), X)
case("celu.alpha", lambda x: F.celu(x, 0.5), X)
case("softplus.beta", lambda x: F.softplus(x, 2.0, 1.0), X)
case("hardtanh.bounds", lambda x: F.hardtanh(x, -0.3, 0.7), X)
case("threshold", lambda x: F.threshold(x, 0.1, 7.0), X)
case("softshrink.lambd", lambda x: F.softshrink(x, 0.2), X)
case("glu", lambda x: F.glu(x, -1), X)
case("log_sigmoid_forward", lambda x: a.log_sigmoid_forward(x)[0], X)
case("prelu", F.prelu, f("B,4,3"), V)
case("prelu.single", F.prelu, f("B,4"), f("1"))
case("prelu.kernel", a._prelu_kernel, X, f("1,4"))
case("logit.eps", lambda x: torch.logit(x, 0.1), u("B,4", 0, 1))
case("masked_fill", lambda x, m: x.masked_fill(m, -math.inf), X, M)
case("masked_fill.tensor", lambda x, m, v: x.masked_fill(m, v), X, b("4"), f(""))
case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), X, V, Y)
case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z), X, V, u("4"))
case("lerp", torch.lerp, X, Y, u("4"))
case("lerp.scalar", lambda x, y: torch.lerp(x, y, 0.3), X, Y)
case("where", torch.where, M, X, V)
case("where.scalars", lambda m: torch.where(m, 1.0, 0.0), M)
case("where.scalar", lambda m, x: torch.where(m, x, 2.0), M, X)
case("where.scalar_first", lambda m, x: torch.where(m, 2, x), M, X)
case("where.promote", torch.where, M, X, N)
case("to", lambda x: x.to(torch.float64), X)
case("to.bool", lambda x: x.to(torch.bool), N)
case("to.int", lambda x: (x * 10).to(torch.int32), X)
case("to_copy", lambda x: a._to_copy(x, dtype=torch.bfloat16), X)
case("type_as", lambda x, y: x.type_as(y), N, X)
case("convert_element_type", lambda x: torch.ops.prims.convert_element_type(x, torch.float64), X)
case("max.other", torch.max, X, Y)
case("min.other", torch.min, X, Y)
case("promote", lambda x, n: x + n, f("B,4", torch.bfloat16), N)
case("promote.0d", lambda x, n: x * n, N, f(""))
case("promote.bool", lambda m, n: m + n, M, N)
case("contiguous", lambda x: x.t().contiguous(), X)
case("dropout", lambda x: F.dropout(x, 0.5, training=False), X)
case("alpha_dropout", lambda x: F.alpha_dropout(x, 0.5, training=False), X)
case("feature_dropout", lambda x: F.dropout1d(x, 0.5, training=False), f("B,2,4"))
case("feature_alpha_dropout", lambda x: F.feature_alpha_dropout(x, 0.5, training=False), f("B,2,4"))

# shapes
X3 = f("B,4,6")
case("view", lambda x: x.view(x.shape[0], -1), X3)
case("reshape", lambda x: x.reshape(-1, 2), X3)
case("view_as", lambda x, y: x.view_as(y), X3, f("B,24"))
case("reshape_as", lambda x, y: x.reshape_as(y), X3, f("B,24"))
case("unsafe_view", lambda x: a._unsafe_view(x, [-1, 6]), X3)
case("flatten", lambda x: x.flatten(1), X3)
case("flatten.all", lambda x: torch.flatten(x), X3)
case("unflatten", lambda x: x.unflatten(1, (2, 2)), X3)
case("ravel", torch.ravel, X3)
case("squeeze", lambda x: x.squeeze(), f("4,1,6"))
case("squeeze.dim", lambda x: x.squeeze(1), f("B,1,6"))
case("squeeze.dims", lambda x: torch.squeeze(x, (1, 2)), f("B,1,1"))
case("unsqueeze", lambda x: x.unsqueeze(-1)[None], X3)
case("copies", lambda x: (a.squeeze_copy(a.unsqueeze_copy(x, 0), 0), a.view_copy(x, [-1]),
                          a.expand_copy(x, [2, *x.shape]),
                          a.permute_copy(x, [2, 0, 1]), a.transpose_copy(x, 0, 1), a.slice_copy(x, 1, 1, 3),
                          a.select_copy(x, 1, 2), a.alias_copy(x), a.detach_copy(x), a.unfold_copy(x, 1, 2, 1),
                          a.diagonal_copy(x, 0, 1, 2), a.t_copy(x[0])), X3)
case("split_copies", lambda x: (a.unbind_copy(x, 1)[2], a.split_copy(x, 2, 1)[1],
                                a.split_with_sizes_copy(x, [1, 3], 1)[0],
                                a.unsafe_split(x, 2, 1)[0], a.unsafe_chunk(x, 2, 1)[1]), X3)
case("reshape_alias", lambda x: a._reshape_alias(x, [24], [1]), f("4,6"))
case("reshape_copy", lambda x: a._reshape_copy(x, [24]), f("4,6"))
case("atleast", lambda x: (torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x)), f("4"))
case("expand", lambda x: x.expand(2, -1, 4, 6), f("B,1,6"))
case("expand_as", lambda x, y: x.expand_as(y), f("1,6"), X3)
case("broadcast_to", lambda x: x.broadcast_to(3, 4), f("4"))
case("broadcast_tensors", lambda x, y: torch.broadcast_tensors(x, y), f("B,1,6"), f("4,1"))
case("permute", lambda x: x.permute(2, 0, -2), X3)
case("transpose", lambda x: x.transpose(0, -1), X3)
case("swapaxes", lambda x: torch.swapaxes(x, 0, 1), X3)
case("swapdims", lambda x: torch.swapdims(x, 0, 1), X3)
case("t", lambda x: x.t(), X)
case("mT", lambda x: x.mT, X3)
case("numpy_T", lambda x: a.numpy_T(x), X3)
case("movedim", lambda x: x.movedim((0, 1), (2, 0)), X3)
case("moveaxis", lambda x: torch.moveaxis(x, 0, -1), X3)
case("slice", lambda x: x[:, 1:-1, ::2], X3)
case("slice.batch", lambda x: x[: x.shape[0]], X3)
case("slice.negative", lambda x: x[:, -3:], X3)
case("narrow", lambda x: x.narrow(1, -2, 2), X3)
case("select", lambda x: x[:, -1], X3)
case("select.first", lambda x: x[0], X3)
case("split", lambda x: x.split(3, 1), X3)
case("split.sizes", lambda x: x.split([1, 3], 1), X3)
case("split_with_sizes", lambda x: torch.split_with_sizes(x, [2, 4], 2), X3)
case("chunk", lambda x: x.chunk(4, -1), X3)
case("tensor_split", lambda x: x.tensor_split(4, -1), X3)
case("unbind", lambda x: x.unbind(1), X3)
case("unfold", lambda x: x.unfold(2, 3, 2), X3)
case("flip", lambda x: x.flip(0, 2), X3)
case("diagonal", lambda x: x.diagonal(1, 1, 2), X3)
case("diagonal.below", lambda x: x.diagonal(-1, 2, 1), X3)
case("cat", lambda x, y: torch.cat([x, y, x], 1), X3, f("B,2,6"))
case("cat.batch", lambda x, y: torch.cat([x, y]), X3, f("2,4,6"))
case("cat.promote", lambda x, y: torch.cat([x, y], 1), X, N)
case("cat.empty", lambda x: torch.cat([torch.zeros(0), x]), X)
case("concat", lambda x, y: torch.concat([x, y], -1), X, Y)
case("concatenate", lambda x, y: torch.concatenate([x, y], -1), X, Y)
case("stack", lambda x, y: torch.stack([x, y], 1), X, Y)
case("hstack", lambda x, y: torch.hstack([x, y]), X, Y)
case("slice_scatter", lambda x, y: torch.slice_scatter(x, y, 1, 1, 3), X, f("B,2"))
case("slice_scatter.start", lambda x, y: torch.slice_scatter(x, y, 1, -2), X, f("B,2"))
case("slice_scatter.step", lambda x, y: torch.slice_scatter(x, y, 1, 0, 4, 2), X, f("B,2"))
case("select_scatter", lambda x, y: torch.select_scatter(x, y, 1, -1), X, f("B"))

# fills
case("full", lambda x: x + torch.full((4,), 2.5), X)
case("full_like", lambda x: torch.full_like(x, 3), X)
case("new_full", lambda x: x.new_full((x.shape[0], 2), 3), X)
case("fill", lambda x: torch.fill(x, 1.5), X)
case("fill.tensor", torch.fill, X, f(""))
case("scalar_tensor", lambda x: x * torch.scalar_tensor(2.0), X)
case("ones", lambda x: torch.ones(x.shape[0], 2, dtype=torch.int32), X)
case("zeros", lambda x: torch.zeros(x.shape[0], 2, dtype=torch.bool), X)
case("likes", lambda x: (torch.ones_like(x), torch.zeros_like(x, dtype=torch.int64), a.zero(x)), X)
case("news", lambda x: (x.new_ones(2), x.new_zeros(x.shape[0])), X)
case("empty", lambda x: (torch.empty(x.shape[0], 0), x.new_empty(0, 2), torch.empty_like(x[:, :0]),
                         a.empty_permuted([0, 2], [0, 1]),
                         torch.empty_strided((0, 2), (2, 1)), x.new_empty_strided((0, 2), (2, 1))), X)
case("copy", lambda x, y: a.copy(x, y), X, f("1,4", torch.float64))
case("arange", lambda x: torch.arange(x.shape[0]), X)
case("arange.bounds", lambda x: torch.arange(2, 11, 3, dtype=torch.int32) + 0 * x.sum().long(), X)
case("arange.float", lambda x: torch.arange(0.5, 2.0, 0.25) + 0 * x.sum(), X)
case("arange.down", lambda x: torch.arange(x.shape[0] - 1, -1, -1), X)
IOTA = {"start": 1, "step": 2, "dtype": torch.int64, "device": "cpu", "requires_grad": False}
case("iota", lambda x: torch.ops.prims.iota(5, **IOTA) + 0 * x.sum(), X)
case("linspace", lambda x: torch.linspace(-1, 1, 7) + 0 * x.sum(), X)
case("eye", lambda x: torch.eye(4) @ x.t(), X)
case("eye.wide", lambda x: torch.eye(2, 4) @ x.t(), X)
case("tril", lambda x: x.tril(-1), X3)
case("triu", lambda x: x.triu(1), X3)
case("roll", lambda x: x.roll((1, -2), (0, 2)), X3)
case("roll.flat", lambda x: x.roll(5), X3)
case("repeat", lambda x: x.repeat(2, 1, 3), X)
case("tile", lambda x: torch.tile(x, (2,)), X)
case("repeat_interleave", lambda x: x.repeat_interleave(3, 1), X)
case("repeat_interleave.flat", lambda x: x.repeat_interleave(2), X)
case("constant_pad", lambda x: a.constant_pad_nd(x, [1, 2, 0, 1], 0.5), X3)
case("pad", lambda x: F.pad(x, (1, -1), value=2.0), X3)
case("pad.reflect", lambda x: F.pad(x, (2, 1), mode="reflect"), X3)
case("pad.circular", lambda x: F.pad(x, (2, 1), mode="circular"), X3)
case("pad.replicate", lambda x: F.pad(x, (2, 1, 1, 1), mode="replicate"), f("B,2,4,6"))
case("reflection_pads", lambda x: (a.reflection_pad1d(x[0, 0], [1, 2]), a.reflection_pad2d(x[0], [1, 2, 1, 0]),
                                   a.reflection_pad3d(x, [1, 2, 1, 0, 0, 1])), f("B,2,3,4,6"))
case("replication_pads", lambda x: (a.replication_pad1d(x[0, 0], [1, 2]), a.replication_pad2d(x[0], [1, 2, 1, 0]),
                                    a.replication_pad3d(x, [1, 2, 1, 0, 0, 1])), f("B,2,3,4,6"))

# lookups
case("embedding", F.embedding, i("B,3", 0, 10), f("10,4"))
case("embedding.padding", lambda n, w: F.embedding(n, w, padding_idx=0), i("B", 0, 10, torch.int32), f("10,4"))
case("gather", lambda x, n: x.gather(1, n), X, i("B,2", 0, 4))
case("gather.0d", lambda x, n: x.gather(0, n), f("4"), i("", 0, 4))
case("take_along_dim", lambda x, n: torch.take_along_dim(x, n, 1), f("3,4"), i("1,2", 0, 4))
case("take_along_dim.flat", lambda x, n: torch.take_along_dim(x, n), f("2,4"), i("5", 0, 8))
case("index_select", lambda x, n: x.index_select(1, n), X, i("6", 0, 4))
case("index", lambda x, n: x[:, n], X3, i("2,5", -4, 4))
case("index.two", lambda x, n, m: x[n, :, m], f("5,4,6"), i("B,1", 0, 5), i("2", 0, 6))
case("unsafe_index", lambda x, n: a._unsafe_index(x, [None, n]), X, i("3", 0, 4))
case("as_strided", lambda x: a.as_strided(x * 2, [x.shape[0], 2, 3], [4, 1, 1], 0), X)
case("as_strided_copy", lambda x: a.as_strided_copy(x, [2, 2], [1, 2], 1), f("8"))
case("index_put.mask", lambda x, m: torch.index_put(x, (m,), torch.tensor(7.0)), X, M)
case("index_put.rows", lambda x, m: a._unsafe_index_put(x, [m], torch.tensor(7.0)), X, b("B"))
case("assign.mask", lambda x, m: _assigned(x, m), X, M)
case("assign.column", lambda x: _column(x), X)
case("one_hot", lambda n: F.one_hot(n, 6), i("B,4", 0, 6))
case("sort", lambda x: torch.sort(x, -1, descending=True), X)
case("sort.stable", lambda x: torch.sort(x, dim=1, stable=True), X)
case("argsort", lambda x: torch.argsort(x, 1), X)
case("argsort.stable", lambda x: torch.argsort(x, dim=0, descending=True, stable=True), X)
case("topk", lambda x: torch.topk(x, 2), X)
case("topk.smallest", lambda x: torch.topk(x, 3, dim=1, largest=False), X)
case("sort.0d", lambda x: (torch.sort(x), torch.topk(x, 1)), f(""))
case("cumsum", lambda x: x.cumsum(1), X)
case("cumsum.mask", lambda m: m.cumsum(-1), M)
case("cumsum.dtype", lambda x: torch.cumsum(x, 0, dtype=torch.float64), X)

# reductions
for op in "sum mean prod amax amin any all argmax argmin count_nonzero".split():
    case(f"{op}.all", getattr(torch, op), X3)
    case(f"{op}.dim", lambda x, op=op: getattr(torch, op)(x, -1), X3)
    case(f"{op}.0d", getattr(torch, op), f(""))
for op in "sum mean amax amin logsumexp any all argmax".split():
    case(f"{op}.keepdim", lambda x, op=op: getattr(torch, op)(x, 1, keepdim=True), X3)
for op in "sum mean amax amin logsumexp any all".split():
    case(f"{op}.dims", lambda x, op=op: getattr(torch, op)(x, (0, -1)), X3)
case("sum.int", lambda x: (x.sum(), x.sum(1)), i("B,4", dtype=torch.int32))
case("sum.bool", lambda x: x.sum(-1), M)
case("sum.dtype", lambda x: x.sum(1, dtype=torch.float64), X)
case("mean.dtype", lambda x: torch.mean(x, 1, dtype=torch.float32), N)
case("prod.int", lambda x: x.prod(1), N)
case("max", lambda x: (torch.max(x), torch.max(x, 1)), X)
case("min", lambda x: (torch.min(x), torch.min(x, 0, keepdim=True)), X)
case("aminmax", lambda x: torch.aminmax(x, dim=1), X)
case("special_logsumexp", lambda x: a.special_logsumexp(x, [1]), X)
for op in "var std var_mean std_mean".split():
    case(f"{op}.all", getattr(torch, op), X3)
    case(f"{op}.biased", lambda x, op=op: getattr(torch, op)(x, unbiased=False), X3)
    case(f"{op}.dim", lambda x, op=op: getattr(torch, op)(x, 1), X3)
    case(f"{op}.correction", lambda x, op=op: getattr(torch, op)(x, dim=(1, 2), correction=0, keepdim=True), X3)
case("vector_norm", lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True), X)
ORDERS = (0, 1, 3, math.inf, -math.inf)
case("vector_norm.orders", lambda x: tuple(torch.linalg.vector_norm(x, p, -1) for p in ORDERS), X)
case("vector_norm.dtype", lambda x: torch.linalg.vector_norm(x, dtype=torch.float64), X)
case("norm", lambda x: (a.norm.ScalarOpt_dim(x, 2, [1], True), a.norm.Scalar(x, 1)), X)
case("normalize", lambda x: F.normalize(x, dim=-1), X)
case("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, dim=-1), X, Y)

# sizes as numbers
case("size.scale", lambda x: x.sum(0) / x.shape[0], X)
case("size.float", lambda x: x * (x.shape[0] / 4 * 1.5 + 1.5) - (x.shape[0] / 3 - 1.5) - 1 / (x.shape[0] + 1), X)
case("size.sqrt", lambda x: x / torch._sym_sqrt(x.shape[0]) + (x.shape[0] / 2) ** 2 - (-(x.shape[0] / 3)), X)
case("size.float_max", lambda x: x * torch.sym_max(x.shape[0] / 2, 1.25) + torch.sym_min(x.shape[0] / 3, 1.5), X)
case("size.to_float", lambda x: x * torch.sym_float(x.shape[0]), X)
case("size.float_pow", lambda x: x * (x.shape[0] / 2) ** 1.5, X)
case("size.fill", lambda x: torch.full((2,), x.shape[0]), X)
case("size.arithmetic", lambda x: x.new_zeros(x.shape[0] % 3 + 2, (x.shape[0] * 3 + 1) // 2 + 2), X)
case("size.rounded", lambda x: torch.ones(math.ceil(x.shape[0] / 2) + 1, math.floor(x.shape[0] * 2 / 3) + 3), X)
case("size.minmax", lambda x: torch.ones(torch.sym_max(x.shape[0], 4), torch.sym_min(x.shape[0], 4)), X)

# gemm
case("linear", F.linear, X3, f("5,6"), f("5"))
case("linear.nobias", F.linear, f("6"), f("5,6"))
case("linear.vector", lambda x, w: F.linear(x, w), X3, f("6"))
case("mm", torch.mm, X, f("4,5"))
case("bmm", torch.bmm, X3, f("B,6,3"))
case("matmul", torch.matmul, f("B,1,4,6"), f("2,6,3"))
case("matmul.vectors", lambda m, v: (m @ v, v @ m.mT, v @ v), X3, f("6"))
case("mv", torch.mv, X, V)
case("dot", lambda x, y: (torch.dot(x, y), torch.vdot(x, y), torch.inner(x, y)), V, f("4"))
case("inner", torch.inner, X, f("5,4"))
case("linalg_matmul", torch.linalg.matmul, X, f("4,5"))
case("outer", lambda x, y: (torch.outer(x, y), torch.ger(x, y)), f("B"), V)
case("addmm", lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), f("5"), X, f("4,5"))
case("addmm.beta0", lambda c, x, y: torch.addmm(c * math.nan, x, y, beta=0), f("5"), X, f("4,5"))
case("addmv", lambda c, x, y: torch.addmv(c, x, y), f("B"), X, V)
case("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y, alpha=0.5), f("B,4,3"), X3, f("B,6,3"))
case("addbmm", torch.addbmm, f("4,3"), X3, f("B,6,3"))
case("addr", torch.addr, f("B,4"), f("B"), V)
case("einsum", lambda x, y: torch.einsum("bij,bkj->bik", x, y), X3, f("B,5,6"))
case("bilinear", F.bilinear, X, f("B,3"), f("5,4,3"), f("5"))

# norms
case("softmax", lambda x: x.softmax(-1), X3)
case("softmax.first", lambda x: F.softmax(x, 0, dtype=torch.float64), X)
case("softmax.0d", lambda x: (x.softmax(0), x.log_softmax(0)), f(""))
case("_softmax", lambda x: (a._softmax(x, 1, False), a._log_softmax(x, 1, False)), X3)
case("log_softmax", lambda x: x.log_softmax(1), X3)
case("special_softmax", lambda x: (a.special_softmax(x, 1), a.special_log_softmax(x, 1)), X3)
case("safe_softmax", lambda x, m: a._safe_softmax(x.masked_fill(m, -math.inf), -1), f("B,2"), b("B,2"))
case("layer_norm", lambda x, w, c: F.layer_norm(x, (4, 6), w, c, 1e-3), X3, f("4,6"), f("4,6"))
case("layer_norm.plain", lambda x: F.layer_norm(x, (6,)), X3)
case("native_layer_norm", lambda x, w, c: torch.native_layer_norm(x, [6], w, c, 1e-5), X3, f("6"), f("6"))
case("rms_norm", lambda x, w: F.rms_norm(x, (6,), w, 1e-5), X3, f("6"))
case("rms_norm.plain", lambda x: F.rms_norm(x * 1e-4, (6,)), X3)
case("fused_rms_norm", lambda x, w: torch._fused_rms_norm(x, [6], w, 1e-5), X3, f("6"))
case("group_norm", lambda x, w, c: F.group_norm(x, 2, w, c), X3, V, f("4"))
case("native_group_norm", lambda x: torch.native_group_norm(x, None, None, x.shape[0], 4, 6, 2, 1e-5), X3)
case("batch_norm", lambda x, m, v, w, c: F.batch_norm(x, m, v, w, c), X3, V, u("4"), f("4"), f("4"))
case("batch_norm.batch", lambda x: F.batch_norm(x, None, None, training=True), X3)
case("native_batch_norm",
     lambda x, m, v: a._native_batch_norm_legit_no_training(x, None, None, m, v, 0.1, 1e-5)[0], X3, V, u("4"))
case("native_batch_norm.batch", lambda x: a._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0], X3)
case("instance_norm", lambda x, w, c: F.instance_norm(x, weight=w, bias=c), X3, V, f("4"))
case("instance_norm.stats", lambda x, m, v: F.instance_norm(x, m, v, use_input_stats=False), X3, V, u("4"))

# attention
Q, K = f("B,4,5,8"), f("B,4,7,8")
case("attention", F.scaled_dot_product_attention, Q, K, K)
case("attention.causal", lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), Q, f("B,4,5,8"))
case("attention.mask", lambda q, k, m: F.scaled_dot_product_attention(q, k, k, m), Q, K, b("B,1,5,7"))
case("attention.bias", lambda q, k, m: F.scaled_dot_product_attention(q, k, k, m, scale=0.3), Q, K, f("5,7"))
case("attention.gqa", lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), Q, f("B,2,7,8"))
case("attention.flash", lambda q, k: torch._scaled_dot_product_flash_attention_for_cpu(q, k, k)[0],
     f("2,4,5,8"), f("2,4,7,8"))


def _assigned(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[mask] = 0.0
    return y


def _column(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y[:, 1:3] = x[:, :2]
    y[:, 0].mul_(2.0)
    return y
