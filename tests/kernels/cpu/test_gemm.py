# SPDX-License-Identifier: Apache-2.0
"""GEMM against float64 on every instruction set: sizes, strides, batches, threads, specials, both epilogue concepts."""

import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest

ISAS = ["generic", "v3", "v4", "v4bf16", "amx"]
DTYPES = {
    "f32": (np.float32, np.float32), "bf16": (ml_dtypes.bfloat16, np.float32), "f16": (np.float16, np.float32),
    "f64": (np.float64, np.float64), "i32": (np.int32, np.int32), "i64": (np.int64, np.int64), "i8": (np.int8, np.int32),
    "u8": (np.uint8, np.int32),
}  # fmt: skip
ALL_TYPES = {"v4bf16": ["ALL_TYPES"], "generic": ["ALL_TYPES"]}


class Case(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "m", "n", "k")] + [
        ("a_strides", ctypes.c_int64 * 3), ("b_strides", ctypes.c_int64 * 3), ("a_extent", ctypes.c_int64),
        ("b_extent", ctypes.c_int64), ("packed", ctypes.c_int64), ("rowwise", ctypes.c_int64), ("threads", ctypes.c_int64),
    ]  # fmt: skip


def _flat(array: np.ndarray, order: str) -> tuple[np.ndarray, list[int], int]:
    """Lays [batch, rows, cols] out row-major, column-major or with gaps; returns storage, element strides and extent."""
    if order == "column":
        storage = np.ascontiguousarray(array.transpose(0, 2, 1)).transpose(0, 2, 1)
    elif order == "gaps":
        wide = np.zeros((array.shape[0], array.shape[1] * 2, array.shape[2] * 3 + 1), array.dtype)
        storage = wide[:, ::2, 1::3]
        storage[...] = array
    else:
        storage = np.ascontiguousarray(array)
    strides = [s // array.itemsize for s in storage.strides]
    if array.shape[0] == 1:
        strides[0] = 0
    extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) if array.size else 0
    flat = np.lib.stride_tricks.as_strided(storage, (extent,), (array.itemsize,)) if extent else array.ravel()
    return np.ascontiguousarray(flat), strides, extent


def _random(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -1000), min(info.max, 1000), shape, endpoint=True).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _run(library, name, a, b, *, packed=True, rowwise=False, threads=1, orders=("row", "row")) -> np.ndarray:
    batch = max(a.shape[0], b.shape[0])
    m, k, n = a.shape[1], a.shape[2], b.shape[2]
    a_flat, a_strides, a_extent = _flat(a, orders[0])
    b_flat, b_strides, b_extent = _flat(b, orders[1])
    out = np.full((batch, m, n), -77, DTYPES[name][1])
    visits = np.zeros((batch, m, n), np.uint8)
    case = Case(batch, m, n, k, (ctypes.c_int64 * 3)(*a_strides), (ctypes.c_int64 * 3)(*b_strides), a_extent, b_extent, packed,
                rowwise, threads)  # fmt: skip
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a_flat, b_flat, out, visits)]
    getattr(library, f"gemm_{name}")(ctypes.byref(case), *pointers)
    assert (visits == 1).all(), "the epilogue must see every element exactly once"
    return out


def _check(library, name, a, b, **options) -> None:
    out = _run(library, name, a, b, **options)
    if np.issubdtype(a.dtype, np.integer):
        expected = a.astype(np.int64) @ b.astype(np.int64)
        if options.get("rowwise"):
            return
        np.testing.assert_array_equal(out, expected.astype(out.dtype))
        return
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    expected, k = a64 @ b64, a.shape[2]
    # Each of k roundings costs at most half an ulp of a partial sum; fp16 as bf16 pairs drops products below 2^-16.
    bound = (np.finfo(out.dtype).eps * (k + 8) + (2.0**-16 if name == "f16" else 0)) * (np.abs(a64) @ np.abs(b64))
    if options.get("rowwise"):
        expected = expected - expected.mean(-1, keepdims=True)
        bound = bound + bound.mean(-1, keepdims=True) + 1e-6 * np.abs(expected)
    assert (np.abs(out - expected) <= bound + 1e-30).all(), f"worst error {np.abs(out - expected).max()}"


def _library(build, isa):
    return build("gemm_harness.cpp", isa, *ALL_TYPES.get(isa, []))


SIZES = [(1, 1, 1), (1, 48, 32), (3, 5, 7), (8, 96, 64), (7, 47, 33), (9, 49, 65), (33, 100, 31), (64, 17, 130), (31, 1, 300),
         (130, 145, 96), (257, 50, 63), (1, 300, 2050), (40, 70, 1100), (2, 113, 3)]  # fmt: skip


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_sizes(build, isa, name):
    library, rng = _library(build, isa), np.random.default_rng(0)
    for m, n, k in SIZES:
        a, b = (_random(DTYPES[name][0], shape, rng) for shape in ((1, m, k), (1, k, n)))
        for packed, rowwise, threads in itertools.product((True, False), (True, False), (1, 2, 3)):
            _check(library, name, a, b, packed=packed, rowwise=rowwise, threads=threads)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_strides_and_batches(build, isa, name):
    library, rng = _library(build, isa), np.random.default_rng(1)
    for orders in itertools.product(("row", "column", "gaps"), repeat=2):
        for batches in ((3, 3), (3, 1), (1, 3)):
            a, b = (_random(DTYPES[name][0], shape, rng) for shape in ((batches[0], 19, 37), (batches[1], 37, 53)))
            for packed, threads in ((True, 2), (False, 3)):
                _check(library, name, a, b, packed=packed, threads=threads, orders=orders)


@pytest.mark.parametrize("isa", ["generic", "v4bf16"])
@pytest.mark.parametrize("name", ["f64", "i32", "i64", "i8", "u8"])
def test_other_types(build, isa, name):
    library, rng = _library(build, isa), np.random.default_rng(2)
    for m, n, k in [(1, 1, 1), (5, 7, 3), (33, 50, 65), (130, 100, 40)]:
        a, b = (_random(DTYPES[name][0], shape, rng) for shape in ((2, m, k), (2, k, n)))
        for packed, orders in itertools.product((True, False), (("row", "column"), ("column", "row"))):
            _check(library, name, a, b, packed=packed, threads=2, orders=orders)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_empty_dimensions(build, isa, name):
    library = _library(build, isa)
    for batch, m, n, k in itertools.product((0, 2), (0, 9), (0, 50), (0, 5)):
        a, b = np.ones((batch, m, k), DTYPES[name][0]), np.ones((batch, k, n), DTYPES[name][0])
        for packed in (True, False):
            np.testing.assert_array_equal(
                _run(library, name, a, b, packed=packed, threads=2), np.full((batch, m, n), k)
            )


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_nan_and_inf_propagate(build, isa, name):
    library, rng = _library(build, isa), np.random.default_rng(3)
    a, b = (_random(DTYPES[name][0], shape, rng) for shape in ((1, 140, 33), (1, 33, 60)))
    a[0, 1, 32], a[0, 2, 0], a[0, 3, 5], a[0, 3, 6] = np.nan, np.inf, np.inf, -np.inf
    b[0, 7, 3], b[0, 32, 59], b[0, 0, 11] = -np.inf, np.nan, 0
    with np.errstate(all="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    for packed in (True, False):
        out = _run(library, name, a, b, packed=packed, threads=2)
        np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
        np.testing.assert_array_equal(np.where(np.isinf(out), out, 0), np.where(np.isinf(expected), expected, 0))


@pytest.mark.parametrize("isa", ["generic", "amx"])
def test_f16_range(build, isa):
    """The largest and the subnormal halves survive every way to multiply them."""
    values = np.array([65504, 2.0**-24, 3 * 2.0**-24, 2.0**-14, -65504, 1.0009765625], np.float16)
    a, b = values.reshape(1, -1, 1), values.reshape(1, 1, -1)
    a, b = np.repeat(a, 24, axis=1), np.repeat(b, 6, axis=2)
    _check(_library(build, isa), "f16", a, b, packed=True)
