# SPDX-License-Identifier: Apache-2.0
"""The closed set of view primitives. A view op is a sequence of them; everything else follows from here:
its shape, its NumPy reference, how it moves coordinates, how it moves a layout, and its inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ait_core.errors import GraphError
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.index import Affine
from ait_core.ir.layout import Layout, merged

Coords = tuple[Affine, ...]


class View:
    """One view primitive. Shapes are symbolic; arrays have the concrete sizes that ``shape`` evaluates to."""

    def shape(self, of: Shape) -> Shape:
        """Shape of the view of a tensor of shape ``of``."""
        raise NotImplementedError

    def array(self, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The view of an array; ``shape`` is the concrete result shape."""
        raise NotImplementedError

    def coords(self, at: Coords, of: Shape) -> Coords:
        """Where element ``at`` of the view lies in the tensor of shape ``of``."""
        raise NotImplementedError

    def layout(self, layout: Layout) -> Layout | None:
        """The layout of the view of a tensor laid out so; None if no strides can say it."""
        raise NotImplementedError

    def inverse(self, of: Shape) -> View | None:
        """The view that undoes this one on a tensor of shape ``of``; None if elements are dropped or repeated."""
        return None


@dataclass(frozen=True)
class Permute(View):
    """Axis ``i`` of the view is axis ``axes[i]`` of the tensor."""

    axes: tuple[int, ...]

    def shape(self, of: Shape) -> Shape:
        if sorted(self.axes) != list(range(len(of))):
            raise GraphError(f"permute needs each of the {len(of)} axes once; got {self.axes}.")
        return tuple(of[a] for a in self.axes)

    def array(self, x, shape):
        return x.transpose(self.axes)

    def coords(self, at, of):
        out: list[Affine] = [Affine.of(0)] * len(of)
        for i, a in enumerate(self.axes):
            out[a] = at[i]
        return tuple(out)

    def layout(self, layout):
        return Layout(self.shape(layout.shape), tuple(layout.strides[a] for a in self.axes), layout.offset)

    def inverse(self, of):
        return Permute(tuple(int(i) for i in np.argsort(self.axes)))


@dataclass(frozen=True)
class Slice(View):
    """``size`` elements of ``axis`` from ``start``, ``step`` apart (a negative step walks backwards)."""

    axis: int
    start: Dim
    size: Dim
    step: int = 1

    def shape(self, of: Shape) -> Shape:
        return (*of[: self.axis], self.size, *of[self.axis + 1 :])

    def array(self, x, shape):
        index = int(self._value(self.start, x, shape)) + self.step * np.arange(shape[self.axis])
        return np.take(x, index, axis=self.axis)

    def _value(self, d: Dim, x: np.ndarray, shape: tuple[int, ...]) -> int:
        if isinstance(d, int):
            return d
        raise GraphError(f"slice start {d} is symbolic: evaluate it before running on arrays.")

    def coords(self, at, of):
        return (*at[: self.axis], at[self.axis] * self.step + self.start, *at[self.axis + 1 :])

    def layout(self, layout):
        stride = layout.strides[self.axis]
        strides = (*layout.strides[: self.axis], dims.prod((stride, self.step)), *layout.strides[self.axis + 1 :])
        return Layout(self.shape(layout.shape), strides, dims.as_dim(layout.offset + self.start * stride))

    def inverse(self, of):
        return self if self.step == 1 and self.start == 0 and dims.same(self.size, of[self.axis]) else None


@dataclass(frozen=True)
class Expand(View):
    """Axes of size 1 repeated, and new axes in front, to ``to``."""

    to: Shape

    def shape(self, of: Shape) -> Shape:
        lead = len(self.to) - len(of)
        for i, size in enumerate(of):
            if lead < 0 or (size != 1 and not dims.same(size, self.to[lead + i])):
                raise GraphError(f"Cannot expand shape {of} to {self.to}: only axes of size 1 can grow.")
        return self.to

    def array(self, x, shape):
        return np.broadcast_to(x, shape)

    def coords(self, at, of):
        lead = len(self.to) - len(of)
        return tuple(Affine.of(0) if size == 1 else at[lead + i] for i, size in enumerate(of))

    def layout(self, layout):
        lead = len(self.to) - len(layout.shape)
        strides = tuple(0 if n == 1 and self.to[lead + i] != 1 else s
                        for i, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True)))  # fmt: skip
        return Layout(self.to, (0,) * lead + strides, layout.offset)

    def inverse(self, of):
        return Reshape(of) if dims.same(dims.prod(of), dims.prod(self.to)) else None


@dataclass(frozen=True)
class Reshape(View):
    """The same elements in row-major order under another shape."""

    to: Shape

    def shape(self, of: Shape) -> Shape:
        if not dims.same(dims.prod(of), dims.prod(self.to)):
            shown = [f"[{', '.join(map(dims.text, s))}]" for s in (of, self.to)]
            raise GraphError(f"Cannot reshape {shown[0]} to {shown[1]}: the numbers of elements differ.")
        return self.to

    def array(self, x, shape):
        return x.reshape(shape)

    def coords(self, at, of):
        out: list[Affine] = []
        for mine, theirs in groups(of, self.to):
            inner, outer = of[slice(*mine)], self.to[slice(*theirs)]
            linear = Affine.of(0)
            for c, size in zip(at[slice(*theirs)], outer, strict=True):
                linear = linear * size + c
            part: list[Affine] = []
            for size in reversed(inner[1:]):
                linear, rest = linear.split(size)
                part.insert(0, rest)
            out += [linear, *part] if inner else []
        return tuple(out)

    def layout(self, layout):
        strides: list[Dim] = []
        for mine, theirs in groups(layout.shape, self.to):
            step = merged(layout.shape[slice(*mine)], layout.strides[slice(*mine)])
            if step is None:
                return None
            part: list[Dim] = []
            for size in reversed(self.to[slice(*theirs)]):
                part.insert(0, step)
                step = dims.prod((step, size))
            strides += part
        return Layout(self.to, tuple(strides), layout.offset)

    def inverse(self, of):
        return Reshape(of)


def groups(a: Shape, b: Shape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The finest split of both shapes into runs of axes with equal products, as pairs of index ranges.

    Axes of size 1 go with whichever run is open; a run may be empty on one side only if the other holds size-1 axes.
    """
    out: list[tuple[tuple[int, int], tuple[int, int]]] = []
    i = j = 0
    while i < len(a) or j < len(b):
        i0, j0 = i, j
        if i < len(a) and j < len(b) and dims.same(a[i], b[j]):
            i, j = i + 1, j + 1
        elif i < len(a) and a[i] == 1:
            i += 1
        elif j < len(b) and b[j] == 1:
            j += 1
        else:
            found = _shortest(a, b, i, j)
            i, j = found
        out.append(((i0, i), (j0, j)))
    return out


def _shortest(a: Shape, b: Shape, i: int, j: int) -> tuple[int, int]:
    """Ends of the shortest runs from ``i`` and ``j`` with equal products; the rest of both if none is shorter."""
    products: list[tuple[Dim, int]] = []
    p: Dim = 1
    for n in range(i, len(a)):
        p = dims.prod((p, a[n]))
        products.append((p, n + 1))
    q: Dim = 1
    for m in range(j, len(b)):
        q = dims.prod((q, b[m]))
        for p, n in products:
            if dims.same(p, q):
                return n, m + 1
    return len(a), len(b)
