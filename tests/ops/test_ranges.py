# SPDX-License-Identifier: Apache-2.0
"""Slices and indices by Python's rules, on numbers and on symbolic sizes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.graph import evaluate
from ait_ops_tensor.ranges import minus, python_range, within

BOUND = st.one_of(st.none(), st.integers(-12, 12))
STEP = st.integers(-4, 4).filter(bool)


@given(BOUND, BOUND, STEP, st.integers(0, 10))
def test_numbers(start, end, step, n):
    first, count = python_range(start, end, step, n)
    assert [first + i * step for i in range(count)] == list(range(n))[start:end:step]


@settings(deadline=None, max_examples=200)
@given(BOUND, BOUND, STEP, st.integers(0, 9), st.integers(0, 4))
def test_symbolic_size(start, end, step, n, slack):
    d = dims.dim("n", max(n - slack, 0), n + slack)
    first, count = (evaluate(v, {"n": n}) for v in python_range(start, end, step, d))
    assert [first + i * step for i in range(count)] == list(range(n))[start:end:step]
    lo, hi = dims.bounds(python_range(start, end, step, d)[1])
    assert 0 <= lo <= count <= hi


@settings(deadline=None)
@given(st.integers(-3, 3), st.integers(-9, 9), STEP, st.integers(3, 9))
def test_symbolic_bounds(shift, end, step, n):
    d = dims.dim("n", 3, 9)
    first, count = (evaluate(v, {"n": n}) for v in python_range(d + shift, end, step, d))
    assert [first + i * step for i in range(count)] == list(range(n))[n + shift : end : step]


def test_the_last_elements_have_tight_bounds():
    n = dims.dim("n", 1, 64)
    assert dims.bounds(python_range(-5, None, 1, n)[1]) == (1, 5)
    assert python_range(None, -1, 1, n) == (0, n - 1)
    assert minus(n, dims.dim_max(0, n - 5)) == dims.dim_min(n, 5)


def test_what_cannot_be_decided_is_refused():
    n = dims.dim("n", 1, 64)
    with pytest.raises(GraphError, match="counts from the front or from the end"):
        python_range(n - 5, None, 1, n)
    with pytest.raises(GraphError, match="other than 0"):
        python_range(None, None, 0, n)
    with pytest.raises(GraphError, match="may be outside"):
        within(1, n)
    with pytest.raises(GraphError, match="may be outside"):
        within(-2, n)
    assert within(-1, n) == n - 1 and within(0, n) == 0 and within(n - 1, n) == n - 1
