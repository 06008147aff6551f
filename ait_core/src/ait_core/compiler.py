# SPDX-License-Identifier: Apache-2.0
"""The way through the house: from a graph to fused groups, kernels, sources, and a library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ait_core.build.driver import EMBED_LIMIT, Builder, Built, Progress
from ait_core.codegen.kernel import Launch, build_launch
from ait_core.codegen.model import ModelSource, build_model
from ait_core.declare import roles
from ait_core.declare.backend import Backend, Target
from ait_core.declare.kernel import Kernel
from ait_core.errors import GraphError, UnsupportedError
from ait_core.fuse.groups import Fuser, is_loop
from ait_core.fuse.horizontal import merge_contractions
from ait_core.fuse.place import Placement, Placer
from ait_core.fuse.prepare import expand_contractions
from ait_core.fuse.work import group_work
from ait_core.ir.graph import Graph, Node
from ait_core.ir.verify import verify
from ait_core.passes.pipeline import Record, pass_names, run_passes
from ait_core.plugins.registry import Registry

FUSIONS = {
    "horizontal": "contractions of one operand become one",
    "vertical": "nodes share kernels",
    "memory": "joins and views are written and read in place",
}


@dataclass
class Plan:
    """A model decided, before anything is compiled: what ``ait explain`` and ``ait graph`` show."""

    source_graph: Graph
    graph: Graph
    records: list[Record]
    fuser: Fuser
    placement: Placement
    target: Target
    backend: Backend
    run: list[Launch]
    load: list[Launch]


def switches() -> list[str]:
    """Names of everything that can be switched off."""
    return [n for n in (*pass_names(), *FUSIONS) if n != "expand_composites"]  # without it some models have no kernels


def make_plan(graph: Graph, registry: Registry, target: Target, disable: str | Iterable[str] = ()) -> Plan:
    """Run the passes, fuse, place, and write the kernels of a graph.

    Raises:
        UnsupportedError: listing every node that no installed template can serve, and why.
        GraphError: for an unknown name in ``disable``.
    """
    off = {disable} if isinstance(disable, str) else set(disable)
    unknown = off - set(switches())
    if unknown:
        raise GraphError(f"Nothing called {', '.join(sorted(unknown))} can be switched off. There is: {', '.join(switches())}.")
    backend = registry.backends[target.backend]
    select = _Selector(registry, target)
    passes_off = off & set(pass_names())
    optimised, records = run_passes(
        graph, registry, passes_off - {"expand_composites"}, keep=lambda n: select(n) is not None
    )
    if "horizontal" not in off:
        optimised = merge_contractions(optimised)
    optimised = expand_contractions(optimised)
    verify(optimised, "fusion")
    select.check(optimised)
    fuser = Fuser(optimised, select, vertical="vertical" not in off)
    placement = Placer(optimised, fuser, memory="memory" not in off).out
    _name_groups(placement)
    launches = [build_launch(g, fuser, placement, backend, target, select.choice(g.anchor)) for g in placement.order]
    load = [x for launch in launches for x in [*launch.before, *([launch] if launch.group.load_time else [])]]
    run = [x for x in launches if not x.group.load_time]
    return Plan(graph, optimised, records, fuser, placement, target, backend, run, load)


class _Selector:
    """Which template computes a node."""

    def __init__(self, registry: Registry, target: Target) -> None:
        self.registry, self.target = registry, target
        self.found: dict[Node, tuple[Kernel, Mapping[str, Any]] | None] = {}
        self.reasons: dict[Node, list[str]] = {}

    def __call__(self, node: Node) -> Kernel | None:
        chosen = self._choose(node)
        return chosen[0] if chosen else None

    def choice(self, node: Node | None) -> Mapping[str, Any]:
        chosen = self._choose(node) if node is not None else None
        return chosen[1] if chosen else {}

    def _choose(self, node: Node) -> tuple[Kernel, Mapping[str, Any]] | None:
        if node not in self.found:
            options = []
            for k in self.registry.kernels.get(node.op.name, ()):
                if k.target != self.target.backend:
                    continue
                missing = k.features - self.target.features
                reason = f"needs {', '.join(sorted(missing))}" if missing else k.accepts(node, self.target)
                if reason is not None:
                    self.reasons.setdefault(node, []).append(f"{k.name}: {reason}")
                    continue
                options += [(k.cost(node, c, self.target), k.name, i, k, c) for i, c in enumerate(k.space(node, self.target))]
            best = min(options, key=lambda o: o[:3], default=None)
            self.found[node] = (best[3], best[4]) if best else None
        return self.found[node]

    def check(self, graph: Graph) -> None:
        """Raise if some node can neither run in loops nor be served by a template."""
        lines = []
        for n in graph.nodes:
            loops = is_loop(n) or isinstance(n.op.role, (roles.Viewing, roles.Join))
            if not loops and self(n) is None:
                why = "; ".join(self.reasons.get(n, [])) or f"no installed plugin has a kernel for target {self.target.name}"
                lines.append(f"  {n.op.name} ({', '.join(str(v.type) for v in n.operands)})"
                             f"{' at ' + n.source if n.source else ''}: {why}")  # fmt: skip
        if lines:
            raise UnsupportedError(
                "These nodes cannot be computed:\n" + "\n".join(lines) + "\nInstall a pack with kernels for them "
                "(`ait plugins` lists what is there), or choose another target."
            )


def _name_groups(placement: Placement) -> None:
    taken: dict[str, int] = {}
    for g in placement.order:
        stem = (g.outputs or [g.members[-1].output])[-1].name[:120]
        n = taken.get(stem, 0)
        taken[stem] = n + 1
        g.name = f"{stem}_{n}" if n else stem


def build(plan: Plan, registry: Registry, *, manifest: Mapping[str, Any] | None = None, embed: bool = True,
          jobs: int | None = None, keep: Path | None = None,
          progress: Progress | None = None) -> tuple[Built, ModelSource]:  # fmt: skip
    """Compile a plan into a library in the cache."""
    toolchain = plan.backend.toolchain(plan.target)
    described = {**describe(plan, registry), **(manifest or {}), "compiler": toolchain.identity}
    source = build_model(plan.graph, plan.placement, plan.run, plan.load, plan.target.isa, described)
    source.manifest["embedded"] = embed = embed and source.weights_bytes <= EMBED_LIMIT
    digest = hashlib.sha256()
    for (offset, v), entry in zip(source.weights, source.manifest["constants"], strict=True):
        entry["sha256"] = hashlib.sha256(_bytes(v.constant.array)).hexdigest()  # type: ignore[union-attr]
        digest.update(f"{offset} {entry}".encode())
    builder = Builder(toolchain, [*plan.backend.includes(), *registry.includes], embed=embed, jobs=jobs, keep=keep,
                      progress=progress)  # fmt: skip
    return builder.build(source, digest.hexdigest()), source


def _bytes(array) -> memoryview:
    import numpy as np

    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def describe(plan: Plan, registry: Registry) -> dict[str, Any]:
    """The manifest's part that follows from the plan."""
    from ait_core import __version__
    from ait_core.ir import dims

    def tensors(named) -> list[dict[str, Any]]:
        return [{"name": n, "dtype": str(v.dtype), "shape": [dims.text(s) for s in v.shape]} for n, v in named]

    return {
        "producer": f"ait-core {__version__}",
        "target": plan.target.name,
        "isa": list(plan.target.isa),
        "plugins": dict(registry.identity()),
        "inputs": tensors((v.name, v) for v in plan.graph.inputs),
        "outputs": tensors(plan.graph.outputs.items()),
        "dims": {s.name: [s.lo, s.hi] for s in plan.graph.symbols},
        "kernels": [
            {"group": x.group.name, "ops": x.group.ops, "function": x.function,
             "flops": None if w.flops is None else dims.text(w.flops), "bytes": dims.text(w.bytes)}
            for x in plan.run for w in [group_work(x.group, plan.fuser)]
        ],
    }  # fmt: skip


