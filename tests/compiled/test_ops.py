# SPDX-License-Identifier: Apache-2.0
"""Every op of every pack, compiled, against its reference: all samples of an op in one graph."""

from __future__ import annotations

import numpy as np
import pytest

from ait_core.ir.graph import Graph, Value
from ait_core.ir.graph import input as graph_input
from tests.compiled.harness import check_graph
from tests.ops.samples import all_ops, samples

OPS = all_ops()


def graph_of(name: str) -> tuple[Graph, dict[str, np.ndarray], float]:
    """One output (or several) a sample, each from inputs of its own with symbolic sizes where the sample allows."""
    outputs: dict[str, Value] = {}
    inputs: list[Value] = []
    arrays: dict[str, np.ndarray] = {}
    loose = 1.0
    for i, sample in enumerate(samples(name)):
        values = []
        for j, (array, type_) in enumerate(zip(sample.inputs, sample.symbolic_types, strict=True)):
            if array is None:
                values.append(None)
                continue
            v = graph_input(f"x{i}_{j}", type_.shape, type_.dtype)
            inputs.append(v)
            arrays[v.name] = array
            values.append(v)
        made = OPS[name](*values, **sample.given)
        for k, out in enumerate(made if isinstance(made, tuple) else (made,)):
            outputs[f"{i}.{k} {sample}"] = out
        loose = max(loose, sample.loose)
    return Graph(outputs, inputs), arrays, loose


@pytest.mark.parametrize("name", sorted(OPS))
def test_compiled_op_gives_what_its_reference_gives(name: str) -> None:
    graph, arrays, loose = graph_of(name)
    check_graph(graph, arrays, loose)
