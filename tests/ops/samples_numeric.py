# SPDX-License-Identifier: Apache-2.0
"""Samples of reductions, statistics, scans, matrix products, norms and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from tests.ops.sample import BOOL, FLOATS, INTS, Sample, special, strided, values

Maker = Callable[[], Iterator[Sample]]


def both(*makers: Maker) -> Maker:
    """The samples of several makers."""
    return lambda: chain.from_iterable(m() for m in makers)


def reduced(kinds: tuple[str, ...], *more: dict[str, Any], lo: float = -3, hi: float = 3, empty: bool = True,
            specials: bool = True, one_axis: bool = False) -> Maker:  # fmt: skip
    """A reduction over the last, an inner, several and all axes."""

    def make() -> Iterator[Sample]:
        for given in more or ({},):
            for kind in kinds:
                yield Sample((strided(values((5, 3, 7), kind, lo, hi)),), {"axes": (2,), **given})
                if specials and kind in FLOATS:
                    s = special(kind)
                    grid = np.stack([np.roll(s, i)[:5] for i in range(len(s))])
                    yield Sample((grid,), {"axes": (1,), **given}, "special", static=True)
            x = values((5, 3, 7), kinds[0], lo, hi)
            many = [(0, 1, 2)] if one_axis else [(0, 2), (-1, -2), (0, 1, 2), ()]
            for axes in ((0,), (-2,), *many):
                yield Sample((x,), {"axes": axes, "keepdim": axes == (0,), **given})
            yield Sample((values((2, 300), kinds[0], lo, hi),), {"axes": (1,), "keepdim": True, **given})
            yield Sample((values((), kinds[0], lo, hi),), {"axes": (), **given})
            yield Sample((values((0, 7), kinds[0], lo, hi),), {"axes": (1,), **given})
            if empty:
                yield Sample((values((5, 0), kinds[0], lo, hi),), {"axes": (1,), **given})

    return make


def _ties() -> Iterator[Sample]:
    for kind in FLOATS + INTS:
        x = np.asarray([[1, 3, 3, 2], [0, 0, 0, 0], [3, 1, 1, 3]]).astype(values((), kind).dtype)
        yield Sample((x,), {"axes": (1,)}, "ties")


def _far_from_zero() -> Iterator[Sample]:
    """Where one pass over squares would lose every digit."""
    x = np.asarray(10000 + values((5, 7), "float64", 0, 1)).astype("f4")
    yield Sample((x,), {"axes": (1,)}, "cancel", loose=10)


def along(*more: dict[str, Any], kinds: tuple[str, ...] = FLOATS, lo: float = -3, hi: float = 3) -> Maker:
    """An op along the axis ``dim``."""

    def make() -> Iterator[Sample]:
        for given in more:
            for kind in kinds:
                yield Sample((strided(values((5, 7), kind, lo, hi)),), {"dim": 1, **given})
            yield Sample((values((5, 3, 7), "float32", lo, hi),), {"dim": 0, **given})
            yield Sample((values((2, 130), "float32", lo, hi),), {"dim": -1, **given})

    return make


def _cumsums() -> Iterator[Sample]:
    yield from along({}, kinds=FLOATS + INTS + BOOL)()
    yield Sample((special("float32"),), {"dim": 0}, "special")
    yield Sample((values((0, 7), "float32"),), {"dim": 0})


def _sorts() -> Iterator[Sample]:
    for descending in (False, True):
        yield from along({"descending": descending}, kinds=FLOATS + INTS + BOOL)()
        yield Sample((special("float32"),), {"dim": 0, "descending": descending}, "special")
        yield Sample((values((5, 0), "float32"),), {"dim": 1, "descending": descending})


def _topks() -> Iterator[Sample]:
    for largest in (False, True):
        for kind in FLOATS:
            distinct = np.argsort(values((5, 7), "float64"), axis=1)  # torch promises no order of equal elements
            yield Sample((distinct.astype(values((), kind).dtype),), {"k": 3, "dim": 1, "largest": largest})
        yield Sample((values((130,), "float32"),), {"k": 130, "dim": 0, "largest": largest})
        yield Sample((values((5, 3), "float32"),), {"k": 0, "dim": 1, "largest": largest})


def _matmuls() -> Iterator[Sample]:
    for kind in FLOATS + INTS:
        yield Sample((strided(values((5, 7), kind)), values((7, 9), kind)))
    for a, b in (((1, 1), (1, 1)), ((5, 33), (33, 7)), ((3, 5, 7), (7, 4)), ((5, 7), (3, 7, 4)), ((0, 7), (7, 4)),
                 ((2, 1, 5, 3), (6, 3, 7)), ((5, 0), (0, 7)), ((0, 5, 7), (7, 4)), ((5, 7), (7, 0)),
                 ((1, 130), (130, 65))):  # fmt: skip
        yield Sample((values(a, "float32"), values(b, "float32")), loose=8)
    yield Sample((values((5, 7), "bfloat16"), values((7, 4), "float32")), {}, "mixed")
    yield Sample((values((5, 7), "float16"), values((7, 4), "bfloat16")), {}, "mixed")
    yield Sample((special("float32")[:, None], special("float32")[None]), {}, "special")


def _linears() -> Iterator[Sample]:
    for kind in FLOATS:
        yield Sample((strided(values((5, 7), kind)), values((9, 7), kind), values((9,), kind)))
        yield Sample((values((5, 3, 7), kind), values((9, 7), kind), None))
    for x in ((7,), (0, 7), (2, 3, 5, 7)):
        yield Sample((values(x, "float32"), values((4, 7), "float32"), values((4,), "float32")))
    yield Sample((values((5, 0), "float32"), values((4, 0), "float32"), values((4,), "float32")))


def _softmaxes() -> Iterator[Sample]:
    for kind in FLOATS:
        yield Sample((strided(values((5, 7), kind, -9, 9)),))
        yield Sample((np.stack([special(kind), np.full(12, -np.inf).astype(special(kind).dtype)]),), {}, "special")
    for shape, axis in (((5, 3, 7), 0), ((5, 3, 7), -2), ((1, 1), 1), ((0, 7), 1), ((5, 0), 1), ((2, 300), 1)):
        yield Sample((values(shape, "float32", -9, 9),), {"axis": axis})
    yield Sample((values((5, 7), "float32", 900, 1000),), {}, "large")


def _layers(weight_only: bool = False) -> Maker:
    def make() -> Iterator[Sample]:
        for kind in FLOATS:
            w, b = values((7,), kind), values((7,), kind)
            yield Sample((strided(values((5, 7), kind)), w) + (() if weight_only else (b,)), {"eps": 1e-5})
            yield Sample((values((5, 3, 7), kind), None) + (() if weight_only else (None,)), {"eps": 1e-3})
        for shape, axes in (((5, 3, 7), 2), ((2, 129), 1), ((0, 7), 1), ((7,), 1), ((2, 1), 1)):
            w = values(shape[-axes:], "float32")
            yield Sample((values(shape, "float32"), w) + (() if weight_only else (w + 1,)), {"axes": axes, "eps": 1e-5})
        far = np.asarray(3000 + values((5, 7), "float64", 0, 1)).astype("f4")
        yield Sample((far, None) + (() if weight_only else (None,)), {"eps": 1e-5}, "cancel", loose=2000)

    return make


def _layer_mixed() -> Iterator[Sample]:
    for kind in ("bfloat16",):
        yield Sample((values((5, 7), kind), values((7,), "float32"), values((7,), "float32")), {"eps": 1e-5}, "mixed")


def channels(groups: tuple[int, ...] = (), running: bool = False) -> Maker:
    """Norms over channels: ``x [n, c, ...]`` with vectors of ``c``."""

    def make() -> Iterator[Sample]:
        def sample(shape: tuple[int, ...], kind: str, affine: bool, given: dict[str, Any]) -> Sample:
            c = shape[1:2]
            stats = (values(c, kind), values(c, kind, 0.5, 2)) if running else ()
            vectors = (values(c, kind, 0.5, 2), values(c, kind, -1, 1)) if affine else (None, None)
            return Sample((values(shape, kind), *stats, *vectors), {"eps": 1e-3, **given})

        for given in [{"groups": g} for g in groups] or [{}]:
            for kind in FLOATS:
                yield sample((5, 6, 7), kind, True, given)
            yield sample((5, 6, 3, 7), "float32", False, given)
            yield sample((1, 6, 3), "float32", True, given)
            yield sample((0, 6, 7), "float32", True, given)
            if running:
                yield sample((5, 6), "float32", True, given)

    return make


def _l2s() -> Iterator[Sample]:
    for kind in FLOATS:
        yield Sample((strided(values((5, 7), kind)),), {"axis": 1})
    yield Sample((np.zeros((5, 7), "f4"),), {"axis": 1}, "zero")
    for shape, axis in (((5, 3, 7), 0), ((5, 3, 7), -2), ((0, 7), 1), ((7,), 0)):
        yield Sample((values(shape, "float32"),), {"axis": axis})


def _attentions() -> Iterator[Sample]:
    def qkv(kind: str, lead: tuple[int, ...], heads: int, kv: int, lq: int, lk: int, d: int = 8, dv: int = 8) -> tuple:
        h, g = ((heads,), (kv,)) if heads else ((), ())
        shapes = ((*lead, *h, lq, d), (*lead, *g, lk, d), (*lead, *g, lk, dv))
        return tuple(values(s, kind, -2, 2 + i / 8) for i, s in enumerate(shapes))

    for kind in FLOATS:
        allowed = values((5, 7), "bool")
        allowed[1] = False
        allowed[2] = True
        biased = values((3, 1, 5, 7), kind)
        biased[..., 2, :] = -np.inf
        yield Sample(qkv(kind, (3,), 2, 2, 5, 7))
        yield Sample((*qkv(kind, (3,), 2, 2, 5, 7), allowed))
        yield Sample((*qkv(kind, (3,), 2, 2, 5, 7), biased), {"scale": 0.3})
        yield Sample(qkv(kind, (3,), 2, 2, 5, 7), {"causal": True})
        yield Sample(qkv(kind, (3,), 6, 2, 5, 7))
    yield Sample((*qkv("float32", (3,), 4, 1, 5, 7), values((3, 1, 1, 7), "bool")))
    yield Sample(qkv("float32", (3,), 2, 2, 7, 5, 4, 6), {"causal": True})
    yield Sample(qkv("float32", (), 0, 0, 5, 7))
    yield Sample(qkv("float32", (), 2, 2, 5, 7))
    yield Sample(qkv("float32", (1,), 1, 1, 1, 1, 1, 1))
    yield Sample(qkv("float32", (2,), 2, 2, 130, 65, 33, 33), loose=8)
    yield Sample(qkv("float32", (3,), 2, 2, 5, 0))
    yield Sample(qkv("float32", (0,), 2, 2, 5, 7))


NUMERIC: dict[str, Maker] = {
    "sum": reduced(FLOATS + INTS + BOOL),
    "prod": reduced(FLOATS + INTS + BOOL),
    "amax": reduced(FLOATS + INTS + BOOL, empty=False),
    "amin": reduced(FLOATS + INTS + BOOL, empty=False),
    "any": reduced(FLOATS + INTS[:4] + BOOL, lo=-1, hi=1),
    "all": reduced(FLOATS + INTS[:4] + BOOL, lo=-1, hi=1),
    "argmax": both(reduced(FLOATS + INTS, empty=False, one_axis=True), _ties),
    "argmin": both(reduced(FLOATS + INTS, empty=False, one_axis=True), _ties),
    "mean": reduced(FLOATS),
    "var": both(reduced(FLOATS, {}, {"correction": 0}, {"correction": 2.5}), _far_from_zero),
    "std": both(reduced(FLOATS, {}, {"correction": 0}), _far_from_zero),
    "norm": both(reduced(FLOATS, *({"ord": o} for o in (2.0, 1.0, 0.0, 3.0)), lo=0.1),
                 reduced(FLOATS, *({"ord": o} for o in (np.inf, -np.inf, -1.5)), lo=0.1, empty=False)),
    "logsumexp": reduced(FLOATS, lo=-30, hi=30),
    "count_nonzero": reduced(FLOATS + INTS + BOOL, lo=-1, hi=1),
    "cumsum": _cumsums,
    "sort": _sorts,
    "topk": _topks,
}  # fmt: skip
GEMM: dict[str, Maker] = {"matmul": _matmuls, "linear": _linears}
NORM: dict[str, Maker] = {
    "softmax": _softmaxes,
    "log_softmax": _softmaxes,
    "layer_norm": both(_layers(), _layer_mixed),
    "rms_norm": _layers(weight_only=True),
    "group_norm": channels(groups=(1, 2, 6)),
    "instance_norm": channels(),
    "batch_norm": channels(running=True),
    "l2_normalize": _l2s,
}
ATTENTION: dict[str, Maker] = {"scaled_dot_product": _attentions}
