# SPDX-License-Identifier: Apache-2.0
"""Every op of every pack, compiled, against its NumPy reference: half of the samples with fixed, half with symbolic
sizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ait_core.ir import dims
from ait_core.ir.graph import Graph, input
from tests.compiled.harness import Case, Suite
from tests.ops.sample import SIZES, M, N, Sample
from tests.ops.samples import TABLE, all_ops, samples

PARTS = 6  # models that the samples are spread over


def case(name: str, i: int, s: Sample, symbolic: bool) -> Case:
    """A graph of one op on one sample."""
    types, attrs = (s.symbolic_types, s.given) if symbolic else (s.types, s.attrs)
    operands = [None if t is None else input(f"x{j}", t.shape, t.dtype) for j, t in enumerate(types)]
    made = all_ops()[name](*operands, **attrs)
    outputs = {f"y{k}": v for k, v in enumerate(made if isinstance(made, tuple) else (made,))}
    inputs = [v for v in operands if v is not None]
    arrays = {f"x{j}": a for j, a in enumerate(s.inputs) if a is not None}
    for d in (N, M) if symbolic else ():  # a dim that only an attribute uses
        inputs.append(input(f"size_{d.name}", (d,)))
        arrays[f"size_{d.name}"] = np.zeros(SIZES[d.name], np.float32)
    return Case(f"{name}-{i}-{s}", Graph(outputs, inputs), [arrays], s.loose)


def cases() -> Iterator[Case]:
    for name in sorted(TABLE):
        symbolic = False
        for i, s in enumerate(samples(name)):
            varies = s.symbolic_types != s.types or any(dims.symbols(_sizes(a)) for a in s.given.values())
            symbolic = varies and not symbolic
            yield case(name, i, s, symbolic)


def _sizes(attr: object) -> tuple:
    return tuple(x for a in attr for x in _sizes(a)) if isinstance(attr, tuple) else (attr,)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_op_is_its_reference(part):
    Suite(list(cases())[part::PARTS]).check()


def test_every_op_is_compiled():
    assert {c.name.split("-")[0] for c in cases()} == set(all_ops())
