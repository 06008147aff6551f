# SPDX-License-Identifier: Apache-2.0
"""From launches to ``model.cpp``: the tables that the runtime walks (see ``runtime/include/ait/program.h``)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ait_core.codegen.kernel import THREADS, Launch, Pointer
from ait_core.fuse.place import Buffer, Placement
from ait_core.ir import dims
from ait_core.ir.dims import Dim
from ait_core.ir.graph import Graph, Value
from ait_core.memory.arena import Request, plan

_ENUM = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "boolean"}  # fmt: skip


@dataclass
class ModelSource:
    """Everything the build needs: C++ sources by file name, and the weights block as arrays with their offsets."""

    sources: dict[str, str]
    weights: list[tuple[int, Value]]
    weights_bytes: int
    peak_bytes: Dim
    manifest: dict[str, Any] = field(default_factory=dict)

    def model_cpp(self, embed: bool, manifest: str) -> str:
        """``model.cpp`` with the manifest, and with the weights' symbol if they go into the library."""
        text = self.sources["model.cpp"].replace("@WEIGHTS@", "ait_weights" if embed else "nullptr")
        return text.replace("@MANIFEST@", "\n".join(f"    {cstring(manifest[i : i + 96])}" for i in range(0, len(manifest), 96)))


class _Expressions:
    """Symbolic sizes as numbered expressions; the dims come first."""

    def __init__(self, symbols: list[dims.DimSymbol]) -> None:
        self.ids: dict[Dim, int] = {s: i for i, s in enumerate(symbols)}
        self.count = len(symbols)

    def id(self, size: Dim) -> int:
        if size not in self.ids:
            self.ids[size] = len(self.ids)
        return self.ids[size]

    def cpp(self) -> str:
        def name(symbol) -> str:
            return "threads" if symbol == THREADS else f"values[{self.ids[symbol]}]"

        rows = [f"  values[{i}] = {dims.cpp(e, name)};" for e, i in self.ids.items() if i >= self.count]
        return "\n".join(["static void evaluate([[maybe_unused]] index_t threads, [[maybe_unused]] index_t* values) {", *rows, "}"])


def cstring(text: str) -> str:
    """A C string literal; anything but plain printable ASCII is escaped, so no name can break out of it."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        c = chr(byte)
        out.append(c if byte < 128 and (c.isalnum() or c in " _-.,:;+*/()[]{}<>=#%&|!^~$'") else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _table(ctype: str, name: str, rows: list[str]) -> str:
    body = "".join(f"    {r},\n" for r in rows) or "    {},\n"
    return f"static const {ctype} {name}[] = {{\n{body}}};"


class _Tables:
    def __init__(self, graph: Graph, constants: dict[int, int]) -> None:
        self.exprs = _Expressions(graph.symbols)
        self.constants = constants  # the numbers that the model gives them
        self.slots: list[str] = []
        self.step_dims: list[str] = []
        self.groups: list[str] = []
        self.ids: dict[int, int] = {}

    def pointer(self, p: Pointer) -> str:
        index = p.buffer.index if p.buffer.space in ("input", "output") else 0
        if p.buffer.space == "constant":
            index = self.constants[p.buffer.index]
        offset = self.exprs.id(dims.as_dim(p.buffer.offset + p.offset))
        return f"{{Space::{p.buffer.space}, {index}, {offset}}}"

    def step(self, launch: Launch) -> str:
        key = id(launch.group)
        if key not in self.ids:
            self.ids[key] = len(self.groups)
            self.groups.append(f"{{{cstring(launch.group.name)}, {cstring(launch.group.ops)}}}")
        first, first_dim = len(self.slots), len(self.step_dims)
        self.slots += [self.pointer(p) for p in launch.pointers]
        self.step_dims += [str(self.exprs.id(d)) for d in launch.dims]
        return (f"{{{launch.function}, {self.ids[key]}, {first}, {len(launch.pointers)}, {first_dim}, {len(launch.dims)}}}"
                f"  /* {_comment(launch.group.name)}: {_comment(launch.group.ops)} */")  # fmt: skip

    def tensor(self, prefix: str, i: int, name: str, v: Value, extra: list[str]) -> str:
        ids = ", ".join(str(self.exprs.id(s)) for s in v.shape) or "0"
        extra.append(f"static const std::uint32_t {prefix}{i}_shape[] = {{{ids}}};")
        return f"{{{cstring(name)}, DType::{_ENUM[v.dtype.name]}, {v.type.rank}, {prefix}{i}_shape}}"


def manifest_text(manifest: dict[str, Any]) -> str:
    """The manifest as the artifact carries it. The order of keys counts: that of the arguments is the call's."""
    return json.dumps(manifest, ensure_ascii=True)


def _comment(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in " _.+-") else "_" for c in text)


def place_memory(run: list[Launch], load: list[Launch]) -> tuple[Dim, int]:
    """Give arena and derived buffers their offsets; returns the sizes of both."""
    requests: dict[Buffer, Request] = {}
    for i, launch in enumerate(run):
        for p in launch.pointers:
            if p.buffer.space == "arena":
                r = requests.setdefault(p.buffer, Request(p.buffer, i, i))
                r.last = i
    arena = plan(list(requests.values()))
    kept: dict[Buffer, Request] = {}  # what only the load-time program needs gives its room back to it
    for i, launch in enumerate([*load, *run]):
        for p in launch.pointers:
            if p.buffer.space == "derived":
                r = kept.setdefault(p.buffer, Request(p.buffer, i, i))
                r.last = i if i < len(load) else len(load) + len(run)
    derived = int(plan(list(kept.values())))  # type: ignore[arg-type]
    return arena, derived


def build_model(graph: Graph, placement: Placement, run: list[Launch], load: list[Launch], isa: tuple[str, ...],
                manifest: dict[str, Any]) -> ModelSource:  # fmt: skip
    """The sources of a model: one file a distinct kernel, and ``model.cpp``."""
    arena, derived = place_memory(run, load)
    used = {p.buffer.index for launch in [*run, *load] for p in launch.pointers if p.buffer.space == "constant"}
    renumber: dict[int, int] = {}
    weights: list[tuple[int, Value]] = []
    offset = 0
    for i, v in enumerate(placement.constants):
        if i in used:
            renumber[i] = len(weights)
            weights.append((offset, v))
            offset += -(-v.constant.array.nbytes // 64) * 64  # type: ignore[union-attr]
    t = _Tables(graph, renumber)
    extra: list[str] = []
    load_rows, run_rows = [t.step(x) for x in load], [t.step(x) for x in run]
    inputs = [t.tensor("input", i, v.name, v, extra) for i, v in enumerate(graph.inputs)]
    outputs = [t.tensor("output", i, n, v, extra) for i, (n, v) in enumerate(graph.outputs.items())]
    constants = []
    for i, (at, v) in enumerate(weights):
        a = v.constant.array  # type: ignore[union-attr]
        extra.append(f"static const index_t constant{i}_shape[] = {{{', '.join(map(str, a.shape)) or '0'}}};")
        name = constant_name(v, i)
        constants.append(f"{{{cstring(name)}, DType::{_ENUM[v.dtype.name]}, {a.ndim}, constant{i}_shape, {at}u, {a.nbytes}u}}")
    arena_id = t.exprs.id(arena)
    functions = list(dict.fromkeys(x.function for x in [*load, *run]))
    described = [{"name": constant_name(v, i), "dtype": str(v.dtype), "shape": list(v.shape), "bytes": v.type.nbytes}
                 for i, (_, v) in enumerate(weights)]  # fmt: skip
    manifest = {**manifest, "constants": described, "peak_bytes": peak(arena), "derived_bytes": derived,
                "weights_bytes": offset}  # fmt: skip
    lines = [
        "// The model as tables: what to call, with what, in which order.",
        '#include "ait/program.h"',
        "",
        *(f'extern "C" void {f}(const ait::KernelContext&, void* const*, const ait::index_t*);' for f in functions),
        'extern "C" const unsigned char ait_weights[];',
        "",
        "namespace ait {",
        "static inline index_t imin(index_t a, index_t b) { return a < b ? a : b; }",
        "static inline index_t imax(index_t a, index_t b) { return a > b ? a : b; }",
        "static inline index_t floor_index(index_t i, index_t n) { return i / n - (i % n < 0); }",
        "static inline index_t mod_index(index_t i, index_t n) { return i - floor_index(i, n) * n; }",
        "namespace {",
        "const char manifest_[] =\n@MANIFEST@;",
        *extra,
        _table("Dim", "dims_", [f"{{{cstring(s.name)}, {s.lo}, {s.hi}}}" for s in graph.symbols]),
        _table("TensorSpec", "inputs_", inputs),
        _table("TensorSpec", "outputs_", outputs),
        _table("ConstantSpec", "constants_", constants),
        _table("Group", "groups_", t.groups),
        _table("Slot", "slots_", t.slots),
        _table("std::uint32_t", "step_dims_", t.step_dims or ["0"]),
        _table("Step", "load_steps_", load_rows),
        _table("Step", "run_steps_", run_rows),
        t.exprs.cpp(),
        "}  // namespace",
        "",
        "extern const Program program = {",
        f"    manifest_, {len(graph.symbols)}, dims_, {len(t.exprs.ids)}, evaluate,",
        f"    {len(inputs)}, {len(outputs)}, {len(constants)}, {len(t.groups)}, inputs_, outputs_, constants_, groups_,",
        f"    slots_, step_dims_, {len(load_rows)}, {len(run_rows)}, load_steps_, run_steps_,",
        f"    {arena_id}, {derived}u, {cstring(' '.join(isa))}, @WEIGHTS@, {offset}u,",
        "};",
        "}  // namespace ait",
        "",
    ]
    sources = units([*load, *run])
    sources["model.cpp"] = "\n".join(lines)
    return ModelSource(sources, weights, offset, arena, manifest)


UNIT = 8  # loop kernels a translation unit: parsing the headers costs more than compiling one of them


def units(launches: list[Launch]) -> dict[str, str]:
    """Translation units by file name: templates' kernels alone, loop kernels a few together."""
    out: dict[str, str] = {}
    loops: dict[str, str] = {}
    for x in launches:
        if x.group.kernel is None:
            loops[x.function] = x.source
        else:
            out[f"{x.function}.cpp"] = x.source
    texts = list(loops.values())
    for i in range(0, len(texts), UNIT):
        out[f"loops_{i // UNIT}.cpp"] = "\n".join(texts[i : i + UNIT])
    return out


def constant_name(v: Value, i: int) -> str:
    """The name in the artifact: a parameter's own; ``$n`` for fixed data, which users cannot replace."""
    return v.constant.parameter or f"${i}"  # type: ignore[union-attr]


def peak(arena: Dim) -> int:
    """Bytes of the arena at the upper bounds, with one thread per core of a large machine counted as 2."""
    if isinstance(arena, int):
        return arena
    return dims.bounds(arena.subs({THREADS: 2}))[1]
