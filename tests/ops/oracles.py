# SPDX-License-Identifier: Apache-2.0
"""What torch computes: for each op a function of tensors and the op's attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F

from ait_core.ir.dtypes import dtype

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_torch(a: np.ndarray | None) -> torch.Tensor | None:
    """The array as a tensor with the same strides."""
    if a is None:
        return None
    a = np.asarray(a)
    return torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) if a.dtype == BFLOAT16 else torch.from_numpy(a)


def to_numpy(x: torch.Tensor) -> np.ndarray:
    """The tensor as an array."""
    x = x.detach().contiguous()
    return x.view(torch.int16).numpy().view(BFLOAT16) if x.dtype == torch.bfloat16 else x.numpy()


def torch_dtype(of: Any) -> torch.dtype:
    return getattr(torch, dtype(of).name)


def axis(fn: Callable, name: str = "dim") -> Callable:
    """``fn`` with our attribute ``axis`` under torch's name."""
    return lambda *xs, axis=-1, **kw: fn(*xs, **{name: axis}, **kw)


def over(fn: Callable, **fixed: Any) -> Callable:
    """A torch reduction over several axes; over none it is asked to reduce a new axis of size 1."""

    def call(x, *, axes, keepdim=False, **kw):
        if axes:
            return fn(x, dim=axes, keepdim=keepdim, **fixed, **kw)
        return fn(x.unsqueeze(-1), dim=(-1,), **fixed, **kw)

    return call


def one_by_one(fn: Callable) -> Callable:
    """A torch reduction that takes one axis, applied to each: the operation is associative."""

    def call(x, *, axes, keepdim=False):
        for a in sorted((a % x.ndim for a in axes), reverse=True):
            x = fn(x, dim=a, keepdim=keepdim)
        return x if axes else fn(x.unsqueeze(-1), dim=-1)

    return call


def arg(fn: Callable) -> Callable:
    """argmax and argmin: of one axis, or of all."""

    def call(x, *, axes, keepdim=False):
        if len(axes) == 1:
            return fn(x, dim=axes[0], keepdim=keepdim)
        return fn(x.reshape(-1)) if axes else torch.zeros(x.shape, dtype=torch.int64)

    return call


def pad(x, *, before, after, value=0.0, mode="constant"):
    if mode == "constant":
        pairs = [p for pair in reversed(list(zip(before, after, strict=True))) for p in pair]
        return F.pad(x, pairs, value=float(value)) if pairs else x
    # torch pads the last axes of a tensor with batch and channel axes in front
    last = max(i for i, pair in enumerate(zip(before, after, strict=True)) if pair == (0, 0)) + 1
    pairs = [p for pair in reversed(list(zip(before[last:], after[last:], strict=True))) for p in pair]
    flat = x.reshape(1, -1, *x.shape[last:])
    wide = flat if x.is_floating_point() else flat.double()
    return F.pad(wide, pairs, mode=mode).to(x.dtype).reshape(*x.shape[:last], *(
        n + b + a for n, b, a in zip(x.shape[last:], before[last:], after[last:], strict=True)))  # fmt: skip


def slice_(x, *, dim=0, start=None, end=None, step=1):
    """By torch's indexing for positive steps; of the flipped tensor for negative ones, by Python's rules."""
    if step > 0:
        return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]
    return x.index_select(dim, torch.tensor(range(x.shape[dim])[slice(start, end, step)], dtype=torch.int64))


def index(x, *indices):
    return x[tuple(slice(None) if i is None else i.long() for i in indices)]


def norm_over(x, *, axes, ord=2.0, keepdim=False):
    if not axes:
        return torch.linalg.vector_norm(x.unsqueeze(-1), ord, dim=-1)
    return torch.linalg.vector_norm(x, ord, dim=axes, keepdim=keepdim)


def var_over(fn: Callable) -> Callable:
    def call(x, *, axes, correction=1, keepdim=False):
        if not axes:
            return fn(x.unsqueeze(-1), dim=-1, correction=correction)
        return fn(x, dim=axes, correction=correction, keepdim=keepdim)

    return call


def count_over(x, *, axes, keepdim=False):
    return torch.sum(x != 0, dim=axes, keepdim=keepdim) if axes else (x != 0).long()


def rms_norm(x, weight=None, *, axes=1, eps):
    return F.rms_norm(x, x.shape[-axes:], weight, eps)


def layer_norm(x, weight=None, bias=None, *, axes=1, eps):
    return F.layer_norm(x, x.shape[-axes:], weight, bias, eps)


def instance_norm(x, weight=None, bias=None, *, eps):
    return F.group_norm(x, x.shape[1], weight, bias, eps)


def attention(q, k, v, mask=None, *, scale=None, causal=False):
    grouped = q.ndim > 2 and q.shape[-3] != k.shape[-3]
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=grouped)


def clamp(x, lo=None, hi=None):
    return torch.clamp(x, lo, hi)


def iota(*, size, start=0, step=1, dtype="int64"):
    return torch.arange(start, start + size * step, step, dtype=torch_dtype(dtype))[:size]


def eye(*, n, m=None, dtype="float32"):
    return torch.eye(n, n if m is None else m, dtype=torch_dtype(dtype))


def lerp(x, y, weight):
    return torch.lerp(x, y, weight.expand_as(torch.empty(torch.broadcast_shapes(x.shape, y.shape, weight.shape))))


def gelu(x, *, approximate="none"):
    """torch's vector path gives NaN for infinity, its scalar path (and mathematics) infinity."""
    return torch.where(x == math.inf, x, F.gelu(x, approximate=approximate))


def matmul(a, b):
    """torch wants equal dtypes; ours is its product in the promoted one."""
    common = torch.promote_types(a.dtype, b.dtype)
    return torch.matmul(a.to(common), b.to(common))


def sort(x, *, dim=-1, descending=False):
    return torch.sort(x, dim=dim, descending=descending, stable=True)


TORCH_NAMES = {
    "floor_div": "floor_divide", "bit_and": "bitwise_and", "bit_or": "bitwise_or", "bit_xor": "bitwise_xor",
    "bit_not": "bitwise_not", "shift_left": "bitwise_left_shift", "shift_right": "bitwise_right_shift",
}  # fmt: skip
SAME = """add sub mul div floor_div remainder fmod pow minimum maximum neg abs sign square floor ceil round trunc frac
    copysign hypot exp expm1 exp2 log log2 log10 log1p sqrt rsqrt reciprocal erf sin cos tan asin acos atan sinh cosh
    tanh asinh acosh atanh atan2 logaddexp xlogy logit sigmoid relu lt le gt ge eq ne logical_and logical_or logical_xor
    logical_not isnan isinf isfinite signbit bit_and bit_or bit_xor bit_not shift_left shift_right where""".split()

ORACLES: dict[str, Callable] = {
    **{f"tensor.{n}": getattr(torch, TORCH_NAMES.get(n, n)) for n in SAME},
    "tensor.lerp": lerp,
    "tensor.clamp": clamp,
    "tensor.cast": lambda x, *, dtype: x.to(torch_dtype(dtype)),
    "tensor.nan_to_num": torch.nan_to_num,
    "tensor.logsigmoid": F.logsigmoid,
    "tensor.gelu": gelu,
    "tensor.silu": F.silu,
    "tensor.leaky_relu": lambda x, *, slope=0.01: F.leaky_relu(x, slope),
    "tensor.prelu": lambda x, weight: torch.where(x > 0, x, x * weight),
    "tensor.elu": lambda x, *, alpha=1.0, scale=1.0, input_scale=1.0: torch.ops.aten.elu(x, alpha, scale, input_scale),
    "tensor.celu": F.celu,
    "tensor.selu": F.selu,
    "tensor.softplus": F.softplus,
    "tensor.softsign": F.softsign,
    "tensor.hardtanh": lambda x, *, lo=-1.0, hi=1.0: F.hardtanh(x, lo, hi),
    "tensor.hardswish": F.hardswish,
    "tensor.hardsigmoid": F.hardsigmoid,
    "tensor.mish": F.mish,
    "tensor.hardshrink": lambda x, *, lambd=0.5: F.hardshrink(x, lambd),
    "tensor.softshrink": lambda x, *, lambd=0.5: F.softshrink(x, lambd),
    "tensor.tanhshrink": F.tanhshrink,
    "tensor.threshold": F.threshold,
    "tensor.glu": F.glu,
    "tensor.reshape": lambda x, *, shape: x.reshape(shape),
    "tensor.flatten": lambda x, *, start=0, end=-1: x.flatten(start, end),
    "tensor.unflatten": lambda x, *, dim, sizes: x.unflatten(dim, sizes),
    "tensor.permute": lambda x, *, dims: x.permute(dims),
    "tensor.transpose": lambda x, *, dim0=-2, dim1=-1: x.transpose(dim0, dim1),
    "tensor.movedim": torch.movedim,
    "tensor.expand": lambda x, *, shape: x.expand(shape),
    "tensor.unsqueeze": torch.unsqueeze,
    "tensor.squeeze": lambda x, *, dims: x.squeeze(dims),
    "tensor.slice": slice_,
    "tensor.select": torch.select,
    "tensor.flip": torch.flip,
    "tensor.concat": lambda *xs, dim=0: torch.cat(xs, dim),
    "tensor.stack": lambda *xs, dim=0: torch.stack(xs, dim),
    "tensor.full": lambda *, shape, value, dtype="float32": torch.full(shape, value, dtype=torch_dtype(dtype)),
    "tensor.iota": iota,
    "tensor.eye": eye,
    "tensor.pad": pad,
    "tensor.tril": torch.tril,
    "tensor.triu": torch.triu,
    "tensor.roll": torch.roll,
    "tensor.repeat": lambda x, *, repeats: x.repeat(repeats),
    "tensor.repeat_interleave": torch.repeat_interleave,
    "tensor.unfold": lambda x, *, dim, size, step: x.unfold(dim, size, step),
    "tensor.embedding": lambda table, ids: F.embedding(ids, table),
    "tensor.gather": lambda x, index, *, dim: torch.gather(x, dim, index),
    "tensor.take_along": lambda x, index, *, dim: torch.take_along_dim(x, index, dim),
    "tensor.index_select": lambda x, index, *, dim: torch.index_select(x, dim, index),
    "tensor.index": index,
    "tensor.one_hot": lambda ids, *, classes: F.one_hot(ids, classes),
    "tensor.sum": over(torch.sum),
    "tensor.prod": one_by_one(torch.prod),
    "tensor.amax": over(torch.amax),
    "tensor.amin": over(torch.amin),
    "tensor.any": over(torch.any),
    "tensor.all": over(torch.all),
    "tensor.argmax": arg(torch.argmax),
    "tensor.argmin": arg(torch.argmin),
    "tensor.mean": over(torch.mean),
    "tensor.var": var_over(torch.var),
    "tensor.std": var_over(torch.std),
    "tensor.norm": norm_over,
    "tensor.logsumexp": over(torch.logsumexp),
    "tensor.count_nonzero": count_over,
    "tensor.cumsum": torch.cumsum,
    "tensor.sort": sort,
    "tensor.topk": torch.topk,
    "gemm.matmul": matmul,
    "gemm.linear": F.linear,
    "norm.softmax": axis(F.softmax),
    "norm.log_softmax": axis(F.log_softmax),
    "norm.layer_norm": layer_norm,
    "norm.rms_norm": rms_norm,
    "norm.group_norm": lambda x, weight, bias, *, groups, eps: F.group_norm(x, groups, weight, bias, eps),
    "norm.instance_norm": instance_norm,
    "norm.batch_norm": lambda x, mean, var, weight, bias, *, eps: F.batch_norm(x, mean, var, weight, bias, eps=eps),
    "norm.l2_normalize": lambda x, *, axis, eps=1e-12: F.normalize(x, dim=axis, eps=eps),
    "attention.scaled_dot_product": attention,
}


def oracle(name: str, inputs: tuple[np.ndarray | None, ...], attrs: dict[str, Any]) -> list[np.ndarray]:
    """What torch makes of arrays."""
    out = ORACLES[name](*map(to_torch, inputs), **attrs)
    return [to_numpy(x) for x in (out if isinstance(out, (tuple, list)) else (out,))]


def tolerance(kind: np.dtype) -> tuple[float, float]:
    """Relative and absolute: two roundings of the dtype, and what the math libraries of two sides differ by."""
    t = dtype(kind)
    if not t.is_float:
        return 0.0, 0.0
    eps = float(ml_dtypes.finfo(t.numpy).eps)
    return (2 if t.itemsize == 2 else 16) * eps, math.ldexp(eps, 0 if t.itemsize == 2 else 2)


def assert_close(got: np.ndarray, want: np.ndarray, loose: float = 1.0, what: str = "") -> None:
    """Same dtype, shape and (within tolerance) values; NaN equals NaN, infinities equal themselves."""
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, torch {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, torch {want.shape}"
    rtol, atol = (loose * t for t in tolerance(want.dtype))
    wide = np.float64 if dtype(want.dtype).is_float else want.dtype
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=rtol, atol=atol, err_msg=what)
