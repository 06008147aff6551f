# SPDX-License-Identifier: Apache-2.0
"""All checks of a plugin: as a list, at once, or as one parametrised test for pytest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ait_core.declare import roles
from ait_core.declare.backend import Target
from ait_core.declare.kernel import Kernel
from ait_core.declare.op import Op
from ait_core.errors import AITError, PluginError
from ait_core.plugins.loader import Candidate, Plugin, load, normalise
from ait_core.plugins.registry import Registry, describe, registry
from ait_testing import compiled, declared
from ait_testing.samples import Sample, samples_of

FRAMEWORKS = ("torch", "tensorflow", "jax", "onnx")
Samples = Mapping[str, Iterable[Any]]


class ConformanceError(AITError):
    """A pack does not keep to what AIT expects of packs."""


@dataclass(frozen=True)
class Check:
    """One thing a pack must keep to. ``find`` gives what is wrong, or None; ``skip`` says why it cannot be checked
    here."""

    name: str
    find: Callable[[], str | None]
    skip: str = ""

    def run(self) -> None:
        """Raise :class:`ConformanceError` if something is wrong."""
        if problem := self.find():
            raise ConformanceError(f"{self.name}: {problem}")


def checks(plugin: str | ModuleType | Registry, samples: Samples | None = None, *, compile: bool = True,
           targets: Sequence[str] | None = None) -> list[Check]:  # fmt: skip
    """What a plugin is checked for.

    Args:
        plugin: the name of an installed plugin or of its distribution, a plugin's module, or a registry, all plugins of
            which are checked.
        samples: for each op, by name, what to call it with: ``(inputs, attrs)`` or :class:`Sample`; by default what the
            plugin's module calls ``SAMPLES``. A pointwise op without attributes needs none.
        compile: off leaves out what needs a compiler.
        targets: names of targets to compile for; by default those of all backends that work on this machine.

    Raises:
        PluginError: if the plugin is not installed, or was disabled.
    """
    found, plugins = _resolve(plugin)
    return [c for p in plugins for c in _checks(p, found, _given(p, samples), compile, targets)]


def check_plugin(plugin: str | ModuleType | Registry, samples: Samples | None = None, *, compile: bool = True,
                 targets: Sequence[str] | None = None) -> list[Check]:  # fmt: skip
    """Run all :func:`checks` of a plugin; returns those that ran.

    Raises:
        ConformanceError: listing everything that is wrong.
        PluginError: if the plugin is not installed, or was disabled.
    """
    ran = [c for c in checks(plugin, samples, compile=compile, targets=targets) if not c.skip]
    problems = [f"{c.name}: {problem}" for c in ran if (problem := c.find())]
    if problems:
        raise ConformanceError("\n".join(problems))
    return ran


def conformance(plugin: str | ModuleType | Registry, samples: Samples | None = None, *, compile: bool = True,
                targets: Sequence[str] | None = None) -> Callable[[Check], None]:  # fmt: skip
    """A test function for pytest with one case a check: ``test_pack = conformance("my_pack", samples=...)``. The
    arguments are those of :func:`checks`."""
    import pytest

    params = [
        pytest.param(c, id=c.name, marks=[pytest.mark.skip(reason=c.skip)] if c.skip else [])
        for c in checks(plugin, samples, compile=compile, targets=targets)
    ]

    @pytest.mark.parametrize("check", params)
    def test_pack(check: Check) -> None:
        """A pack keeps to what AIT expects of packs."""
        check.run()

    return test_pack


def _resolve(plugin: str | ModuleType | Registry) -> tuple[Registry, Sequence[Plugin]]:
    if isinstance(plugin, Registry):
        return plugin, plugin.loaded
    installed = registry()
    if isinstance(plugin, str):
        wanted = {normalise(plugin)}
        found = [p for p in installed.plugins if wanted & {normalise(p.name), normalise(p.distribution)}]
        if not found:
            names = ", ".join(p.name for p in installed.plugins) or "none"
            raise PluginError(f"There is no plugin {plugin!r}; installed: {names}. Install it first: pip install -e .")
    else:
        found = [p for p in installed.plugins if p.module == plugin.__name__]
        if not found:
            name = plugin.__name__.removesuffix(".plugin")
            found = [Plugin(name, name, str(getattr(plugin, "__version__", "0")), plugin.__name__)]
            load(Candidate(found[0], lambda: plugin))
            installed = Registry((*installed.plugins, *found))
    if unusable := [p for p in found if p.status != "loaded"]:
        raise PluginError("\n".join(describe(p) for p in unusable))
    return installed, found


def _given(plugin: Plugin, samples: Samples | None) -> Samples:
    return samples if samples is not None else getattr(sys.modules.get(plugin.module), "SAMPLES", {})


def _checks(p: Plugin, plugins: Registry, given: Samples, compile: bool, targets: Sequence[str] | None) -> Iterator[Check]:
    yield Check(f"plugin {p.name}: imports no framework", lambda: _framework(p.module))
    ops = {op.name: op for op in p.declared.get("ait_ops", ())}
    known = {**plugins.ops, **ops}
    if strangers := sorted(given.keys() - known.keys()):
        yield Check(f"plugin {p.name}: samples", lambda: f"there are samples of {', '.join(strangers)}, which is no op")
    for op in ops.values():
        found = samples_of(op, given)
        yield Check(f"op {op.name}: documented", lambda op=op: declared.undocumented(op))
        if not found:
            yield Check(f"op {op.name}: samples", lambda op=op: (
                f"none are given: samples={{{op.name!r}: [((array, ...), {{attribute: value}})]}}"))  # fmt: skip
        for i, sample in enumerate(found):
            yield Check(f"op {op.name}: infer agrees with reference {i}",
                        lambda op=op, x=sample: declared.wrong_type(op, x))  # fmt: skip
    for r in p.declared.get("ait_rules", ()):
        yield Check(f"rule {r.name}: proved by its example", lambda r=r: declared.unproved(r))
    kernels = p.declared.get("ait_kernels", ())
    for k in kernels:
        yield Check(f"kernel {k.name}: described", lambda k=k: declared.inconsistent(k, known.get(k.op)))
    if not compile:
        return
    here = _targets(plugins, targets)
    for k in kernels:
        if k.op in known:
            yield _kernel_check(k, known[k.op], samples_of(known[k.op], given), plugins, here)
    for op in ops.values():
        found = samples_of(op, given)
        for t in here:
            served = isinstance(op.role, roles.Opaque) or any(k.target == t.backend for k in plugins.kernels.get(op.name, ()))
            if found and not served:
                yield Check(f"op {op.name}: compiled for {t.name}",
                            lambda op=op, x=found, t=t: compiled.wrong_loops(op, x, plugins, t))  # fmt: skip


def _kernel_check(k: Kernel, op: Op, samples: list[Sample], plugins: Registry, here: Sequence[Target]) -> Check:
    name = f"kernel {k.name}: compiled"
    able = [t for t in here if t.backend == k.target]
    if not samples:
        return Check(name, lambda: f"there are no samples of {op.name} to run it on")
    if not able:
        return Check(name, lambda: None, skip=f"no backend works here for target {k.target}")
    if missing := k.features - able[0].features:
        return Check(name, lambda: None, skip=f"{able[0].name} has no {', '.join(sorted(missing))}")
    return Check(name, lambda: compiled.wrong_kernel(k, op, samples, plugins, able[0]))


def _targets(plugins: Registry, names: Sequence[str] | None) -> list[Target]:
    from ait_core.api import find_target

    if names is not None:
        return [find_target(n, plugins) for n in names]
    return [b.target("") for b in plugins.backends.values() if b.available() > 0]


def _framework(module: str) -> str | None:
    """Which framework importing a plugin's module pulls in, in a process of its own."""
    code = f"import importlib, sys; importlib.import_module(sys.argv[1]); print(*(set({FRAMEWORKS!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{module} cannot be imported by itself:\n{done.stderr}"
    found = done.stdout.split()
    return f"{module} imports {', '.join(found)}: import it in the functions that need it." if found else None
