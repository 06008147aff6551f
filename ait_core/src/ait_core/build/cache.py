# SPDX-License-Identifier: Apache-2.0
"""The content-addressed cache of compiled objects and linked models, in the user's cache directory.

Entries are written to a temporary name and renamed, so readers never see half a file and any number of builds may run
at once. The least recently used entries go first when the cache outgrows its limit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ait_core.errors import AITError

LIMIT = 4 << 30  # bytes
STALE = 3600.0  # seconds after which a file that is still being written belongs to a build that died


def root() -> Path:
    """``AIT_CACHE_DIR``, else the platform's cache directory for ``ait``."""
    given = os.environ.get("AIT_CACHE_DIR")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("ait"))


@dataclass(frozen=True)
class Entry:
    path: Path
    nbytes: int
    used: float  # seconds since the epoch


class Cache:
    """Files by key. ``kind`` is the subdirectory: ``objects`` or ``models``."""

    def __init__(self, kind: str, where: Path | None = None) -> None:
        self.dir = (where or root()) / kind

    def path(self, key: str, suffix: str) -> Path:
        return self.dir / key[:2] / f"{key}{suffix}"

    def get(self, key: str, suffix: str) -> Path | None:
        """The entry, marked as just used; None if there is none."""
        path = self.path(key, suffix)
        try:
            os.utime(path)
        except PermissionError:
            pass  # somebody else's cache, which may be read
        except OSError:
            return None
        return path if path.exists() else None

    def take(self, key: str, suffix: str, target: Path) -> bool:
        """Put the entry at ``target``, where no clearing of the cache can reach it; False if there is none."""
        path = self.get(key, suffix)
        if path is None:
            return False
        try:
            os.link(path, target)
        except FileNotFoundError:
            return False
        except OSError:  # another file system
            try:
                shutil.copyfile(path, target)
            except FileNotFoundError:
                return False
        return True

    def put(self, key: str, suffix: str, file: Path) -> Path:
        """Store a copy of ``file``.

        Raises:
            AITError: if the cache cannot be written, with how to move it.
        """
        path = self.path(key, suffix)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            copy_atomically(file, path)
        except OSError as e:
            raise AITError(
                f"Cannot write the build cache {self.dir}: {e.strerror or e}. "
                "Free some space or set AIT_CACHE_DIR to a directory with room."
            ) from e
        return path

    def entries(self) -> list[Entry]:
        """All entries, least recently used first."""
        found = []
        for path in self.dir.glob("??/*"):
            try:
                stat = path.stat()
            except OSError:
                continue  # another process removed it
            found.append(Entry(path, stat.st_size, stat.st_mtime))
        return sorted(found, key=lambda e: e.used)

    def removable(self) -> list[Entry]:
        """The entries that are whole, or left over from a build that died: nothing that is being written."""
        return [e for e in self.entries() if not e.path.name.startswith(".") or time.time() - e.used > STALE]

    def trim(self, limit: int = LIMIT) -> int:
        """Remove least recently used entries until the cache is at most ``limit`` bytes; returns the bytes removed."""
        entries = self.removable()
        excess = sum(e.nbytes for e in entries) - limit
        removed = 0
        for e in entries:
            if removed >= excess:
                break
            e.path.unlink(missing_ok=True)
            removed += e.nbytes
        return removed


def copy_atomically(source: Path, target: Path) -> None:
    """Copy a file so that ``target`` is either the old one or the whole new one."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        shutil.copyfile(source, temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
