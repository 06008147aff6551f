# SPDX-License-Identifier: Apache-2.0
"""The NumPy references against torch, and the inferred types against both."""

import pytest

from ait_core.ir.dtypes import dtype
from ait_core.ir.types import TensorType
from tests.ops.oracles import ORACLES, assert_close, oracle
from tests.ops.samples import TABLE, all_ops, samples

CASES = [pytest.param(name, i, id=f"{name}-{i}-{s}") for name in sorted(TABLE) for i, s in enumerate(samples(name))]


def test_every_op_has_samples_and_an_oracle():
    assert all_ops().keys() == TABLE.keys() == ORACLES.keys()
    assert all(op.doc and op.name == name for name, op in all_ops().items())


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize(("name", "i"), CASES)
def test_reference_is_what_torch_computes(name, i):
    op, s = all_ops()[name], samples(name)[i]
    got = op.reference(*s.inputs, **op.bind(s.attrs))
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    want = oracle(name, s.inputs, s.attrs)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert_close(g, w, s.loose, str(s))
    types = op.infer(*s.types, **op.bind(s.attrs))
    types = [types] if isinstance(types, TensorType) else list(types)
    assert types == [TensorType(dtype(g.dtype), g.shape) for g in got]
