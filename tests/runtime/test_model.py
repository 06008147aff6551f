# SPDX-License-Identifier: Apache-2.0
"""What a model tells about itself, memory, profiles, structures, threads, saving."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ait_core.errors import InputError, OutOfMemoryError, ShapeError
from ait_runtime.model import DimInfo, Model, TensorInfo, load
from tests.runtime.toy import quoted, toy_block, toy_inputs, toy_weights


def test_description(toy):
    model = load(toy)
    assert model.dims == (DimInfo("batch", 0, 64), DimInfo("seq", 1, 16))
    assert model.inputs == (
        TensorInfo("x", "float32", ("batch", "seq", 4)),
        TensorInfo("index", "int64", ("batch",)),
        TensorInfo("flat", "float32", ("0..1024",)),
    )
    assert model.outputs[2] == TensorInfo("total", "float32", ())
    assert model.constants == (
        TensorInfo("weight", "float32", (4,)),
        TensorInfo("scale", "float32", ()),
        TensorInfo("table.rows", "float32", (5, 4)),
    )
    assert model.manifest == {"producer": "hand"}
    assert "x: float32[batch, seq, 4]" in repr(model)


def test_output_shapes(toy):
    model = load(toy)
    assert model.output_shapes(x=(5, 7, 4), index=(5,), flat=(35,)) == {"y": (5, 7, 4), "copy": (5, 7, 4), "total": ()}
    with pytest.raises(ShapeError, match="'batch'"):
        model.output_shapes(x=(65, 7, 4), index=(65,), flat=(455,))
    with pytest.raises(InputError, match="x, index, flat"):
        model.output_shapes(x=(1, 1, 4))


def test_peak_memory(toy):
    model = load(toy, threads=2)
    small = model.peak_memory(x=(2, 3, 4), index=(2,), flat=(6,))
    assert small.weights == 100 and small.derived == 16
    assert small.inputs == 96 + 16 + 24 and small.outputs == 96 + 96 + 4
    assert small.arena == 2 * 64 + 96
    assert small.peak == 100 + 16 + 136 + 196 + 224
    most = model.peak_memory()
    assert most.arena == 128 + 64 * 16 * 16 and most.arena_held == 0


def test_memory_is_constant_after_the_first_run(toy):
    model = load(toy)
    model(**toy_inputs(1, 1))
    held = model.peak_memory().arena_held
    assert held == model.peak_memory().arena
    for batch in (64, 3, 64, 17):
        model(**toy_inputs(batch, 16))
    assert model.peak_memory().arena_held == held


def test_large_arenas_grow(build, tmp_path):
    defines = {"TOY_MANIFEST": quoted("{}"), "TOY_MAX_BATCH": "2000000000"}
    model = load(build(tmp_path / "toy.so", "toy.cpp", defines, toy_block(toy_weights())), threads=1)
    for batch, expected in [(1, 64 + 16), (100, 64 + 1600), (10, 64 + 1600)]:
        model(**toy_inputs(batch, 1))
        assert model.peak_memory().arena_held == expected


def test_out_of_memory(build, tmp_path):
    defines = {"TOY_MANIFEST": quoted("{}"), "TOY_MAX_BATCH": "2000000000"}
    path = build(tmp_path / "toy.so", "toy.cpp", defines, toy_block(toy_weights()))
    code = (
        "import resource, numpy as np\n"
        "from ait_runtime.model import load\n"
        "from ait_core.errors import OutOfMemoryError\n"
        f"m, n, a = load({str(path)!r}), 8 << 20, lambda *s: np.zeros(s, np.float32)\n"
        "x, i, f, out = a(n, 1, 4), np.zeros(n, np.int64), a(n), (a(n, 1, 4), a(n, 1, 4), a())\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)\n"
        "try: m(x, i, f, out=out)\n"
        "except OutOfMemoryError as e: assert 'bytes for activations' in str(e)\n"
        "else: raise SystemExit('no error')\n"
        "m(x[:8], i[:8], f[:8])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert issubclass(OutOfMemoryError, MemoryError)


def test_profile(toy):
    times = load(toy).profile(**toy_inputs(64, 16), runs=5)
    assert [t.name for t in times] == ["scaled_weight", "hidden", "lookup", "copies", "total"]
    assert times[0].seconds == 0  # runs at load time only
    assert all(0 < t.seconds < 1 for t in times[1:])
    assert times[2].kernel == "tensor.gather + tensor.add"
    with pytest.raises(InputError, match="runs is 0"):
        load(toy).profile(**toy_inputs(), runs=0)


@pytest.mark.parametrize(
    "env, argument, expected",
    [
        ({"AIT_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, None, 3),
        ({"OMP_NUM_THREADS": "5,2"}, None, 5),
        ({"AIT_NUM_THREADS": "3"}, 7, 7),
        ({}, None, None),
    ],
)
def test_threads(toy, monkeypatch, env, argument, expected):
    monkeypatch.delenv("AIT_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    threads = load(toy, threads=argument).threads
    assert threads == expected if expected else 1 <= threads <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("value", ["0", "-1", "two", "2x", "99999999999999999999"])
def test_bad_thread_variable(toy, monkeypatch, value):
    monkeypatch.setenv("AIT_NUM_THREADS", value)
    with pytest.raises(InputError, match=f'AIT_NUM_THREADS is "{value}"; expected a number of threads'):
        load(toy)


def test_bad_thread_argument(toy):
    with pytest.raises(InputError, match="threads is -2"):
        load(toy, threads=-2)


def test_called_as_what_it_was_compiled_from(build, tmp_path):
    pair = {"kind": "tuple", "items": [{"tensor": "x"}, {"tensor": "index"}]}
    both = {"kind": "list", "items": [{"tensor": "y"}, {"tensor": "copy"}]}
    signature = {
        "arguments": {"pair": pair, "flat": {"tensor": "flat"}},
        "positional": ["pair", "flat"],
        "varargs": None,
        "varkw": None,
        "result": {"kind": "dict", "keys": ["both", "sum"], "items": [both, {"tensor": "total"}]},
    }
    manifest = json.dumps({"signature": signature})
    path = build(tmp_path / "toy.so", "toy.cpp", {"TOY_MANIFEST": quoted(manifest)}, toy_block(toy_weights()), manifest)
    x, index, flat = toy_inputs().values()
    expected = Model(path)(x, index, flat)
    model = load(path)
    found = model((x, index), flat=flat)
    assert list(found) == ["both", "sum"] and isinstance(found["both"], list)
    for ours, theirs in zip((*found["both"], found["sum"]), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.peak_memory().weights == 100


def test_save_with_weights_inside(toy, tmp_path):
    model = load(toy)
    model.save(tmp_path / "copy.so")
    assert os.listdir(tmp_path) == ["copy.so"]
    inputs = toy_inputs()
    np.testing.assert_array_equal(load(tmp_path / "copy.so")(**inputs)[0], model(**inputs)[0])
    model.set_weights(toy_weights(3))
    with pytest.raises(InputError, match="would hold the old ones"):
        model.save(tmp_path / "other.so")
    assert os.listdir(tmp_path) == ["copy.so"]


def test_save_with_weights_beside(bare_toy, tmp_path):
    model = load(bare_toy)
    model.set_weights(toy_weights(3))
    model.save(tmp_path / "copy.so")
    assert sorted(os.listdir(tmp_path)) == ["copy.safetensors", "copy.so"]
    inputs = toy_inputs()
    np.testing.assert_array_equal(load(tmp_path / "copy.so")(**inputs)[0], model(**inputs)[0])


def test_save_to_a_missing_folder(toy, tmp_path):
    with pytest.raises(OSError):
        load(toy).save(tmp_path / "missing" / "copy.so")


def test_a_new_file_at_the_same_path(toy, identity, tmp_path):
    """The loader must not hand out the old library while it is still in use."""
    path = tmp_path / "model.so"
    shutil.copy(toy, path)
    first = load(path)
    again = load(path)
    for source, names in [(identity, ["x"]), (toy, ["x", "index", "flat"]), (identity, ["x"])]:
        shutil.copy(source, tmp_path / "new.so")
        os.replace(tmp_path / "new.so", path)
        later = load(path)
        assert [i.name for i in later.inputs] == names
    for model in (first, again):
        model(**toy_inputs())
    assert later(np.ones(2, np.float32)).tolist() == [1, 1]


def test_paths_with_odd_names(toy, tmp_path):
    for name in ("a b;c'\"$x.so", "ünï.so", "\udcff.so", "noending"):
        shutil.copy(toy, tmp_path / name)
        load(tmp_path / name)(**toy_inputs())


def test_relative_path(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    load("toy.so")(**toy_inputs())
