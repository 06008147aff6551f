# SPDX-License-Identifier: Apache-2.0
"""Samples of views, joins, fills, padding and lookups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.ops.sample import BOOL, FLOATS, INTS, M, N, Sample, strided, values
from tests.ops.samples_numeric import both

KINDS = FLOATS + INTS + BOOL
Maker = Callable[[], Iterator[Sample]]


def moved(*cases: tuple[tuple[int, ...], dict[str, Any]], static: bool = False,
          kinds: tuple[str, ...] = KINDS) -> Maker:  # fmt: skip
    """Ops that move elements as they are: each case in float32, the first in every dtype and strided."""

    def make() -> Iterator[Sample]:
        (shape, given), *_ = cases
        for kind in kinds:
            a = values(shape, kind, -9, 9)
            yield Sample((strided(a) if a.ndim else a,), given, static=static)
        for shape, given in cases[1:]:
            yield Sample((values(shape, "float32"),), given, static=static)

    return make


def joined(*cases: tuple[list[tuple[int, ...]], dict[str, Any]]) -> Maker:
    """Each case in float32, the first in every dtype."""

    def make() -> Iterator[Sample]:
        shapes, given = cases[0]
        for kind in KINDS:
            yield Sample(tuple(values(s, kind, -9, 9) + i if kind != "bool" else values(s, kind)
                               for i, s in enumerate(shapes)), given)  # fmt: skip
        for shapes, given in cases[1:]:
            yield Sample(tuple(values(s, "float32") for s in shapes), given)

    return make


def _mixed_concat() -> Iterator[Sample]:
    for a, b in (("float32", "int64"), ("float16", "bfloat16"), ("int8", "uint8"), ("bool", "int16")):
        yield Sample((values((5, 2), a), values((5, 7), b)), {"dim": -1}, "mixed")


def _filled() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((), {"shape": (N, M), "value": 3, "dtype": kind})
    for value in (0.1, float("nan"), float("-inf"), True):
        for kind in ("float32", "bfloat16", "float64"):
            yield Sample((), {"shape": (3, 5), "value": value, "dtype": kind})
    yield Sample((), {"shape": (), "value": N * M, "dtype": "float32"})
    yield Sample((), {"shape": (2, M), "value": N, "dtype": "int64"})
    yield Sample((), {"shape": (0, 3), "value": 1.0})
    yield Sample((), {"shape": (), "value": 2.5})


def _iotas() -> Iterator[Sample]:
    for kind in KINDS[:-1]:
        yield Sample((), {"size": N, "start": 3, "step": 2, "dtype": kind})
    yield Sample((), {"size": 33, "start": 0.1, "step": 0.3, "dtype": "float32"})
    yield Sample((), {"size": 33, "start": -1.0, "step": 1 / 3, "dtype": "float64"})
    yield Sample((), {"size": 9, "start": 5, "step": -3})
    yield Sample((), {"size": 1, "start": N, "step": 1})
    yield Sample((), {"size": M, "start": N, "step": M, "dtype": "float32"})
    yield Sample((), {"size": 0})


def _eyes() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((), {"n": 3, "m": 5, "dtype": kind})
    yield Sample((), {"n": N})
    yield Sample((), {"n": 0, "m": 4})


def _pads() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((strided(values((5, 7), kind, -9, 9)),), {"before": (0, 2), "after": (1, 3), "value": 1})
    x = values((3, 5, 7), "float32")
    yield Sample((x,), {"before": (0, -1, 2), "after": (0, 3, -2), "value": float("-inf")})
    yield Sample((x,), {"before": (0, 0, 0), "after": (0, 0, 0)})
    yield Sample((x,), {"before": (N, 0, 0), "after": (0, 0, M), "value": 0.5})
    for mode in ("reflect", "replicate", "circular"):
        yield Sample((x,), {"before": (0, 0, 3), "after": (0, 0, 2), "mode": mode})
        yield Sample((x,), {"before": (0, 2, 1), "after": (0, 3, 0), "mode": mode})
        yield Sample((values((2, 5, 7), "int64"),), {"before": (0, 0, 1), "after": (0, 0, 1), "mode": mode})
    yield Sample((values((0, 3), "float32"),), {"before": (1, 0), "after": (1, 2), "value": 2.0})
    yield Sample((values((), "float32"),), {"before": (), "after": ()})


def _ids(shape: tuple[int, ...], hi: int, kind: str = "int64", lo: int = 0) -> np.ndarray:
    return values(shape, kind, lo, hi)


def _embeddings() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((values((11, 3), kind, -9, 9), _ids((5, 7), 10)))
    for kind in ("int32",):
        yield Sample((values((11, 3), "float32"), _ids((5,), 10, kind)))
    for shape in ((), (0,), (2, 3, 4)):
        yield Sample((values((11, 3), "float32"), _ids(shape, 10)))
    yield Sample((values((0, 3), "float32"), _ids((0, 4), 0)))


def _gathers() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((values((5, 7), kind, -9, 9), _ids((5, 3), 5)), {"dim": 1})
    yield Sample((values((5, 7), "float32"), _ids((9, 7), 3)), {"dim": -2})
    yield Sample((values((4, 6, 3), "float32"), _ids((2, 5, 3), 5)), {"dim": 1}, static=True)
    yield Sample((values((4, 6), "float32"), _ids((0, 6), 3)), {"dim": 0})


def _take_alongs() -> Iterator[Sample]:
    yield Sample((values((5, 7), "float32"), _ids((1, 3), 5)), {"dim": 1})
    yield Sample((values((5, 1, 4), "float32"), _ids((5, 7, 2), 3)), {"dim": -1})
    yield Sample((values((1, 7), "bfloat16"), _ids((3, 7), 0)), {"dim": 0})


def _index_selects() -> Iterator[Sample]:
    for kind in KINDS:
        yield Sample((values((5, 7), kind, -9, 9), _ids((3,), 5)), {"dim": 1})
    yield Sample((values((5, 7, 2), "float32"), _ids((9,), 3, "int32")), {"dim": 0})
    yield Sample((values((5, 7), "float32"), _ids((), 3)), {"dim": -1})
    yield Sample((values((5, 7), "float32"), _ids((0,), 3)), {"dim": 0})


def _indices() -> Iterator[Sample]:
    x = values((4, 6, 5, 3), "float32")

    def i(*shape: int, hi: int = 2) -> np.ndarray:
        return _ids(shape, hi, lo=-hi)

    for given in ((i(7),), (None, i(7)), (i(7), i(7)), (i(2, 1), i(7)), (i(7), None, i(7)), (None, i(3, 1), None, i(7)),
                  (i(7), i(1), i(7), i(7)), (None, i()), (i(), None, i()), (i(0),), (None, None, i(2, 3), None),
                  (i(7), None, None, i(2, 1)), (None, i(2), i(7, 2))):  # fmt: skip
        yield Sample((x, *given))
    for kind in KINDS:
        rows = _ids((7,), 3, "int64" if kind == "bool" else "int32")
        yield Sample((values((5, 7), kind, -9, 9), rows, _ids((7,), 5)))
    for kind in ("int8", "uint8", "int16"):
        yield Sample((values((300, 5), "float32"), _ids((7,), 100, kind, lo=-100)))


def _one_hots() -> Iterator[Sample]:
    for shape in ((5, 7), (), (0,), (3, 1)):
        yield Sample((_ids(shape, 10),), {"classes": 11})


SHAPE: dict[str, Maker] = {
    "reshape": both(
        moved(((5, 7, 4), {"shape": (N, -1)}), ((5, 7, 4), {"shape": (N * M, 2, -1)}), ((5, 4), {"shape": (-1,)}),
              ((5, 7), {"shape": (1, N, 1, M)}), ((1,), {"shape": ()}), ((), {"shape": (1, 1)}),
              ((0, 7), {"shape": (3, 0)}), ((0, 3), {"shape": (-1, 3)}), ((6, 7, 2), {"shape": (2, 3, M, 2)})),
        moved(((5, 7), {"shape": (7, 5)}), ((35,), {"shape": (5, -1)}), static=True)),
    "flatten": moved(((5, 3, 7), {}), ((5, 3, 7), {"start": 1}), ((5, 3, 7), {"end": -2}), ((), {}), ((0, 3), {})),
    "unflatten": moved(((5, 12), {"dim": 1, "sizes": (3, 4)}), ((5, 12), {"dim": -1, "sizes": (2, -1, 3)}),
                       ((8, 7), {"dim": 0, "sizes": (-1, 2)})),
    "permute": moved(((5, 3, 7), {"dims": (2, 0, 1)}), ((5, 3, 7), {"dims": (-1, 1, 0)}), ((), {"dims": ()}),
                     ((0, 5), {"dims": (1, 0)})),
    "transpose": moved(((5, 3, 7), {}), ((5, 3, 7), {"dim0": 0, "dim1": 2})),
    "movedim": moved(((5, 3, 7), {"source": (0,), "destination": (2,)}),
                     ((5, 3, 7, 2), {"source": (-1, 0), "destination": (0, 1)})),
    "expand": moved(((5, 1, 7), {"shape": (-1, 3, -1)}), ((7,), {"shape": (N, M)}), ((), {"shape": (2, N)}),
                    ((1, 3), {"shape": (4, 0, 3)}), ((1, 1), {"shape": (N, M)})),
    "unsqueeze": moved(((5, 7), {"dim": 0}), ((5, 7), {"dim": 1}), ((5, 7), {"dim": -1}), ((), {"dim": 0})),
    "squeeze": moved(((5, 1, 7, 1), {"dims": (1, 3)}), ((5, 1, 7, 1), {"dims": (-1,)}), ((1, 1), {"dims": (0, 1)})),
    "slice": moved(
        ((5, 7), {"dim": 1, "start": 1, "end": 6}), ((5, 7), {"dim": 1, "start": 1, "step": 2}),
        ((5, 7), {"start": -2}), ((5, 7), {"end": -1}), ((5, 7), {"start": 2, "end": 2**63 - 1}),
        ((5, 7), {"start": -100, "end": 100}),
        ((5, 7), {"start": 3, "end": 1}), ((5, 7), {"dim": -1, "step": 3}), ((5, 7), {"dim": -1, "step": -1}),
        ((5, 7), {"dim": 1, "start": 5, "end": 0, "step": -2}),
        ((5, 7), {"dim": 1, "start": -1, "end": -6, "step": -3}),
        ((5, 7), {"start": N - 3, "end": N - 1}), ((5, 7), {"dim": 1, "start": 2, "end": N}), ((9, 7), {"end": N}),
        ((0, 7), {"end": 2}), ((5, 7), {}), ((5, 12), {"dim": 1, "end": N}), ((5, 7), {"start": 10})),
    "select": moved(((5, 7), {"dim": 0, "index": 2}), ((5, 7), {"dim": 1, "index": -1}), ((7,), {"dim": 0, "index": 0}),
                    ((5, 7), {"dim": 1, "index": M - 2}), ((3, 0), {"dim": 0, "index": -3})),
    "flip": moved(((5, 3, 7), {"dims": (0, 2)}), ((5, 7), {"dims": (-1,)}), ((0, 3), {"dims": (0,)}),
                  ((), {"dims": ()})),
    "glu": moved(((5, 12), {}), ((6, 7), {"dim": 0}), ((0, 4), {"dim": -1}), kinds=FLOATS),
    "concat": both(joined(([(5, 2), (5, 7), (5, 1)], {"dim": 1}), ([(5, 7), (3, 7)], {"dim": 0}),
                          ([(5, 7)], {"dim": -1}), ([(0, 7), (5, 7)], {"dim": 0}), ([(0,), (0,)], {"dim": 0}),
                          ([(5, 7)] * 4, {"dim": -2})),
                   _mixed_concat),
    "stack": joined(([(5, 7), (5, 7)], {"dim": 1}), ([(5, 7)] * 3, {"dim": -1}), ([(), ()], {"dim": 0}),
                    ([(0, 3)], {})),
    "full": _filled,
    "iota": _iotas,
    "eye": _eyes,
    "pad": _pads,
    "tril": moved(((5, 7), {}), ((3, 5, 7), {"diagonal": 2}), ((5, 5), {"diagonal": -2}),
                  ((5, 7), {"diagonal": N - 4})),
    "triu": moved(((5, 7), {}), ((3, 5, 7), {"diagonal": 2}), ((5, 5), {"diagonal": -2}), ((0, 3), {"diagonal": 1})),
    "roll": moved(((5, 7), {"shifts": (2,), "dims": (1,)}), ((5, 7), {"shifts": (-3, 9), "dims": (0, -1)}),
                  ((5, 7), {"shifts": (1, 1), "dims": (0, 0)}), ((0, 7), {"shifts": (2,), "dims": (0,)}),
                  ((5, 7), {"shifts": (N,), "dims": (1,)})),
    "repeat": moved(((5, 7), {"repeats": (2, 3)}), ((7,), {"repeats": (2, 1, 2)}), ((), {"repeats": (3,)}),
                    ((5, 1), {"repeats": (1, N)}), ((5, 7), {"repeats": (0, 1)})),
    "repeat_interleave": moved(((5, 7), {"repeats": 3, "dim": 1}), ((5, 7), {"repeats": 2, "dim": -2}),
                               ((5,), {"repeats": 0, "dim": 0})),
    "unfold": moved(((5, 7), {"dim": 1, "size": 3, "step": 2}), ((5, 7), {"dim": 0, "size": 2, "step": 1}),
                    ((9,), {"dim": -1, "size": 9, "step": 4})),
    "embedding": _embeddings,
    "gather": _gathers,
    "take_along": _take_alongs,
    "index_select": _index_selects,
    "index": _indices,
    "one_hot": _one_hots,
}  # fmt: skip
