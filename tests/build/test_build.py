# SPDX-License-Identifier: Apache-2.0
"""The build driver under bad luck: no compiler, a broken one, a full disk, builds at once, killed builds, hostile names."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ait_core as ait
from ait_core.api import find_target, plan
from ait_core.build import cache as cache_module
from ait_core.build.driver import Builder
from ait_core.codegen.model import cstring
from ait_core.compiler import build, make_plan

GRAPH = """
import numpy as np
import ait_core as ait

def graph(seed=0):
    x = ait.input("x", (ait.dim("batch", 1, 8), 16))
    w = ait.constant(np.random.default_rng(seed).standard_normal((16, 24)).astype("f4"), "w")
    return ait.Graph({"y": ait.ops.tensor.gelu(ait.ops.gemm.matmul(x, w))})
"""
exec(GRAPH)  # the same text runs in subprocesses below


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def small(seed: int = 0) -> ait.Graph:
    """A graph without a template: quick to compile, and unlike any other of another seed."""
    x = ait.input("x", (3, 4))
    return ait.Graph({"y": ait.ops.tensor.add(x, float(seed))})


def compiler_script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_second_build_starts_no_compiler(fresh_cache, tmp_path, monkeypatch):
    ait.compile(small(1))
    log = tmp_path / "log"
    script = compiler_script(tmp_path / "cxx", f'echo "$@" >> {log}\ncase "$1" in --version) exec g++ "$@";; esac\nexit 1')
    real = ait.registry().backends["cpu"].toolchain(find_target("cpu", ait.registry()))
    monkeypatch.setenv("AIT_CXX", script)
    monkeypatch.setattr("ait_backend_cpu.toolchain.version", lambda path: "")
    decided = plan(small(1), target="cpu")
    monkeypatch.setattr(type(decided.backend), "toolchain", lambda self, target: real)
    built, _ = build(decided, ait.registry())
    assert built.compiled == 0
    assert not log.exists()


def test_no_compiler_is_one_clear_error(fresh_cache, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("AIT_CXX", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ait.ToolchainError, match="apt-get install g"):
        ait.compile(small(2))


def test_compiler_error_shows_command_error_and_sources(fresh_cache, tmp_path, monkeypatch):
    script = compiler_script(
        tmp_path / "cxx", 'case "$1" in --version) echo fake 1.0; exit 0;; esac\necho "x.cpp:1: error: no luck" >&2; exit 1'
    )
    monkeypatch.setenv("AIT_CXX", script)
    with pytest.raises(ait.CompileError) as e:
        ait.compile(small(3))
    text = str(e.value)
    assert "error: no luck" in text and script in text
    kept = Path(next(line.split(": ", 1)[1] for line in text.splitlines() if line.strip().startswith("sources")).strip())
    assert (kept / "model.cpp").exists()
    shutil.rmtree(kept)


@pytest.mark.parametrize("where", ["put", "write"])
def test_full_disk_is_an_error_and_the_next_build_works(fresh_cache, monkeypatch, where):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as m:
        if where == "put":
            m.setattr(cache_module.shutil, "copyfile", full)
        else:
            m.setattr(Path, "write_text", full)
        with pytest.raises(ait.AITError, match="No space left"):
            ait.compile(small(4))
    assert not list(fresh_cache.rglob(".*")), "half-written files stay behind"
    y = ait.compile(small(4))(np.ones((3, 4), "f4"))
    assert (y == 5).all()


def test_unwritable_cache_says_how_to_move_it(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(ait.AITError, match="AIT_CACHE_DIR"):
        ait.compile(small(5))


RUN = GRAPH + """
import sys
m = ait.compile(graph(int(sys.argv[1])))
print(float(m(np.ones((2, 16), "f4")).sum()))
"""


def run(tmp_path: Path, seed: int) -> subprocess.Popen:
    env = {**os.environ, "AIT_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.Popen([sys.executable, "-c", RUN, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=env, start_new_session=True)  # fmt: skip


def test_two_builds_at_once_both_succeed(tmp_path):
    both = [run(tmp_path, 7) for _ in range(2)]
    outputs = [p.communicate(timeout=300) for p in both]
    assert [p.returncode for p in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]


def test_killed_build_leaves_nothing_that_hurts_the_next(tmp_path):
    first = run(tmp_path, 8)
    time.sleep(3)  # somewhere between import and link
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    second = run(tmp_path, 8)
    out, err = second.communicate(timeout=300)
    assert second.returncode == 0, err


NAMES = ['a"b', "a\nb", "*/ int x; /*", "%s", "\\", "}};", "a'b", "日本", "@WEIGHTS@", "$(touch /tmp/x)", "?" * 3 + "/"]


def test_hostile_names_reach_no_code(fresh_cache):
    inputs = [ait.input(n, (2,)) for n in NAMES]
    weights = [ait.constant(np.full((2,), i, "f4"), f"w {n}") for i, n in enumerate(NAMES)]
    outs = {f"out {n}": ait.ops.tensor.add(x, w) for n, x, w in zip(NAMES, inputs, weights, strict=True)}
    model = ait.compile(ait.Graph(outs, inputs))
    made = model(*(np.zeros(2, "f4") for _ in NAMES))
    assert [float(m[0]) for m in made] == list(range(len(NAMES)))
    assert [i.name for i in model.inputs] == NAMES
    assert sorted(c.name for c in model.constants) == sorted(f"w {n}" for n in NAMES)


@pytest.mark.parametrize("text", NAMES)
def test_c_strings_are_exact(text, tmp_path):
    literal = cstring(text)
    assert literal.isascii() and "\n" not in literal
    decoded = literal[1:-1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogatepass")
    assert decoded == text


def test_kernels_do_not_depend_on_the_upper_bound():
    def sources(hi: int) -> set[str]:
        x = ait.input("x", (ait.dim("n", 1, hi), 8))
        y = ait.ops.norm.softmax(ait.ops.tensor.mul(x, 2.0), axis=-1)
        decided = make_plan(ait.Graph({"y": y}), ait.registry(), find_target("cpu", ait.registry()))
        return {launch.source for launch in decided.run}

    assert sources(128) == sources(4096)


def test_kept_sources_compile_by_themselves(fresh_cache, tmp_path):
    ait.compile(small(9), keep=tmp_path / "kept")
    ninja = shutil.which("ninja") or str(Path(sys.executable).parent / "ninja")
    subprocess.run([ninja, "-C", str(tmp_path / "kept")], check=True, capture_output=True, timeout=300)
    assert (tmp_path / "kept" / "model.so").stat().st_size > 10_000


def test_builder_uses_the_cores_it_may(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    target = find_target("cpu", ait.registry())
    assert Builder(ait.registry().backends["cpu"].toolchain(target), []).jobs == 3


def running(pid: str) -> bool:
    """Whether a process runs; a dead one that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_interrupted_build_leaves_no_compiler_behind(fresh_cache, tmp_path, monkeypatch):
    started, first = tmp_path / "started", tmp_path / "first"
    real = shutil.which("g++")
    script = compiler_script(tmp_path / "cxx", f"""case "$1" in --version) exec {real} "$@";; esac
if mkdir {first} 2>/dev/null; then while [ ! -s {started} ]; do sleep 0.05; done; exit 0; fi
echo $$ >> {started}
exec sleep 120""")  # fmt: skip
    monkeypatch.setenv("AIT_CXX", script)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ait.compile(small(70), jobs=2, progress=interrupt)
    assert not any(map(running, started.read_text().split()))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"keep": "/proc/nowhere/sources"}, "could not be kept in /proc/nowhere/sources"),
        ({"jobs": 0}, "jobs is 0"),
        ({"target": 3}, "named by a string"),
        ({"disable": "everything"}, "Nothing called everything"),
    ],
)
def test_wrong_arguments_are_the_users_to_mend(fresh_cache, wrong, says):
    with pytest.raises(ait.AITError, match=says):
        ait.compile(small(71), **wrong)


def test_one_switch_may_be_named_without_a_list():
    assert len(plan(small(72), disable="vertical").run) == 1
