# SPDX-License-Identifier: Apache-2.0
"""Weights: files good and hostile, replacing by name, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import struct

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ait_core.errors import InputError, WeightsError
from ait_runtime.model import load
from ait_runtime.weights_file import write_weights
from tests.runtime.toy import toy_inputs, toy_reference, toy_weights


def check(model, weights):
    inputs = toy_inputs()
    np.testing.assert_allclose(model(**inputs)[0], toy_reference(inputs, weights)[0], rtol=1e-5, atol=1e-5)
    for name, value in model.weights().items():
        np.testing.assert_array_equal(value, weights[name])


def test_beside_the_library(bare_toy):
    check(load(bare_toy), toy_weights())


def test_missing_file_beside(bare_toy, tmp_path):
    shutil.copy(bare_toy, tmp_path / "toy.so")
    with pytest.raises(WeightsError, match=r"toy.safetensors cannot be read: No such file"):
        load(tmp_path / "toy.so")


@pytest.mark.parametrize("fixture", ["toy", "bare_toy"])
def test_given_at_load(fixture, request, tmp_path):
    path = request.getfixturevalue(fixture)
    check(load(path, weights=toy_weights(5)), toy_weights(5))
    safetensors.numpy.save_file(toy_weights(6), tmp_path / "w.safetensors")
    check(load(path, weights=tmp_path / "w.safetensors"), toy_weights(6))
    write_weights(tmp_path / "w2.safetensors", toy_weights(7))
    check(load(path, weights=str(tmp_path / "w2.safetensors")), toy_weights(7))


def test_no_weights_given_is_not_the_same_as_empty(toy):
    with pytest.raises(WeightsError, match="'weight' .* is missing"):
        load(toy, weights={})


def test_replace_and_return(toy, tmp_path):
    model = load(toy)
    inputs = toy_inputs()
    first = model(**inputs)[0]
    model.set_weights({name: torch.from_numpy(w) for name, w in toy_weights(1).items()})
    check(model, toy_weights(1))
    write_weights(tmp_path / "a.safetensors", toy_weights(0))
    model.set_weights(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(model(**inputs)[0], first)  # bitwise


def test_partial(toy):
    model = load(toy)
    model.set_weights({"scale": np.float32(2)}, partial=True)
    check(model, {**toy_weights(), "scale": np.float32(2)})
    model.set_weights({"table.rows": toy_weights(1)["table.rows"]}, partial=True)
    check(model, {**toy_weights(), "scale": np.float32(2), "table.rows": toy_weights(1)["table.rows"]})


def test_given_weights_are_copied(toy):
    model = load(toy)
    weights = toy_weights(2)
    model.set_weights(weights)
    weights["table.rows"][:] = 0
    check(model, toy_weights(2))


def test_strided_weights(toy):
    weights = toy_weights(2)
    model = load(toy)
    model.set_weights(dict(weights, **{"table.rows": np.asfortranarray(weights["table.rows"])}))
    check(model, weights)


def test_unfit_weights_are_listed(toy, tmp_path):
    model = load(toy)
    bad = {"weight": np.zeros(5, np.float32), "scale": np.zeros((), np.float16), "other": np.zeros(1, np.int8)}
    write_weights(tmp_path / "bad.safetensors", bad)
    for weights in (bad, tmp_path / "bad.safetensors"):
        with pytest.raises(WeightsError) as caught:
            model.set_weights(weights)
        for text in (
            "'weight' is float32[5], expected float32[4]",
            "'scale' is float16[], expected float32[]",
            "'other' is not a constant of the model",
            "'table.rows' (float32[5, 4]) is missing",
            "were not used",
        ):
            assert text in str(caught.value)
        check(model, toy_weights())
    with pytest.raises(WeightsError, match="'other'"):
        model.set_weights({"other": np.zeros(1, np.int8)}, partial=True)
    with pytest.raises(WeightsError, match="and 968 more"):
        model.set_weights({f"extra{i}": np.zeros(1, np.int8) for i in range(1000)}, partial=True)
    with pytest.raises(InputError, match="null"):
        model.set_weights({"a\0b": np.zeros(1, np.float32)})
    check(model, toy_weights())


def test_files_of_ours_are_read_by_others(tmp_path):
    weights = dict(
        toy_weights(),
        half=np.ones((2, 0, 3), ml_dtypes.bfloat16),
        flags=np.array([True, False]),
        strange=np.arange(8)[::-1],
    )
    write_weights(tmp_path / "w.safetensors", weights)
    back = safetensors.numpy.load_file(tmp_path / "w.safetensors")
    assert set(back) == set(weights)
    for name, value in weights.items():
        np.testing.assert_array_equal(back[name], value)
    assert os.listdir(tmp_path) == ["w.safetensors"]
    with pytest.raises(TypeError, match="complex64"):
        write_weights(tmp_path / "x.safetensors", {"x": np.zeros(1, np.complex64)})


def entry(dtype="F32", shape=(4,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


GOOD = {
    "__metadata__": {"format": "pt", "note": '\u00e9 \U0001f600 " \\ \n'},
    "weight": entry(),
    "scale": entry(shape=(), offsets=(16, 20)),
    "table.rows": entry(shape=(5, 4), offsets=(20, 100)),
}


def file_of(header, data=100, size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + bytes(data)


def without(header, *keys):
    return {k: v for k, v in header.items() if k not in keys}


def changed(**entries):
    return {**GOOD, **{k.replace("__", "."): v for k, v in entries.items()}}


def edited(old, new):
    text = json.dumps(GOOD).encode()
    assert old in text
    return file_of(text.replace(old, new, 1))


@pytest.mark.parametrize("escape", [b"weight", b"\\u0077eigh\\u0074"])
def test_header_spellings(toy, tmp_path, escape):
    text = json.dumps(GOOD).encode().replace(b"weight", escape) + b"  \n"
    (tmp_path / "w.safetensors").write_bytes(file_of(text))
    check(load(toy, weights=tmp_path / "w.safetensors"), {k: np.zeros_like(v) for k, v in toy_weights().items()})


HOSTILE = {
    "empty": (b"", "No data available"),
    "short": (b"\x01\0\0", "not a safetensors file, or was cut short"),
    "header longer than the file": (file_of(GOOD, size=10_000), "cut short"),
    "header of 2**64 - 1": (file_of(GOOD, size=2**64 - 1), "cut short"),
    "header of 2**64 - 8": (file_of(GOOD, size=2**64 - 8), "cut short"),
    "cut data": (file_of(GOOD, data=99), "'table.rows' lies at 20..100 of 99"),
    "more data": (file_of(GOOD, data=101), "data that belongs to no tensor"),
    "no JSON": (file_of(b"hello"), "expected '{'"),
    "cut JSON": (file_of(json.dumps(GOOD).encode()[:-1]), "expected '}'"),
    "text after": (file_of(json.dumps(GOOD).encode() + b"x"), "text after the header"),
    "open string": (file_of(b'{"weight'), "ends too early"),
    "twice": (edited(b'"scale"', b'"weight"'), "'weight' occurs twice"),
    "overlap": (file_of(changed(scale=entry(shape=(), offsets=(12, 16)))), "a gap or an overlap"),
    "gap": (file_of(changed(scale=entry(shape=(), offsets=(17, 21)))), "a gap or an overlap|has"),
    "backwards": (file_of(changed(weight=entry(offsets=(16, 0)))), "lies at 16..0"),
    "beyond": (file_of(changed(weight=entry(offsets=(2**62, 2**62 + 16)))), "lies at"),
    "wrong size": (file_of(changed(weight=entry(shape=(5,)))), "has 16 bytes, but its shape and dtype need 20"),
    "overflow": (file_of(changed(weight=entry(shape=(2**62, 16)))), "too large"),
    "overflow to zero": (file_of(changed(weight=entry(shape=(2**32, 2**32)))), "too large"),
    "huge number": (edited(b"[4]", b"[99999999999999999999]"), "too large"),
    "negative": (edited(b"[4]", b"[-4]"), "expected a whole number"),
    "float": (edited(b"[4]", b"[4.0]"), r"expected '\]'"),
    "deep": (edited(b"[4]", b"[" * 100_000), "expected a whole number"),
    "many dims": (edited(b"[4]", b"[" + b"1," * 70 + b"4]"), "more than 64"),
    "three offsets": (edited(b"[0, 16]", b"[0, 16, 16]"), "two data_offsets"),
    "no dtype": (file_of(changed(weight=without(entry(), "dtype"))), "needs dtype, shape"),
    "other field": (file_of(changed(weight={**entry(), "x": 1})), "unexpected field 'x'"),
    "field twice": (edited(b'"shape": [4]', b'"shape": [4], "shape": [4]'), "unexpected field 'shape'"),
    "bad escape": (edited(b"weight", b"\\x77eight"), "unknown escape"),
    "half a surrogate": (edited(b"weight", b"\\ud800eight"), "surrogate"),
    "control character": (edited(b"weight", b"we\x01ght"), "control character"),
    "null character": (edited(b"weight", b"weight\\u0000"), "is not a constant"),
    "unknown dtype": (file_of(changed(weight=entry(dtype="C64"))), r"'weight' is C64\[4\], expected float32\[4\]"),
    "fp8": (file_of(changed(weight=entry(dtype="F8_E4M3", shape=(16,)))), r"'weight' is F8_E4M3\[16\]"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(toy, tmp_path, name):
    data, text = HOSTILE[name]
    path = tmp_path / "w.safetensors"
    path.write_bytes(data)
    model = load(toy)
    with pytest.raises(WeightsError, match=text):
        model.set_weights(path)
    with pytest.raises(WeightsError):
        load(toy, weights=path)
    check(model, toy_weights())


def test_no_regular_file(toy, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing"):
        with pytest.raises(WeightsError, match="cannot be read"):
            load(toy, weights=path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_headers_never_crash(toy, tmp_path_factory, data):
    good = bytearray(file_of(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(good)))
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    path.write_bytes(good if end % 2 else good[:end])
    try:
        load(toy, weights=path)
    except WeightsError:
        pass
