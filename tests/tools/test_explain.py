# SPDX-License-Identifier: Apache-2.0
"""explain: groups, placements, edges with their reasons, merges, copies, passes."""

from __future__ import annotations

import pytest

import ait_core as core
import ait_ops_gemm as gemm
import ait_ops_norm as norm
import ait_ops_tensor as t
from ait_core.compiler import switches
from ait_core.errors import InputError
from ait_tools import explain
from tests.tools.conftest import MODELS, ait, ok


def test_passes_are_listed_with_what_they_do():
    listed = ok("explain", "--list-passes")
    assert [p["name"] for p in listed] == switches()
    assert all(p["doc"] and "\n" not in p["doc"] for p in listed)
    assert "cse\t" in ait("explain", "--list-passes").output


def test_groups_say_what_they_absorbed_and_where_results_go():
    found = ok("explain", f"{MODELS}:mlp", "--dim", "batch=4")
    assert found["sizes"] == {"batch": 4} and found["launches"] == sum(g["launches"] for g in found["groups"])
    products = [g for g in found["groups"] if g["kernel"] == "gemm.cpu.packed"]
    assert len(products) == 2
    assert [n["op"] for n in products[0]["nodes"]] == ["gemm.matmul", "tensor.relu"]
    assert [s["space"] for s in products[0]["stores"]] == ["arena"]
    assert [s["space"] for s in products[1]["stores"]] == ["output"]
    assert found["bytes"] < found["bytes_unfused"]
    again = products[0]["computed_again"]  # of 8 columns each, if the template reads through a functor
    saved = 2 * 4 * 4 * (16 + 8 * len(again))  # written and read: relu's operand, and what is not stored at all
    assert products[0]["bytes_unfused"] - products[0]["bytes"] == saved
    text = ait("explain", f"{MODELS}:mlp").output
    assert "tensor.relu -> relu" in text and "in the arena" in text and "in an output" in text


def test_joins_are_written_in_place_and_products_merged():
    found = ok("explain", f"{MODELS}:branches")
    (merged,) = found["horizontal"]
    assert merged["branches"] == 3 and len(merged["shares"]) == 3
    apart = ok("explain", f"{MODELS}:branches", "--disable", "horizontal")
    assert apart["horizontal"] == []
    stores = [s for g in apart["groups"] for s in g["stores"]]
    assert len(stores) == 3 and {s["into"] for s in stores} == {"concat"} and all(s["strides"] for s in stores)
    assert sorted(s["offset"] for s in stores) == ["0", "4", "8"]
    assert (
        "inside concat, strides 12x1 from 4" in ait("explain", f"{MODELS}:branches", "--disable", "horizontal").output
    )
    copied = ok("explain", f"{MODELS}:branches", "--disable", "horizontal,memory")
    assert copied["copies"] == [] or all(c["reason"] for c in copied["copies"])


def test_every_edge_through_memory_has_a_reason():
    x, w = core.input("x", (core.dim("n", 1, 64), 8)), core.constant([[1.0] * 8] * 8, "w")
    soft = norm.softmax(gemm.matmul(x, w), axis=0)
    data = explain(core.Graph({"y": gemm.matmul(soft, w), "z": soft})).data
    run = [g["name"] for g in data["groups"] if not g["load_time"]]
    assert data["edges"] and all(e["reason"] and e["from"] in run and e["to"] in run for e in data["edges"])
    assert any("reads a from memory" in e["reason"] for e in data["edges"])
    refused = [d["reason"] for d in data["not_fused"]]
    assert any("reduces over the last axis only" in r for r in refused)
    off = explain(core.Graph({"y": t.exp(t.sum(x, axes=(1,)))}), disable=["vertical"]).data
    assert [e["reason"] for e in off["edges"]] == ["vertical fusion is switched off"]


def test_passes_are_recorded():
    passes = explain(core.Graph({"y": norm.softmax(core.input("x", (4, 8)), axis=1)})).data["passes"]
    expanded = next(p for p in passes if p["name"] == "expand_composites" and p["changed"])
    assert expanded["after"] > expanded["before"] and expanded["seconds"] >= 0
    assert any(not p["changed"] for p in passes)


def test_explain_in_python():
    graph = core.Graph({"y": t.exp(core.input("x", (core.dim("n", 1, 4), 8)))})
    shown = explain(graph, sizes={"n": 3}, target="cpu")
    assert shown.data["bytes"] == 2 * 3 * 8 * 4 and "at n=3: 192 B" in str(shown)
    with pytest.raises(InputError, match="There is no dim 'm'"):
        explain(graph, sizes={"m": 3})
