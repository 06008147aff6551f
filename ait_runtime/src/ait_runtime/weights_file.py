# SPDX-License-Identifier: Apache-2.0
"""Writes weights as safetensors, laid out so that the runtime can map them instead of copying."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

_ALIGNMENT = 64
_SPELLING = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float64": "F64",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` when the block ends well, and leaves no trace when it does not."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_weights(path: str | os.PathLike[str], weights: Mapping[str, np.ndarray]) -> None:
    """Write ``weights`` to ``path``, atomically. The format allows no gaps, so tensors whose size is a multiple of 64
    bytes come first and all of them are aligned; the runtime copies the few small others.

    Raises ``TypeError`` for a dtype that models do not have.
    """
    header: dict[str, object] = {}
    offset = 0
    order = sorted(weights, key=lambda name: (weights[name].nbytes % _ALIGNMENT != 0, name))
    for name in order:
        array = weights[name]
        if array.dtype.name not in _SPELLING:
            raise TypeError(f"weight {name!r} has dtype {array.dtype}; expected one of {', '.join(_SPELLING)}")
        end = offset + array.nbytes
        header[name] = {"dtype": _SPELLING[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(np.ascontiguousarray(weights[name]).reshape(-1).view(np.uint8).data)
