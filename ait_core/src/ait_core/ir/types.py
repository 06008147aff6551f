# SPDX-License-Identifier: Apache-2.0
"""The type of a value: dtype and symbolic shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dtypes import DType


@dataclass(frozen=True)
class TensorType:
    """dtype and shape of a tensor; sizes are ints or sympy expressions (see :mod:`ait_core.ir.dims`)."""

    dtype: DType
    shape: dims.Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> dims.Dim:
        """Number of elements."""
        return dims.prod(self.shape)

    @property
    def nbytes(self) -> dims.Dim:
        """Bytes of a contiguous tensor."""
        return self.numel * self.dtype.itemsize

    def of_shape(self, shape: Iterable[object]) -> TensorType:
        """The same dtype with another shape."""
        return TensorType(self.dtype, dims.as_shape(shape))

    def of_dtype(self, dtype: DType) -> TensorType:
        """The same shape with another dtype."""
        return TensorType(dtype, self.shape)

    def axis(self, axis: int) -> int:
        """``axis`` counted from the front.

        Raises:
            GraphError: if the tensor has no such axis.
        """
        if not -self.rank <= axis < self.rank:
            raise GraphError(f"Axis {axis} is out of range for a tensor of rank {self.rank}: {self}.")
        return axis % self.rank

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(dims.text(s) for s in self.shape)}]"


def broadcast(*shapes: dims.Shape) -> dims.Shape:
    """The common shape under NumPy's rules. A symbolic size broadcasts only where it is 1 for certain.

    Raises:
        GraphError: if two sizes differ.
    """
    rank = max((len(s) for s in shapes), default=0)
    out: list[dims.Dim] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if out[i] == 1:
                out[i] = size
            elif size != 1 and not dims.same(size, out[i]):
                texts = ", ".join(f"[{', '.join(map(dims.text, s))}]" for s in shapes)
                raise GraphError(
                    f"Shapes {texts} do not broadcast: axis {i} has {dims.text(out[i])} and {dims.text(size)}. "
                    "Sizes must be equal or 1; use the same dim for sizes that are always equal."
                )
    return tuple(out)
