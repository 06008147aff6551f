# SPDX-License-Identifier: Apache-2.0
"""Plugins for tests: a module and the metadata of its distribution, as an installer leaves them."""

from __future__ import annotations

import importlib
import importlib.metadata as metadata
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from ait_core.plugins import registry as registries

OP = """
from ait_core.plugins.hooks import hookimpl
from ait_core.declare.op import pointwise

API_VERSION = 1

@pointwise("{op}")
def twice(x):
    "Two times x."
    return x + x

@hookimpl
def ait_ops():
    return [twice]
"""


def op_source(op: str) -> str:
    """Source of a plugin that declares one pointwise op."""
    return OP.format(op=op)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """``site(name, source)`` installs a plugin; only those installed so are seen, whatever the environment holds."""
    root = tmp_path / "site"
    root.mkdir()
    monkeypatch.delenv("AIT_PLUGINS", raising=False)
    monkeypatch.delenv("AIT_DISABLE_PLUGINS", raising=False)
    monkeypatch.setattr(registries, "_current", None)
    monkeypatch.syspath_prepend(str(root))
    modules = set(sys.modules)
    everything = metadata.distributions
    monkeypatch.setattr(
        metadata, "distributions", lambda: everything(path=[p for p in sys.path if p.startswith(str(tmp_path))])
    )

    def install(name: str, source: str, *, distribution: str | None = None, version: str = "1.0", requires: str = "",
                entry: str | None = None, at: Path = root) -> Path:  # fmt: skip
        at.mkdir(exist_ok=True)
        dist = (distribution or name).replace("-", "_")
        module = f"{dist}_{name}" if distribution else name
        (at / f"{module}.py").write_text(textwrap.dedent(source))
        info = at / f"{dist}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        lines = [f"Requires-Dist: {r}" for r in requires.split(";;") if r]
        (info / "METADATA").write_text(
            "\n".join(["Metadata-Version: 2.1", f"Name: {dist}", f"Version: {version}", *lines, ""])
        )
        points = entry if entry is not None else f"{name} = {module}"
        (info / "entry_points.txt").write_text(f"[ait.plugins]\n{points}\n")
        importlib.invalidate_caches()
        return at / f"{module}.py"

    yield install
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
