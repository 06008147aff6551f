# SPDX-License-Identifier: Apache-2.0
"""Inputs, weights and the expected outputs of ``models/toy.cpp``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

import numpy as np


def run(*command: object) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"


def toy_weights(seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "weight": random.standard_normal(4, dtype=np.float32),
        "scale": np.array(random.standard_normal(), dtype=np.float32),
        "table.rows": random.standard_normal((5, 4), dtype=np.float32),
    }


def toy_block(weights: Mapping[str, np.ndarray]) -> bytes:
    """The weights as the toy's ConstantSpecs place them."""
    return b"".join(
        weights[name].tobytes().ljust(size, b"\0")
        for name, size in [("weight", 64), ("scale", 64), ("table.rows", 128)]
    )


def toy_inputs(batch: int = 2, seq: int = 3, seed: int = 1) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "x": random.standard_normal((batch, seq, 4), dtype=np.float32),
        "index": random.integers(0, 5, batch),
        "flat": random.standard_normal(batch * seq, dtype=np.float32),
    }


def toy_reference(
    inputs: Mapping[str, np.ndarray], weights: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, index, flat = inputs["x"], inputs["index"], inputs["flat"]
    hidden = x * (weights["weight"] * weights["scale"])
    y = hidden + weights["table.rows"][index][:, None, :] + flat.reshape(x.shape[:2])[..., None]
    return y, y, y.sum(dtype=np.float64).astype(np.float32)


TOY_MANIFEST = json.dumps({"producer": "hand"})


def quoted(text: str) -> str:
    return json.dumps(text)
