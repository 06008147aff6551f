# SPDX-License-Identifier: Apache-2.0
"""verify, and what it is made of: measuring differences, choosing sizes, judging every kernel by itself."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import ait_core as core
import ait_ops_tensor as t
from ait_core.plugins import registry as registries
from ait_core.plugins.registry import Registry
from ait_tools.compare import cases, difference, tolerance
from ait_tools.interface import Interface
from ait_tools.source import Opened
from tests.tools import broken_pack
from tests.tools.conftest import MODELS, ait, error, ok

BROKEN = str(Path(broken_pack.__file__))


def test_a_right_model_agrees_at_several_sizes(compiled):
    found = ok("verify", compiled("mlp"), "--range", "ids=0:9")
    assert found["agrees"] and found["first_wrong"] is None and found["groups"] == []
    sizes = [c["sizes"]["batch"] for c in found["cases"]]
    assert sizes[0] == 1 and any(n % 2 and n > 1 for n in sizes) and max(sizes) == 64
    assert {o["name"] for c in found["cases"] for o in c["outputs"]} == {"y", "total"}
    text = ait("verify", compiled("mlp")).output
    assert "All agree" in text and "WRONG" not in text


def test_every_kernel_can_be_judged(compiled):
    judged = ok("verify", f"{MODELS}:branches", "--groups", "--dim", "n=5")["groups"]
    kernels = {k["group"] for k in ok("inspect", compiled("branches"))["kernels"]}
    assert {g["group"] for g in judged if not g["load_time"]} >= kernels
    assert all(g["agrees"] for g in judged)
    assert "kernel\tops\tvalue" in ait("verify", compiled("branches"), "--groups").output


def test_weights_of_the_compiled_model_are_compared_with(compiled):
    """The source makes new weights whenever it is run."""
    assert ok("verify", compiled("mlp"), "--source", f"{MODELS}:mlp", "--dim", "batch=3")["agrees"]


def test_another_source_is_refused(compiled):
    assert "was not compiled from" in error("verify", compiled("mlp"), "--source", f"{MODELS}:branches")
    assert "--source goes with a model.so" in error("verify", f"{MODELS}:mlp", "--source", "x.py:y")


def test_given_inputs_are_used(compiled, tmp_path):
    np.savez(tmp_path / "in.npz", ids=np.array([9, 1]), x=np.full((2, 8), 1e3, "f4"))
    (case,) = ok("verify", compiled("mlp"), "--input", tmp_path / "in.npz")["cases"]
    assert case["sizes"] == {"batch": 2} and case["agrees"]
    assert max(o["max_abs"] for o in case["outputs"]) > 0


@pytest.fixture
def broken(tmp_path, monkeypatch):
    installed = [importlib.import_module(p.module) for p in registries.registry().loaded]
    everything = Registry.from_plugins([*installed, broken_pack.Plugin(tmp_path / "include")])
    monkeypatch.setattr(registries, "_current", everything)


def test_the_first_wrong_kernel_is_named(broken):
    result = ait("verify", f"{BROKEN}:model", "--json")
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert not found["agrees"] and not all(c["agrees"] for c in found["cases"])
    wrong = found["first_wrong"]
    assert "broken.twice" in wrong["ops"] and wrong["kernel"] == "broken.cpu.twice" and wrong["source"] == "model.py:7"
    assert wrong["at"][-1] == 4 and wrong["max_rel"] > found["rtol"]
    judged = {g["group"]: g["agrees"] for g in found["groups"]}
    assert [g for g, agrees in judged.items() if not agrees] == [wrong["group"]]
    order = list(judged)
    assert 0 < order.index(wrong["group"]) < len(order) - 1
    text = ait("verify", f"{BROKEN}:model")
    assert text.exit_code == 1
    assert f"The first kernel that is wrong: {wrong['group']}" in text.output and "from model.py:7" in text.output


def test_a_mistake_that_does_not_show_is_none(broken):
    assert ok("verify", f"{BROKEN}:narrow")["agrees"]


def test_a_compiled_model_remembers_how_it_was_compiled(broken, tmp_path):
    out = tmp_path / "m.so"
    ok("compile", f"{BROKEN}:model", "--out", out, "--disable", "vertical")
    assert ok("inspect", out)["how"] == {"dtype": None, "disable": ["vertical"]}
    found = json.loads(ait("verify", out, "--dim", "n=2", "--json").stdout)
    assert found["first_wrong"]["ops"] == "broken.twice" and len(found["groups"]) >= 5


def test_difference():
    one = np.array([1.0, 2.0, 1000.0], "f4")
    assert difference("x", one, one, 0.0).agrees
    near = difference("x", one + np.array([0, 0, 1], "f4"), one, 1e-2)
    assert near.agrees and near.max_abs == 1 and near.at == (2,)
    assert not difference("x", one + np.array([0, 0, 1], "f4"), one, 1e-4).agrees
    assert not difference("x", one[:2], one, 1.0).agrees
    assert difference("x", one[:0], one[:0], 0.0).agrees
    special = np.array([np.nan, np.inf, -np.inf], "f4")
    assert difference("x", special, special, 0.0).agrees
    for i, other in ((0, 1.0), (1, 1.0), (1, -np.inf), (2, np.nan)):
        changed = special.copy()
        changed[i] = other
        assert not difference("x", changed, special, 1.0).agrees
        assert not difference("x", special, changed, 1.0).agrees
    ints = np.array([1, 1 << 40])
    assert difference("x", ints, ints, 1.0).agrees and not difference("x", ints + [0, 1], ints, 1.0).agrees
    assert not difference("x", np.zeros(2, "f4"), np.zeros(2, "f4") + 1e-30, 1e-4).agrees


def test_tolerance_is_that_of_the_coarsest_float():
    x = core.input("x", (4,))
    assert tolerance(core.Graph({"y": t.exp(x)})) == 1e-4
    half = t.cast(t.cast(x, dtype="bfloat16"), dtype="float32")
    assert tolerance(core.Graph({"y": half})) == 5e-2
    assert tolerance(core.Graph({"y": t.add(core.input("i", (4,), "int64"), 1)})) == 0.0


def test_sizes_stay_within_bounds_and_budget():
    n, m = core.dim("n", 0, 100_000), core.dim("m", 2, 100_000)
    g = core.Graph({"y": t.exp(core.input("x", (n, m, 1024)))})
    found = cases(Interface.of_source(Opened("g", g, None, {})), g)
    assert found[0] == {"n": 0, "m": 2} and len(found) == 3
    assert all(0 <= c["n"] and 2 <= c["m"] and c["n"] * c["m"] * 1024 < 5e6 for c in found)
    fixed = core.Graph({"y": t.exp(core.input("x", (4,)))})
    assert cases(Interface.of_source(Opened("g", fixed, None, {})), fixed) == [{}]
