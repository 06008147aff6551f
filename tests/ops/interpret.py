# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions computed with NumPy: what generated code does, without a compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ait_core import scalar
from ait_core.ir.graph import Value, evaluate
from ait_core.scalar.expr import Expr
from ait_core.scalar.primitives import PRIMITIVES

KINDS = {"bool": "?", "std::int32_t": "i4", "std::int64_t": "i8", "float": "f4", "double": "f8"}


class Interpreter:
    """Computes expressions at every place of a loop nest.

    Args:
        arrays: what is loaded, by value.
        sizes: numbers of the symbolic dims.
        at: arrays of the loop variables, by name, that broadcast to the nest.
    """

    def __init__(self, arrays: Mapping[Value, np.ndarray], sizes: Mapping[str, int],
                 at: Mapping[str, np.ndarray]) -> None:  # fmt: skip
        self.arrays, self.sizes, self.variables = arrays, sizes, at

    def __call__(self, e: Expr) -> np.ndarray:
        with np.errstate(all="ignore"):
            out = np.asarray(self._compute(e, [self(a) for a in e.args]))
        assert out.dtype == np.dtype(KINDS[e.kind]), f"{e.op} says {e.kind}, its value is {out.dtype}"
        return out

    def _compute(self, e: Expr, args: list[np.ndarray]) -> Any:
        match e.op:
            case "const":
                return np.asarray(e.payload, KINDS[e.kind])
            case "size":
                return np.asarray(evaluate(e.payload, self.sizes), "i8")
            case "var":
                return self.variables[e.payload.name]
            case "convert":
                return args[0].astype(KINDS[e.kind])
            case "cast":
                return np.asarray(scalar.cast(args[0], e.payload)).astype(KINDS[e.kind])
            case "check":
                return scalar.check(args[0], int(args[1]), e.payload)
            case "clamp":
                return np.clip(args[0], 0, args[1] - 1)
            case "idiv" | "imod":
                assert (args[0] >= 0).all(), f"{e.op} of a negative index"
                return args[0] // args[1] if e.op == "idiv" else args[0] % args[1]
            case "load":
                return self._load(self.arrays[e.payload], args).astype(KINDS[e.kind])
        return np.asarray(PRIMITIVES[e.op].numpy(*args)).astype(KINDS[e.kind])

    @staticmethod
    def _load(array: np.ndarray, coords: list[np.ndarray]) -> np.ndarray:
        """Elements at coordinates, which must lie inside wherever there is anything to load."""
        shape = np.broadcast_shapes(*(c.shape for c in coords)) if coords else ()
        if 0 in shape or array.size == 0:
            return np.zeros(shape, array.dtype)
        for c, n in zip(coords, array.shape, strict=True):
            assert c.min() >= 0 and c.max() < n, f"a load at {c.min()}..{c.max()} of an axis of {n}"
        return array[tuple(coords)]
