# SPDX-License-Identifier: Apache-2.0
"""Model files: sealed after linking, read and checked without running a byte of them.

A sealed file is the linked library, then the manifest (JSON, UTF-8), then a footer of ``_FOOTER.size`` bytes that ends
the file. The system's loader ignores what follows the library. All numbers are little endian.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import platform
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ait_runtime.errors import ArtifactError

ABI_VERSION = 1  # AIT_ABI_VERSION in ait.h; the binding refuses to load when they differ

_MAGIC = b"AITSEAL1"
# magic, ABI, reserved, bytes of the library, bytes of the manifest, digest of both, digest of the footer's other bytes
_FOOTER = struct.Struct("<8sIIQQ32s32s")
_CHUNK = 4 << 20
_ELF_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_MACHINE_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}
_FORMATS = {
    b"\x7fELF": "Linux (ELF)",
    b"MZ": "Windows (PE)",
    b"\xcf\xfa\xed\xfe": "macOS (Mach-O)",
    b"\xca\xfe\xba\xbe": "macOS (Mach-O)",
}


@dataclass(frozen=True)
class Artifact:
    """A checked model file."""

    path: Path
    manifest: dict[str, Any]
    manifest_text: str
    abi: int
    library_bytes: int


@contextmanager
def _mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    try:
        with open(path, "rb") as file:
            empty = os.fstat(file.fileno()).st_size == 0  # cannot be mapped
            data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"The model file {path} cannot be read: {error}. Check the path and its permissions."
        ) from error
    try:
        yield data
    finally:
        if isinstance(data, mmap.mmap):
            data.close()


def _digest(data: bytes | mmap.mmap, size: int) -> bytes:
    """SHA-256 over the SHA-256 of each 4 MiB of ``data[:size]``, so that chunks hash in parallel: weights come by the
    GB."""
    view = memoryview(data)
    try:
        if size <= _CHUNK:
            leaves = [_leaf(view, 0, size)]
        else:
            with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
                leaves = list(pool.map(lambda at: _leaf(view, at, size), range(0, size, _CHUNK)))
    finally:
        view.release()
    return hashlib.sha256(b"".join(leaves)).digest()


def _leaf(view: memoryview, at: int, size: int) -> bytes:
    with view[at : min(at + _CHUNK, size)] as chunk:
        return hashlib.sha256(chunk).digest()


def _library_size(data: bytes | mmap.mmap) -> int:
    """Bytes of the linked library at the start of ``data``, which may be sealed already."""
    if len(data) >= _FOOTER.size:
        magic, _, _, library, manifest, _, _ = _FOOTER.unpack(data[-_FOOTER.size :])
        if magic == _MAGIC and library + manifest + _FOOTER.size == len(data):
            return library
    return len(data)


def seal(path: str | os.PathLike[str], manifest: str) -> None:
    """Append manifest and checksum to a freshly linked model library; a second call replaces those of the first.

    ``manifest`` is the JSON object that the library itself returns from ``ait_manifest()``.
    Raises ``ArtifactError`` for a file that cannot be read or is no ELF library, ``ValueError`` for a manifest that is
    no JSON.
    """
    path = Path(path)
    json.loads(manifest)
    text = manifest.encode()
    with _mapped(path) as data:
        _check_machine(path, data, native=False)
        size = _library_size(data)
        leaves = _digest(data, size)
    head = _FOOTER.pack(_MAGIC, ABI_VERSION, 0, size, len(text), hashlib.sha256(leaves + text).digest(), b"")[:-32]
    with open(path, "r+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(text + head + hashlib.sha256(head).digest())


def _check_machine(path: Path, data: bytes | mmap.mmap, native: bool = True) -> None:
    start = bytes(data[:20])
    made_for = next((name for magic, name in _FORMATS.items() if start.startswith(magic)), None)
    if made_for is None:
        raise ArtifactError(
            f"{path} is not a model file: it is no library. Expected a file written by ait.compile or Model.save."
        )
    here = f"{sys.platform} {_MACHINE_NAMES.get(platform.machine().lower(), platform.machine())}"
    if made_for != "Linux (ELF)" or (native and not sys.platform.startswith("linux")):
        raise ArtifactError(
            f"{path} was made for {made_for}, this machine is {here}. Compile the model on this machine's system."
        )
    if len(start) < 20 or start[5] != 1:
        raise ArtifactError(
            f"{path} is damaged or made for a big-endian machine. Copy it again, or compile the model again."
        )
    machine = _ELF_MACHINES.get(struct.unpack_from("<H", start, 18)[0], "an unknown processor")
    if native and machine != here.split()[1]:
        raise ArtifactError(
            f"{path} was made for {machine}, this machine is {here}. Compile the model for this processor."
        )


def read_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Check a model file and read its manifest. No code of the file runs.

    Checks the operating system, processor, ABI and the digest over every byte (90 MB: about 0.05 s on two cores).
    Raises ``ArtifactError`` that names both sides.
    """
    path = Path(path)
    with _mapped(path) as data:
        _check_machine(path, data)
        again = "Copy the file again, or compile the model again."
        footer = bytes(data[-_FOOTER.size :])
        if len(footer) < _FOOTER.size or footer[:8] != _MAGIC:
            raise ArtifactError(f"{path} has no seal at its end: it was cut short, or is not a model file. {again}")
        _, abi, _, library, manifest, digest, check = _FOOTER.unpack(footer)
        if hashlib.sha256(footer[:-32]).digest() != check:
            raise ArtifactError(f"{path} is damaged: its seal was changed. {again}")
        if abi != ABI_VERSION:
            raise ArtifactError(
                f"{path} has ABI version {abi}, this ait-core has version {ABI_VERSION}. "
                "Compile the model again, or install the ait-core it was made with."
            )
        if library + manifest + _FOOTER.size != len(data):
            raise ArtifactError(
                f"{path} is damaged: {len(data)} bytes, expected {library + manifest + _FOOTER.size}. {again}"
            )
        text = bytes(data[library : library + manifest])
        if hashlib.sha256(_digest(data, library) + text).digest() != digest:
            raise ArtifactError(f"{path} is damaged: its bytes are not those that were sealed (checksum). {again}")
    return Artifact(path, json.loads(text), text.decode(), abi, library)
