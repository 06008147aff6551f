# SPDX-License-Identifier: Apache-2.0
"""Importing a torch model: export, lower, and keep what is needed to call the result like the module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ait_core.declare.frontend import Imported
from ait_core.declare.rule import Lowering
from ait_core.errors import DTypeError, InputError, UnsupportedError
from ait_core.ir import dims
from ait_core.ir.graph import Graph, Value
from ait_frontend_torch import source, structure
from ait_frontend_torch.export import decompose, export, split_inputs
from ait_frontend_torch.importer import Importer, Problem, Refused
from ait_frontend_torch.symbols import Symbols
from ait_frontend_torch.tensors import identity, torch_dtype
from ait_runtime.signature import Signature, Structured, Tree

ROUNDS = 8  # of decomposition; each must remove an op that has no lowering, so real models need one or two
SHOWN = 3  # source lines per op in a report


@dataclass
class TorchImported(Imported):
    """A torch model as a graph; called through :meth:`adapt` it gives the module's own output classes."""

    out_spec: pytree.TreeSpec

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters and buffers that the graph uses."""
        return [v.constant.parameter for v in self.graph.constants if v.constant and v.constant.parameter]

    def adapt(self, model: Callable[..., Any]) -> Structured:
        flat = {"kind": "tuple", "items": _leaves(self.signature.data["result"])}
        leaves = Signature({**self.signature.data, "result": flat})

        def build(outputs: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
            return pytree.tree_unflatten(leaves.unflatten(outputs, inputs), self.out_spec)

        return Structured(model, self.signature, open=structure.open_node, build=build)


def import_module(
    module: torch.nn.Module | ExportedProgram | str | Path,
    example_inputs: Any = None,
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dtype: Any = None,
    *,
    lowerings: Mapping[str, Lowering] | None = None,
) -> TorchImported:
    """A torch model as an AIT graph. Weights are shared with the module, not copied.

    Args:
        module: a module (exported here, in evaluation mode), an exported program, or a ``.pt2`` file.
        example_inputs: a tuple of positional arguments, one tensor, or a dict of arguments by name. Not needed for an
            exported program.
        example_kwargs: further arguments by name.
        dynamic_shapes: as for ``torch.export.export``.
        dtype: floating point type to compute in, with the meaning of ``module.to(dtype)`` (also for the inputs).
        lowerings: by target; by default those of all installed plugins.

    Raises:
        UnsupportedError: if torch cannot export the module, or some of its ops cannot be lowered (all are listed).
        InputError: without example inputs.
        DTypeError: if ``dtype`` is no floating point type, or given for an exported program of another.
    """
    lowerings = _installed() if lowerings is None else lowerings
    forward = None
    if isinstance(module, (str, Path)):
        module = torch.export.load(module)
    if isinstance(module, ExportedProgram):
        program, name = module, "The exported program"
        _same_dtype(program, dtype)
    elif isinstance(module, torch.nn.Module):
        args, kwargs = split_inputs(example_inputs, example_kwargs)
        if hasattr(dynamic_shapes, "dynamic_shapes"):  # torch.export.ShapesCollection, AdditionalInputs
            dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
        program = export(module, args, kwargs, dynamic_shapes, None if dtype is None else torch_dtype(dtype))
        forward, name = module.forward, type(module).__name__
    else:
        raise InputError(f"A torch.nn.Module or torch.export.ExportedProgram is imported; got {type(module).__name__}.")
    return _lower(program, forward, dynamic_shapes, lowerings, name)


def _lower(program: ExportedProgram, forward: Any, dynamic_shapes: Any, lowerings: Mapping[str, Lowering],
           name: str) -> TorchImported:  # fmt: skip
    constants: dict[tuple, Any] = {}
    before: Counter[str] | None = None
    declined: dict[str, str] = {}
    for _ in range(ROUNDS):
        _no_mutation(program, name)
        described = structure.arguments(program, forward)
        symbols = Symbols(program, described["arguments"], dynamic_shapes)
        importer = Importer(program, symbols, lowerings, constants)
        results = importer.run()
        if not importer.problems:
            return _finish(program, importer, symbols, described, results)
        found = Counter(p.target for p in importer.problems)
        if found == before:
            break
        before = found
        declined |= {p.target: p.reason for p in importer.problems if isinstance(p.error, Refused)}
        program = decompose(program, [p.node.target for p in importer.problems])
    raise UnsupportedError(_report(importer.problems, declined, name))


def _finish(program: ExportedProgram, importer: Importer, symbols: Symbols, described: dict[str, Any],
            results: Sequence[Any]) -> TorchImported:  # fmt: skip
    leaves: list[Tree] = []
    for r in results:
        if isinstance(r, Value):
            leaves.append({"tensor": None})
        elif isinstance(r, dims.sympy.Expr):
            places = {s.name: list(symbols.places[s.name]) for s in dims.symbols([r])}
            leaves.append({"size": dims.text(r), "dims": places})
        else:
            leaves.append(structure.constant(r))
    out_spec = program.call_spec.out_spec
    result = structure.encode(out_spec, iter(leaves))
    structure.result_names(result, set())
    signature = Signature({**described, "result": result})
    names = [leaf["tensor"] for leaf in leaves if "tensor" in leaf]
    outputs = dict(zip(names, (r for r in results if isinstance(r, Value)), strict=True))
    _canonical_names(program, importer)
    return TorchImported(Graph(outputs, [importer.inputs[n] for n in signature.inputs]), signature, out_spec)


def _canonical_names(program: ExportedProgram, importer: Importer) -> None:
    """Tied weights go by the first of their names in the state dict, however the exporter met them."""
    for fqn, tensor in reversed(program.state_dict.items()):
        _, value = importer._constants.get(identity(tensor), (None, None))
        if value is not None and value.constant.parameter is not None:
            value.name = fqn
            value.constant = type(value.constant)(value.constant.array, fqn)


def _leaves(tree: Tree) -> list[Tree]:
    return [leaf for item in tree["items"] for leaf in _leaves(item)] if "items" in tree else [tree]


def _same_dtype(program: ExportedProgram, dtype: Any) -> None:
    have = {t.dtype for t in program.state_dict.values() if t.is_floating_point()}
    if dtype is not None and have - {torch_dtype(dtype)}:
        raise DTypeError(
            f"The exported program computes in {', '.join(sorted(map(str, have)))} and cannot be cast to {dtype}: its "
            "graph was captured with these dtypes. Export module.to(dtype), or pass the module itself."
        )


def _no_mutation(program: ExportedProgram, name: str) -> None:
    signature = program.graph_signature
    written = [*signature.buffers_to_mutate.values(), *getattr(signature, "parameters_to_mutate", {}).values()]
    inputs = list(signature.user_inputs_to_mutate.values())
    if written or inputs:
        raise UnsupportedError(
            f"{name} writes to its {'buffers' if written else 'inputs'} {', '.join(written or inputs)} when it runs. "
            "A compiled model keeps no state between calls: pass the state as an input and return the new one."
        )


def _report(problems: Sequence[Problem], declined: Mapping[str, str], name: str) -> str:
    groups: dict[tuple[str, str], list[Problem]] = {}
    for p in problems:
        groups.setdefault((p.target, p.reason), []).append(p)
    lines = [f"{name} uses {len({p.target for p in problems})} op(s) that cannot be compiled:"]
    for (target, reason), found in sorted(groups.items(), key=lambda g: -len(g[1])):
        lines.append(f"\n  {target} ({len(found)}x): {reason or 'no installed plugin lowers it'}")
        places = list(dict.fromkeys(source.describe(p.node) for p in found))
        lines += [f"      {place}" for place in places[:SHOWN]]
        if len(places) > SHOWN:
            lines.append(f"      ... and {len(places) - SHOWN} more places")
    rest = {t: reason for t, reason in declined.items() if t not in {p.target for p in problems}}
    lines += [f"\n  {t} was decomposed by torch because {reason}" for t, reason in rest.items()]
    lines.append("\nInstall a pack that lowers them (`ait plugins` shows what is installed), write a lowering (see "
                 "docs/lowerings.md; one function an op), or express the model without them.")  # fmt: skip
    return "\n".join(lines)


def _installed() -> Mapping[str, Lowering]:
    from ait_core.plugins.registry import registry

    return {target: low for (frontend, target), low in registry().lowerings.items() if frontend == "torch"}
