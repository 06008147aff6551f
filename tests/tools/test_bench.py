# SPDX-License-Identifier: Apache-2.0
"""bench, and the work of kernels that it compares times with."""

from __future__ import annotations

import pytest

import ait_core as core
import ait_ops_gemm as gemm
import ait_ops_norm as norm
import ait_ops_tensor as t
from ait_core import api
from ait_core.fuse.work import group_work, node_flops, work
from ait_core.ir import dims
from ait_core.scalar.primitives import PRIMITIVES
from ait_ops_attention import scaled_dot_product
from ait_tools.work import Kernel, kernels
from tests.tools.conftest import ait, ok


def test_bench_times_calls_and_kernels(compiled):
    found = ok("bench", compiled("mlp"), "--dim", "batch=4", "--runs", "3", "--threads", "1")
    call = found["call"]
    assert 0 < call["min"] <= call["median"] <= call["p95"] and found["sizes"] == {"batch": 4}
    assert found["peak"]["flops"] > 1e9 and found["peak"]["bytes_per_second"] > 1e8
    products = [g for g in found["groups"] if "gemm.matmul" in g["ops"]]
    assert products[0]["flops"] >= 2 * 4 * 8 * 16
    for g in found["groups"]:
        assert g["seconds"] > 0 and g["bytes_per_second"] == pytest.approx(g["bytes"] / g["seconds"])
        assert g["of_roofline"] == pytest.approx(g["roofline_seconds"] / g["seconds"])
    assert found["kernels_seconds"] == pytest.approx(sum(g["seconds"] for g in found["groups"]))
    text = ait("bench", compiled("mlp"), "--runs", "2", "--no-peak").output
    assert "call  median" in text and "peak" not in text and "gemm.matmul" in text


def test_roofline_is_the_longer_of_computing_and_moving():
    peak = {"flops": 100.0, "bytes_per_second": 10.0}
    assert Kernel("k", "", 1000, 10).least_seconds(peak) == 10
    assert Kernel("k", "", 10, 1000).least_seconds(peak) == 100
    assert Kernel("k", "", None, 1000).least_seconds(peak) == 100
    assert Kernel("k", "", 10, 10).least_seconds({}) is None


def test_a_manifest_is_evaluated_at_sizes():
    k = {"group": "g", "ops": "o", "flops": "2*n*n + min(n, 3)", "bytes": "(n + 1) // 2"}
    assert kernels({"kernels": [k, {**k, "flops": None}]}, {"n": 5}) == [
        Kernel("g", "o", 53, 3),
        Kernel("g", "o", None, 3),
    ]


def flops(value) -> object:
    return node_flops(value.node)


def test_flops_follow_from_roles():
    b, m = core.dim("b", 1, 8), core.dim("m", 1, 8)
    x, w = core.input("x", (b, m, 16)), core.input("w", (16, 32))
    assert dims.same(flops(gemm.matmul(x, w)), 2 * b * m * 16 * 32)
    assert dims.same(flops(t.exp(x)), PRIMITIVES["exp"].cost * b * m * 16)
    assert dims.same(flops(t.sum(x, axes=(2,))), b * m * 16)
    assert flops(t.permute(x, dims=(1, 0, 2))) == 0 and flops(t.concat(x, x, dim=0)) == 0
    assert dims.same(flops(gemm.linear(x, core.input("v", (32, 16)))), 2 * b * m * 16 * 32)
    q, k = core.input("q", (b, 4, m, 16)), core.input("k", (b, 4, 10, 16))
    assert dims.same(flops(scaled_dot_product(q, k, k)), 2 * b * 4 * m * 10 * 32)
    assert dims.same(flops(scaled_dot_product(k, k, k, causal=True)), b * 4 * 100 * 32)


def test_flops_of_an_opaque_op_that_does_not_say_are_unknown():
    from ait_core.declare.op import opaque

    op = opaque("toy.black_box", infer=lambda x: x, reference=lambda x: x)(lambda x: None)
    y = t.exp(op(core.input("x", (4,))))
    assert flops(y.node.inputs[0]) is None
    assert work([y.node.inputs[0].node, y.node], [y]).flops is None


def moved(graph: core.Graph) -> list[object]:
    plan = api.plan(graph, target="cpu")
    return [group_work(x.group, plan.fuser).bytes for x in plan.run]


def test_bytes_are_what_must_pass_through_memory():
    n = core.dim("n", 1, 64)
    x = core.input("x", (n, 16))
    (one,) = moved(core.Graph({"y": t.exp(t.add(t.mul(x, 2.0), x))}))
    assert dims.same(one, 2 * n * 16 * 4)
    (soft,) = moved(core.Graph({"y": norm.softmax(x, axis=1)}))
    assert dims.same(soft, 2 * n * 16 * 4)
    part = t.slice(x, dim=1, start=0, end=4)
    (some,) = moved(core.Graph({"y": t.exp(part)}))
    assert dims.same(some, 2 * n * 4 * 4)
    ids, table = core.input("ids", (8,), "int64"), core.input("table", (1000, 16))
    (gathered,) = moved(core.Graph({"y": t.embedding(table, ids)}))
    assert gathered == 8 * 8 + 2 * 8 * 16 * 4
