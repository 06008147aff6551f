# SPDX-License-Identifier: Apache-2.0
"""Graphs in which an op is called alone, on views, and between pointwise neighbours that it should be fused with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ait_core import scalar as s
from ait_core.declare.kernel import Absorbs
from ait_core.declare.op import Op, pointwise, reduction, view
from ait_core.ir import dims
from ait_core.ir.dims import DimSymbol
from ait_core.ir.graph import Graph, Value
from ait_core.ir.graph import input as graph_input
from ait_core.ir.types import TensorType
from ait_core.ir.views import Permute
from ait_testing.samples import Sample, random


# The first three undo themselves without rounding, one for each kind of dtype.
@pointwise("testing.negate")
def negate(x):
    """``-x``."""
    return -x


@pointwise("testing.complement")
def complement(x):
    """``~x``."""
    return s.bit_not(x)


@pointwise("testing.invert")
def invert(x):
    """``not x``."""
    return s.eq(x, False)


@pointwise("testing.away")
def away(x, y):
    """``y - x``."""
    return y - x


@pointwise("testing.unlike")
def unlike(x, y):
    """Whether two truth values differ."""
    return s.ne(x, y)


@reduction("testing.top", combine="maximum")
def top(x, *, axes: tuple, keepdim: bool = False):
    """The largest elements."""


@view("testing.swap")
def swap(x):
    """The last two axes exchanged."""
    return [Permute((*range(x.rank - 2), x.rank - 1, x.rank - 2))]


HOW = ("alone", "on views", "fused")


@dataclass
class Case:
    """Samples of one op in one graph, with arrays for its inputs by name, and tolerances of its outputs."""

    op: Op
    absorbs: Absorbs
    outputs: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)
    loose: dict[str, float] = field(default_factory=dict)
    dims: dict[str, tuple[DimSymbol, int]] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return Graph(dict(self.outputs), list(self.inputs))

    def takes(self, sample: Sample) -> bool:
        """Whether the sample gives the same numbers to the dims it shares with those that are here."""
        return all(self.dims.get(d.name, (d, n)) == (d, n) for d, n in sample.dims.items())

    def add(self, sample: Sample, number: int) -> None:
        """Add the op called alone, on operands that are views, and between neighbours."""
        self.dims |= {d.name: (d, n) for d, n in sample.dims.items()}
        for how in HOW:
            given = enumerate(zip(sample.inputs, sample.symbolic_types, strict=True))
            operands = [a if a is None else self._operand(f"{how} {number}.{i}", a, kind, how, self._param(i))
                        for i, (a, kind) in given]  # fmt: skip
            made = self.op(*operands, **sample.attrs)
            results = made if isinstance(made, tuple) else (made,)
            for k, v in enumerate(results):
                name = f"{how}, result {k} of sample {number} ({sample})"
                self.outputs[name] = self._after(v, name, sample) if how == "fused" and len(results) == 1 else v
                self.loose[name] = sample.loose

    def _param(self, i: int) -> str:
        return self.op.params[min(i, len(self.op.params) - 1)].name

    def _input(self, name: str, array: np.ndarray, kind: TensorType) -> Value:
        self.arrays[name] = array
        self.inputs.append(graph_input(name, kind.shape, kind.dtype))
        return self.inputs[-1]

    def _operand(self, name: str, array: np.ndarray, kind: TensorType, how: str, param: str) -> Value:
        """An input, or one seen through a view, or one that is computed while it is read, if the template can."""
        if how == "on views" and kind.rank > 1:
            seen = kind.of_shape((*kind.shape[:-2], kind.shape[-1], kind.shape[-2]))
            return swap(self._input(name, np.ascontiguousarray(np.swapaxes(array, -1, -2)), seen))
        if how == "fused" and param in self.absorbs.prologue:
            op = invert if kind.dtype.name == "bool" else complement if kind.dtype.is_int else negate
            return op(self._input(name, np.asarray(op.reference(array)), kind))
        return self._input(name, array, kind)

    def _after(self, v: Value, name: str, sample: Sample) -> Value:
        """Work on a result that the template can absorb: with a row that is broadcast, and over complete rows."""
        row = v.type.of_shape(v.shape[-1:])
        sizes = [int(dims.parse(dims.text(n), sample.values)) for n in row.shape]  # type: ignore[arg-type]
        given = self._input(f"row of {name}", random(sizes, v.dtype.name, 7), row)
        made = (unlike if v.dtype.name == "bool" else away)(v, given)
        if self.absorbs.rows and v.dtype.name != "bool" and row.rank and dims.at_least(row.shape[0], 1):
            made = away(made, top(made, axes=(-1,), keepdim=True))
        return made


def cases(op: Op, samples: Sequence[Sample], absorbs: Absorbs) -> list[Case]:
    """The samples in as few graphs as the numbers they give to their dims allow."""
    found: list[Case] = []
    for number, sample in enumerate(samples):
        case = next((c for c in found if c.takes(sample)), None)
        if case is None:
            found.append(case := Case(op, absorbs))
        case.add(sample, number)
    return found
