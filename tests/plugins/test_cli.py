# SPDX-License-Identifier: Apache-2.0
"""The frame of the command ``ait``: output, errors, plugins' commands; and the commands plugins, doctor, cache."""

from __future__ import annotations

import io
import json

import click
import pytest
from click.testing import CliRunner

from ait_core.build.cache import Cache
from ait_tools.cli import MODULES, main
from ait_tools.output import table
from tests.plugins.conftest import op_source

COMMANDS = """
import sys
import click
from ait_tools.output import json_option, output
from ait_core.errors import GraphError, InternalError
from ait_core.plugins.hooks import hookimpl

print("noise while importing")

@click.command()
@click.argument("how")
@json_option
def act(how):
    "Do as told."
    print("noise while running")
    if how == "user":
        raise GraphError("no such thing; try another")
    if how == "file":
        open("/no/such/file")
    if how == "bug":
        raise InternalError("pass x broke node y")
    if how == "crash":
        raise KeyError("lost")
    if how == "usage":
        raise click.UsageError("not so")
    output({"how": how}, lambda: click.echo("did " + how))

@hookimpl
def ait_commands():
    return [act]
"""
TOY = """
from ait_core.declare.backend import Backend, Check, Target, Toolchain
from ait_core.errors import ToolchainError
from ait_core.plugins.hooks import hookimpl

class Toy(Backend):
    name = "{name}"
    loops = None
    def target(self, spec): return Target("{name}", "{name}", frozenset())
    def available(self): return 1
    def toolchain(self, target):
        {toolchain}
    def includes(self): return []
    def doctor(self):
        {doctor}

@hookimpl
def ait_backends(): return [Toy()]
"""
WORKS = 'return Toolchain("/bin/toycc", "toycc 1", (), (), ())'
MISSING = 'raise ToolchainError("no toycc in PATH; apt-get install toycc")'


def run(*args: str):
    return CliRunner().invoke(main, args, prog_name="ait")


@pytest.mark.parametrize(
    ("how", "kind", "message", "code"),
    [
        ("user", "GraphError", "no such thing; try another", 1),
        ("file", "FileNotFoundError", "/no/such/file", 1),
        ("usage", "UsageError", "not so", 2),
        ("bug", "InternalError", "pass x broke node y", 3),
        ("crash", "KeyError", "lost", 3),
    ],
)
def test_errors_of_commands(site, how, kind, message, code):
    site("acts", COMMANDS)
    plain, as_json = run("act", how), run("act", how, "--json")
    assert plain.exit_code == as_json.exit_code == code
    assert message in plain.stderr
    assert plain.stdout.endswith("noise while running\n")
    error = json.loads(as_json.stdout)["error"]
    assert error["type"] == kind
    assert message in error["message"]
    for text in (plain.stderr, error["message"]):
        assert ("report it" in text) == (code == 3)
        assert ("authors of acts 1.0 (plugin acts)" in text) == (code == 3)
    assert ("Traceback" in plain.stderr) == (how == "crash")


def test_plugins_commands_run_and_are_listed(site):
    site("acts", COMMANDS)
    site("worse", COMMANDS.replace("return [act]", "return act"))
    assert "did well" in run("act", "well").stdout
    assert json.loads(run("act", "well", "--json").stdout) == {"how": "well"}
    shown = run("--help")
    assert shown.exit_code == 0
    assert "Do as told." in shown.stdout
    assert all(name in shown.stdout for name in MODULES)
    unknown = run("no-such", "--json")
    assert unknown.exit_code == run("no-such").exit_code == 2
    assert "No such command 'no-such'" in json.loads(unknown.stdout)["error"]["message"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_are_for_terminals(monkeypatch):
    def draw(stream: io.StringIO) -> str:
        monkeypatch.setattr("sys.stdout", stream)
        table(("name", "count"), [("[red]a[/red]", 1), ("b", 22)])
        return stream.getvalue()

    assert draw(io.StringIO()) == "name\tcount\n[red]a[/red]\t1\nb\t22\n"
    drawn = draw(Terminal())
    assert "[red]a[/red]" in drawn
    assert "\t" not in drawn


def test_every_command_documents_itself_and_has_json():
    def leaves(command: click.Command):
        if isinstance(command, click.Group):
            for sub in command.commands.values():
                yield from leaves(sub)
        else:
            yield command

    for name in MODULES:
        command = main.get_command(click.Context(main), name)
        assert command.help
        for leaf in leaves(command):
            assert leaf.help, (name, leaf.name)
            assert any("--json" in p.opts for p in leaf.params), (name, leaf.name)


def test_plugins(site):
    site("aaa", op_source("shared.twice"))
    site("bbb", op_source("shared.twice"))
    site("ccc", "1 / 0")
    site("toy", TOY.format(name="toy", toolchain=WORKS, doctor="return []"))
    data = json.loads(run("plugins", "--json").stdout)
    assert data["api_version"] == 1
    assert data["problems"] == []
    found = {p["name"]: p for p in data["plugins"]}
    assert {n: p["status"] for n, p in found.items()} == {
        "aaa": "loaded", "bbb": "failed", "ccc": "failed", "toy": "loaded"}  # fmt: skip
    assert found["aaa"]["ops"] == ["shared.twice"]
    assert found["aaa"]["hooks"] == ["ait_ops"]
    assert found["aaa"]["error"] is None
    assert found["toy"]["targets"] == ["toy"]
    assert "ZeroDivisionError" in found["ccc"]["error"]["traceback"]
    assert "AIT_DISABLE_PLUGINS=aaa" in found["bbb"]["error"]["fix"]
    listed = json.loads(run("plugins", "--hook", "ait_backends", "--json").stdout)["plugins"]
    assert [p["name"] for p in listed] == ["toy"]
    plain = run("plugins")
    assert plain.exit_code == 0
    assert "aaa\t1.0\taaa\tloaded\t1" in plain.stdout
    assert "declared by both" in plain.stderr
    wrong = run("plugins", "--hook", "ait_nothing")
    assert wrong.exit_code == 2
    assert "ait_ops" in wrong.stderr


def test_doctor(site, monkeypatch):
    monkeypatch.setattr("ait_tools.cli.doctor.core_checks", lambda: iter(()))
    nothing = run("doctor", "--json")
    assert nothing.exit_code == 1
    assert json.loads(nothing.stdout)["checks"][0]["fix"] == "pip install ait-backend-cpu"
    from ait_core.plugins.registry import reload

    site("aaa", TOY.format(name="aaa", toolchain=MISSING, doctor="raise ZeroDivisionError"))
    reload()
    assert run("doctor").exit_code == 1
    site("bbb", TOY.format(name="bbb", toolchain=WORKS, doctor="return [Check('speed', False, 'slow', 'buy more')]"))
    reload()
    fine = run("doctor", "--json")
    assert fine.exit_code == 0
    data = json.loads(fine.stdout)
    assert data["can_compile"]
    assert data["targets"] == ["bbb"]
    failing = {(c["group"], c["what"]): c["detail"] + c["fix"] for c in data["checks"] if not c["ok"]}
    assert failing == {
        ("target aaa", "compiler"): "no toycc in PATH; apt-get install toycc",
        ("target aaa", "doctor"): "ZeroDivisionError: A bug of this backend: report it to its authors.",
        ("target bbb", "speed"): "slowbuy more",
    }
    plain = run("doctor").stdout
    assert "buy more" in plain
    assert "Can compile for: bbb" in plain


def test_doctor_knows_a_cache_that_cannot_be_written(site, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("AIT_CACHE_DIR", str(blocked / "cache"))
    checks = {c["what"]: c for c in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert not checks["cache"]["ok"]
    assert "AIT_CACHE_DIR" in checks["cache"]["fix"]
    assert checks["python"]["ok"]


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AIT_CACHE_DIR", str(tmp_path / "cache"))
    assert run("cache", "path").stdout == f"{tmp_path / 'cache'}\n"
    source = tmp_path / "x.o"
    source.write_bytes(b"\0" * 2048)
    for key in ("aa11", "aa22", "bb33"):
        Cache("objects").put(key, ".o", source)
    Cache("models").put("cc44", ".so", source)
    writing = tmp_path / "cache" / "objects" / "aa" / ".aa55.o.partial"
    writing.write_bytes(b"half")
    shown = json.loads(run("cache", "show", "--json").stdout)
    assert shown["objects"] == {"files": 4, "bytes": 3 * 2048 + 4}
    assert shown["models"] == {"files": 1, "bytes": 2048}
    assert "objects: 4 files, 6.0 KiB" in run("cache", "show").stdout
    assert json.loads(run("cache", "clear", "--json").stdout)["removed"]["objects"] == {"files": 3, "bytes": 6144}
    assert [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()] == [writing.name]
    Cache("objects").put("aa11", ".o", source)
    assert Cache("objects").get("aa11", ".o").read_bytes() == source.read_bytes()


def test_commands_of_the_core_need_no_plugins(site, monkeypatch):
    monkeypatch.setattr("ait_core.plugins.registry.Registry.load", lambda: pytest.fail("plugins were loaded"))
    assert run("cache", "path", "--json").exit_code == 0
    assert run("--version").stdout == "ait, version 0.1.0\n"
