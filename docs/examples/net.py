# SPDX-License-Identifier: Apache-2.0
"""The model that the tutorial on fusion looks at."""

import numpy as np

import ait_core as ait

WIDTH, HIDDEN = 64, 128
rng = np.random.default_rng(0)


def weight(name: str, *shape: int) -> ait.Value:
    return ait.constant((rng.standard_normal(shape) * 0.1).astype(np.float32), name=name)


def model() -> ait.Graph:
    """A gated feed-forward block with residual and norm, its input joined to its output, and the sorted row sums."""
    t, gemm, norm = ait.ops.tensor, ait.ops.gemm, ait.ops.norm
    x = ait.input("x", (ait.dim("batch", 1, 256), WIDTH))
    gate = t.silu(gemm.linear(x, weight("gate", HIDDEN, WIDTH)))
    up = gemm.linear(x, weight("up", HIDDEN, WIDTH))
    y = t.add(x, gemm.linear(t.mul(gate, up), weight("down", WIDTH, HIDDEN), weight("bias", WIDTH)))
    y = norm.layer_norm(y, weight("scale", WIDTH), weight("shift", WIDTH))
    order, _ = t.sort(t.sum(y, axes=(1,)), dim=0)
    return ait.Graph({"both": t.concat(x, y, dim=1), "order": order})
