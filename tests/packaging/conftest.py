# SPDX-License-Identifier: Apache-2.0
"""Real wheels, built as for an index, in an environment that holds nothing but them and what ait-core requires."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(p.parent.name for p in ROOT.glob("ait_*/pyproject.toml"))
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def project(package: str) -> dict:
    """The table ``project`` of a package here."""
    return tomllib.loads((ROOT / package / "pyproject.toml").read_text())["project"]


def build_wheels(projects: Iterable[Path], to: Path) -> list[Path]:
    """Build one wheel a project, each by its own build backend. ``build-dir`` is scikit-build's: there it compiles what
    changed since the last run only."""
    to.mkdir(parents=True, exist_ok=True)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(to)]
    options += ["--config-settings", f"build-dir={ROOT / 'out' / 'wheels' / sys.implementation.cache_tag}"]
    subprocess.run([*PIP, "wheel", *options, *map(str, projects)], check=True, stdin=subprocess.DEVNULL)
    return sorted(to.glob("*.whl"))


def _closure(names: Iterable[str], seen: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    for name in names:
        if (key := re.sub(r"[-_.]+", "-", name).lower()) not in seen:
            seen[key] = metadata.distribution(name)
            needs = map(Requirement, seen[key].requires or ())
            _closure((r.name for r in needs if not r.marker or r.marker.evaluate({"extra": ""})), seen)
    return seen


def _top_level(dist: metadata.Distribution) -> Iterator[Path]:
    tops = {f.parts[0] for f in dist.files or () if f.parts[0] not in ("..", "__pycache__")}
    return (Path(str(dist.locate_file(top))) for top in sorted(tops))


def requirements(packages: Iterable[str]) -> tuple[set[str], set[str]]:
    """What some packages here need but torch, directly or not: (packages here, distributions from elsewhere)."""
    ours, others, todo = set(), set(), list(packages)
    while todo:
        if (package := todo.pop()) not in ours:
            ours.add(package)
            names = {Requirement(r).name for r in project(package)["dependencies"]} - {"torch"}
            todo += [n.replace("-", "_") for n in names if n.startswith("ait-")]
            others |= {n for n in names if not n.startswith("ait-")}
    return ours, others


class Environment:
    """A virtual environment without access to the one that runs the tests. What our packages require from elsewhere is
    linked into it rather than downloaded again; all but torch, which only the torch frontend may miss."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        self.site = next((folder / "lib").glob("python*/site-packages"))
        self.link(requirements(PACKAGES)[1])
        self.cwd = folder / "elsewhere"
        self.cwd.mkdir()

    def link(self, distributions: Iterable[str]) -> None:
        """Make distributions of the environment that runs the tests, and what they require, visible in this one."""
        for dist in _closure(distributions, {}).values():
            for path in _top_level(dist):
                target = self.site / path.name
                if not target.exists():
                    target.symlink_to(path)

    def install(self, wheels: Iterable[Path]) -> None:
        """Install wheels as pip does from an index, but for their requirements."""
        options = ["--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*PIP, "--python", str(self.bin / "python"), "install", *options, *map(str, wheels)], check=True)

    def run(self, *command: str, code: int = 0, **variables: str) -> str:
        """Run a program of the environment from a directory outside any checkout; its stdout. The cache is that of all
        tests: what it holds was built from the very same sources and headers."""
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "AIT_")) or k == "AIT_CACHE_DIR"}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]], cwd=self.cwd, text=True, capture_output=True, timeout=300,
            env={**keep, **variables}, check=False,
        )  # fmt: skip
        if done.returncode != code:
            pytest.fail(f"{command} returned {done.returncode}, not {code}:\n{done.stdout}\n{done.stderr}")
        return done.stdout


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of all packages here, by package."""
    built = build_wheels((ROOT / p for p in PACKAGES), tmp_path_factory.mktemp("wheels"))
    return {w.name.split("-")[0]: w for w in built}


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[Iterable[Path]], Environment]:
    """``environment(wheels)``: a clean environment with these installed."""

    def make(which: Iterable[Path]) -> Environment:
        made = Environment(tmp_path / "environment")
        made.install(which)
        return made

    return make
