# SPDX-License-Identifier: Apache-2.0
"""Capturing a module with ``torch.export``, at the highest level of ops that the lowerings understand."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ait_core.errors import InputError, UnsupportedError
from ait_frontend_torch.tensors import cast_to, eval_mode


def split_inputs(example_inputs: Any, example_kwargs: Mapping[str, Any] | None) -> tuple[tuple, dict[str, Any]]:
    """Positional and keyword arguments: ``example_inputs`` is a tensor, a tuple or list, or a mapping by name."""
    if example_inputs is None and example_kwargs is None:
        raise InputError("A torch module is imported by running it once: pass example_inputs=(tensor, ...), or a dict "
                         "of arguments by name.")  # fmt: skip
    kwargs = dict(example_kwargs or {})
    if isinstance(example_inputs, Mapping):
        args, kwargs = (), {**example_inputs, **kwargs}
    elif isinstance(example_inputs, (tuple, list)):
        args = tuple(example_inputs)
    else:
        args = () if example_inputs is None else (example_inputs,)
    return pytree.tree_map(_to_torch, (args, kwargs))


def _to_torch(x: Any) -> Any:
    return torch.as_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x


def export(module: torch.nn.Module, args: tuple, kwargs: dict[str, Any], dynamic_shapes: Any,
           dtype: torch.dtype | None) -> ExportedProgram:  # fmt: skip
    """Export in evaluation mode, without gradients, computing in ``dtype``; the module is left as it was.

    Raises:
        UnsupportedError: with torch's reason if the module cannot be captured.
    """

    def cast(x: Any) -> Any:
        return x.to(dtype) if dtype and isinstance(x, torch.Tensor) and x.is_floating_point() else x

    args, kwargs = pytree.tree_map(cast, (args, kwargs))
    with eval_mode(module), cast_to(module, dtype), torch.no_grad(), _no_fused_transformer(), _quiet():
        try:
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        except Exception as e:
            raise UnsupportedError(
                f"torch.export cannot capture {type(module).__name__}:\n\n{_reason(e)}\n\nThe forward must run with "
                "the example inputs, take the same path for all inputs of the given shapes (no Python branches on "
                "tensor values), and every size in dynamic_shapes must really be free."
            ) from e


def decompose(program: ExportedProgram, targets: Iterable[Any]) -> ExportedProgram:
    """The program with ``targets`` (and nothing else that can be kept) replaced by torch's own decompositions, and
    in-place ops made functional.

    Raises:
        UnsupportedError: with torch's reason if a decomposition fails.
    """
    known = torch.export.default_decompositions().materialize()
    table = {op: known[op] for op in targets if op in known}
    with torch.no_grad(), _quiet():
        try:
            return program.run_decompositions(table)
        except Exception as e:
            raise UnsupportedError(f"torch cannot decompose {', '.join(map(str, table))}:\n\n{_reason(e)}") from e


def _reason(e: Exception) -> str:
    """The text of torch's error without its advice to debug torch."""
    text = (str(e).strip() or repr(e)).partition("The error above occurred when calling torch.export")[0].strip()
    return f"{type(e).__name__}: {text[:4000]}"


@contextlib.contextmanager
def _no_fused_transformer() -> Iterator[None]:
    """torch.nn's transformer layers spell out their ops instead of calling one kernel that nothing can decompose."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what is not for the user: warnings of torch.export about its own deprecated internals, and the whole
    graph so far, which it prints when it fails."""
    printed, graph = io.StringIO(), ""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    except UnsupportedError as e:
        graph = str(getattr(e.__cause__, "partial_fx_graph", ""))
        raise
    finally:
        sys.stderr.write(printed.getvalue().replace(graph, ""))
