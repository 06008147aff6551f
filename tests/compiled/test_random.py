# SPDX-License-Identifier: Apache-2.0
"""Random graphs, compiled, against their references, with everything on and everything off; and graphs that once
failed, kept as text in ``graphs/``. ``AIT_RANDOM_SEED`` looks elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ait_core.compiler import switches
from tests.compiled.harness import Suite
from tests.compiled.random_graphs import random_cases, read_case

KEPT = sorted((Path(__file__).parent / "graphs").glob("*.txt"))
SEED = int(os.environ.get("AIT_RANDOM_SEED", "0"))
SETTINGS = ((), tuple(switches()))


@pytest.mark.parametrize("part", range(3))
def test_random_graphs(part):
    suite = Suite(random_cases(50, SEED * 1000 + part), SETTINGS)
    for off in SETTINGS:
        suite.check(off)


def test_kept_graphs():
    suite = Suite([read_case(p.stem, p.read_text()) for p in KEPT], SETTINGS)
    for off in SETTINGS:
        suite.check(off)
