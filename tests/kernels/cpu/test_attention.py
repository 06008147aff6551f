# SPDX-License-Identifier: Apache-2.0
"""Attention against a float64 softmax on every instruction set: shapes, groups, masks, causal, layouts, specials."""

import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest
import torch

ISAS = ["generic", "v3", "v4bf16", "amx"]  # v4 alone differs only in the tile kernels, which test_gemm covers
KINDS = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f64": np.float64}
# Weights are rounded to bfloat16 where the dot product of two bfloat16 is used.
TOLERANCE = {"f32": 4e-6, "bf16": 8e-3, "f16": 1e-5, "f64": 2e-7}


class Case(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("batch", "heads", "kv_heads", "q_len", "kv_len", "qk_dim", "v_dim")),
        *((name, ctypes.c_int64 * 4) for name in ("q_strides", "k_strides", "v_strides")),
        *((name, ctypes.c_int64) for name in ("q_extent", "k_extent", "v_extent")),
        *((name, ctypes.c_int64) for name in ("causal", "causal_offset", "zero_if_masked", "threads")),
        ("scale", ctypes.c_double),
    ]


def _flat(array: np.ndarray, layout: tuple[int, ...]) -> tuple[np.ndarray, list[int], int]:
    """Stores [batch, head, position, feature] with its axes in the order `layout`, outermost first."""
    inverse = np.argsort(layout)
    view = np.ascontiguousarray(array.transpose(layout)).transpose(inverse)
    strides = [s // array.itemsize for s in view.strides]
    return np.ascontiguousarray(array.transpose(layout)).ravel(), strides, array.size


def _reference(q, k, v, scale, mask, causal, offset, masked_value):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    with np.errstate(all="ignore"):
        scores = (q @ k.swapaxes(-1, -2)) * scale + (0 if mask is None else mask.astype(np.float64))
        if causal:
            seen = np.arange(k.shape[2])[None, :] <= np.arange(q.shape[2])[:, None] + offset
            scores = np.where(seen, scores, -np.inf)
        top = scores.max(-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
        total = weights.sum(-1, keepdims=True)
        return np.where(total == 0, masked_value, (weights / total) @ v)


def _run(
    library, name, q, k, v, *, mask=None, causal=False, offset=0, zero=True, threads=1, layout=(0, 1, 2, 3), scale=0.2
):
    flats = [_flat(x, layout) for x in (q, k, v)]
    case = Case(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3],
                *((ctypes.c_int64 * 4)(*f[1]) for f in flats), *(f[2] for f in flats),
                causal, offset, zero, threads, scale)  # fmt: skip
    out = np.full((*q.shape[:3], v.shape[3]), -77, np.float64 if name == "f64" else np.float32)
    visits = np.zeros(out.shape, np.uint8)
    arrays = [f[0] for f in flats] + [None if mask is None else np.ascontiguousarray(mask, np.float32), out, visits]
    pointers = [ctypes.c_void_p(None if x is None else x.ctypes.data) for x in arrays]
    getattr(library, f"attention_{name}")(ctypes.byref(case), *pointers)
    assert (visits == 1).all()
    return out


def _check(library, name, q, k, v, **options) -> None:
    masked_value = 0 if options.get("zero", True) else np.nan
    expected = _reference(q, k, v, np.float32(options.get("scale", 0.2)), options.get("mask"), options.get("causal", False),
                          options.get("offset", 0), masked_value)  # fmt: skip
    size = np.abs(v.astype(np.float64)).max() if v.size else 1
    np.testing.assert_allclose(_run(library, name, q, k, v, **options), expected, rtol=0, atol=TOLERANCE[name] * size)


def _random(name, *shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(KINDS[name]) for shape in shapes]


def _library(build, isa):
    return build("attention_harness.cpp", isa, *(["ALL_TYPES"] if isa == "generic" else []))


# batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim
SHAPES = [(1, 1, 1, 1, 1, 1, 1), (2, 3, 3, 33, 33, 32, 32), (1, 4, 2, 7, 200, 24, 40), (1, 8, 2, 1, 400, 64, 64),
          (1, 2, 1, 300, 205, 33, 17), (2, 2, 1, 2, 31, 5, 7), (1, 6, 1, 130, 65, 16, 50), (1, 2, 2, 3, 193, 20, 130)]  # fmt: skip


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_shapes(build, isa, name):
    library = _library(build, isa)
    for b, h, g, q_len, kv_len, d, dv in SHAPES:
        q, k, v = _random(name, (b, h, q_len, d), (b, g, kv_len, d), (b, g, kv_len, dv))
        for causal, threads in itertools.product((False, True), (1, 2, 3)):
            _check(library, name, q, k, v, causal=causal, offset=kv_len - q_len, threads=threads)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_layouts_and_masks(build, isa, name):
    library, rng = _library(build, isa), np.random.default_rng(2)
    for (q_len, kv_len), layout in itertools.product(
        ((37, 210), (2, 50)), ((0, 1, 2, 3), (0, 2, 1, 3), (2, 3, 0, 1), (0, 1, 3, 2))
    ):
        q, k, v = _random(name, (2, 4, q_len, 20), (2, 2, kv_len, 20), (2, 2, kv_len, 36))
        mask = np.where(rng.random((2, 4, q_len, kv_len)) < 0.4, -np.inf, rng.standard_normal((2, 4, q_len, kv_len)))
        mask[0, 1, 1] = -np.inf
        mask[1, 2, 0, :-1] = -np.inf
        for zero in (True, False):
            _check(library, name, q, k, v, mask=mask, zero=zero, threads=2, layout=layout)
        _check(library, name, q, k, v, mask=mask, causal=True, offset=3, layout=layout)


def test_double(build):
    for b, h, g, q_len, kv_len, d, dv in SHAPES:
        q, k, v = _random("f64", (b, h, q_len, d), (b, g, kv_len, d), (b, g, kv_len, dv))
        _check(_library(build, "generic"), "f64", q, k, v, threads=2)


@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_empty(build, name):
    library = _library(build, "generic")
    for b, q_len, kv_len, d, dv in itertools.product((0, 2), (0, 5), (0, 6), (0, 8), (0, 4)):
        q, k, v = _random(name, (b, 2, q_len, d), (b, 1, kv_len, d), (b, 1, kv_len, dv))
        _check(library, name, q, k, v, threads=2)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("q_len", [2, 40])
def test_large_scores_and_nan(build, isa, q_len):
    library = _library(build, isa)
    q, k, v = _random("f32", (1, 1, q_len, 16), (1, 1, 400, 16), (1, 1, 400, 24))
    _check(library, "f32", q, k, v, scale=300.0)  # weights underflow but for one key
    q[0, 0, 1, 3] = np.nan
    out = _run(library, "f32", q, k, v)
    assert np.isnan(out[0, 0, 1]).all()
    assert np.isfinite(np.delete(out, 1, axis=2)).all()


def test_masked_rows_agree_with_torch(build):
    q, k, v = _random("f32", (1, 2, 5, 8), (1, 2, 9, 8), (1, 2, 9, 8))
    mask = np.zeros((1, 2, 5, 9), np.float32)
    mask[:, :, 2] = -np.inf
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=torch.from_numpy(mask), scale=0.2)
    np.testing.assert_allclose(_run(_library(build, "generic"), "f32", q, k, v, mask=mask), expected.numpy(), atol=1e-6)
