# SPDX-License-Identifier: Apache-2.0
"""Inputs for a model: random ones, and ones from files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ait_core.errors import InputError
from ait_core.ir.dtypes import ALL, DType, dtype
from ait_tools.interface import Interface

_SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def random(
    interface: Interface, sizes: Mapping[str, int], seed: int, ranges: Mapping[str, tuple[float, float]]
) -> dict[str, np.ndarray]:
    """Random inputs by name.

    Floats are normal (mean 0, deviation 1) unless they have a range; integers lie within their range, or that of the
    example inputs, or are 0 and 1, which are valid indices nearly everywhere.

    Args:
        sizes: of every dim.
        ranges: lowest and highest number by input, both inclusive.
    """
    for name in ranges:
        interface.input(name)
    rng = np.random.default_rng(seed)
    out = {}
    for t in interface.inputs:
        shape, bounds = t.at(sizes), ranges.get(t.name, interface.examples.get(t.name, {}).get("range"))
        if t.dtype.is_float:
            numbers = rng.standard_normal(shape) if bounds is None else rng.uniform(*bounds, shape)
        else:
            lo, hi = (0, 1) if bounds is None else (int(bounds[0]), int(bounds[1]))
            numbers = rng.integers(lo, hi, shape, endpoint=True)
        out[t.name] = np.asarray(numbers).astype(t.dtype.numpy)
    return out


def read(files: Sequence[str], interface: Interface) -> dict[str, np.ndarray]:
    """Inputs from files: ``x.npz`` and ``x.safetensors`` hold tensors by name; ``name=x.npy`` is one of them, and the
    name may be left out where the model has one input.

    Raises:
        InputError: for a file that cannot be read, a name twice, or one that is no input.
    """
    out: dict[str, np.ndarray] = {}
    for text in files:
        name, equals, path = text.rpartition("=")
        for n, array in _read(Path(path), name if equals else None, interface).items():
            if n in out:
                raise InputError(f"Input {n!r} is in two files.")
            out[n] = _typed(array, interface.input(n).dtype)
    missing = [t.name for t in interface.inputs if t.name not in out]
    if missing:
        raise InputError(f"The files lack the inputs {', '.join(missing)}. They hold: {', '.join(out) or 'nothing'}.")
    return out


def _read(path: Path, name: str | None, interface: Interface) -> Mapping[str, np.ndarray]:
    try:
        if path.suffix == ".safetensors":
            return _safetensors(path)
        if path.suffix not in (".npy", ".npz"):
            raise InputError(f"Cannot read {path}: inputs come from .npz, .npy and .safetensors files.")
        loaded = np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            return {n: loaded[n] for n in loaded.files}
    except (OSError, ValueError, KeyError, EOFError) as e:
        raise InputError(f"Cannot read {path}: {e}") from e
    if name is None and len(interface.inputs) != 1:
        names = ", ".join(t.name for t in interface.inputs)
        raise InputError(f"Which input is {path}? Write name={path}; the names are {names}.")
    return {name if name is not None else interface.inputs[0].name: loaded}


def _safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file (https://github.com/huggingface/safetensors, "Format")."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    if len(data) < 8 or start > len(data):
        raise ValueError("it is cut short")
    out = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            kind, (first, last) = ALL[_SAFETENSORS[entry["dtype"]]].numpy, entry["data_offsets"]
            out[name] = np.frombuffer(data[start + first : start + last], kind).reshape(entry["shape"])
    return out


def _typed(array: np.ndarray, want: DType) -> np.ndarray:
    """NumPy's files know no bfloat16: its bytes come back as two-byte records."""
    if array.dtype.kind == "V" and array.dtype.itemsize == want.itemsize:
        return array.view(want.numpy)
    return array


def summary(name: str, array: np.ndarray) -> dict[str, Any]:
    """Shape, dtype and the range of the numbers of an output."""
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    numbers = {"min": finite.min(), "max": finite.max(), "mean": finite.mean()} if finite.size else {}
    return {
        "name": name,
        "dtype": str(dtype(array.dtype)),
        "shape": list(array.shape),
        **{k: float(v) for k, v in numbers.items()},
        "not_finite": int(wide.size - finite.size),
    }
