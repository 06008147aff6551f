# SPDX-License-Identifier: Apache-2.0
"""Where the elements of a tensor lie: shape, strides and offset, in elements."""

from __future__ import annotations

from dataclasses import dataclass

from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape


@dataclass(frozen=True)
class Layout:
    """Element ``i`` of a tensor lies at ``offset + sum(i[k] * strides[k])``."""

    shape: Shape
    strides: Shape
    offset: Dim = 0

    @staticmethod
    def contiguous(shape: Shape) -> Layout:
        """Row-major without gaps."""
        strides: list[Dim] = []
        step: Dim = 1
        for size in reversed(shape):
            strides.insert(0, step)
            step = dims.prod((step, size))
        return Layout(tuple(shape), tuple(strides))

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie as in a freshly allocated tensor (the offset may differ)."""
        want = Layout.contiguous(self.shape)
        return all(
            size == 1 or dims.same(a, b) for size, a, b in zip(self.shape, self.strides, want.strides, strict=True)
        )

    def shifted(self, by: Dim) -> Layout:
        return Layout(self.shape, self.strides, dims.as_dim(self.offset + by))

    def span(self) -> Dim:
        """Index of the last element plus one; 0 if empty."""
        last: Dim = self.offset
        for size, stride in zip(self.shape, self.strides, strict=True):
            last = last + (size - 1) * stride
        return dims.as_dim(last + 1)


def merged(shape: Shape, strides: Shape) -> Dim | None:
    """The one stride with which all axes can be walked as a single axis, or None. Size-1 axes do not matter."""
    live = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    for (_, outer), (n, inner) in zip(live, live[1:], strict=False):
        if not dims.same(outer, n * inner):
            return None
    return live[-1][1] if live else 1
