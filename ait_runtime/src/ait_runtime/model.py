# SPDX-License-Identifier: Apache-2.0
"""A compiled model in Python."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ait_runtime import _native
from ait_runtime.artifact import ABI_VERSION, read_artifact
from ait_runtime.errors import ArtifactError, InputError
from ait_runtime.signature import Signature, Structured
from ait_runtime.weights_file import replacing, write_weights

if _native.ABI_VERSION != ABI_VERSION:
    raise ImportError(
        f"ait_runtime's extension module has ABI version {_native.ABI_VERSION}, its Python files have {ABI_VERSION}. "
        "Install ait-runtime again."
    )


class DimInfo(NamedTuple):
    """A symbolic dimension with its inclusive bounds."""

    name: str
    lo: int
    hi: int


class TensorInfo(NamedTuple):
    """An input, output or constant.

    ``shape`` has an ``int`` for a fixed size, the dim's name for a symbolic one, ``"lo..hi"`` for an expression of
    dims.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


class Memory(NamedTuple):
    """Bytes that a run uses. ``peak`` is their sum; ``arena_held`` what the model holds for its runs at present."""

    weights: int
    derived: int
    inputs: int
    outputs: int
    arena: int
    arena_held: int

    @property
    def peak(self) -> int:
        return self.weights + self.derived + self.inputs + self.outputs + self.arena


class GroupTime(NamedTuple):
    """Median time of one fused group."""

    name: str
    kernel: str
    seconds: float


class Model:
    """A model file, loaded. Calls may come from any number of threads at once; they share one copy of the weights."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        weights: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        """See ``load``."""
        artifact = read_artifact(path)
        self.path = artifact.path.absolute()
        self.manifest: dict[str, Any] = artifact.manifest
        named = _by_name(weights) if isinstance(weights, Mapping) else None
        file = b"" if weights is None or isinstance(weights, Mapping) else os.fsencode(Path(weights).absolute())
        self._own_weights = weights is None
        self._native = _native.Model(
            os.fsencode(self.path),
            file,
            None if named is None else list(named),
            list((named or {}).values()),
            threads or 0,
            0,
        )
        if self._native.manifest() != artifact.manifest_text:
            raise ArtifactError(
                f"The manifest inside {self.path} is not the one it was sealed with. Compile the model again."
            )
        self.dims = tuple(DimInfo(*d) for d in self._native.dims())
        self.inputs = self._describe(self._native.inputs())
        self.outputs = self._describe(self._native.outputs())
        self.constants = self._describe(self._native.constants())
        self._changing = threading.Lock()

    def _describe(self, infos: list[tuple]) -> tuple[TensorInfo, ...]:
        def size(lo: int, hi: int, dim: int) -> int | str:
            return self.dims[dim].name if dim >= 0 else lo if lo == hi else f"{lo}..{hi}"

        return tuple(TensorInfo(name, dtype, tuple(map(size, *sizes))) for name, dtype, *sizes in infos)

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Run the model on tensors given by position or by name.

        Tensors are NumPy arrays, torch tensors or DLPack producers in host memory, read without a copy where they are
        contiguous. New outputs are of the first tensor's kind; a producer whose package has no ``from_dlpack`` gets
        NumPy arrays. ``out``: contiguous NumPy arrays or torch tensors to write to and return instead, one or a tuple.
        Returns a single output as it is, several as a tuple.

        Raises ``InputError``, ``ShapeError``, ``DTypeError``, ``DeviceError``, ``FaultError`` or ``OutOfMemoryError``.
        """
        return self._native.call(args, kwargs, out)

    @property
    def threads(self) -> int:
        """CPU threads a run may use."""
        return self._native.threads()

    def output_shapes(self, **shapes: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Output shapes by name for input shapes by name. Raises ``ShapeError`` as a call would."""
        result = self._native.infer(self._in_order(shapes))
        return {info.name: shape for info, shape in zip(self.outputs, result, strict=True)}

    def peak_memory(self, **shapes: Sequence[int]) -> Memory:
        """Memory of one run at the given input shapes; without any, with every dim at its upper bound.

        Known before the run. Runs at the same time need an arena each. Raises ``ShapeError`` as a call would.
        """
        return Memory(**self._native.memory(self._in_order(shapes) if shapes else None))

    def _in_order(self, shapes: Mapping[str, Sequence[int]]) -> list[list[int]]:
        names = [info.name for info in self.inputs]
        if set(shapes) != set(names):
            raise InputError(
                f"Shapes are needed for the inputs: {', '.join(names) or 'none'}. Given: {', '.join(shapes) or 'none'}."
            )
        return [list(shapes[name]) for name in names]

    def profile(self, *args: Any, runs: int = 20, **kwargs: Any) -> list[GroupTime]:
        """Median time of every group over ``runs`` runs with these inputs, after one run that is not counted."""
        seconds = self._native.profile(args, kwargs, runs)
        return [GroupTime(*group, time) for group, time in zip(self._native.groups(), seconds, strict=True)]

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of all constants of one moment, by name; bfloat16 as ``ml_dtypes.bfloat16``."""
        return self._native.weights()

    def set_weights(self, weights: Mapping[str, Any] | str | os.PathLike[str], partial: bool = False) -> None:
        """Replace the constants by tensors by name, or by a safetensors file, which is mapped: do not change it.

        Every constant must be given unless ``partial``. Calls under way finish on the old weights; nothing waits for
        them. Raises ``WeightsError`` that lists what does not fit; the model then keeps its weights.
        """
        with self._changing:
            if isinstance(weights, Mapping):
                named = _by_name(weights)
                self._native.set_weights(list(named), list(named.values()), partial)
            else:
                self._native.set_weights_file(os.fsencode(Path(weights).absolute()), partial)
            self._own_weights = False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the model file to ``path``; weights that are not inside it go to the ``.safetensors`` beside ``path``.

        Each file appears whole or not at all. Raises ``InputError`` when weights inside the file were replaced: they
        cannot be written into it.
        """
        target = Path(path)
        with self._changing:
            embedded = self._native.embedded()
            if embedded and not self._own_weights:
                raise InputError(
                    "The weights inside the model file were replaced, and a saved copy would hold the old ones. Write "
                    "the new ones with ait_runtime.weights_file.write_weights(path, model.weights()) "
                    "and load with weights=path."
                )
            if not embedded and self.constants:
                write_weights(target.with_name(target.name.removesuffix(".so") + ".safetensors"), self.weights())
            with open(self.path, "rb") as source, replacing(target) as file:
                shutil.copyfileobj(source, file, 16 << 20)

    def __repr__(self) -> str:
        def signature(infos: tuple[TensorInfo, ...]) -> str:
            return ", ".join(f"{i.name}: {i.dtype}[{', '.join(map(str, i.shape))}]" for i in infos)

        return f"<ait.Model {self.path.name}: ({signature(self.inputs)}) -> ({signature(self.outputs)})>"


def _by_name(weights: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in weights:
        if not isinstance(name, str) or "\0" in name:
            raise InputError(f"Weights are named by strings without null characters, not by {name!r}.")
    return weights


def load(
    path: str | os.PathLike[str],
    weights: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Model | Structured:
    """Load a model file, to be called as the model was that it was compiled from: with its arguments, for its results.

    A model compiled from a graph takes and returns tensors, as ``Model.__call__`` says.

    Args:
        path: written by ``ait.compile`` or ``Model.save``.
        weights: safetensors file or tensors by name instead of the model's own, which lie inside the file or beside it.
        threads: CPU threads a run may use; default ``AIT_NUM_THREADS``, else ``OMP_NUM_THREADS``, else the cores this
            process may use.

    Raises ``ArtifactError`` for a file that is damaged or made for another ABI, system or processor, ``WeightsError``.
    """
    model = Model(path, weights, threads)
    signature = model.manifest.get("signature")
    return model if signature is None else Structured(model, Signature(signature))
