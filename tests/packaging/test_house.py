# SPDX-License-Identifier: Apache-2.0
"""What every package here keeps to: sizes, licences, versions, requirements, and READMEs whose examples run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import ait_core
from tests.packaging.conftest import PACKAGES, ROOT, project

SUFFIXES = {".py", ".h", ".hpp", ".cpp", ".c", ".cu"}


def sources(folder: str) -> list[Path]:
    """Files under version control's rules: what a build or a run left behind is not ours."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [p for f in listed if (p := ROOT / f).suffix in SUFFIXES and p.is_file()]


def test_every_source_file_names_its_licence_and_stays_short():
    found = sources(".")
    assert len(found) > 50
    texts = {p.relative_to(ROOT).as_posix(): p.read_text() for p in found}
    unlicensed = [n for n, t in texts.items() if t and "SPDX-License-Identifier: Apache-2.0" not in t[:120]]
    assert unlicensed == []
    assert {n: t.count("\n") for n, t in texts.items() if t.count("\n") > 600} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_versions_agree(package):
    about = project(package)
    assert about["version"] == ait_core.__version__
    assert about["name"] == package.replace("_", "-")
    for need in map(Requirement, about["dependencies"]):
        if need.name.startswith("ait-"):
            assert need.specifier.contains(ait_core.__version__)
            assert not need.specifier.contains("1.0")


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_imported_is_required(package):
    modules: set[str] = set()
    for path in sources(f"{package}/src"):
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    modules |= {a.name.split(".")[0] for a in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    modules.add(node.module.split(".")[0])
    names = {re.sub(r"[-_.]+", "-", Requirement(r).name).lower() for r in project(package)["dependencies"]}
    required = {n.replace("-", "_") for n in names}
    assert modules - set(sys.stdlib_module_names) - {package} <= required


@pytest.mark.parametrize("package", PACKAGES)
def test_headers_of_another_pack_are_required(package):
    included = {
        m[1] for p in sources(f"{package}/src") if p.suffix == ".h" for m in re.finditer(r'"(ait_\w+)/', p.read_text())
    }
    names = {Requirement(r).name.replace("-", "_") for r in project(package)["dependencies"]}
    assert included - {package} <= names


@pytest.mark.parametrize("package", PACKAGES)
def test_the_examples_in_the_readme_run(package, tmp_path):
    examples = re.findall(r"```python\n(.*?)```", (ROOT / package / "README.md").read_text(), re.DOTALL)
    for code in examples:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
