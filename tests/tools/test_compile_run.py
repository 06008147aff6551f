# SPDX-License-Identifier: Apache-2.0
"""compile, run and inspect, and what they say when the user errs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ait_core
from ait_core.errors import AITError
from ait_runtime.weights_file import write_weights
from ait_tools.source import find, open_model
from tests.tools import models
from tests.tools.conftest import MODELS, ait, error, ok


def test_compile_says_what_it_made(tmp_path):
    out = tmp_path / "m.so"
    made = ok("compile", f"{MODELS}:mlp", "--out", out, "--keep", tmp_path / "kept")
    assert made["artifact"] == str(out) and made["bytes"] == out.stat().st_size
    assert made["memory"]["weights"] >= (10 * 8 + 8 * 16 + 16 * 4) * 4
    assert made["memory"]["peak"] == sum(v for k, v in made["memory"].items() if k != "peak")
    assert (tmp_path / "kept" / "build.ninja").exists()
    again = ok("compile", f"{MODELS}:mlp", "--out", out)
    assert again["compiled_units"] == 0
    text = ait("compile", f"{MODELS}:mlp", "--out", out).output
    assert str(out) in text and f"{made['kernels']} kernels, 0 units compiled" in text


def test_weights_beside_are_found_again(tmp_path):
    made = ok("compile", f"{MODELS}:mlp", "--out", tmp_path / "m.so", "--weights", "beside")
    assert made["weights"] == str(tmp_path / "m.safetensors")
    assert ok("run", tmp_path / "m.so")["outputs"][0]["shape"] == [8, 4]
    assert ok("inspect", tmp_path / "m.so")["embedded"] is False


def test_default_names_follow_the_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ok("compile", f"{MODELS}:mlp")["artifact"] == "models.so"
    assert ok("graph", f"{MODELS}:mlp")["out"] == "models.html"


def test_run_computes_what_the_references_do(compiled, tmp_path):
    ids, x = np.array([9, 0, 4]), np.random.default_rng(1).standard_normal((3, 8)).astype("f4")
    np.savez(tmp_path / "in.npz", ids=ids, x=x)
    ran = ok("run", compiled("mlp"), "--input", tmp_path / "in.npz", "--out", tmp_path / "out.npz", "--threads", "1")
    assert ran["sizes"] == {"batch": 3} and ran["threads"] == 1
    w = ait_core.load(compiled("mlp")).weights()
    y = np.maximum((x + w["table"][ids]).astype("f8") @ w["w1"], 0) @ w["w2"]
    want = {"y": y, "total": y.sum(0)}
    with np.load(tmp_path / "out.npz") as got:
        assert set(got.files) == {"y", "total"}
        for name in got.files:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-5)
    summary = {o["name"]: o for o in ran["outputs"]}
    assert summary["y"]["shape"] == [3, 4] and summary["y"]["max"] == pytest.approx(want["y"].max())
    np.save(tmp_path / "x.npy", x)
    write_weights(tmp_path / "ids.safetensors", {"ids": ids})
    files = ["--input", f"x={tmp_path / 'x.npy'}", "--input", tmp_path / "ids.safetensors"]
    assert ok("run", compiled("mlp"), *files)["outputs"] == ran["outputs"]


def test_random_inputs_follow_sizes_seed_and_ranges(compiled):
    a = ok("run", compiled("mlp"), "--dim", "batch=5", "--range", "ids=9:9", "--range", "x=2:3")
    given = {i["name"]: i for i in a["inputs"]}
    assert given["ids"]["min"] == given["ids"]["max"] == 9 and given["ids"]["shape"] == [5]
    assert 2 <= given["x"]["min"] <= given["x"]["max"] <= 3
    b, c = (ok("run", compiled("mlp"), "--shape", "x=5x8", "--seed", seed) for seed in (1, 2))
    assert b["sizes"] == {"batch": 5} and b["outputs"] != c["outputs"]
    text = ait("run", compiled("mlp"), "--dim", "batch=2").output
    assert "output\ty\tfloat32\t2x4" in text and "ms, " in text


def test_a_source_runs_without_being_compiled_first():
    assert ok("run", f"{MODELS}:spec")["inputs"][1]["min"] >= 2.0
    assert ok("run", f"{MODELS}:as_dict", "--dim", "batch=1")["inputs"][0]["mean"] == 3


def test_inspect_reads_the_manifest_without_loading(compiled):
    found = ok("inspect", compiled("mlp"))
    assert found["source"] == f"{MODELS}:mlp" and found["dims"] == {"batch": [1, 64]}
    assert [(i["name"], i["dtype"], i["shape"]) for i in found["inputs"]] == [
        ("ids", "int64", ["batch"]),
        ("x", "float32", ["batch", "8"]),
    ]
    constants = {c["name"]: c for c in found["constants"]}
    assert constants["w1"]["shape"] == [8, 16] and constants["w1"]["bytes"] == 512
    assert len({c["sha256"] for c in constants.values()}) == 3
    text = ait("inspect", compiled("mlp")).output
    assert "w1\tfloat32\t8x16\t512" in text and "gemm.matmul" in text
    code = f"""
import sys
from click.testing import CliRunner
from ait_tools.cli import main
assert CliRunner().invoke(main, ["inspect", {compiled("mlp")!r}]).exit_code == 0
assert "ait_runtime._native" not in sys.modules and "torch" not in sys.modules
assert {compiled("mlp")!r} not in open("/proc/self/maps").read()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_torch_module_is_named_with_its_example_inputs(tmp_path):
    torch = pytest.importorskip("torch")
    out = tmp_path / "net.so"
    ok("compile", f"{MODELS}:net", "--out", out)
    manifest = ok("inspect", out)
    (name,) = (i["name"] for i in manifest["inputs"])
    assert manifest["examples"] == {name: {"shape": [3], "range": [0, 6]}}
    assert ok("run", out)["sizes"] == {"batch": 3}
    assert ok("verify", out)["agrees"]
    module, (ids,), _ = models.net()
    got = ait_core.load(out)(ids)
    torch.testing.assert_close(got, module(ids).detach())


def test_every_form_of_a_model_is_found(monkeypatch):
    for name in ("mlp", "graph", "as_tuple", "as_dict", "spec"):
        assert [v.name for v in open_model(f"{MODELS}:{name}").graph.inputs] == ["ids", "x"]
    monkeypatch.chdir(Path(MODELS).parents[2])
    assert find("tests.tools.models:graph").model is models.graph


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["compile", "nope.py:x"], "There is no file 'nope.py'"),
        (["compile", "nope.pt2"], "There is no file 'nope.pt2'"),
        (["compile", "no.such.module:x"], "There is no module 'no.such.module'"),
        (["compile", MODELS], f"{MODELS}:name"),
        (["compile", f"{MODELS}:lost"], "has no 'lost'. It has: "),
        (["compile", f"{MODELS}:mlp.lost"], "has no 'mlp.lost'"),
        (["compile", f"{MODELS}:needs"], "needs the arguments x"),
        (["compile", f"{MODELS}:fails"], "KeyError: 'lost'"),
        (["compile", f"{MODELS}:bad_dict"], "expected the keys model"),
        (["compile", f"{MODELS}:bad_tuple"], "a tuple of 4"),
        (["compile", f"{MODELS}:nothing"], "No installed frontend can read a builtins.int"),
        (["compile", f"{MODELS}:mlp", "--out", "m.dll"], "is called .so"),
        (["compile", f"{MODELS}:mlp", "--dtype", "bfloat16"], "is a graph, whose dtypes are fixed"),
        (["compile", f"{MODELS}:mlp", "--target", "tpu"], "No backend for target 'tpu'"),
        (["compile", f"{MODELS}:mlp", "--disable", "magic"], "Nothing called magic"),
        (["compile", "m.so"], "m.so is compiled"),
        (["run", "nope.so"], "nope.so cannot be read"),
        (["bench", "nope.so"], "nope.so cannot be read"),
        (["verify", "nope.so"], "nope.so cannot be read"),
        (["inspect", "nope.so"], "nope.so cannot be read"),
        (["inspect", f"{MODELS}:mlp"], "is no compiled model"),
        (["run", "nope.so", "--target", "cpu"], "--target can only be given for a model that is not"),
        (["explain"], "Which model?"),
        (["explain", "m.so"], "m.so is compiled"),
        (["explain", f"{MODELS}:mlp", "--dim", "batch=0"], "Dim batch is 0; the model takes 1 to 64"),
        (["graph", f"{MODELS}:mlp", "--out", "g.svg"], "--out is an .html file"),
    ],
)
def test_mistakes_are_explained(args, expected):
    assert expected in error(*args)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--dim", "batch=65"], "Dim batch is 65; the model takes 1 to 64"),
        (["--dim", "batch"], "--dim is given as NAME=SIZE; got 'batch'"),
        (["--dim", "batch=two"], "--dim is given as NAME=SIZE; got 'batch=two'"),
        (["--dim", "batch=2,batch=3"], "--dim gives 'batch' twice"),
        (["--dim", "rows=2"], "There is no dim 'rows'. Dims: batch"),
        (["--shape", "x=2"], "Input x is float32[batch, 8], of rank 2; got 2"),
        (["--shape", "x=2x9"], "Input x is float32[batch, 8], here 2x8; got 2x9"),
        (["--shape", "x=2x8", "--dim", "batch=3"], "Dim batch is 3 by dim batch and 2 by input x"),
        (["--shape", "z=2"], "There is no input 'z'. Inputs: ids, x"),
        (["--range", "x=3:2"], "--range is given as NAME=LO:HI"),
        (["--range", "z=0:1"], "There is no input 'z'"),
        (["--range", "ids=10:10"], "an index that is out of range"),
        (["--input", "nope.npz"], "Cannot read nope.npz"),
        (["--input", "nope.txt"], "inputs come from .npz, .npy and .safetensors files"),
        (["--out", "y.csv"], "--out is an .npz file"),
    ],
)
def test_wrong_inputs_are_explained(compiled, args, expected):
    assert expected in error("run", compiled("mlp"), *args)


def test_files_that_do_not_fit_are_explained(compiled, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 8), "f4"))
    np.savez(tmp_path / "both.npz", ids=np.zeros(2, int), x=np.zeros((2, 8), "f4"))
    np.savez(tmp_path / "rank.npz", ids=np.zeros(2, int), x=np.zeros((2, 8, 1), "f4"))
    np.savez(tmp_path / "dtype.npz", ids=np.zeros(2, int), x=np.zeros((2, 8), "f8"))
    (tmp_path / "cut.safetensors").write_bytes(b"\xff" * 20)
    run = ["run", compiled("mlp"), "--input"]
    assert "Which input is" in error(*run, tmp_path / "x.npy")
    assert "lack the inputs ids" in error(*run, f"x={tmp_path / 'x.npy'}")
    assert "'x' is in two files" in error(*run, tmp_path / "both.npz", "--input", f"x={tmp_path / 'x.npy'}")
    assert "of rank 2; got 2x8x1" in error(*run, tmp_path / "rank.npz")
    assert "float64" in error(*run, tmp_path / "dtype.npz")
    assert "cut short" in error(*run, tmp_path / "cut.safetensors")
    assert "describe random inputs" in error(*run, tmp_path / "both.npz", "--dim", "batch=2")


def test_what_user_code_raises_is_not_our_bug():
    with pytest.raises(AITError, match=r"fails\(\) failed: KeyError: 'lost' \(.*models\.py:\d+\)"):
        open_model(f"{MODELS}:fails")
