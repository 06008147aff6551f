# SPDX-License-Identifier: Apache-2.0
"""What all usable plugins declare, together. ``registry()`` is that of the installed plugins, loaded on first use."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ait_core
import ait_runtime
from ait_core.errors import PluginError
from ait_core.plugins import kinds
from ait_core.plugins.hooks import RESERVED_COMMANDS
from ait_core.plugins.loader import Candidate, Plugin, discover, load, normalise

if TYPE_CHECKING:
    import click

    from ait_core.declare.backend import Backend
    from ait_core.declare.frontend import Frontend
    from ait_core.declare.kernel import Kernel
    from ait_core.declare.op import Op
    from ait_core.declare.rule import Lowering, Rule

log = logging.getLogger("ait.plugins")


class Registry:
    """The declarations of some plugins, without clashes.

    ``plugins`` holds the record of every plugin, those that failed or were disabled too; ``problems`` what else is
    wrong, one sentence each. Immutable once made, so any number of threads may read it.
    """

    def __init__(self, plugins: Iterable[Plugin], problems: Iterable[str] = ()) -> None:
        self.plugins = tuple(plugins)
        self.problems = tuple(problems)
        while self._drop_without_headers() or self._drop_clashing():
            pass  # a plugin that was dropped may be the one whose headers another one needs

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Registry:
        """The installed plugins, as the lists ``AIT_PLUGINS`` (only these) and ``AIT_DISABLE_PLUGINS`` (not these)
        say: names of plugins or distributions, separated by commas."""
        found = discover()
        allow, deny = (_listed(environ, v) for v in ("AIT_PLUGINS", "AIT_DISABLE_PLUGINS"))
        for c in found:
            names = {normalise(c.plugin.name), normalise(c.plugin.distribution)}
            if deny and names & deny or allow is not None and not names & allow:
                why = "is listed in AIT_DISABLE_PLUGINS" if deny and names & deny else "is not listed in AIT_PLUGINS"
                c.plugin.status, c.plugin.error = "disabled", f"It {why}."
            elif c.plugin.status == "loaded":
                load(c)
        known = {normalise(n) for c in found for n in (c.plugin.name, c.plugin.distribution)}
        installed = ", ".join(c.plugin.name for c in found) or "none"
        problems = [
            f"{variable} names {name!r}, which is not installed. Installed plugins: {installed}."
            for variable, names in (("AIT_PLUGINS", allow), ("AIT_DISABLE_PLUGINS", deny))
            for name in sorted((names or set()) - known)
        ]
        return cls((c.plugin for c in found), problems)

    @classmethod
    def from_plugins(cls, modules: Iterable[ModuleType | Any], *, strict: bool = True) -> Registry:
        """Exactly these plugins: modules, or other objects with hook implementations, in the order given.

        Raises:
            PluginError: if one cannot be used, unless ``strict=False``, which records it only.
        """
        plugins = []
        for m in modules:
            name = getattr(m, "__name__", type(m).__name__).removesuffix(".plugin")
            plugins.append(Plugin(name, name, str(getattr(m, "__version__", "0")), getattr(m, "__name__", "")))
            load(Candidate(plugins[-1], lambda m=m: m))
        made = cls(plugins)
        if strict and made.failed:
            raise PluginError("\n".join(describe(p) for p in made.failed))
        return made

    def _drop_clashing(self) -> bool:
        """Disable each plugin that declares what an earlier one has; whether there was any."""
        claims: dict[tuple[str, str], Plugin] = dict.fromkeys(
            (("command", name) for name in RESERVED_COMMANDS),
            Plugin("ait_core", "ait-core", ait_core.__version__, "ait_core"),
        )
        dropped = False
        for p in self.loaded:
            named = [("plugin", p.name)]
            named += [(kinds.kind(h).what, n) for h in p.declared if kinds.kind(h).unique for n in p.names(h)]
            clash = next((k for i, k in enumerate(named) if k in claims or k in named[:i]), None)
            if clash is None:
                claims.update(dict.fromkeys(named, p))
                continue
            first, dropped = claims.get(clash), True
            p.fail(
                f"The {clash[0]} {clash[1]!r} is declared by both {first} and {p}."
                if first else f"It declares the {clash[0]} {clash[1]!r} twice.",
                f"Uninstall one of them, or set AIT_DISABLE_PLUGINS={first.distribution} to use this one."
                if first and first.module != "ait_core" else f"Upgrade it: pip install -U {p.distribution}",
            )  # fmt: skip
        return dropped

    def _drop_without_headers(self) -> bool:
        """Disable each plugin with a kernel whose headers are nowhere; whether there was any."""
        directories, dropped = self.all_includes, False
        for p in self.loaded:
            for k in p.declared.get("ait_kernels", ()):
                missing = [h for h in k.headers if _find(h, directories) is None]
                if missing and p.status == "loaded":
                    dropped = True
                    p.fail(
                        f"The header {missing[0]!r} of its kernel {k.name!r} is in no include directory of a loaded "
                        f"plugin.",
                        f"Install the pack that brings it, or reinstall this one: "
                        f"pip install --force-reinstall {p.distribution}",
                    )
        return dropped

    @property
    def loaded(self) -> tuple[Plugin, ...]:
        """The plugins in use, in the order in which clashes are decided."""
        return tuple(p for p in self.plugins if p.status == "loaded")

    @property
    def failed(self) -> tuple[Plugin, ...]:
        """The plugins that something is wrong with."""
        return tuple(p for p in self.plugins if p.status == "failed")

    def declared(self, hook: str) -> tuple[Any, ...]:
        """Everything that the plugins in use return from a hook."""
        return tuple(item for p in self.loaded for item in p.declared.get(hook, ()))

    def _by_name(self, hook: str) -> dict[str, Any]:
        return dict(sorted((kinds.kind(hook).key(item), item) for item in self.declared(hook)))

    @cached_property
    def ops(self) -> Mapping[str, Op]:
        """Ops by name, sorted."""
        return self._by_name("ait_ops")

    @cached_property
    def kernels(self) -> Mapping[str, tuple[Kernel, ...]]:
        """Kernel templates by the name of their op, each list sorted by name."""
        out: dict[str, tuple[Kernel, ...]] = {}
        for k in self._by_name("ait_kernels").values():
            out[k.op] = (*out.get(k.op, ()), k)
        return out

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Fusion rules, sorted by name."""
        return tuple(self._by_name("ait_rules").values())

    @cached_property
    def lowerings(self) -> Mapping[tuple[str, str], Lowering]:
        """Lowerings by (frontend, target)."""
        return {(x.frontend, x.target): x for x in self._by_name("ait_lowerings").values()}

    @cached_property
    def backends(self) -> Mapping[str, Backend]:
        """Backends by name."""
        return self._by_name("ait_backends")

    @cached_property
    def frontends(self) -> Mapping[str, Frontend]:
        """Frontends by name."""
        return self._by_name("ait_frontends")

    @cached_property
    def commands(self) -> Mapping[str, click.Command]:
        """Commands that plugins add to ``ait``, by name."""
        return self._by_name("ait_commands")

    @cached_property
    def includes(self) -> tuple[Path, ...]:
        """Include directories of the packs; those of a backend are its own to give."""
        return tuple(dict.fromkeys(Path(p).resolve() for p in self.declared("ait_includes")))

    @property
    def all_includes(self) -> tuple[Path, ...]:
        """Include directories of packs and backends."""
        return tuple(dict.fromkeys(d for p in self.loaded for d in p.includes))

    def owner(self, hook: str, name: str) -> Plugin | None:
        """The plugin that declares ``name`` through ``hook``."""
        return next((p for p in self.loaded if name in p.names(hook)), None)

    def identity(self) -> dict[str, str]:
        """Version of the core and of every plugin in use, with a hash of their headers' text: part of every cache key.
        The headers are read anew, so that an edited one never meets an object built from its old text."""
        core = f"{ait_core.__version__}+{_digest([ait_runtime.INCLUDE_DIR, ait_runtime.SOURCES[0].parent])}"
        hashed = {p.name: p.version + (f"+{_digest(p.includes)}" if p.includes else "") for p in self.loaded}
        return {"ait_core": core, **hashed}

    def header_digest(self, headers: Iterable[str]) -> str:
        """Hash of the text of some headers, named as in ``#include``.

        Raises:
            PluginError: if one is in no include directory.
        """
        directories, digest = self.all_includes, blake2b(digest_size=16)
        for h in headers:
            path = _find(h, directories)
            if path is None:
                raise PluginError(f"The header {h!r} is in none of: {', '.join(map(str, directories)) or 'nothing'}.")
            _update(digest, h, path)
        return digest.hexdigest()


def describe(plugin: Plugin) -> str:
    """What is wrong with a plugin, and what to do, on one line."""
    return f"{plugin} was disabled: {plugin.error} {plugin.fix}".rstrip()


def _listed(environ: Mapping[str, str], variable: str) -> set[str] | None:
    value = environ.get(variable)
    return None if value is None else {normalise(n) for n in value.split(",") if n.strip()}


def _find(header: str, directories: Iterable[Path]) -> Path | None:
    return next((d / header for d in directories if (d / header).is_file()), None)


def _digest(directories: Iterable[Path]) -> str:
    digest = blake2b(digest_size=16)
    for d in directories:
        for path in sorted(d.rglob("*")):
            if path.is_file():
                _update(digest, path.relative_to(d).as_posix(), path)
    return digest.hexdigest()


def _update(digest: Any, name: str, path: Path) -> None:
    data = path.read_bytes()
    digest.update(f"{name}\0{len(data)}\0".encode())
    digest.update(data)


_lock = threading.RLock()
_current: Registry | None = None
_loading = False


def registry() -> Registry:
    """The registry of the installed plugins: loaded once a process, on first use, by whichever thread comes first.

    Raises:
        PluginError: if a plugin asks for it while it is being loaded itself.
    """
    made = _current  # read once: reload() may run in another thread
    return _load(again=False) if made is None else made


def reload() -> Registry:
    """Look for plugins anew, after some were installed or the lists in the environment changed."""
    return _load(again=True)


def _load(again: bool) -> Registry:
    global _current, _loading
    with _lock:
        if _loading:
            raise PluginError(
                "A plugin asked for the registry while plugins are being loaded. Import what you need from the other "
                "pack's Python module instead, or ask later, inside a function."
            )
        if _current is None or again:
            _loading = True
            try:
                _current = Registry.load()
            finally:
                _loading = False
            for text in (*map(describe, _current.failed), *_current.problems):
                log.warning("%s", text)
        return _current
