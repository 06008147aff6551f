# SPDX-License-Identifier: Apache-2.0
"""``ait.ops``: the ops of all plugins as ``ait.ops.<pack>.<op>``, found on first use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ait_core.errors import UnsupportedError
from ait_core.plugins.registry import Registry, describe, registry

if TYPE_CHECKING:
    from ait_core.declare.op import Op


class UnknownOpError(UnsupportedError, AttributeError):
    """No plugin in use declares this pack or op."""


class Pack:
    """The ops of one pack, ``ait.ops.<pack>``."""

    def __init__(self, name: str, lookup: Callable[[], Registry]) -> None:
        self._name, self._lookup = name, lookup

    def __dir__(self) -> list[str]:
        return [n.partition(".")[2] for n in self._lookup().ops if n.partition(".")[0] == self._name]

    def __getattr__(self, name: str) -> Op:
        if name.startswith("_"):
            raise AttributeError(name)
        op = self._lookup().ops.get(f"{self._name}.{name}")
        if op is None:
            raise UnknownOpError(f"The pack {self._name!r} has no op {name!r}. {_others(name, dir(self))}")
        return op

    def __repr__(self) -> str:
        return f"<ops of pack {self._name}>"


class Ops:
    """All packs, ``ait.ops``. ``lookup`` gives the registry to ask, by default that of the installed plugins."""

    def __init__(self, lookup: Callable[[], Registry] = registry) -> None:
        self._lookup = lookup

    def __dir__(self) -> list[str]:
        return sorted({n.partition(".")[0] for n in self._lookup().ops})

    def __getattr__(self, name: str) -> Pack:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in dir(self):
            failed = "".join(f"\n{describe(p)}" for p in self._lookup().failed)
            raise UnknownOpError(f"No plugin in use has a pack {name!r}. {_others(name, dir(self))}{failed}")
        return Pack(name, self._lookup)

    def __repr__(self) -> str:
        return "<ops of all plugins>"


def _others(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3)
    return f"Did you mean {' or '.join(close)}?" if close else f"There are: {', '.join(known) or 'none'}."


ops = Ops()
