# SPDX-License-Identifier: Apache-2.0
"""Samples of the pointwise ops. Dtypes that torch refuses (floor of a truth value) are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from ait_core.ir.dtypes import ALL
from tests.ops.sample import BOOL, FLOATS, INTS, Sample, binary, special, unary, values

ANY = FLOATS + INTS + BOOL
NUMBERS = FLOATS + INTS
MIXED = (("float32", "int64"), ("bfloat16", "float32"), ("float16", "bfloat16"), ("int8", "uint8"),
         ("int32", "float16"), ("bool", "int16"), ("float64", "float32"), ("uint8", "bool"))  # fmt: skip
INT_MIXED = (("int8", "uint8"), ("bool", "int16"), ("int64", "int32"), ("uint8", "bool"))
WHOLE = INTS[:4]  # signed





def extremes(kinds: tuple[str, ...]) -> Iterator[Sample]:
    """The ends of the integers, where arithmetic wraps."""
    for kind in kinds:
        i = np.iinfo(ALL[kind].numpy)
        a = np.asarray([i.min, i.min + 1, 0, 1, i.max - 1, i.max], ALL[kind].numpy)
        yield Sample((a,), {}, "extreme")


def wrapping() -> Iterator[Sample]:
    for s in extremes(INTS):
        yield Sample((s.inputs[0][:, None], s.inputs[0]), {}, "extreme")


def dividing() -> Iterator[Sample]:
    """Integer quotients of every sign; the divisor is never 0, which torch refuses, nor does the quotient overflow."""
    for kind in WHOLE:
        a = np.asarray([-7, -6, -1, 0, 1, 5, 6, 7, 100, -100], ALL[kind].numpy)
        yield Sample((a[:, None], a[a != 0]), {}, "signs")


def floats(lo: float = -3, hi: float = 3, ints: bool = True, **given) -> Callable[[], Iterator[Sample]]:
    """Functions that give floats: of floats and, if torch has it so, of integers and truth values."""
    kinds = FLOATS + (("int64", "int8", "bool") if ints else ())
    return lambda: unary(kinds, lo, hi, **given)


def ternary(kinds=FLOATS, lo=-3.0, hi=3.0) -> Iterator[Sample]:
    for kind in kinds:
        yield Sample((values((5, 7), kind, lo, hi), values((7,), kind, lo, hi), values((5, 1), kind, 0, 1)))
    yield Sample((values((3, 7), "float32"), values((3, 7), "float32"), values((), "float32", 0, 1)))
    yield Sample((values((0, 7), "float32"), values((7,), "float32"), values((), "float32", 0, 1)))
    yield Sample((values((), "float32"), values((), "float32"), values((), "float32", 0, 1)))


def clamps() -> Iterator[Sample]:
    for kind in NUMBERS:
        yield Sample((values((5, 7), kind), values((7,), kind, 0, 1), values((5, 1), kind, 1, 2)))
    for kind in FLOATS:
        s = special(kind)
        yield Sample((s[:, None, None], s[:, None], s), {}, "special")
    yield Sample((values((5, 7), "float32"), values((), "float32", -1, 0), None))
    yield Sample((values((5, 7), "float32"), None, values((), "float32", 0, 1)))
    yield Sample((values((5, 7), "int64"), values((), "float32", 0, 1), None), {}, "mixed")
    yield Sample((values((0, 7), "float32"), values((), "float32"), None))
    yield Sample((values((), "float32"), values((), "float32", -1, 0), values((), "float32", 0, 1)))


def wheres() -> Iterator[Sample]:
    for kind in ANY:
        yield Sample((values((5, 7), "bool"), values((5, 7), kind), values((7,), kind)))
    for a, b in MIXED:
        yield Sample((values((3, 1, 7), "bool"), values((5, 1), a), values((), b)), {}, "mixed")
    yield Sample((values((5,), "bool"), values((), "float32"), values((), "float64")), {}, "mixed")
    yield Sample((values((0, 5), "bool"), values((5,), "float32"), values((), "float32")))
    yield Sample((values((), "bool"), values((), "float32"), values((), "float32")))
    s = special("float32")
    yield Sample((np.asarray([True, False])[:, None], s, np.zeros_like(s)), {}, "special")


def casts() -> Iterator[Sample]:
    for a in ANY:
        for b in ANY:
            small = a in FLOATS and b == "uint8"  # of negative floats torch leaves it undefined
            yield Sample((values((5, 7), a, 0 if small else -100, 100),), {"dtype": b})
    for b in FLOATS + BOOL:
        yield Sample((special("float32"),), {"dtype": b}, "special")
    ends = np.asarray([-129, -128, 127, 128, 255, 256, 65535, 2**31, -(2**31) - 1, 2**40 + 3], "i8")
    for b in NUMBERS:
        yield Sample((ends,), {"dtype": b}, "wrap")
    ties = [1 + n * 2**-p for p in (8, 11, 24) for n in (1, 3)]
    halfway = np.asarray([*ties, 65519, 65520, 3.4e38, 1e-40, 6e-8, 2**-25])
    for a in ("float32", "float64"):
        for b in ("bfloat16", "float16", "float32"):
            yield Sample((halfway.astype(a),), {"dtype": b}, "rounding")
    for shape in ((), (0, 7)):
        yield Sample((values(shape, "float32"),), {"dtype": "float16"})


def with_attrs(make: Callable[..., Iterator[Sample]], *variants: dict, **kwargs) -> Callable[[], Iterator[Sample]]:
    return lambda: chain(*(make(**kwargs, **v) for v in variants))


def of(kinds: tuple[str, ...], lo: float = -3, hi: float = 3, **more) -> Callable[[], Iterator[Sample]]:
    return lambda: unary(kinds, lo, hi, **more)


def pairs(kinds: tuple[str, ...], mixed=MIXED, **more) -> Callable[[], Iterator[Sample]]:
    return lambda: binary(kinds, mixed=mixed, **more)


COMPARISON = pairs(ANY)
ROUNDING = of(NUMBERS, -4, 4)
BITS = pairs(INTS + BOOL, INT_MIXED)
SHIFT = pairs(INTS, (("int64", "int32"),), lo=-100, hi=100, lo2=0, hi2=6)
DIVIDE_MIXED = (("float32", "int64"), ("bfloat16", "float32"), ("int64", "int32"), ("int8", "uint8"))
_DIVIDE = {"lo": -100, "hi": 100, "lo2": 1, "hi2": 9}


def _division() -> Iterator[Sample]:
    return chain(binary(NUMBERS, mixed=DIVIDE_MIXED, **_DIVIDE), dividing())


def _powers() -> Iterator[Sample]:
    yield from binary(FLOATS, lo=0.1, hi=3, lo2=-3, hi2=3, mixed=(("float32", "int64"), ("int64", "float32")))
    for kind in INTS:
        yield Sample((values((5, 7), kind, -3, 3), values((7,), kind, 0, 4)))
    base, exponent = np.asarray([-3, -2, -1, 1, 2, 3]), np.asarray([-3, -2, -1, 0, 1, 2])
    for kind in WHOLE:
        yield Sample((base.astype(ALL[kind].numpy)[:, None], exponent.astype(ALL[kind].numpy)), {}, "signs")


POINTWISE: dict[str, Callable[[], Iterator[Sample]]] = {
    "add": lambda: chain(binary(ANY, mixed=MIXED), wrapping()),
    "sub": lambda: chain(binary(NUMBERS, mixed=MIXED[:5]), wrapping()),
    "mul": lambda: chain(binary(ANY, mixed=MIXED), wrapping()),
    "div": pairs(ANY, lo2=1, hi2=5),
    "floor_div": _division,
    "remainder": _division,
    "fmod": _division,
    "pow": _powers,
    "minimum": pairs(ANY),
    "maximum": pairs(ANY),
    "neg": lambda: chain(unary(NUMBERS), extremes(INTS)),
    "abs": lambda: chain(unary(NUMBERS), extremes(INTS)),
    "sign": of(NUMBERS),
    "square": lambda: chain(unary(NUMBERS), extremes(INTS)),
    "floor": ROUNDING,
    "ceil": ROUNDING,
    "round": lambda: chain(ROUNDING(), iter([Sample((np.arange(-4.5, 5).astype("f4"),), {}, "halves")])),
    "trunc": ROUNDING,
    "frac": of(FLOATS, -4, 4),
    "copysign": pairs(FLOATS + ("int32", "bool")),
    "hypot": pairs(FLOATS, mixed=(("bfloat16", "float32"),)),
    "lerp": ternary,
    "clamp": clamps,
    "exp": floats(-10, 10),
    "expm1": floats(-2, 2),
    "exp2": floats(-10, 10),
    "log": floats(0.01, 50),
    "log2": floats(0.01, 50),
    "log10": floats(0.01, 50),
    "log1p": floats(-0.9, 5),
    "sqrt": floats(0, 50),
    "rsqrt": floats(0.1, 50),
    "reciprocal": floats(0.2, 5),
    "erf": floats(-4, 4),
    "sin": floats(-20, 20),
    "cos": floats(-20, 20),
    "tan": floats(-1.4, 1.4),
    "asin": floats(-1, 1),
    "acos": floats(-1, 1),
    "atan": floats(-9, 9),
    "sinh": floats(-5, 5),
    "cosh": floats(-5, 5),
    "tanh": floats(-5, 5),
    "asinh": floats(-9, 9),
    "acosh": floats(1, 9),
    "atanh": floats(-0.9, 0.9),
    "atan2": pairs(FLOATS + ("int64", "bool")),
    "logaddexp": pairs(FLOATS, mixed=(("bfloat16", "float32"),)),
    "xlogy": pairs(FLOATS + ("int64",), lo2=0, hi2=4),
    "logit": floats(0.01, 0.99),
    "sigmoid": floats(-20, 20),
    "logsigmoid": floats(-20, 20, ints=False),
    "relu": of(NUMBERS),
    "gelu": with_attrs(unary, {"approximate": "none"}, {"approximate": "tanh"}, kinds=FLOATS, lo=-5, hi=5, loose=4),
    "silu": floats(-20, 20, ints=False),
    "leaky_relu": with_attrs(unary, {"slope": 0.2}, {}, kinds=FLOATS),
    "prelu": pairs(FLOATS, mixed=()),
    "elu": with_attrs(unary, {}, {"alpha": 0.7, "scale": 1.3, "input_scale": 0.9}, kinds=FLOATS),
    "celu": with_attrs(unary, {}, {"alpha": 0.7}, kinds=FLOATS),
    "selu": floats(ints=False),
    "softplus": with_attrs(unary, {}, {"beta": 2.0, "threshold": 3.0}, kinds=FLOATS),
    "softsign": floats(ints=False),
    "hardtanh": with_attrs(unary, {}, {"lo": -0.5, "hi": 2.0}, kinds=FLOATS),
    "hardswish": floats(-5, 5, ints=False),
    "hardsigmoid": floats(-5, 5, ints=False),
    "mish": floats(-20, 20, ints=False),
    "hardshrink": with_attrs(unary, {}, {"lambd": 1.5}, kinds=FLOATS),
    "softshrink": with_attrs(unary, {}, {"lambd": 1.5}, kinds=FLOATS),
    "tanhshrink": floats(0.5, 5, ints=False),
    "threshold": with_attrs(unary, {"threshold": 0.5, "value": -7.0}, kinds=FLOATS),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), COMPARISON),
    "logical_and": COMPARISON,
    "logical_or": COMPARISON,
    "logical_xor": COMPARISON,
    "logical_not": of(ANY, -1, 1),
    "isnan": of(ANY),
    "isinf": of(ANY),
    "isfinite": of(ANY),
    "signbit": of(NUMBERS),
    "bit_and": BITS,
    "bit_or": BITS,
    "bit_xor": BITS,
    "bit_not": of(INTS + BOOL, -100, 100),
    "shift_left": SHIFT,
    "shift_right": SHIFT,
    "where": wheres,
    "cast": casts,
    "nan_to_num": with_attrs(unary, {}, {"nan": 1.5, "posinf": 9.0, "neginf": -8.0}, {"posinf": 4.0}, kinds=NUMBERS),
}
