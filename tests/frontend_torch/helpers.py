# SPDX-License-Identifier: Apache-2.0
"""Importing modules and comparing the graph's NumPy reference with torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import ait_frontend_torch.plugin
import ait_ops_attention.plugin
import ait_ops_gemm.plugin
import ait_ops_norm.plugin
import ait_ops_tensor.plugin
from ait_core.declare.rule import Lowering
from ait_core.ir.graph import run_reference
from ait_frontend_torch import TorchImported, import_module
from ait_frontend_torch.tensors import share

PLUGINS = (ait_ops_tensor.plugin, ait_ops_gemm.plugin, ait_ops_norm.plugin, ait_ops_attention.plugin,
           ait_frontend_torch.plugin)  # fmt: skip
LOWERINGS: dict[str, Lowering] = {low.target: low for p in PLUGINS for low in p.ait_lowerings()}


def imported(module: torch.nn.Module, inputs: Any, **options: Any) -> TorchImported:
    return import_module(module, inputs, lowerings=options.pop("lowerings", LOWERINGS), **options)


def to_torch(a: np.ndarray) -> torch.Tensor:
    if a.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(a).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(a))


def callable_of(found: TorchImported) -> Callable[..., Any]:
    """The imported model as something to call like the module, computed by the ops' references."""

    def run(*tensors: torch.Tensor) -> Any:
        arrays = {v.name: share(x, v.name) for v, x in zip(found.graph.inputs, tensors, strict=True)}
        made = tuple(to_torch(a) for a in run_reference(found.graph, arrays).values())
        return made[0] if len(made) == 1 else made

    return found.adapt(run)


def assert_same(got: Any, want: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Equal structures of equal types with close tensors of equal dtypes and shapes."""
    got_leaves, got_spec = pytree.tree_flatten(got)
    want_leaves, want_spec = pytree.tree_flatten(want)
    assert got_spec == want_spec
    for g, w in zip(got_leaves, want_leaves, strict=True):
        if isinstance(w, torch.Tensor):
            assert g.dtype == w.dtype and g.shape == w.shape, (g.dtype, g.shape, w.dtype, w.shape)
            torch.testing.assert_close(g, w, rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert type(g) is type(w) and g == w


def check(module: torch.nn.Module, *calls: tuple, dynamic_shapes: Any = None, **tolerances: float) -> TorchImported:
    """Import with the first of ``calls`` (tuples of inputs) and compare on all of them."""
    found = imported(module, calls[0], dynamic_shapes=dynamic_shapes)
    model = callable_of(found)
    for inputs in calls:
        with torch.no_grad():
            assert_same(model(*inputs), module(*inputs), **tolerances)
    return found


class Fn(torch.nn.Module):
    """A function as a module."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *xs: torch.Tensor) -> Any:
        return self.fn(*xs)


@dataclass(frozen=True)
class Input:
    """How to draw an input: sizes separated by commas, ``B`` being the dynamic one."""

    sizes: str
    draw: Callable[[tuple[int, ...]], torch.Tensor]

    def at(self, b: int) -> torch.Tensor:
        return self.draw(tuple(b if s.strip() == "B" else int(s) for s in self.sizes.split(",") if s.strip()))

    def dynamic(self, dim: Any) -> dict[int, Any] | None:
        return {i: dim for i, s in enumerate(self.sizes.split(",")) if s.strip() == "B"} or None


def f(sizes: str, dtype: torch.dtype = torch.float32) -> Input:
    """Normal floats."""
    return Input(sizes, lambda shape: torch.randn(shape).to(dtype))


def u(sizes: str, lo: float = 0.05, hi: float = 0.95) -> Input:
    """Uniform floats."""
    return Input(sizes, lambda shape: torch.rand(shape) * (hi - lo) + lo)


def i(sizes: str, lo: int = -5, hi: int = 6, dtype: torch.dtype = torch.int64) -> Input:
    """Integers from ``lo`` up to, but without, ``hi``."""
    return Input(sizes, lambda shape: torch.randint(lo, hi, shape, dtype=dtype))


def b(sizes: str) -> Input:
    """Truth values."""
    return Input(sizes, lambda shape: torch.rand(shape) > 0.5)


def check_fn(fn: Callable[..., Any], inputs: Sequence[Input], lowerings: Mapping[str, Lowering] = LOWERINGS,
             sizes: Iterable[int] = (3, 1, 5), **tolerances: float) -> None:  # fmt: skip
    """Compare a function with B, where the inputs have one, dynamic and of several sizes."""
    torch.manual_seed(0)
    batch = torch.export.Dim("B", min=1, max=8)
    shapes = tuple(x.dynamic(batch) for x in inputs)
    found = imported(Fn(fn), tuple(x.at(3) for x in inputs), dynamic_shapes=(shapes,), lowerings=lowerings)
    assert [s.name for s in found.graph.symbols] == (["B"] if any(shapes) else [])
    model = callable_of(found)
    for size in sizes if any(shapes) else (3,):
        xs = tuple(x.at(size) for x in inputs)
        assert_same(model(*xs), fn(*xs), **tolerances)
