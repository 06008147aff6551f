# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of ops, for whoever runs ops: against torch, compiled, through passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ait_core.ir import dims
from ait_core.ir.dtypes import ALL, dtype
from ait_core.ir.graph import evaluate
from ait_core.ir.types import TensorType

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
BOOL = ("bool",)
# Sizes 5 and 7 stand for these dims wherever they occur in the shape of a sample that is not static.
N, M = dims.dim("n", 4, 64), dims.dim("m", 6, 64)
SIZES = {"n": 5, "m": 7}
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 2.5, -3.0, 1e-3, 88.0, -120.0)


@dataclass(frozen=True)
class Sample:
    """Operands (None where one is absent) and attributes, which may hold the dims ``N`` and ``M``.

    ``static``: the sizes 5 and 7 do not vary here. ``loose``: how many times the usual tolerance results may differ.
    """

    inputs: tuple[np.ndarray | None, ...]
    given: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    static: bool = False
    loose: float = 1.0

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes with numbers for the dims."""
        return {k: evaluate(v, SIZES) for k, v in self.given.items()}

    @property
    def types(self) -> tuple[TensorType | None, ...]:
        """Types of the operands as they are."""
        return tuple(None if a is None else TensorType(dtype(a.dtype), a.shape) for a in self.inputs)

    @property
    def symbolic_types(self) -> tuple[TensorType | None, ...]:
        """Types of the operands with the dims ``N`` and ``M``; those of ``types`` for a static sample."""
        swap = {} if self.static else {SIZES["n"]: N, SIZES["m"]: M}
        return tuple(None if t is None else t.of_shape(swap.get(n, n) for n in t.shape) for t in self.types)

    def __str__(self) -> str:
        shown = ",".join("None" if t is None else str(t).replace(" ", "") for t in self.types)
        return "-".join(filter(None, (self.name, shown, *(f"{k}={v}" for k, v in self.given.items()))))


def rng(*seed: Any) -> np.random.Generator:
    """A generator that depends on nothing but ``seed``."""
    return np.random.default_rng([*repr(seed).encode()])


def values(shape: Sequence[int], kind: str, lo: float = -3, hi: float = 3) -> np.ndarray:
    """Random numbers of ``lo`` to ``hi`` as the dtype named ``kind``; unsigned ones from 0."""
    g = rng(shape, kind, lo, hi)
    to = ALL[kind]
    if to.name == "bool":
        return np.asarray(g.random(shape) < 0.5)
    if to.is_int:
        lo = max(lo, 0) if kind == "uint8" else lo
        return np.asarray(g.integers(int(lo), int(hi), shape, endpoint=True)).astype(to.numpy)
    return np.asarray(g.uniform(lo, hi, shape)).astype(to.numpy)


def strided(a: np.ndarray) -> np.ndarray:
    """The same elements, not next to each other."""
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def special(kind: str) -> np.ndarray:
    """NaN, infinities, zeros of both signs and a few numbers."""
    return np.asarray(SPECIAL).astype(ALL[kind].numpy)


def unary(kinds: Sequence[str], lo: float = -3, hi: float = 3, specials: bool = True, loose: float = 1.0,
          **given: Any) -> Iterator[Sample]:  # fmt: skip
    """Samples of an op of one operand: every dtype strided, and empty, 0-d and odd ones of the first."""
    for kind in kinds:
        yield Sample((strided(values((5, 7), kind, lo, hi)),), given, loose=loose)
        if specials and kind in FLOATS:
            yield Sample((special(kind),), given, "special", loose=loose)
    for shape in ((), (0, 7), (3, 1, 129)):
        yield Sample((values(shape, kinds[0], lo, hi),), given, loose=loose)


def binary(kinds: Sequence[str], lo: float = -3, hi: float = 3, lo2: float | None = None, hi2: float | None = None,
           specials: bool = True, mixed: Sequence[tuple[str, str]] = (), **given: Any) -> Iterator[Sample]:  # fmt: skip
    """Samples of an op of two operands: every dtype broadcast from the right, pairs of dtypes broadcast both ways and
    with a 0-d operand, and empty, 0-d and odd ones of the first."""
    second = (lo if lo2 is None else lo2, hi if hi2 is None else hi2)
    for kind in kinds:
        yield Sample((strided(values((5, 7), kind, lo, hi)), values((7,), kind, *second)), given)
        if specials and kind in FLOATS:
            yield Sample((special(kind)[:, None], special(kind)), given, "special")
    for a, b in mixed:
        yield Sample((values((3, 5, 1), a, lo, hi), values((7,), b, *second)), given, "mixed")
        yield Sample((values((), a, lo, hi), values((5, 7), b, *second)), given, "mixed")
    for one, two in (((), ()), ((0, 7), (7,)), ((3, 1, 129), (1, 4, 1)), ((5, 1), (5, 0))):
        yield Sample((values(one, kinds[0], lo, hi), values(two, kinds[0], *second)), given)
