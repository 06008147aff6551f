# SPDX-License-Identifier: Apache-2.0
"""Floating point numbers that a model computes from sizes, such as ``1 / x.shape[1]``: 0-d tensors. Integers made of
sizes stay sizes and need no lowering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

import ait_ops_tensor as t
from ait_core.declare.rule import Lowering
from ait_core.ir.dtypes import float32
from ait_core.ir.graph import Value


def _number(x: Any) -> Any:
    return t.size_as_value(x, float32) if isinstance(x, sympy.Expr) else x if isinstance(x, Value) else np.float32(x)


def _scalar(op: Callable[..., Value]) -> Callable[..., Value]:
    return lambda ctx, *xs: op(*map(_number, xs))


_OPS = {
    "truediv": t.div, "mul": t.mul, "add": t.add, "sub": t.sub, "pow": t.pow, "neg": t.neg, "sym_sqrt": t.sqrt,
    "sym_max": t.maximum, "sym_min": t.minimum, "sym_float": lambda x: t.add(x, 0.0),
}  # fmt: skip
TABLE = [Lowering("torch", f"python.{name}", _scalar(op)) for name, op in _OPS.items()]
