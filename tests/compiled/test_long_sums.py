# SPDX-License-Identifier: Apache-2.0
"""Sums of many float32 terms: a float accumulator would stop growing at 2**24 ones."""

from __future__ import annotations

import numpy as np

import ait_core as ait


def test_long_sums_do_not_stop_growing():
    t = ait.ops.tensor
    n = (1 << 24) + 4096
    x = ait.input("x", (n,), "bool")
    ones = t.cast(x, dtype="float32")
    columns = t.sum(t.expand(t.unsqueeze(ones, dim=1), shape=(n, 3)), axes=(0,))
    rows = t.mean(t.expand(t.unsqueeze(ones, dim=0), shape=(2, n)), axes=(1,))
    spread = t.maximum(t.sum(ones, axes=(0,)), 0.0)  # the result goes on in float
    model = ait.compile(ait.Graph({"c": columns, "r": rows, "s": spread}, [x]))
    c, r, s = model(np.ones(n, bool))
    assert (c == n).all() and (r == 1).all() and s == n
