# SPDX-License-Identifier: Apache-2.0
"""The model that the tutorial on fusion looks at."""

import numpy as np

import ait_core as ait

WIDTH = 64
rng = np.random.default_rng(0)


def weight(name: str, *shape: int):
    return ait.constant((rng.standard_normal(shape) * 0.1).astype(np.float32), name=name)


def model() -> ait.Graph:
    """A feed-forward block with a residual, and the sorted sums of its rows."""
    t, gemm, norm = ait.ops.tensor, ait.ops.gemm, ait.ops.norm
    x = ait.input("x", (ait.dim("batch", 1, 256), WIDTH))
    h = t.gelu(gemm.linear(x, weight("up.weight", 4 * WIDTH, WIDTH), weight("up.bias", 4 * WIDTH)))
    y = t.add(x, gemm.linear(h, weight("down.weight", WIDTH, 4 * WIDTH), weight("down.bias", WIDTH)))
    y = norm.layer_norm(y, weight("norm.weight", WIDTH), weight("norm.bias", WIDTH))
    scores, _ = t.sort(t.sum(y, axes=(1,)), dim=0)
    both = t.concat(y, t.neg(y), dim=1)
    return ait.Graph({"both": both, "scores": scores})
