# SPDX-License-Identifier: Apache-2.0
"""Parameters and other tensors of a module as constants: NumPy views of torch's own memory wherever possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ait_core.errors import DTypeError, UnsupportedError
from ait_core.ir import dtypes
from ait_core.ir.dtypes import DType


def ait_dtype(dtype: torch.dtype) -> DType:
    """The AIT dtype of a torch dtype.

    Raises:
        UnsupportedError: if there is none (complex, quantised and 8-bit floating types).
    """
    try:
        return dtypes.dtype(dtype)
    except DTypeError as e:
        raise UnsupportedError(f"{dtype} tensors are not supported: {e}") from None


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype to compute in, from a torch, NumPy or AIT dtype or a name.

    Raises:
        DTypeError: if it is no floating point type.
    """
    found = dtypes.dtype(dtype)
    if not found.is_float:
        raise DTypeError(f"dtype={dtype} is no floating point type: a model computes in float32, float16, bfloat16 or "
                         "float64.")  # fmt: skip
    return getattr(torch, found.name)


def identity(t: torch.Tensor) -> tuple:
    """Equal for tensors that are the same elements of the same memory, such as tied weights."""
    if t.layout is not torch.strided or t.device.type == "meta" or not t.numel():
        return (id(t),)
    return (t.data_ptr(), t.dtype, tuple(t.shape), tuple(t.stride()), t.is_conj(), t.is_neg())


def share(t: torch.Tensor, name: str) -> np.ndarray:
    """The tensor as a contiguous array: a view of its memory if it is contiguous in CPU memory, else a copy.

    Raises:
        UnsupportedError: if it is sparse, quantised, of a dtype AIT lacks, or has no data (meta tensors).
    """
    if t.layout is not torch.strided or t.is_quantized:
        raise UnsupportedError(f"Tensor {name!r} is {t.layout} or quantised: only dense tensors can be compiled.")
    if t.device.type == "meta" or isinstance(t, torch._subclasses.FakeTensor):
        raise UnsupportedError(f"Tensor {name!r} has no data (device meta): load the weights before compiling.")
    kind = ait_dtype(t.dtype)
    t = t.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return t.view(torch.int16).numpy().view(kind.numpy) if kind.name == "bfloat16" else t.numpy()


@contextmanager
def cast_to(module: torch.nn.Module, dtype: torch.dtype | None) -> Iterator[None]:
    """The module with its floating parameters and buffers in ``dtype``, as ``module.to(dtype)`` would leave them; the
    user's own are put back at the end, untouched. Tied tensors stay tied."""
    kept: list[tuple[dict[str, Any], str, torch.Tensor]] = []
    cast: dict[int, torch.Tensor] = {}
    try:
        for owner in module.modules() if dtype is not None else ():
            for tensors in (owner._parameters, owner._buffers):
                for name, t in tensors.items():
                    if t is not None and t.is_floating_point() and t.dtype != dtype:
                        kept.append((tensors, name, t))
                        if id(t) not in cast:
                            new = t.detach().to(dtype)
                            cast[id(t)] = torch.nn.Parameter(new, False) if isinstance(t, torch.nn.Parameter) else new
                        tensors[name] = cast[id(t)]
        yield
    finally:
        for tensors, name, t in kept:
            tensors[name] = t


@contextmanager
def eval_mode(module: torch.nn.Module) -> Iterator[None]:
    """The module in evaluation mode; every submodule's own flag is put back at the end."""
    flags: Mapping[torch.nn.Module, bool] = {m: m.training for m in module.modules()}
    try:
        if any(flags.values()):
            module.eval()
        yield
    finally:
        if any(flags.values()):
            module.train(flags[module])
            for m, training in flags.items():
                m.training = training
