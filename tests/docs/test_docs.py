# SPDX-License-Identifier: Apache-2.0
"""The documentation does what it says: snippets run, quotations are exact, links resolve, and nothing is left out.
How blocks are marked: see ``pages.py``."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ait_core
from ait_core.declare import op as op_declarations
from ait_core.declare.backend import Backend
from ait_core.declare.frontend import Frontend
from ait_core.declare.kernel import Absorbs, Kernel, KernelBuilder
from ait_core.plugins import hooks
from ait_core.plugins.kinds import KINDS
from tests.docs import cli_reference
from tests.docs.pages import (
    EXAMPLES,
    INERT,
    OWN_TEST,
    ROOT,
    Block,
    anchors,
    blocks,
    commands,
    links,
    pages,
    prose,
    same_output,
)

ALL = [b for page in pages() if page.name not in OWN_TEST for b in blocks(page)]
RUNNING = sorted({b.page for b in ALL if b.runs})
CONTRACTS = ROOT / "docs" / "contracts.md"


def name(item: Path | Block) -> str:
    return str(item.relative_to(ROOT) if isinstance(item, Path) else item)


@pytest.mark.parametrize("page", RUNNING, ids=name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(f"docs_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    printed = ""
    for b in blocks(page):
        if b.file is not None and b.file.is_relative_to(EXAMPLES):
            target = tmp_path / b.file.relative_to(EXAMPLES)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(b.file, target)
        elif b.info == ("python", "run"):
            printed = run_python(b, module)
        elif b.info == ("console", "run"):
            for command, shown in commands(b):
                printed = run_command(command, b)
                assert not shown.strip() or same_output(shown, printed), f"{b}: `{command}` prints\n{printed}"
        elif b.info == ("text", "output"):
            assert same_output(b.text, printed), f"{b}: the block before it prints\n{printed}"
    for new in [m for m in set(sys.modules) - known if getattr(sys.modules[m], "__file__", None)]:
        if Path(sys.modules[new].__file__ or "").is_relative_to(tmp_path):
            del sys.modules[new]  # another page may have a module of this name


def run_python(b: Block, module: ModuleType) -> str:
    """Execute a block; what it prints. Tracebacks show the page's own line numbers."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (b.line - 1) + b.text, str(b.page), "exec"), module.__dict__)
    return out.getvalue()


def run_command(command: str, b: Block) -> str:
    """Run a command of a console block; what it prints."""
    program, *args = shlex.split(command)
    assert program in ("ait", "python"), f"{b}: only ait and python are run, not {program}"
    start = [sys.executable] if program == "python" else [sys.executable, "-c", "from ait_tools.cli import main; main()"]
    done = subprocess.run([*start, *args], capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 0, f"{b}: `{command}` exits with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("b", [b for b in ALL if b.file is not None], ids=name)
def test_quotations_are_exact(b: Block) -> None:
    assert b.file is not None and b.text in b.file.read_text(encoding="utf-8")


@pytest.mark.parametrize("b", ALL, ids=name)
def test_every_block_is_marked(b: Block) -> None:
    if b.language == "sh":
        targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
        for line in b.text.splitlines():
            program, *wanted = shlex.split(line, comments=True)
            wanted = [w for w in wanted if "=" not in w]
            assert program == "make" and wanted and targets.issuperset(wanted), f"{b}: {line}"
    else:
        known = b.runs or b.file is not None or b.info == ("text", "output") or b.info in {(i,) for i in INERT}
        assert known, f"{b}: {' '.join(b.info) or 'no mark'}"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_resolve(page: Path) -> None:
    for link in links(page):
        if re.match(r"https?://", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() and target.is_relative_to(ROOT), f"{link} leads nowhere"
        assert not fragment or fragment in anchors(target), f"{link}: there is no such heading"


@pytest.mark.parametrize("page", [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"], ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [re.sub(r"^(ait_\w+)/src/\1/", r"\1/", p) for p in listed.stdout.splitlines()]
    named = set(re.findall(r"`([\w/]+\.(?:py|h|hpp|cpp|toml|md))`", prose(page)))
    assert named and not {n for n in named if not any(re.search(rf"(^|/){re.escape(n)}$", p) for p in paths)}


def test_every_command_is_documented() -> None:
    text = cli_reference.PAGE.read_text(encoding="utf-8")
    assert text == cli_reference.with_reference(text), "Run python -m tests.docs.cli_reference."
    missing = [c.command_path for c in cli_reference.commands() if f"`{c.command_path}" not in text.partition("## Reference")[0]]
    assert not missing, "described by no words but its own"


def test_every_hook_is_documented_with_an_example() -> None:
    declared = {n for n in vars(hooks) if n.startswith("ait_")}
    assert declared == set(KINDS)
    code = "".join(b.text for b in blocks(CONTRACTS) if b.runs or b.file is not None)
    for hook in declared:
        assert f"`{hook}`" in prose(CONTRACTS), f"{hook} is not described"
        assert f"def {hook}(" in code, f"{hook} has no example"


def test_every_declaration_of_an_op_is_documented_with_an_example() -> None:
    code = "".join(b.text for b in blocks(CONTRACTS) if b.runs or b.file is not None)
    returns = {n: getattr(f, "__annotations__", {}).get("return") for n, f in vars(op_declarations).items()}
    decorators = [n for n, kind in returns.items() if kind == "Callable[[Callable], Op]"]
    assert len(decorators) >= 8
    for decorator in decorators:
        assert f"`@{decorator}`" in prose(CONTRACTS) and f"@{decorator}(" in code, decorator


@pytest.mark.parametrize("cls", [Absorbs, Kernel, KernelBuilder, Backend, Frontend], ids=lambda c: c.__name__)
def test_every_member_of_a_contract_is_documented(cls: type) -> None:
    text = prose(CONTRACTS)
    members = [n for n in (*cls.__annotations__, *vars(cls)) if not n.startswith("_")]
    missing = [n for n in dict.fromkeys(members) if not re.search(rf"`{n}\b", text)]
    assert members and not missing


def test_every_public_name_is_documented() -> None:
    missing = [n for n in ait_core.__all__ if not re.search(rf"`(ait\.)?{n}\b", prose(CONTRACTS))]
    assert not missing


def test_every_package_is_in_the_table_of_the_readme() -> None:
    listed = set(re.findall(r"^\| \[`?(ait_\w+)`?\]\(\1/?\)", prose(ROOT / "README.md"), re.M))
    assert listed == {p.parent.name for p in ROOT.glob("ait_*/pyproject.toml")}


def test_every_environment_variable_is_documented() -> None:
    by_call = r'(?:environ|getenv|threads_from|environ, v|variable)[^\n]*?"(AIT_[A-Z_]+)"'
    read = re.compile(by_call + r'|"(AIT_(?:DISABLE_)?PLUGINS)"')
    sources = [p for ending in ("py", "h", "cpp") for p in ROOT.glob(f"ait_*/src/**/*.{ending}")]
    used = {n for p in sources for pair in read.findall(p.read_text(encoding="utf-8")) for n in pair if n}
    assert used >= {"AIT_CACHE_DIR", "AIT_CXX", "AIT_NUM_THREADS", "AIT_PLUGINS", "AIT_DISABLE_PLUGINS"}
    missing = {n for n in used if f"`{n}`" not in prose(cli_reference.PAGE)}
    assert not missing
