# SPDX-License-Identifier: Apache-2.0
"""Loop nests as C++: the stages of one row. Serial inside a row with a SIMD innermost loop; how rows are spread over
threads is the backend's business."""

from __future__ import annotations

from ait_core.codegen.cpp import Block, Emitter, indent
from ait_core.fuse.nest import LoopNest, Reduce, Stage
from ait_core.ir import dims
from ait_core.ir.dims import Shape
from ait_core.ir.index import affine, var
from ait_core.ir.layout import Layout
from ait_core.ir.views import Coords
from ait_core.scalar.expr import INDEX, Expr

START = {"sum": "0", "prod": "1", "maximum": "ait::lowest<{0}>", "minimum": "ait::highest<{0}>", "any": "false",
         "all": "true", "argmax": "0", "argmin": "0"}  # fmt: skip
COMBINE = {"sum": "{0} = {0} + {1};", "prod": "{0} = {0} * {1};", "maximum": "{0} = ait::max({0}, {1});",
           "minimum": "{0} = ait::min({0}, {1});", "any": "{0} = {0} || {1};", "all": "{0} = {0} && {1};"}  # fmt: skip
CLAUSE = {"sum": "+", "prod": "*", "maximum": "ait_max", "minimum": "ait_min", "any": "||", "all": "&&"}


def emit_row(nest: LoopNest, emitter: Emitter, row: Block, scratch: str) -> None:
    """Append all stages of one row to ``row``. ``scratch`` is C++ for this thread's ``char*`` scratch memory."""
    _RowWriter(nest, emitter, row, scratch).run()


class _RowWriter:
    def __init__(self, nest: LoopNest, emitter: Emitter, row: Block, scratch: str) -> None:
        self.nest, self.emitter, self.row = nest, emitter, row
        self.arrays: dict[object, tuple[str, Layout, str]] = {}
        self.offset: dims.Dim = 0
        for c in nest.scratch:
            self._array(c, "kept", c.expr.kind, c.shape, scratch)
        for r in nest.accumulators:
            for what, kind in r.arrays.items():
                self._array((r.value, what) if what == "best" else r.value, what, kind, r.shape, scratch)
        for key in self.arrays:
            emitter.carried[key] = self._read_array

    def _array(self, key: object, stem: str, kind: str, shape: Shape, scratch: str) -> None:
        """Declare an array of one row in scratch memory."""
        name, at = self.emitter.fresh(stem), self.emitter.size(self.offset)
        self.row.lines.append(f"{kind}* AIT_RESTRICT {name} = reinterpret_cast<{kind}*>({scratch} + {at});")
        self.arrays[key] = (name, Layout.contiguous(shape), kind)
        self.offset = dims.as_dim(self.offset + dims.ceil_div(dims.prod(shape) * 8, 64) * 64)

    def run(self) -> None:
        for stage in self.nest.stages:
            self._stage(stage)

    def _read_array(self, block: Block, e: Expr) -> str:
        kind = self.arrays[e.payload.what][2]
        return self._element(e.payload.what, kind, tuple(affine(a) for a in e.args), block)

    def _element(self, key: object, kind: str, at: Coords, block: Block) -> str:
        """C++ for an element of an array."""
        name, layout, _ = self.arrays[key]
        return f"*({self.emitter.pointer(name, kind, layout, at, block, key)[0]})"

    def _stage(self, stage: Stage) -> None:
        row, emitter = self.row, self.emitter
        for r in stage.reduces:
            self._start(r, row)
        blocks = [row]
        for v in stage.loops:
            blocks.append(blocks[-1].child(v.name))
        body, outside = blocks[-1], blocks[-2] if stage.loops else row
        inner = stage.loops[-1].name if stage.loops else None
        clauses: dict[str, list[str]] = {}
        serial = False
        after: list[str] = []
        for r in stage.reduces:
            if r.combine.startswith("arg"):
                self._extreme(r, body)
                serial = True
                continue
            value = emitter.emit(r.expr, body)
            target = self._accumulator(r, body, outside, inner, after)
            body.lines.append(COMBINE[r.combine].format(target, value))
            if "[" not in target and "*" not in target:
                clauses.setdefault(CLAUSE[r.combine], []).append(target)
        for c in stage.carries:
            value = emitter.emit(c.expr, body)
            at = tuple(var(v.name, v.size) for v in c.loops)
            body.lines.append(f"{self._element(c, c.expr.kind, at, body)} = {value};")
        for s in stage.stores:
            emitter.store(s.value, s.coords, s.expr, body)
        for v, block in reversed(list(zip(stage.loops, blocks[1:], strict=True))):
            simd = []
            if v.name == inner and not serial:
                simd = ["#pragma omp simd" + "".join(f" reduction({op}:{', '.join(n)})" for op, n in clauses.items())]
            size = emitter.size(v.size)
            head = f"for (ait::index_t {v.name} = 0; {v.name} < {size}; ++{v.name}) {{"
            target = block.parent
            target.lines += [*simd, head, *indent(block.lines), "}"]  # type: ignore[union-attr]
            if v.name == inner:
                target.lines += after  # type: ignore[union-attr]
        for r in stage.reduces:
            if not r.shape:
                result = self._scalar(r)
                if r.kind != r.expr.kind:
                    result = emitter.fresh("total")
                    self.row.lines.append(f"const {r.expr.kind} {result} = ait::cast<{r.expr.kind}>({self._scalar(r)});")
                self.row.names[_result(r)] = result

    def _scalar(self, r: Reduce) -> str:
        return self.row.names[(r.value, "scalar")]

    def _start(self, r: Reduce, row: Block) -> None:
        kind = r.kind
        if r.shape and r.position is not None:
            return  # every extreme has a first element, which needs nothing to be compared with
        start = START[r.combine].format(kind)
        if r.shape:
            name, layout, _ = self.arrays[r.value]
            n = self.emitter.size(dims.prod(layout.shape))
            row.lines.append(f"for (ait::index_t i = 0; i < {n}; ++i) {name}[i] = {start};")
            return
        name = self.emitter.fresh("r")
        if r.combine.startswith("arg"):
            row.lines += [f"{kind} {name}_best = 0;", f"std::int64_t {name} = 0;"]
        else:
            row.lines.append(f"{kind} {name} = {start};")
        row.names[(r.value, "scalar")] = name

    def _accumulator(self, r: Reduce, body: Block, outside: Block, inner: str | None, after: list[str]) -> str:
        if not r.shape:
            return self._scalar(r)
        where = self._element(r.value, r.kind, r.into, body)
        if inner is None or any(inner in self.emitter.needs(t) for c in r.into for t in c.terms):
            return where
        local = self.emitter.fresh("part")  # the innermost loop is reduced: sum it up in a register first
        outside.lines.append(f"{r.kind} {local} = {START[r.combine].format(r.kind)};")
        after.append(COMBINE[r.combine].format(self._element(r.value, r.kind, r.into, outside), local))
        return local

    def _extreme(self, r: Reduce, body: Block) -> None:
        value, at = self.emitter.emit(r.expr, body), self.emitter.emit(r.position, body)  # type: ignore[arg-type]
        larger = "true" if r.combine == "argmax" else "false"
        if r.shape:
            place = self._element(r.value, INDEX, r.into, body)
            best = self._element((r.value, "best"), r.expr.kind, r.into, body)
        else:
            place, best = self._scalar(r), f"{self._scalar(r)}_best"
        body.lines.append(f"if (ait::better<{larger}>({value}, {best}, {at} == 0)) {{ {best} = {value}; {place} = {at}; }}")


def _result(r: Reduce) -> Expr:
    from ait_core.fuse.lower import Carry

    return Expr("carry", (), r.value.dtype.compute, Carry(r.value))


def is_flat(nest: LoopNest, address) -> bool:
    """Whether no address divides by the inner loop variable, so the flattened inner loop is a plain walk.
    ``address(value, coords) -> Affine``."""
    from ait_core.fuse.nest import walk

    inner = {v.name for s in nest.stages for v in s.loops}

    division = ("idiv", "imod")

    def divides(e: Expr) -> bool:
        return any(x.op in division and any(y.op == "var" and y.payload.name in inner for y in walk([x])) for x in walk([e]))

    for stage in nest.stages:
        exprs = list(stage.exprs())
        sites = [(x.payload, tuple(affine(a) for a in x.args)) for e in exprs for x in walk([e]) if x.op == "load"]
        sites += [(s.value, s.coords) for s in stage.stores]
        for v, coords in sites:
            if any(divides(t) for t in address(v, coords).terms):
                return False
        for e in exprs:  # divisions that are values, not addresses
            users = (x for x in walk([e]) if x.op not in ("load", "mul", "add", *division))
            if any(a.op in division and divides(a) for x in users for a in x.args):
                return False
    return True


