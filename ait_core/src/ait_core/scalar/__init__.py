# SPDX-License-Identifier: Apache-2.0
"""What pack authors write pointwise and indexed ops with: ``from ait_core import scalar as s``.

Each function takes symbols or NumPy arrays: ``s.exp(x)``, ``s.where(x > 0, x, 0.0)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ait_core.ir.dtypes import DType, dtype
from ait_core.scalar import expr as _expr
from ait_core.scalar.expr import Expr
from ait_core.scalar.primitives import PRIMITIVES

__all__ = ["Expr", "cast", "check", *PRIMITIVES]


def _function(name: str):
    primitive = PRIMITIVES[name]

    def call(*operands: Any):
        if len(operands) != primitive.arity:
            raise TypeError(f"scalar.{name} takes {primitive.arity} operands, got {len(operands)}")
        if any(isinstance(o, Expr) for o in operands):
            return _expr.apply(name, *operands)
        with np.errstate(all="ignore"):
            return primitive.numpy(*operands)

    call.__name__ = name
    call.__doc__ = f"The primitive ``{name}`` on symbols or arrays."
    return call


for _name in PRIMITIVES:
    globals()[_name] = _function(_name)


def cast(x: Any, to: DType | str):
    """``x`` converted to (and rounded as stored in) the dtype ``to``. Float to integer truncates towards zero."""
    to = dtype(to)
    if isinstance(x, Expr):
        return _expr.cast(x, to)
    with np.errstate(all="ignore"):
        stored = np.asarray(x).astype(to.numpy)
        return stored.astype(np.float32) if to.compute == "float" else stored


def check(index: Any, size: Any, what: str):
    """``index`` of a lookup into ``size`` entries. Outside ``0 <= index < size`` the run fails with a
    :class:`~ait_core.errors.FaultError` that names the kernel; memory outside the table is never touched."""
    if isinstance(index, Expr):
        from ait_core.ir import index as ix

        bound = ix.affine(size).constant if isinstance(size, Expr) else size
        index = _expr.convert(index, _expr.INDEX)
        if ix.affine(index).within(bound):
            return index
        return Expr("check", (index, ix.size(bound)), _expr.INDEX, what)
    from ait_core.errors import FaultError

    index = np.asarray(index)
    if index.size and (index.min() < 0 or index.max() >= size):
        raise FaultError(f"{what}: index {int(index.min() if index.min() < 0 else index.max())} is outside 0..{size - 1}.")
    return index
