# SPDX-License-Identifier: Apache-2.0
"""Weights of compiled models: replaced, put back, refused; in the library and beside it; packed and joined ones too."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ait_core as ait
from ait_core.ir.graph import run_reference


def mlp(seed: int) -> tuple[ait.Graph, dict[str, np.ndarray]]:
    """Three products of one operand (joined and packed at load time), fixed data, and a norm."""
    random = np.random.default_rng(seed)
    shapes = {"q": (24, 16), "k": (24, 16), "v": (8, 16), "b": (24,), "g": (24,)}
    arrays = {n: random.standard_normal(s).astype("f4") for n, s in shapes.items()}
    w = {n: ait.constant(a, n) for n, a in arrays.items()}
    t, gemm = ait.ops.tensor, ait.ops.gemm
    x = ait.input("x", (ait.dim("batch", 1, 9), 16))
    q, k, v = gemm.linear(x, w["q"], w["b"]), gemm.linear(x, w["k"], w["b"]), gemm.linear(x, w["v"])
    fixed = ait.constant(np.linspace(-1, 1, 24, dtype="f4"), "table", parameter=False)
    mixed = ait.ops.norm.layer_norm(t.add(t.mul(q, fixed), k), w["g"], w["b"])
    return ait.Graph({"y": t.sum(mixed, axes=(1,)), "z": t.tanh(v)}), arrays


X = np.random.default_rng(5).standard_normal((3, 16)).astype("f4")


def expect(seed: int) -> list[np.ndarray]:
    return list(run_reference(mlp(seed)[0], {"x": X}).values())


@pytest.fixture(scope="module", params=["embedded", "beside"])
def model(request):
    return ait.compile(mlp(0)[0], weights=request.param)


def test_swapped_and_swapped_back_is_the_same_to_the_bit(model):
    first = model(X)
    for got, want in zip(first, expect(0), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    model.set_weights(mlp(1)[1])
    for got, want in zip(model(X), expect(1), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    model.set_weights(mlp(0)[1])
    assert all(np.array_equal(a, b) for a, b in zip(model(X), first, strict=True))


def test_swap_while_others_run(model):
    model.set_weights(mlp(0)[1])
    allowed = [expect(0), expect(1)]
    wrong: list[np.ndarray] = []

    def run() -> None:
        for _ in range(60):
            y = model(X)
            if not any(
                all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(y, e, strict=True)) for e in allowed
            ):
                wrong.append(y)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(20):
        model.set_weights(mlp(i % 2)[1])
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("spoil", [
    lambda w: w.pop("q"),
    lambda w: w.update(extra=np.zeros(3, "f4")),
    lambda w: w.update(k=np.zeros((16, 24), "f4")),
    lambda w: w.update(v=np.zeros((8, 16), "f8")),
])  # fmt: skip
def test_wrong_weights_are_refused_whole(model, spoil):
    model.set_weights(mlp(0)[1])
    before = model(X)
    weights = dict(mlp(1)[1])
    spoil(weights)
    with pytest.raises(ait.WeightsError):
        model.set_weights(weights)
    assert all(np.array_equal(a, b) for a, b in zip(model(X), before, strict=True))


def test_saved_with_its_weights(model, tmp_path):
    model.save(tmp_path / "m.so") if model.manifest["embedded"] is False else None
    fresh = ait.compile(mlp(0)[0], weights="embedded" if model.manifest["embedded"] else "beside")
    fresh.save(tmp_path / "m.so")
    loaded = ait.load(tmp_path / "m.so")
    for got, want in zip(loaded(X), expect(0), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
