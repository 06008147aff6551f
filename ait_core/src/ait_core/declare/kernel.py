# SPDX-License-Identifier: Apache-2.0
"""Declaring a kernel template: a C++ header somebody could have written and tested by hand, and what it can do.

The compiler asks a template three things: can you serve this problem (``accepts``), what can you absorb
(:class:`Absorbs`), and how are you called (``render``). ``render`` receives a builder that hands out C++ expressions:
operands as pointers with strides or as reader functors, the result as a writer functor that carries the fused epilogue,
sizes, workspace, and packed constants. The kernel never sees where its results go, so several outputs, strided writes
and any pointwise epilogue come for free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from ait_core.ir.dims import Dim, DimSymbol, Shape

if TYPE_CHECKING:
    from ait_core.declare.backend import Target
    from ait_core.ir.graph import Node

THREADS = DimSymbol("threads", 1, 1024)  # in workspace sizes: the threads a run may use


@dataclass(frozen=True)
class Absorbs:
    """What may be fused into a kernel.

    Args:
        epilogue: pointwise work on each result element, with extra operands under any broadcast and several outputs.
        rows: reductions over the last axis of the result (layer norm, softmax) after the epilogue.
        prologue: parameters whose elements are read through a functor, so pointwise work, gathers and views can be
            computed on the fly while reading.
        reads_once: those of the prologue's parameters each of whose elements the kernel reads at most once, so that
            even costly work is better done there than stored first.
        strided: parameters that may be read through any strides.
    """

    epilogue: bool = False
    rows: bool = False
    prologue: frozenset[str] = frozenset()
    reads_once: frozenset[str] = frozenset()
    strided: frozenset[str] = frozenset()


class KernelBuilder(Protocol):
    """What ``render`` is given. Every method returns C++ text valid inside the kernel function."""

    node: Node
    target: Target
    choice: Mapping[str, Any]

    def include(self, header: str) -> None:
        """Include a header of a plugin's include directory, e.g. ``"my_pack/cpu/scan.h"``."""

    def has(self, param: str) -> bool:
        """Whether an optional operand is present."""

    def pointer(self, param: str) -> str:
        """``const T*`` of an operand (offset applied)."""

    def strides(self, param: str) -> list[str]:
        """Strides of an operand in elements, one a dimension of the shape that ``Kernel.shapes`` gives it."""

    def reader(self, param: str, shape: Shape | None = None) -> str:
        """An object read as ``auto row = x.row(i...); value = row(j)``: all coordinates but the last, then the last.
        Gives the compute type. Carries whatever was fused into the operand. ``shape`` is the shape the kernel walks."""

    def writer(self, shape: Shape | None = None, output: int = 0) -> str:
        """An object written as ``auto row = out.row(i...); row(j, value)``, once for every element of a result. A node
        of several results absorbs no epilogue; those that nobody reads are written nowhere."""

    @property
    def rowwise(self) -> bool:
        """Whether row reductions were fused: then ``writer()`` is an object with ``out.finish(i..., const Acc* row,
        float* scratch)``, called once per complete row of the result instead, and ``out.scratch_floats(n)``."""

    def scratch_bytes(self) -> Dim:
        """Bytes of ``scratch`` a row-wise writer needs per thread."""

    def size(self, size: Dim) -> str:
        """A symbolic size, ``index_t``."""

    def ctype(self, param: str) -> str:
        """C++ storage type of an operand."""

    def workspace(self, nbytes: Dim) -> str:
        """``void*`` to 64-byte aligned scratch memory of the run; ``nbytes`` may use the symbol ``threads``."""

    def packed(self, param: str, nbytes: Dim, statement: str) -> str:
        """For a constant operand: ``const void*`` to memory that ``statement`` filled when the model was loaded.
        The statement sees ``src`` (``const T*``), ``dst`` (``void*``), ``strides`` (array) and ``threads``."""

    def is_constant(self, param: str) -> bool:
        """Whether the operand is known at load time (a weight, or computed from weights alone)."""

    def body(self, statement: str) -> None:
        """Append a C++ statement to the kernel function."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel template.

    Args:
        name: unique, ``pack.target.what``.
        op: the op it computes.
        target: backend name, ``"cpu"``.
        render: writes the call, see :class:`KernelBuilder`.
        absorbs: what may be fused in.
        features: architecture features it needs, such as ``{"avx512bf16"}``.
        headers: every header whose text decides the result, relative to the plugin's include directories; part of
            cache keys.
        accepts: ``accepts(node, target)`` gives None, or the reason why this node cannot be served, in words.
        space: ``space(node, target)`` gives the tuning candidates, each a dict that ``render`` finds in ``k.choice``.
        cost: ``cost(node, choice, target)`` estimates seconds; the smallest wins where nothing was measured.
        shapes: ``shapes(node)`` gives the shape as which an operand is walked, where it is not its own (leading axes
            merged into one, say); a layout that strides cannot say in that shape is copied first.
    """

    name: str
    op: str
    target: str
    render: Callable[[KernelBuilder], None]
    absorbs: Absorbs = field(default_factory=Absorbs)
    features: frozenset[str] = frozenset()
    headers: tuple[str, ...] = ()
    accepts: Callable[[Node, Target], str | None] = lambda node, target: None
    space: Callable[[Node, Target], Sequence[Mapping[str, Any]]] = lambda node, target: ({},)
    cost: Callable[[Node, Mapping[str, Any], Target], float] = lambda node, choice, target: 0.0
    shapes: Callable[[Node], Mapping[str, tuple[Dim, ...]]] = lambda node: {}


def kernels_in(*modules: ModuleType) -> list[Kernel]:
    """All kernel templates at the top level of some modules: what the hook ``ait_kernels`` returns."""
    return [v for m in modules for v in vars(m).values() if isinstance(v, Kernel)]
