# SPDX-License-Identifier: Apache-2.0
"""The order of the passes, and the record of what each of them did."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ait_core.errors import GraphError, InternalError, PluginError
from ait_core.ir.graph import Graph, Node, Value
from ait_core.ir.verify import verify
from ait_core.passes.content import content

if TYPE_CHECKING:
    from ait_core.declare.rule import Rule


class HasRules(Protocol):
    """What passes need of the plugin registry."""

    @property
    def rules(self) -> Sequence[Rule]: ...


@dataclass
class Context:
    """What a pass may ask and tell.

    Args:
        rules: the fusion rules of the installed plugins.
        keep: whether a kernel template claims a composite node whole, so that it must not be expanded.
        fold_limit: bytes; a constant result that is larger than this and than its operands is not folded.
        notes: what the current pass has to say, one short sentence each; ends up in its :class:`Record`.
    """

    rules: Sequence[Rule] = ()
    keep: Callable[[Node], bool] = lambda node: False
    fold_limit: int = 16 << 20
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pass:
    """A rewrite of whole graphs. ``run`` may not change the graph it is given; it returns it where nothing changes."""

    name: str
    run: Callable[[Graph, Context], Graph]
    doc: str


@dataclass(frozen=True)
class Record:
    """What one run of a pass did: nodes before and after, seconds, and its notes."""

    name: str
    before: int
    after: int
    seconds: float
    changed: bool
    notes: tuple[str, ...]


def default_passes() -> list[Pass | list[Pass]]:
    """The passes in their order; a list among them is repeated until it changes nothing (at most ``ROUNDS`` times)."""
    from ait_core.passes.canonicalise import canonicalise
    from ait_core.passes.composites import expand_composites
    from ait_core.passes.cse import cse
    from ait_core.passes.fold import fold
    from ait_core.passes.rules import apply_rules

    def make(fn: Callable[[Graph, Context], Graph], name: str) -> Pass:
        return Pass(name, fn, (fn.__doc__ or "").split("\n\n")[0])

    share = make(cse, "cse")
    simplify = [make(canonicalise, "canonicalise"), make(fold, "fold"), share]
    fuse = [make(apply_rules, "rules"), make(expand_composites, "expand_composites")]
    return [share, *fuse, simplify, *fuse, simplify]


ROUNDS = 4  # of a repeated group; in practice the second round finds nothing


def pass_names(passes: Iterable[Pass | list[Pass]] | None = None) -> list[str]:
    """The names under which passes can be switched off."""
    flat = [p for item in (default_passes() if passes is None else passes) for p in _group(item)]
    return list(dict.fromkeys(p.name for p in flat))


def _group(item: Pass | list[Pass]) -> list[Pass]:
    return item if isinstance(item, list) else [item]


def run_passes(
    graph: Graph,
    registry: HasRules | None = None,
    disable: Iterable[str] = (),
    *,
    keep: Callable[[Node], bool] = lambda node: False,
    fold_limit: int = 16 << 20,
    passes: Sequence[Pass | list[Pass]] | None = None,
    dump: Path | None = None,
) -> tuple[Graph, list[Record]]:
    """Run the passes and verify the graph after each.

    Args:
        graph: stays as it is.
        registry: the plugins; anything with ``rules``.
        disable: names of passes to leave out.
        keep: whether a kernel template claims a composite node whole.
        fold_limit: bytes, see :class:`Context`.
        passes: other passes than :func:`default_passes`.
        dump: a directory that receives the text of the graph before the first and after each pass that changed it.

    Returns:
        The new graph, with the same inputs and the same names of outputs, and one record a run of a pass.

    Raises:
        GraphError: if ``disable`` names a pass that does not exist, or two dims or parameters share a name.
        InternalError: if a pass fails or breaks an invariant, naming the pass and the node.
    """
    order = default_passes() if passes is None else passes
    off, known = set(disable), pass_names(order)
    unknown = ", ".join(map(repr, sorted(off - set(known))))
    if unknown:
        raise GraphError(f"There is no pass {unknown}. Passes: {', '.join(known)}.")
    context = Context(tuple(registry.rules) if registry else (), keep, fold_limit)
    records: list[Record] = []
    _ = graph.symbols  # two dims of one name are the user's mistake, not a broken invariant
    graph = clone(graph)
    verify(graph, "input")
    _dump(graph, dump, "input", 0)
    for item in order:
        group = [p for p in _group(item) if p.name not in off]
        for _ in range(ROUNDS if isinstance(item, list) else 1):
            start = len(records)
            for p in group:
                graph = _run(p, graph, context, records)
                if records[-1].changed:
                    _dump(graph, dump, p.name, len(records))
            if not any(r.changed for r in records[start:]):
                break
    return graph, records


def _run(p: Pass, graph: Graph, context: Context, records: list[Record]) -> Graph:
    context.notes = []
    started = time.perf_counter()
    try:
        new = p.run(graph, context)
    except PluginError:
        raise
    except Exception as e:
        raise InternalError(f"Pass {p.name!r} failed on a valid graph: {e}") from e
    if new is not graph:
        verify(new, p.name)
        if list(new.outputs) != list(graph.outputs) or new.inputs != graph.inputs:
            raise InternalError(f"Pass {p.name!r} changed the inputs or the names of the outputs.")
    seconds = time.perf_counter() - started
    records.append(Record(p.name, len(graph.nodes), len(new.nodes), seconds, new is not graph, tuple(context.notes)))
    return new


def _dump(graph: Graph, to: Path | None, name: str, number: int) -> None:
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
        (to / f"{number:02}_{name}.txt").write_text(str(graph), encoding="utf-8")


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or content(a) == content(b)


def clone(graph: Graph) -> Graph:
    """The same graph with nodes and constants of its own (inputs and arrays are shared), so that renaming values in
    the copy leaves the original alone. Parameters of one name become one.

    Raises:
        GraphError: if two of them differ.
    """
    new: dict[Value, Value] = {}
    parameters: dict[str, Value] = {}
    for v in graph.constants:
        fresh = new[v] = Value(v.name, v.type, constant=v.constant)
        name = v.constant.parameter  # type: ignore[union-attr]
        same = fresh if name is None else parameters.setdefault(name, fresh)
        if same.type != v.type or not _same_bits(same.constant.array, v.constant.array):  # type: ignore[union-attr]
            raise GraphError(f"Two parameters are called {name!r}, {same.type} and {v.type}: give each its own name.")
        new[v] = same
    for n in graph.nodes:
        new.update(zip(n.outputs, n.with_inputs(tuple(v and new.get(v, v) for v in n.inputs)).outputs, strict=True))
    return Graph({k: new.get(v, v) for k, v in graph.outputs.items()}, list(graph.inputs))
