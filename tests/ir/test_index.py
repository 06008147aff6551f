# SPDX-License-Identifier: Apache-2.0
"""Index arithmetic: sums that are seen through, and what they cost to see through."""

from __future__ import annotations

from ait_core.ir.index import affine, var


def test_shared_terms_are_looked_at_once():
    e = var("i", 5).expr()
    for _ in range(200):  # two to the power of 200 ways to the variable
        e = e + e
    assert affine(e) == var("i", 5) * 2**200
