# SPDX-License-Identifier: Apache-2.0
"""Writing cases: a function of a :class:`Builder` that returns what its graph puts out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from ait_core.ir import dims
from ait_core.ir.dtypes import dtype as as_dtype
from ait_core.ir.graph import Graph, Value, constant, evaluate, input
from tests.compiled.harness import Case, exactly
from tests.compiled.precision import slack

RUNS = 3


class Builder:
    """Makes inputs, constants and dims of one case, with data for each of its runs."""

    def __init__(self, name: str) -> None:
        self.rng = np.random.default_rng([*name.encode()])
        self.inputs: list[Value] = []
        self.weights = 0
        self.runs: list[dict[str, np.ndarray]] = [{} for _ in range(RUNS)]
        self.sizes: list[dict[str, int]] = [{} for _ in range(RUNS)]

    def dim(self, name: str, lo: int, hi: int, *sizes: int) -> dims.DimSymbol:
        """A dim and its size in each run."""
        for turn, n in zip(self.sizes, sizes, strict=True):
            turn[name] = n
        return dims.dim(name, lo, hi)

    def batch(self) -> dims.DimSymbol:
        return self.dim("b", 1, 5, 3, 1, 5)

    def seq(self) -> dims.DimSymbol:
        return self.dim("s", 1, 40, 7, 40, 1)

    def none(self) -> dims.DimSymbol:
        """A dim that may be 0."""
        return self.dim("z", 0, 9, 0, 9, 1)

    def data(self, shape: tuple[int, ...], dtype: str = "float32", lo: float = -2, hi: float = 2) -> np.ndarray:
        to = as_dtype(dtype)
        if to.is_float:
            return np.asarray(self.rng.uniform(lo, hi, shape)).astype(to.numpy)
        if to.name == "bool":
            return np.asarray(self.rng.random(shape) < 0.6)
        return np.asarray(
            self.rng.integers(max(int(lo), 0) if to.name == "uint8" else int(lo), int(hi) + 1, shape)
        ).astype(to.numpy)

    def x(
        self,
        *shape: Any,
        dtype: str = "float32",
        lo: float = -2,
        hi: float = 2,
        make: Callable[[np.ndarray], np.ndarray] = lambda a: a,
    ) -> Value:
        """An input of random numbers, changed by ``make``."""
        v = input(f"x{len(self.inputs)}", shape, dtype)
        for arrays, sizes in zip(self.runs, self.sizes, strict=True):
            arrays[v.name] = make(self.data(evaluate(v.shape, sizes), dtype, lo, hi))
        self.inputs.append(v)
        return v

    def w(self, *shape: int, dtype: str = "float32") -> Value:
        """A parameter."""
        self.weights += 1
        return constant(self.data(shape, dtype, -0.5, 0.5), f"w{self.weights}")

    def c(self, *shape: int, dtype: str = "float32") -> Value:
        """A constant that may be folded."""
        return constant(self.data(shape, dtype))


def case(fn: Callable[[Builder], Any], loose: float = 1.0) -> Callable[[], Case]:
    """Declare a case: ``fn`` returns a value, or a tuple of several."""

    @wraps(fn)
    def make() -> Case:
        b = Builder(fn.__name__)
        made = fn(b)
        outputs = {f"y{i}": v for i, v in enumerate(made if isinstance(made, tuple) else (made,))}
        graph = Graph(outputs, b.inputs)
        halves = any(v.dtype.is_float and v.dtype.itemsize == 2 for n in graph.nodes for v in n.operands)
        return Case(fn.__name__, graph, b.runs if any(b.sizes) else b.runs[:1], loose, slack if halves else exactly)

    make.is_case = True  # type: ignore[attr-defined]
    return make


def cases_in(*modules: ModuleType) -> list[Case]:
    return [fn() for m in modules for fn in vars(m).values() if hasattr(fn, "is_case") and fn.__module__ == m.__name__]
