# SPDX-License-Identifier: Apache-2.0
"""The user's cache: compiled objects by the hash of everything that decides them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ait_core.errors import AITError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
STALE = 24 * 3600  # seconds after which a temporary file cannot belong to a running build


def cache_dir() -> Path:
    """``AIT_CACHE_DIR``, or the ``ait`` folder of the user's cache directory. Not created here."""
    if given := os.environ.get("AIT_CACHE_DIR"):
        return Path(given).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("ait", appauthor=False))


def cache_limit() -> int:
    """The most bytes the objects may take: ``AIT_CACHE_LIMIT`` such as ``500M`` or ``4G``, by default ``2G``.

    Raises:
        AITError: if it is no size.
    """
    text = os.environ.get("AIT_CACHE_LIMIT") or "2G"
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)I?B?", text.strip().upper())
    if not match:
        raise AITError(f"AIT_CACHE_LIMIT must be a size such as 500M or 4G; got {text!r}.")
    return int(match[1]) * UNITS[match[2]]


@dataclass(frozen=True)
class Usage:
    """Number of objects and their size in bytes."""

    objects: int
    bytes: int


class ObjectCache:
    """Objects by hexadecimal key, ``objects/<2>/<key>.o``; processes may use, trim and clear it at the same time.

    An object appears whole or not at all, and is copied out, so removing one never disturbs a build: a reader that has
    opened it keeps it, a later one misses and compiles. The access time says when an object was last used.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or cache_dir()) / "objects"

    def path(self, key: str) -> Path:
        """Where the object with a key lies, or would lie."""
        if not re.fullmatch(r"[0-9a-f]{8,128}", key):
            raise ValueError(f"a cache key is 8 to 128 hexadecimal digits, got {key!r}")
        return self.root / key[:2] / f"{key}.o"

    def fetch(self, key: str, to: Path) -> bool:
        """Copy an object to ``to``; False if there is none."""
        path = self.path(key)
        try:
            os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
            shutil.copyfile(path, to)
        except FileNotFoundError:
            if not to.parent.is_dir():
                raise
            return False
        return True

    def store(self, key: str, source: Path) -> None:
        """Keep a copy of ``source``."""
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        os.close(handle)
        try:
            shutil.copyfile(source, name)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def usage(self) -> Usage:
        """What it holds now."""
        sizes = [s.st_size for _, s in self._entries()]
        return Usage(len(sizes), sum(sizes))

    def trim(self, limit: int | None = None) -> Usage:
        """Remove the objects not used for longest until the rest takes at most ``limit`` bytes (by default
        :func:`cache_limit`); what was removed."""
        limit = cache_limit() if limit is None else limit
        entries = sorted(self._entries(), key=lambda e: e[1].st_atime_ns)
        total, removed = sum(s.st_size for _, s in entries), Usage(0, 0)
        for path, stat in entries:
            if total <= limit:
                break
            path.unlink(missing_ok=True)
            total -= stat.st_size
            removed = Usage(removed.objects + 1, removed.bytes + stat.st_size)
        return removed

    def clear(self) -> Usage:
        """Remove every object; what was removed. Folders stay, as a build may be about to write into them."""
        for path in self.root.glob("??/*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > STALE:
                    path.unlink()
            except FileNotFoundError:
                continue
        return self.trim(-1)

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.root.glob("??/*.o"):
            try:
                yield path, path.stat()
            except FileNotFoundError:  # another process removed it
                continue
