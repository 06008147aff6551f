# SPDX-License-Identifier: Apache-2.0
"""Reductions over complete rows in the epilogue of a matrix product."""

import numpy as np
import pytest

import ait_core as ait
import ait_ops_gemm as gemm
import ait_ops_norm as norm
import ait_ops_tensor as t
from ait_core.ir.graph import run_reference
from tests.compiled.harness import assert_close


@pytest.mark.parametrize(
    "after",
    [
        norm.softmax,
        norm.layer_norm,
        lambda y: t.sub(y, t.amin(y, axes=(-1,), keepdim=True)),
        lambda y: t.mul(y, t.prod(t.sigmoid(y), axes=(-1,), keepdim=True)),
        lambda y: t.where(t.any(t.gt(y, 1.0), axes=(-1,), keepdim=True), y, 0.0),
    ],
    ids=["softmax", "layer_norm", "amin", "prod", "any"],
)
def test_rows_are_reduced_in_the_product_itself(after):
    rng = np.random.default_rng(0)
    x = ait.input("x", (ait.dim("n", 1, 64), 33))
    y = after(gemm.linear(x, ait.constant(rng.normal(size=(17, 33)).astype("f4"), "w")))
    graph = ait.Graph({"y": y})
    assert len(ait.plan(graph, target="cpu").run) == 1
    x = rng.normal(size=(5, 33)).astype("f4")
    assert_close(ait.compile(graph, target="cpu")(x), run_reference(graph, {"x": x})["y"])
