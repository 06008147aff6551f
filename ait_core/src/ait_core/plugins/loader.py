# SPDX-License-Identifier: Apache-2.0
"""Loading one plugin at a time: whatever is wrong with it stays in its record and touches no other plugin."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import re
import tokenize
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import pluggy
from packaging.requirements import Requirement

import ait_core
from ait_core.errors import AITError
from ait_core.plugins import hooks, kinds


class Refusal(Exception):
    """Why a plugin cannot be used, and what its user can do about it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


@dataclass(eq=False)
class Plugin:
    """A plugin and what came of loading it. ``declared`` maps each hook it implements to its declarations;
    ``includes`` are the directories of its headers, those of its backends included."""

    name: str
    distribution: str
    version: str
    module: str
    status: Literal["loaded", "disabled", "failed"] = "loaded"
    error: str = ""
    fix: str = ""
    traceback: str = ""
    declared: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    includes: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} (plugin {self.name})"

    def fail(self, error: str, fix: str, trace: str = "") -> None:
        """Disable the whole plugin: half a plugin would make results depend on where it broke."""
        self.status, self.error, self.fix, self.traceback = "failed", error, fix, trace
        self.declared, self.includes = {}, ()

    def names(self, hook: str) -> list[str]:
        """Names of what it declares through a hook."""
        return [kinds.kind(hook).key(item) for item in self.declared.get(hook, ())]


@dataclass(frozen=True)
class Candidate:
    """A plugin that is installed; ``load`` imports it, ``requires`` are the requirements of its distribution."""

    plugin: Plugin
    load: Callable[[], Any]
    requires: tuple[str, ...] = ()


def normalise(name: str) -> str:
    """A distribution name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def discover() -> list[Candidate]:
    """All plugins that are installed, in the order in which clashes are decided: by name, then by distribution."""
    names = {normalise(d.name) for d in metadata.distributions() if _has_group(d) and d.name}
    found = [c for name in names for c in _candidates(metadata.distribution(name))]
    return sorted(found, key=lambda c: (c.plugin.name, normalise(c.plugin.distribution), c.plugin.module))


def _has_group(dist: metadata.Distribution) -> bool:
    return hooks.GROUP in (dist.read_text("entry_points.txt") or "")


def _candidates(dist: metadata.Distribution) -> Iterator[Candidate]:
    """Of a distribution that is found twice (a wheel below an editable install) the first on the path counts."""
    try:
        points = {(e.name, e.value): e for e in dist.entry_points if e.group == hooks.GROUP}
    except Exception as e:
        broken = Plugin(dist.name, dist.name, dist.version, "")
        broken.fail(f"Its entry points cannot be read: {e}", f"Reinstall it: pip install --force-reinstall {dist.name}")
        yield Candidate(broken, lambda: None)
        return
    for (name, value), point in points.items():
        yield Candidate(Plugin(name, dist.name, dist.version, value), point.load, tuple(dist.requires or ()))


def load(candidate: Candidate) -> None:
    """Check, import and call every hook of one plugin; anything wrong is recorded in its :class:`Plugin`."""
    plugin = candidate.plugin
    try:
        _check_requirements(candidate.requires)
        _check_api(_written_api_version(plugin.module), plugin)
        module = candidate.load()
        _check_api(getattr(module, "API_VERSION", None), plugin)
        plugin.declared = _call_hooks(module)
        backends = plugin.declared.get("ait_backends", ())
        found = [*plugin.declared.get("ait_includes", ()), *(p for b in backends for p in b.includes())]
        plugin.includes = tuple(dict.fromkeys(map(_directory, found)))
    except Refusal as e:
        plugin.fail(str(e), e.fix)
    except (Exception, SystemExit) as e:
        plugin.fail(
            str(e) if isinstance(e, AITError) else f"{type(e).__name__}: {e}",
            f"Upgrade it (pip install -U {plugin.distribution}) or report the traceback to its authors; "
            f"AIT_DISABLE_PLUGINS={plugin.name} silences this.",
            "".join(traceback.format_exception(type(e), e, e.__traceback__)),
        )


def _check_requirements(requires: tuple[str, ...]) -> None:
    for text in requires:
        need = Requirement(text)
        if need.marker and not need.marker.evaluate({"extra": ""}):
            continue
        have = _installed(need.name)
        if have is None or not need.specifier.contains(have, prereleases=True):
            found = "it is not installed" if have is None else f"{have} is installed"
            raise Refusal(f"It needs {need.name}{need.specifier}, but {found}.", f'pip install "{need}"')


def _installed(name: str) -> str | None:
    if normalise(name) == "ait-core":
        return ait_core.__version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _written_api_version(entry: str) -> object:
    """``API_VERSION`` as written in the module's source, so that nothing of a plugin for another API runs. None where
    it is not a literal there: then only the check after the import decides."""
    try:
        top, *rest = entry.partition(":")[0].split(".")
        spec = importlib.util.find_spec(top)
        for part in rest:
            top = f"{top}.{part}"
            spec = importlib.machinery.PathFinder.find_spec(top, spec.submodule_search_locations)  # type: ignore[union-attr]
        with tokenize.open(spec.origin) as source:  # type: ignore[union-attr, arg-type]
            tree = ast.parse(source.read())
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(t, ast.Name) and t.id == "API_VERSION" for t in targets):
                return ast.literal_eval(node.value)  # type: ignore[attr-defined]
    except Exception:  # not to be found or read: the import will say why
        pass
    return None


def _check_api(version: object, plugin: Plugin) -> None:
    if version is None:
        return
    pair = (version, version) if isinstance(version, int) else version
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(type(v) is int for v in pair)):
        raise Refusal(
            f"API_VERSION must be an integer or a pair (lowest, highest); got {version!r}.",
            f"Upgrade it: pip install -U {plugin.distribution}",
        )
    low, high = pair
    if not low <= hooks.API_VERSION <= high:
        shown = str(low) if low == high else f"{low} to {high}"
        old = "ait-core" if low > hooks.API_VERSION else plugin.distribution
        raise Refusal(
            f"It needs plugin API {shown}; ait-core {ait_core.__version__} has API {hooks.API_VERSION}.",
            f"Upgrade {old}: pip install -U {old}",
        )


def _call_hooks(module: Any) -> dict[str, tuple[Any, ...]]:
    """What each hook of a plugin declares. A manager of its own, so that nothing of it is left behind on failure."""
    manager = pluggy.PluginManager("ait")
    manager.add_hookspecs(hooks)
    manager.register(module)
    manager.check_pending()
    out: dict[str, tuple[Any, ...]] = {}
    for caller in sorted(manager.get_hookcallers(module) or (), key=lambda c: c.name):
        items: list[Any] = []
        for impl in caller.get_hookimpls():
            if impl.wrapper or impl.hookwrapper:
                raise AITError(f"{caller.name} is a wrapper; hooks that declare something cannot be wrapped.")
            items.extend(kinds.checked(caller.name, impl.function()))
        out[caller.name] = tuple(items)
    return out


def _directory(path: Any) -> Path:
    found = Path(path).resolve()
    if not found.is_dir():
        raise AITError(f"The include directory {str(path)!r} does not exist.")
    return found
