# SPDX-License-Identifier: Apache-2.0
"""What goes into a model and comes out of it, the same for a compiled one (its manifest) and a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ait_core.errors import ArtifactError, InputError, ShapeError
from ait_core.ir import dims
from ait_core.ir.dims import DimSymbol, Shape
from ait_core.ir.dtypes import DType, dtype

if TYPE_CHECKING:
    from ait_tools.source import Opened

USUAL = 8  # size of a dim that nothing is known of, where its bounds allow


@dataclass(frozen=True)
class Tensor:
    """An input or output; sizes are integers or expressions of the model's dims."""

    name: str
    dtype: DType
    shape: Shape

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape at given sizes of the dims."""
        return tuple(int(dims.parse(dims.text(s), dict(sizes))) for s in self.shape)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(dims.text, self.shape))}]"


@dataclass(frozen=True)
class Interface:
    """Inputs, outputs and dims of a model, and what is known of typical inputs (:class:`ait_tools.source.Opened`)."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    dims: dict[str, DimSymbol]
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def of_manifest(manifest: Mapping[str, Any]) -> Interface:
        """Of a compiled model.

        Raises:
            ArtifactError: if the manifest lacks something.
        """
        try:
            symbols = {n: dims.dim(n, lo, hi) for n, (lo, hi) in manifest["dims"].items()}
            inputs, outputs = (
                tuple(
                    Tensor(t["name"], dtype(t["dtype"]), tuple(dims.parse(str(s), symbols) for s in t["shape"]))
                    for t in manifest[kind]
                )
                for kind in ("inputs", "outputs")
            )
        except (KeyError, TypeError, ValueError) as e:
            raise ArtifactError(f"The model's manifest is not complete ({e!r}). Compile the model again.") from e
        return Interface(inputs, outputs, symbols, manifest.get("examples", {}))

    @staticmethod
    def of_source(opened: Opened) -> Interface:
        """Of a model that was imported."""
        graph = opened.graph
        return Interface(
            tuple(Tensor(v.name, v.dtype, v.shape) for v in graph.inputs),
            tuple(Tensor(n, v.dtype, v.shape) for n, v in graph.outputs.items()),
            {s.name: s for s in graph.symbols},
            opened.examples,
        )

    def input(self, name: str) -> Tensor:
        """An input by name.

        Raises:
            InputError: if there is none, with the names there are.
        """
        for t in self.inputs:
            if t.name == name:
                return t
        raise InputError(f"There is no input {name!r}. Inputs: {', '.join(t.name for t in self.inputs) or 'none'}.")

    def sizes(self, given: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """A size for every dim: as given by name or as part of an input's shape, else that of the example inputs, else
        ``USUAL`` or the bound nearest to it.

        Raises:
            InputError: for a name that the model does not have.
            ShapeError: if a size is out of its bounds, or two of them contradict each other.
        """
        for n in given:
            if n not in self.dims:
                raise InputError(f"There is no dim {n!r}. Dims: {', '.join(self.dims) or 'none, every size is fixed'}.")
        out = {n: (size, f"dim {n}") for n, size in given.items()}
        for name, shape in shapes.items():
            t = self.input(name)
            if len(shape) != len(t.shape):
                raise ShapeError(
                    f"Input {name} is {t}, of rank {len(t.shape)}; got {_text(shape)}, of rank {len(shape)}."
                )
            for want, size in zip(t.shape, shape, strict=True):
                if isinstance(want, DimSymbol):
                    old, where = out.setdefault(want.name, (size, f"input {name}"))
                    if old != size:
                        raise ShapeError(
                            f"Dim {want.name} is {old} by {where} and {size} by input {name}: make them agree."
                        )
        for n, d in self.dims.items():
            size = out.setdefault(n, (self._usual(d), "default"))[0]
            if not d.lo <= size <= d.hi:
                raise ShapeError(f"Dim {n} is {size}; the model takes {d.lo} to {d.hi}.")
        found = {n: size for n, (size, _) in out.items()}
        for name, shape in shapes.items():
            want = self.input(name).at(found)
            if tuple(shape) != want:
                raise ShapeError(f"Input {name} is {self.input(name)}, here {_text(want)}; got {_text(shape)}.")
        return found

    def _usual(self, d: DimSymbol) -> int:
        for t in self.inputs:
            for want, size in zip(t.shape, self.examples.get(t.name, {}).get("shape", ()), strict=False):
                if want == d:
                    return size
        return min(max(USUAL, d.lo), d.hi)


def _text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
