# SPDX-License-Identifier: Apache-2.0
"""From a fused group to the source of one kernel function, and what the function must be called with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from ait_core.codegen import loops
from ait_core.codegen.cpp import ELEMENT, ROW, Block, Emitter, Site, indent, linear
from ait_core.declare.backend import Backend, Target
from ait_core.declare.kernel import THREADS
from ait_core.errors import InternalError
from ait_core.fuse.groups import Fuser, Group, epilogue, natural_anchor, param_name
from ait_core.fuse.lower import Lowerer
from ait_core.fuse.nest import LoopNest, build_nest
from ait_core.fuse.place import Buffer, Place, Placement
from ait_core.ir import dims
from ait_core.ir.dims import Dim, Shape
from ait_core.ir.graph import Node, Value
from ait_core.ir.index import Affine, var
from ait_core.ir.layout import Layout
from ait_core.ir.views import Reshape


@dataclass(frozen=True)
class Pointer:
    """One operand slot: a place in a buffer. ``offset`` is in bytes from the buffer's start."""

    buffer: Buffer
    offset: Dim = 0


@dataclass
class Launch:
    """One kernel call: the function's source (shared by equal kernels) and its operands."""

    group: Group
    source: str
    function: str
    pointers: list[Pointer]
    dims: list[Dim]
    before: list[Launch] = field(default_factory=list)  # load-time launches it needs (packing)


class SourceBuilder:
    """Builds one kernel function; implements :class:`ait_core.declare.kernel.KernelBuilder` for templates, and offers
    expression emission for backends' loop kernels."""

    def __init__(self, group: Group, fuser: Fuser, placement: Placement, backend: Backend, target: Target,
                 choice: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        self.group, self.fuser, self.placement, self.backend, self.target = group, fuser, placement, backend, target
        self.choice = choice or {}
        self.headers: list[str] = []
        self.top = Block()
        self.emitter = Emitter(self._site, self._strided, self.size)
        self.pointers: list[Pointer] = []
        self._names: dict[object, str] = {}
        self._declared: list[str] = []
        self._dims: dict[sympy.Symbol, str] = {}
        self._before: list[Launch] = []
        self._alone = False

    # -- operands ------------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """The anchor."""
        if self.group.anchor is None:
            raise InternalError(f"Group {self.group.name} has no anchor.")
        return self.group.anchor

    def include(self, header: str) -> None:
        if header not in self.headers:
            self.headers.append(header)

    def size(self, size: Dim) -> str:
        return dims.cpp(size, self._dim_name)

    def _dim_name(self, symbol: sympy.Symbol) -> str:
        if symbol == THREADS:
            return "ctx.threads"
        return self._dims.setdefault(symbol, f"dim_{symbol.name}")

    def body(self, statement: str) -> None:
        self.top.lines += statement.split("\n")

    def _slot(self, key: object, stem: str, ctype: str, pointer: Pointer, restrict: bool = True) -> str:
        if key not in self._names:
            name, n = stem, 1
            while name in self._names.values():
                n += 1
                name = f"{stem}{n}"
            self._names[key] = name
            self._declared.append(
                f"{ctype}* {'AIT_RESTRICT ' if restrict else ''}{name} = static_cast<{ctype}*>(p[{len(self.pointers)}]);"
            )
            self.pointers.append(pointer)
        return self._names[key]

    def _strided(self, v: Value) -> Layout:
        return self._place(v).layout

    def _place(self, v: Value) -> Place:
        place = self.placement.of(v)
        if place is None:
            raise InternalError(f"{v} has no place in memory, but kernel {self.group.name} needs it there.")
        return place

    def _site(self, v: Value, start: Dim) -> Site:
        place = self._place(v)
        written = v in self.group.outputs
        storage = v.dtype.storage if written else f"const {v.dtype.storage}"
        offset = dims.as_dim((place.layout.offset + start) * v.dtype.itemsize)
        return Site(self._slot((v, start), self._stem(v), storage, Pointer(place.buffer, offset)), storage)

    def _stem(self, v: Value) -> str:
        """A readable name: what the value is to the op that reads it; results are called ``out``."""
        if v in self.group.outputs:
            return "out"
        for n in self._all_nodes():
            for i, x in enumerate(n.inputs):
                if x is not None and self._base(x) is v:
                    return _identifier(f"{n.op.name.split('.')[1]}_{param_name(n, i)}")
        return "x"

    def _all_nodes(self) -> list[Node]:
        return self.group.members + [n for n in self.fuser.of if self.fuser.recomputed(n)]

    @staticmethod
    def _base(v: Value) -> Value:
        from ait_core.fuse.lower import base_of

        return base_of(v)[0]

    def _operand(self, param: str) -> tuple[Value, int]:
        for i, v in enumerate(self.node.inputs):
            if v is not None and param_name(self.node, i) == param:
                return self.placement.operand.get((self.node, i), v), i
        raise InternalError(f"{self.node.op.name} has no operand {param}.")

    def has(self, param: str) -> bool:
        """Whether an optional operand is present."""
        return any(v is not None and param_name(self.node, i) == param for i, v in enumerate(self.node.inputs))

    def ctype(self, param: str) -> str:
        return self._operand(param)[0].dtype.storage

    def _layout(self, param: str) -> tuple[Value, Buffer, Layout]:
        v, _ = self._operand(param)
        place = self.placement.of(v)
        shape = self.group.kernel.shapes(self.node).get(param, v.shape)  # type: ignore[union-attr]
        layout = Reshape(shape).layout(place.layout) if place else None
        if place is None or layout is None:
            raise InternalError(f"{self.group.name}: operand {param} has no strides as {shape}.")
        return v, place.buffer, layout

    def pointer(self, param: str) -> str:
        v, buffer, layout = self._layout(param)
        offset = dims.as_dim(layout.offset * v.dtype.itemsize)
        return self._slot((param, "pointer"), param, f"const {v.dtype.storage}", Pointer(buffer, offset))

    def strides(self, param: str) -> list[str]:
        return [self.size(s) for s in self._layout(param)[2].strides]

    def is_constant(self, param: str) -> bool:
        return self._operand(param)[0] in self.fuser.constant

    def workspace(self, nbytes: Dim) -> str:
        if self.group.load_time:  # there is no arena yet, and derived memory has a fixed size: work on one thread
            self._alone = True
            nbytes = dims.as_dim(sympy.sympify(nbytes).subs({THREADS: 1}))
        buffer = Buffer("derived" if self.group.load_time else "arena", 0, dims.as_dim(nbytes))
        return self._slot(buffer, "workspace", "char", Pointer(buffer))

    def packed(self, param: str, nbytes: Dim, statement: str) -> str:
        v, source, layout = self._layout(param)
        target = Buffer("derived", 0, nbytes)
        pack = SourceBuilder(self.group, self.fuser, self.placement, self.backend, self.target, self.choice)
        pack.headers = list(self.headers)
        storage = f"const {v.dtype.storage}"
        pack._slot("src", "src", storage, Pointer(source, dims.as_dim(layout.offset * v.dtype.itemsize)))
        pack._slot("dst", "dst", "char", Pointer(target))
        strides = ", ".join(self.size(s) for s in layout.strides) or "0"
        pack.body(f"const ait::index_t strides[] = {{{strides}}};\nconst int threads = ctx.threads;\n{statement}")
        self._before.append(pack.launch(f"{param} of {self.node.op.name}, packed when the model is loaded"))
        return self._slot((param, "packed"), f"{param}_packed", "const char", Pointer(target))

    # -- functors ------------------------------------------------------------------------------------------------------

    def _inside(self, n: Node) -> bool:
        return self.fuser.of.get(n) is self.group or self.fuser.recomputed(n)

    def reader(self, param: str, shape: Shape | None = None) -> str:
        v, _ = self._operand(param)
        shape = v.shape if shape is None else shape
        at = tuple(var(f"k{i}", n) for i, n in enumerate(shape))
        e = Lowerer(self._inside, {}).at(v, Reshape(shape).coords(at, v.shape))
        row, element = self._functor_blocks(len(shape))
        value = self.emitter.emit(e, element)
        element.lines.append(f"return {value};")
        return self._rows(f"read_{param}", row, element, len(shape), "")

    def _functor_blocks(self, rank: int) -> tuple[Block, Block]:
        row = self.top.child(*(f"k{i}" for i in range(rank - 1)), ROW)
        return row, row.child(f"k{rank - 1}", ELEMENT)

    def _rows(self, stem: str, row: Block, element: Block, rank: int, value: str) -> str:
        name = self.emitter.fresh(f"{stem}_")
        args = ", ".join(f"[[maybe_unused]] ait::index_t k{i}" for i in range(rank - 1))
        last = f"[[maybe_unused]] ait::index_t k{max(rank - 1, 0)}"
        inner = [f"return [=]({last}{value}) AIT_LAMBDA_INLINE {{", *indent(element.lines), "};"]
        self.top.lines += [f"const ait::Rows {name}{{[=, &ctx]({args}) AIT_LAMBDA_INLINE {{",
                           *indent([*row.lines, *inner]), "}};"]  # fmt: skip
        return name

    @property
    def rowwise(self) -> bool:
        return self.group.rowwise

    def writer(self, shape: Shape | None = None, output: int = 0) -> str:
        out = self.node.outputs[output]
        shape = out.shape if shape is None else shape
        acc = out.dtype.compute
        if self.rowwise:
            return self._finisher(out, shape, acc)
        others = set(self.node.outputs) - {out}
        stored = [v for v in self.group.outputs if v not in others]
        e = epilogue(out, self.group.nodes, stored, self._inside, shape)
        row, element = self._functor_blocks(len(shape))
        self.emitter.carried["acc"] = lambda block, leaf: "acc"
        for v, coords, expr in e.stores:
            self.emitter.store(v, coords, expr, element)
        return self._rows("write", row, element, len(shape), f", {acc} acc")

    def _finisher(self, out: Value, shape: Shape, acc: str) -> str:
        anchor = natural_anchor(out, shape)
        nest = build_nest(self.group.nodes, self.group.outputs, self._inside, anchor)
        row = self.top.child(*(f"k{i}" for i in range(len(shape) - 1)), ROW)
        line = Layout.contiguous((out.shape[-1],))
        self.emitter.carried["acc"] = lambda block, leaf: "*(" + self.emitter.pointer(
            "acc", f"const {acc}", line, (_affine(leaf.args[0]),), block, "acc")[0] + ")"  # fmt: skip
        loops.emit_row(nest, self.emitter, row, "reinterpret_cast<char*>(scratch)")
        name = self.emitter.fresh("finish_")
        args = ", ".join(f"[[maybe_unused]] ait::index_t k{i}" for i in range(len(shape) - 1))
        floats = self.size(dims.as_dim(dims.floor_div(nest.scratch_bytes(), 4)))
        self.top.lines += [
            f"const ait::FinishRows {name}{{{floats}, [=, &ctx]({args}, const {acc}* AIT_RESTRICT acc, "
            "[[maybe_unused]] float* scratch) AIT_LAMBDA_INLINE {", *indent(row.lines), "}};"]  # fmt: skip
        return name

    def scratch_bytes(self) -> Dim:
        """Bytes of scratch a row-wise epilogue needs per thread; 0 otherwise."""
        if not self.rowwise:
            return 0
        anchor = natural_anchor(self.node.output)
        return build_nest(self.group.nodes, self.group.outputs, self._inside, anchor).scratch_bytes()

    # -- loops ---------------------------------------------------------------------------------------------------------

    def nest(self) -> LoopNest:
        """The loop nest of a group without anchor, its inner loop flattened over as many axes as walk evenly."""
        rank = self.group.outputs[0].type.rank
        for inner in range(rank, 1, -1):
            nest = build_nest(self.group.nodes, self.group.outputs, self._inside, inner_rank=inner)
            if any(s.reduces for s in nest.stages) or loops.is_flat(nest, self.address_of):
                return nest
        return build_nest(self.group.nodes, self.group.outputs, self._inside)

    def address_of(self, v: Value, coords: tuple[Affine, ...]) -> Affine:
        """Where an element lies, in elements from the start of its tensor."""
        return linear(coords, self._strided(v).strides)

    # -- the result ----------------------------------------------------------------------------------------------------

    def launch(self, title: str | None = None) -> Launch:
        """The finished function and its operands."""
        unpack = [f"const ait::index_t {name} = d[{i}];" for i, name in enumerate(self._dims.values())]
        lines = [
            f"// {title or self.group.ops}",
            '#include "ait/program.h"',
            f'#include "{self.backend.prelude}"',
            '#include "ait/functors.h"',
            *(f'#include "{h}"' for h in self.headers),
            "",
            f'extern "C" void @NAME@([[maybe_unused]] const ait::KernelContext& {"run" if self._alone else "ctx"}, '
            "void* const* p, [[maybe_unused]] const ait::index_t* d) {",
            *indent(["const ait::KernelContext ctx{1, run.stream, run.fault, run.group};"] if self._alone else []),
            *indent([*unpack, *self._declared, *self.top.lines]),
            "}",
            "",
        ]
        text = "\n".join(lines)
        function = "ait_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:16]
        return Launch(self.group, text.replace("@NAME@", function), function, self.pointers,
                      list(self._dims), self._before)  # fmt: skip


def _affine(e) -> Affine:
    from ait_core.ir.index import affine

    return affine(e)


def _identifier(text: str) -> str:
    return re.sub(r"\W", "_", text)


def build_launch(group: Group, fuser: Fuser, placement: Placement, backend: Backend, target: Target,
                 choice: Mapping[str, Any] | None = None) -> Launch:  # fmt: skip
    """The kernel of one group."""
    k = SourceBuilder(group, fuser, placement, backend, target, choice)
    if group.kernel is not None:
        for h in group.kernel.headers[:1]:
            k.include(h)
        group.kernel.render(k)
    else:
        backend.loops(k.nest(), k)
    return k.launch()


