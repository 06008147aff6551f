# SPDX-License-Identifier: Apache-2.0
"""The prelude's scalar functions against NumPy and torch in float64, over random bit patterns, dense ranges and specials."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
import torch

ISAS = ["generic", "v3", "native"]
SPECIALS = np.array(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 3, -3, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 1e-40,
     3.4028235e38, -3.4028235e38, 88.72283, 88.72284, 88.8, -87.3, -103.97, -103.98, -104.5, 16777216.0, 16777217.0, 0.25,
     1e-8, -1e-8, 8388607.5, 8388608.5, 1.0000001, 0.99999994, 9.1, -9.1, 4.0, 3.9],
    dtype=np.float32,
)  # fmt: skip


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _call(function, *inputs: np.ndarray, dtype=None) -> np.ndarray:
    inputs = [np.ascontiguousarray(x) for x in inputs]
    out = np.empty(inputs[0].shape, dtype or inputs[0].dtype)
    function(*map(_pointer, inputs), _pointer(out), ctypes.c_int64(out.size))
    return out


def _inputs() -> np.ndarray:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, 400_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ranges = [rng.uniform(-r, r, 60_000) for r in (1e-3, 1, 2, 10, 110, 1e4, 1e8)]
    return np.concatenate([bits, np.concatenate(ranges).astype(np.float32), SPECIALS])


def _ulp_error(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Error in units of the last place of float32; inf where NaN, inf or a rounded-to-inf reference is not met."""
    with np.errstate(all="ignore"):
        rounded = reference.astype(np.float32)
        spacing = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, np.float32(1)))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - reference) / spacing
        special = ~np.isfinite(rounded)
        same = (np.isnan(got) & np.isnan(rounded)) | (got == rounded)
        # The last ulp before overflow may go either way.
        edge = np.isinf(rounded) & (np.abs(reference) < 3.4028238e38) & (np.abs(got) >= 3.4028233e38)
        edge |= np.isinf(got) & (np.abs(rounded) >= 3.4028233e38)
        return np.where(special | ~np.isfinite(got), np.where(same | edge, 0.0, np.inf), error)


def _torch64(name: str):
    return lambda *x: getattr(torch, name)(*(torch.from_numpy(v.astype(np.float64)) for v in x)).numpy()


def _numpy64(name: str):
    def evaluate(*x):
        with np.errstate(all="ignore"):
            return getattr(np, name)(*(v.astype(np.float64) for v in x))

    return evaluate


# Name -> (float64 reference, allowed error in ulp).
UNARY = {
    "exp": (_numpy64("exp"), 2), "expm1": (_numpy64("expm1"), 3), "log": (_numpy64("log"), 2), "log2": (_numpy64("log2"), 3),
    "log10": (_numpy64("log10"), 3), "log1p": (_numpy64("log1p"), 3), "tanh": (_numpy64("tanh"), 4), "erf": (_torch64("erf"), 3),
    "sqrt": (_numpy64("sqrt"), 0.51), "rsqrt": (_torch64("rsqrt"), 2), "sin": (_numpy64("sin"), 2), "cos": (_numpy64("cos"), 2),
    "tan": (_numpy64("tan"), 4), "floor": (_numpy64("floor"), 0), "ceil": (_numpy64("ceil"), 0), "trunc": (_numpy64("trunc"), 0),
    "round": (_numpy64("rint"), 0), "abs": (_numpy64("abs"), 0), "sign": (_numpy64("sign"), 0), "asin": (_numpy64("arcsin"), 3),
    "acos": (_numpy64("arccos"), 3), "atan": (_numpy64("arctan"), 3), "sinh": (_numpy64("sinh"), 4), "cosh": (_numpy64("cosh"), 4),
    "asinh": (_numpy64("arcsinh"), 4), "acosh": (_numpy64("arccosh"), 4), "atanh": (_numpy64("arctanh"), 4),
    "lgamma": (_torch64("lgamma"), 8),
}  # fmt: skip


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", UNARY)
def test_unary_float_is_within_ulps(build, isa, name):
    library = build("math_harness.cpp", isa)
    reference, limit = UNARY[name]
    x = _inputs()
    if name == "lgamma":  # near its zeros on the negative axis libm itself loses relative accuracy
        x = x[~(x < 0)]
    error = _ulp_error(_call(getattr(library, f"{name}_f32"), x), reference(x))
    worst = int(np.argmax(error))
    assert error[worst] <= limit, f"{name}({x[worst]!r}) is off by {error[worst]} ulp"


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"lgamma"}))
def test_unary_double_is_libm(build, name):
    x = np.concatenate([np.random.default_rng(1).uniform(-3, 3, 1000), SPECIALS.astype(np.float64)])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            _call(getattr(build("math_harness.cpp", "native"), f"{name}_f64"), x), UNARY[name][0](x), 1e-13
        )


@pytest.mark.parametrize("isa", ISAS)
def test_pow(build, isa):
    rng = np.random.default_rng(3)
    grid_x, grid_y = (g.ravel() for g in np.meshgrid(SPECIALS, SPECIALS))
    x = np.concatenate([np.exp(rng.uniform(-80, 80, 200_000)), rng.uniform(-9, 9, 100_000), grid_x]).astype(np.float32)
    y = np.concatenate([rng.uniform(-3, 3, 200_000), rng.integers(-20, 20, 100_000), grid_y]).astype(np.float32)
    error = _ulp_error(_call(build("math_harness.cpp", isa).pow_f32, x, y), _numpy64("power")(x, y))
    worst = int(np.argmax(error))
    assert error[worst] <= 2, f"pow({x[worst]!r}, {y[worst]!r}) is off by {error[worst]} ulp"


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("min", np.minimum),
        ("max", np.maximum),
        ("fmod", np.fmod),
        ("remainder", np.remainder),
        ("floor_div", np.floor_divide),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_binary_float_matches_numpy(build, name, reference, dtype):
    x, y = (g.ravel() for g in np.meshgrid(SPECIALS, SPECIALS))
    x, y = (
        x.astype({"f32": np.float32, "f64": np.float64}[dtype]),
        y.astype({"f32": np.float32, "f64": np.float64}[dtype]),
    )
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    got = _call(getattr(build("math_harness.cpp", "native"), f"{name}_{dtype}"), x, y)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_binary_integer_matches_python(build, dtype):
    library, suffix = build("math_harness.cpp", "native"), f"i{np.dtype(dtype).itemsize * 8}"
    info = np.iinfo(dtype)
    values = np.array([0, 1, -1, 2, -2, 3, 7, -7, 100, info.min, info.max], dtype)
    x, y = (g.ravel() for g in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        for name, reference in [("min", np.minimum), ("max", np.maximum), ("remainder", np.remainder), ("fmod", np.fmod),
                                ("floor_div", np.floor_divide)]:  # fmt: skip
            np.testing.assert_array_equal(
                _call(getattr(library, f"{name}_{suffix}"), x, y), reference(x, y), err_msg=name
            )
        positive = y >= 0
        expected = [(pow(int(a), int(b), 2**64) + 2**63) % 2**64 - 2**63 for a, b in zip(x[positive], y[positive], strict=True)]
        got = _call(getattr(library, f"pow_{suffix}"), x[positive], y[positive])
        np.testing.assert_array_equal(got, np.array(expected, np.int64).astype(dtype))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("form", ["cast", "row"])
def test_half_conversions_are_exact(build, isa, form):
    library = build("math_harness.cpp", isa)
    bits = np.arange(65536, dtype=np.uint16)
    halves = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
    # Every half, and every float that lies halfway between two of them or one ulp beside.
    rng = np.random.default_rng(5)
    raw = rng.integers(0, 2**32, 500_000, dtype=np.uint64).astype(np.uint32)
    for name, kind in halves.items():
        values = bits.view(kind).astype(np.float32)
        np.testing.assert_array_equal(_call(getattr(library, f"{form}_{name}_f32"), bits, dtype=np.float32), values)
        with np.errstate(all="ignore"):
            middle = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
            x = np.concatenate([middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(-np.inf)),
                                values, raw.view(np.float32), SPECIALS])  # fmt: skip
            expected = x.astype(kind)
        got = _call(getattr(library, f"{form}_f32_{name}"), x, dtype=np.uint16).view(kind)
        nan = np.isnan(x)
        np.testing.assert_array_equal(got[~nan].view(np.uint16), expected[~nan].view(np.uint16))
        assert np.isnan(got[nan].astype(np.float32)).all()


def test_casts(build):
    library = build("math_harness.cpp", "native")
    x = np.array([0.0, -0.0, 1.9, -1.9, 0.3, np.nan, 1e6, -7.5], np.float32)
    np.testing.assert_array_equal(_call(library.cast_f32_bool, x, dtype=np.bool_), x != 0)
    finite = x[~np.isnan(x)]
    np.testing.assert_array_equal(
        _call(library.cast_f32_i32, finite, dtype=np.int32), np.trunc(finite).astype(np.int32)
    )
    half = np.array([1.5, 65504, -0.1, np.inf], np.float16)
    got = _call(library.cast_f16_bf16, half, dtype=np.uint16).view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got, half.astype(np.float32).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(_call(library.cast_u8_f32, np.array([0, 255], np.uint8), dtype=np.float32), [0, 255])


def test_classify(build):
    x = SPECIALS
    nan, inf, larger = np.empty(x.size, np.uint8), np.empty(x.size, np.uint8), np.empty(x.size, np.float32)
    build("math_harness.cpp", "native").classify(*map(_pointer, (x, nan, inf, larger)), ctypes.c_int64(x.size))
    np.testing.assert_array_equal(nan, np.isnan(x))
    np.testing.assert_array_equal(inf, np.isinf(x))
    np.testing.assert_array_equal(larger, np.where(x > 0, x, 0))


@pytest.mark.parametrize(
    ("n", "grain", "threads"), [(0, 1, 2), (1, 1, 3), (7, 3, 3), (100, 1, 2), (100, 100, 2), (5, 0, 3)]
)
def test_parallel_for_covers_each_index_once(build, n, grain, threads):
    visits = np.zeros(max(n, 1), np.int32)
    largest = build("math_harness.cpp", "native").visit(
        ctypes.c_int64(n), ctypes.c_int64(grain), ctypes.c_int(threads), _pointer(visits)
    )
    np.testing.assert_array_equal(visits[:n], 1)
    assert largest < min(threads, max(1, -(-n // max(grain, 1))))
