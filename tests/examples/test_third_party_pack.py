# SPDX-License-Identifier: Apache-2.0
"""The pack of ``examples/third_party_pack``: small, made of public names only, and fused like a first-party one."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.packaging.conftest import ROOT, build_wheels, environment, wheels

__all__ = ["environment", "wheels"]  # fixtures

PACK = ROOT / "examples" / "third_party_pack"
PAGE = ROOT / "docs" / "tutorials" / "publish_your_own_op_pack.md"
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
README = re.findall(r"```python\n(.*?)```", (PACK / "README.md").read_text(), re.DOTALL)


def files() -> list[str]:
    """The pack's files, as far as version control is concerned."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(listed, cwd=PACK, capture_output=True, text=True, check=True).stdout.splitlines()


def public() -> set[str]:
    """The modules that the documentation declares public: the rows of its table."""
    return set(re.findall(r"^\| `(ait\w+(?:\.\w+)*)` \|", PAGE.read_text(), re.MULTILINE))


def test_the_pack_is_small():
    assert 0 < len(files()) <= 8
    assert (PACK / "src/acme_ait_ops/kernels.py").read_text().count("\n") <= 40
    assert sum((PACK / f).read_text().count("\n") for f in files() if f.endswith((".py", ".h"))) <= 250


def test_the_page_shows_the_pack_as_it_is():
    shown = set()
    for block in FENCE.finditer(PAGE.read_text()):
        if match := re.fullmatch(r"\w+ file=(\S+)", block["info"]):
            shown.add(match[1])
            assert block["text"] in (ROOT / match[1]).read_text(), f"{match[1]} does not hold:\n{block['text']}"
        else:
            assert block["info"] in ("text", "console run"), block["info"]
    assert {str((PACK / f).relative_to(ROOT)) for f in files()} == shown


def test_the_links_of_the_page_lead_somewhere():
    links = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", PAGE.read_text()))
    assert links
    assert [x for x in links if not (PAGE.parent / x).exists()] == []


def commands() -> list[tuple[list[str], str]]:
    """The commands of the page, each with the output that it is shown with."""
    blocks = [b["text"] for b in FENCE.finditer(PAGE.read_text()) if b["info"] == "console run"]
    return [(shlex.split(c), out) for b in blocks for c, _, out in (x.partition("\n") for x in b.split("$ ")[1:])]


def test_the_pack_imports_public_modules_only():
    used = set()
    for path in PACK.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                children = {f"{node.module}.{a.name}" for a in node.names} & public()
                used |= children or {node.module}
    ours = {name for name in used if name.startswith("ait_")}
    assert {"ait_core.declare.op", "ait_core.declare.kernel", "ait_core.plugins.hooks", "ait_core.scalar"} <= ours
    assert ours - public() == set()
    elsewhere = {n.split(".")[0] for n in used - ours} - set(sys.stdlib_module_names)
    assert elsewhere == {"acme_ait_ops", "numpy", "torch"}


@pytest.mark.parametrize("name", sorted(public()))
def test_a_public_module_exists_and_says_what_it_is(name):
    assert importlib.import_module(name).__doc__


def test_no_public_name_is_hidden_by_a_module():
    import ait_core

    modules = {p.stem for p in (ROOT / "ait_core/src/ait_core").iterdir()}
    assert modules & set(ait_core._LAZY) == set()


@pytest.mark.wheels
def test_the_pack_is_fused_in_both_directions(wheels, environment, tmp_path):
    (wheel,) = build_wheels([PACK], tmp_path / "dist")
    env = environment([*wheels.values(), wheel])
    env.link(["torch"])
    (env.cwd / "mixer.py").write_text(README[0])
    (env.cwd / "use.py").write_text(README[1])
    env.run("python", "use.py")

    explained = json.loads(env.run("ait", "explain", "mixer.py:example", "--json", "--target", "cpu"))
    groups = {g["kernel"]: g for g in explained["groups"] if not g["load_time"]}
    run = [g["ops"].split(" + ") for g in explained["groups"] if not g["load_time"]]
    assert [g[0] for g in run] == ["gemm.linear", "acme.causal_smooth", "norm.layer_norm/tensor.mean", "gemm.linear"]
    assert run[0] == ["gemm.linear", "acme.squared_relu"]  # the op is spelt out in the model
    smooth = groups["acme.cpu.causal_smooth"]
    assert {n["op"] for n in smooth["computed_again"]} == {f"tensor.{n}" for n in ("pad", "sub", "mul", "add", "silu")}
    assert [n["op"] for n in smooth["nodes"]] == ["acme.causal_smooth", "tensor.mul", "tensor.add"]
    assert len(smooth["stores"]) == 1

    assert len(commands()) == 2
    for command, output in commands():
        got = env.run(*command)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(f"...{output}...", got, flags), f"{command} printed:\n{got}"

    shutil.copy(PACK / "tests" / "test_pack.py", env.cwd)
    tested = env.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_pack.py")
    assert re.search(r"^\d+ passed in", tested, re.MULTILINE), tested
