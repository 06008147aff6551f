# SPDX-License-Identifier: Apache-2.0
"""The pack keeps to what AIT expects of packs. Run with `pip install -e .[test]` and `pytest`."""

import numpy as np

from ait_testing import Sample, conformance


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


SMOOTH = [(5, 7, 33), (2, 3, 1, 64), (9, 130), (0, 7, 3), (2, 0, 3), (2, 1, 0)]
SAMPLES = {
    "acme.squared_relu": [((np.float32([-2.0, -0.0, 0.5, np.inf, np.nan]),), {})],
    "acme.causal_smooth": [
        *(((floats(*shape),), {"decay": 0.9}) for shape in SMOOTH),
        *(((floats(3, 5, 17, dtype=dtype),), {"decay": 0.25}) for dtype in ("float16", "float64")),
        Sample((floats(2, 400, 8),), {"decay": 1.0}, loose=2),
    ],
}

test_pack = conformance("acme_ait_ops", samples=SAMPLES)
