# SPDX-License-Identifier: Apache-2.0
"""The table of sample inputs of every op: ``samples(op)``."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ait_core.declare.op import Op
from tests.ops.sample import SIZES, M, N, Sample, values
from tests.ops.samples_numeric import ATTENTION, GEMM, NORM, NUMERIC, Maker
from tests.ops.samples_pointwise import POINTWISE
from tests.ops.samples_shape import SHAPE

__all__ = ["M", "N", "SIZES", "TABLE", "Sample", "all_ops", "samples", "values"]

PACKED = {"tensor": POINTWISE | SHAPE | NUMERIC, "gemm": GEMM, "norm": NORM, "attention": ATTENTION}
TABLE: dict[str, Maker] = {f"{pack}.{name}": make for pack, entries in PACKED.items() for name, make in entries.items()}


@cache
def samples(op: Op | str) -> list[Sample]:
    """Sample inputs of an op: odd sizes, empty and 0-d tensors, broadcasts, every dtype, NaN and infinities."""
    return list(TABLE[op if isinstance(op, str) else op.name]())


@cache
def all_ops() -> dict[str, Op]:
    """Every op of the packs of this repository by name."""
    return {op.name: op for p in PACKED for op in import_module(f"ait_ops_{p}.plugin").ait_ops()}
