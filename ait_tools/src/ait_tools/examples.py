# SPDX-License-Identifier: Apache-2.0
"""What a model's example inputs say of typical inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ait_core.errors import InputError

if TYPE_CHECKING:
    from ait_core.ir.graph import Graph
    from ait_runtime.signature import Signature
    from ait_tools.source import Spec


def examples(spec: Spec, graph: Graph, signature: Signature | None) -> dict[str, dict[str, Any]]:
    """Shape and range of integers by input, each if known, as JSON-ready data.

    Raises:
        InputError: if the spec has a range for what is no input.
    """
    given: Mapping[str, Any] = {}
    x = spec.example_inputs
    if x is not None:
        by_name = isinstance(x, Mapping)
        args: Sequence[Any] = () if by_name else x if isinstance(x, (tuple, list)) else (x,)
        if signature is not None:
            given = dict(zip(signature.inputs, signature.flatten(args, x if by_name else {}), strict=True))
        else:
            given = x if by_name else {v.name: a for v, a in zip(graph.inputs, args, strict=False)}
    out: dict[str, dict[str, Any]] = {}
    for v in graph.inputs:
        known: dict[str, Any] = {}
        if v.name in given and hasattr(given[v.name], "shape"):
            known["shape"] = [int(n) for n in given[v.name].shape]
            if not v.dtype.is_float and 0 not in known["shape"]:
                array = np.asarray(given[v.name])
                known["range"] = [int(array.min()), int(array.max())]
        if v.name in spec.ranges:
            known["range"] = list(spec.ranges[v.name])
        if known:
            out[v.name] = known
    unknown = [n for n in spec.ranges if n not in {v.name for v in graph.inputs}]
    if unknown:
        raise InputError(
            f"ranges names {', '.join(unknown)}; the inputs are {', '.join(v.name for v in graph.inputs)}."
        )
    return out
