# SPDX-License-Identifier: Apache-2.0
"""Whatever a plugin does wrong stays with it, is recorded, and says what to do."""

from __future__ import annotations

import multiprocessing
import queue
import sys
import threading

import pytest

from ait_core.errors import PluginError
from ait_core.plugins.registry import Registry, registry, reload
from tests.plugins.conftest import op_source

BROKEN = {
    "raises": ("raise ValueError('out of luck')", "ValueError: out of luck"),
    "exits": ("import sys; sys.exit(7)", "SystemExit: 7"),
    "syntax": ("def (", "SyntaxError"),
    "needs": ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    "older": ("API_VERSION = 0", "It needs plugin API 0; ait-core 0.1.0 has API 1."),
    "newer": ("API_VERSION = (98, 99)", "It needs plugin API 98 to 99; ait-core 0.1.0 has API 1."),
    "computed": ("API_VERSION = 90 + 9", "It needs plugin API 99; ait-core 0.1.0 has API 1."),
    "api": ("API_VERSION = 'one'", "API_VERSION must be an integer or a pair (lowest, highest); got 'one'."),
}
HOOKS = {
    "raising": ("ait_ops", "raise RuntimeError('no ops today')", "RuntimeError: no ops today"),
    "nothing": ("ait_ops", "pass", "ait_ops must return a list of Op objects; it returned None."),
    "text": ("ait_ops", "return 'add'", "ait_ops must return a list of Op objects; it returned 'add'."),
    "others": ("ait_kernels", "return [3]", "ait_kernels must return Kernel objects; it returned 3."),
    "unknown": ("ait_opz", "return []", "unknown hook 'ait_opz'"),
    "absent": ("ait_includes", "import pathlib; return [pathlib.Path('/no/such')]",
               "The include directory '/no/such' does not exist."),
    "half": ("ait_rules", "from ait_core.declare.rule import rule; return [rule('a.b', example=dict)(lambda x: x)]",
             "ait_rules returned a broken rule, 'a.b': it has no replacement."),
    "role": ("ait_ops", "from ait_core.declare.op import Op; return [Op('a.b', (), (), 'fast', len, len)]",
             "ait_ops returned a broken op, 'a.b': its role is 'fast', which is none of ait_core.declare.roles."),
    "header": ("ait_kernels",
               "from ait_core.declare.kernel import Kernel; return [Kernel('k', 'a.b', 'c', len, headers=('x/y.h',))]",
               "The header 'x/y.h' of its kernel 'k' is in no include directory of a loaded plugin."),
}  # fmt: skip
BROKEN |= {
    name: (f"from ait_core.plugins.hooks import hookimpl\n@hookimpl\ndef {hook}():\n    {body}\n", error)
    for name, (hook, body, error) in HOOKS.items()
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_costs_only_itself(site, name):
    source, error = BROKEN[name]
    site("aaa", op_source("aaa.twice"))
    site(name, source, distribution=f"pack-{name}", version="2.5")
    site("zzz", op_source("zzz.twice"))
    r = Registry.load()
    assert list(r.ops) == ["aaa.twice", "zzz.twice"]
    (bad,) = r.failed
    assert (bad.name, bad.distribution, bad.version) == (name, f"pack_{name}", "2.5")
    assert error in bad.error
    assert bad.fix
    assert not bad.declared
    assert ("Traceback" in bad.traceback) == (name not in {"older", "newer", "computed", "api", "header"})


def test_plugins_given_explicitly_must_work(site):
    site("bad", "API_VERSION = 9")
    import bad

    with pytest.raises(PluginError, match="bad 0 .plugin bad. was disabled: It needs plugin API 9"):
        Registry.from_plugins([bad])
    assert [p.status for p in Registry.from_plugins([bad], strict=False).plugins] == ["failed"]


def test_nothing_runs_of_a_plugin_for_another_api(site):
    module = site("future", "API_VERSION = 99\nopen(__file__ + '.ran', 'w').close()\n")
    (bad,) = Registry.load().failed
    assert "It needs plugin API 99" in bad.error
    assert bad.fix == "Upgrade ait-core: pip install -U ait-core"
    assert not module.with_name(module.name + ".ran").exists()
    assert "future" not in sys.modules


@pytest.mark.parametrize(
    ("requires", "error"),
    [
        ("ait-core>=7", "It needs ait-core>=7, but 0.1.0 is installed."),
        ("no-such-distribution>=2", "It needs no-such-distribution>=2, but it is not installed."),
        ("numpy<1", "It needs numpy<1, but "),
    ],
)
def test_nothing_runs_of_a_plugin_whose_requirements_are_not_met(site, requires, error):
    site("needy", "raise SystemExit", requires=requires)
    (bad,) = Registry.load().failed
    assert bad.error.startswith(error)
    assert bad.fix == f'pip install "{requires}"'
    assert "needy" not in sys.modules


def test_requirements_of_extras_and_other_platforms_do_not_count(site):
    site("fine", op_source("fine.twice"), requires="no1 ; extra == 'gpu';;no2 ; os_name == 'vms';;ait-core>=0.1")
    assert list(Registry.load().ops) == ["fine.twice"]


CLASHES = {
    "op": op_source("shared.twice"),
    "kernel": """
        from ait_core.plugins.hooks import hookimpl
        from ait_core.declare.kernel import Kernel
        @hookimpl
        def ait_kernels(): return [Kernel("shared", "a.b", "cpu", print)]
        """,
    "rule": """
        from ait_core.plugins.hooks import hookimpl
        from ait_core.declare.rule import rule
        @rule("shared", example=dict)
        def pattern(x): return x
        pattern.replace(lambda m, x: x)
        @hookimpl
        def ait_rules(): return [pattern]
        """,
    "lowering": """
        from ait_core.plugins.hooks import hookimpl
        from ait_core.declare.rule import lowering
        @hookimpl
        def ait_lowerings(): return lowering("torch", "shared")(print)
        """,
    "target": """
        from ait_core.plugins.hooks import hookimpl
        from ait_core.declare.backend import Backend
        class Shared(Backend):
            name = "shared"
            target = available = toolchain = loops = doctor = None
            def includes(self): return []
        @hookimpl
        def ait_backends(): return [Shared()]
        """,
    "command": """
        import click
        from ait_core.plugins.hooks import hookimpl
        @hookimpl
        def ait_commands(): return [click.Command("shared")]
        """,
}


@pytest.mark.parametrize("what", CLASHES)
def test_a_clash_disables_the_second_whole(site, what):
    site("bbb", CLASHES[what] + "\n", distribution="second", version="2")
    site("aaa", CLASHES[what] + "\n", distribution="first", version="1")
    r = Registry.load()
    assert [p.name for p in r.loaded] == ["aaa"]
    (bad,) = r.failed
    assert f"The {what} '" in bad.error
    assert "shared" in bad.error
    assert "declared by both first 1 (plugin aaa) and second 2 (plugin bbb)" in bad.error
    assert "AIT_DISABLE_PLUGINS=first" in bad.fix
    assert [p.name for p in Registry.load({"AIT_DISABLE_PLUGINS": "first"}).loaded] == ["bbb"]


def test_a_name_declared_twice_by_one_plugin_or_taken_by_the_core(site):
    site("twin", op_source("twin.twice").replace("[twice]", "[twice, twice]"))
    site("own", CLASHES["command"].replace('"shared"', '"doctor"'))
    errors = {p.name: p.error for p in Registry.load().failed}
    assert errors == {
        "own": "The command 'doctor' is declared by both ait-core 0.1.0 (plugin ait_core) and own 1.0 (plugin own).",
        "twin": "It declares the op 'twin.twice' twice.",
    }


def test_two_plugins_of_one_name(site):
    site("same", op_source("one.twice"), distribution="one")
    site("same", op_source("two.twice"), distribution="two")
    r = Registry.load()
    assert list(r.ops) == ["one.twice"]
    assert "The plugin 'same' is declared by both one 1.0" in r.failed[0].error


def test_a_distribution_found_twice_counts_once_and_the_first_on_the_path_wins(site, tmp_path, monkeypatch):
    site("pack", op_source("pack.old"), version="1.0")
    site("pack", op_source("pack.new"), version="2.0", at=tmp_path / "editable", entry="pack = pack\npack2 = nowhere")
    monkeypatch.syspath_prepend(str(tmp_path / "editable"))
    r = Registry.load()
    assert list(r.ops) == ["pack.new"]
    assert [(p.name, p.version, p.status) for p in r.plugins] == [("pack", "2.0", "loaded"), ("pack2", "2.0", "failed")]


def test_unreadable_entry_points_are_the_plugins_own_problem(site):
    site("aaa", "", entry="this is no entry point")
    site("zzz", op_source("zzz.twice"))
    r = Registry.load()
    assert list(r.ops) == ["zzz.twice"]
    assert all("aaa" in str(p) for p in r.failed)
    assert r.failed


@pytest.mark.parametrize(
    ("environ", "loaded", "problems"),
    [
        ({}, "aaa bbb ccc", 0),
        ({"AIT_PLUGINS": "aaa, ccc"}, "aaa ccc", 0),
        ({"AIT_PLUGINS": ""}, "", 0),
        ({"AIT_DISABLE_PLUGINS": "b-b_B,"}, "aaa bbb ccc", 1),
        ({"AIT_DISABLE_PLUGINS": "Pack-B"}, "aaa ccc", 0),
        ({"AIT_PLUGINS": "aaa,pack_b", "AIT_DISABLE_PLUGINS": "bbb"}, "aaa", 0),
        ({"AIT_PLUGINS": "aaa,ddd", "AIT_DISABLE_PLUGINS": "eee"}, "aaa", 2),
    ],
)
def test_lists_in_the_environment(site, environ, loaded, problems):
    site("aaa", op_source("aaa.twice"))
    site("bbb", op_source("bbb.twice"), distribution="pack-b")
    site("ccc", op_source("ccc.twice"))
    r = Registry.load(environ)
    assert [p.name for p in r.loaded] == loaded.split()
    assert len(r.problems) == problems
    assert all("not installed. Installed plugins: aaa, bbb, ccc." in p for p in r.problems)
    assert {p.status for p in r.plugins} <= {"loaded", "disabled"}
    for p in r.plugins:
        assert p.status == "loaded" or "AIT_" in p.error


def test_a_listed_plugin_is_not_even_imported(site):
    site("bad", "raise ValueError")
    r = Registry.load({"AIT_DISABLE_PLUGINS": "bad"})
    assert not r.failed
    assert "bad" not in sys.modules


def test_loading_is_lazy_happens_once_and_reports(site, caplog):
    module = site("slow", "import time; time.sleep(0.2)\n" + op_source("slow.twice"))
    site("bad", "1 / 0")
    made: list[Registry] = []
    threads = [threading.Thread(target=lambda: made.append(registry())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(map(id, made))) == 1
    assert len(made) == 8
    assert caplog.text.count("bad 1.0 (plugin bad) was disabled: ZeroDivisionError") == 1
    module.with_name("bad.py").write_text("")
    assert not reload().failed


def test_a_plugin_that_asks_for_the_registry_while_loading_is_told(site):
    site("eager", "import ait_core\nait_core.registry()")
    site("fine", op_source("fine.twice"))
    (bad,) = registry().failed
    assert "while plugins are being loaded" in bad.error
    assert registry().ops.keys() == {"fine.twice"}


def _snapshot(results) -> None:
    r = registry()
    records = [[str(p), p.status, p.error] for p in r.plugins if not p.distribution.startswith("ait")]
    results.put([records, sorted(r.ops), r.identity()])


def test_a_spawned_worker_sees_the_same(site, monkeypatch):
    site("aaa", op_source("shared.twice"))
    site("bbb", op_source("shared.twice"))
    site("ccc", "raise ValueError('here too')")
    site("ddd", op_source("ddd.twice"))
    monkeypatch.setenv("AIT_PLUGINS", "aaa,bbb,ccc")
    here: queue.Queue = queue.Queue()
    _snapshot(here)
    spawn = multiprocessing.get_context("spawn")
    there = spawn.Queue()
    worker = spawn.Process(target=_snapshot, args=(there,))
    worker.start()
    expected, got = here.get(), there.get(timeout=60)
    worker.join()
    assert got == expected
    assert [status for _, status, _ in expected[0]] == ["loaded", "failed", "failed", "disabled"]
