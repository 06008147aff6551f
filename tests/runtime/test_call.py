# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from conftest import toy_inputs, toy_reference, toy_weights

from ait_core.runtime.model import load


@pytest.mark.parametrize("batch, seq", [(2, 3), (1, 1), (64, 16), (0, 5)])
def test_matches_reference(toy, batch, seq):
    inputs = toy_inputs(batch, seq)
    y, copy, total = load(toy)(**inputs)
    expected = toy_reference(inputs, toy_weights())
    np.testing.assert_allclose(y, expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(copy, y)
    np.testing.assert_allclose(total, expected[2], rtol=1e-4, atol=1e-4)
    assert total.shape == () and y.shape == (batch, seq, 4)
