# SPDX-License-Identifier: Apache-2.0
"""What is installed from wheels works alone, and plugins built by others cannot break it."""

from __future__ import annotations

import json
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packaging.conftest import PACKAGES, ROOT, build_wheels, requirements

pytestmark = pytest.mark.wheels

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "{version}"
requires-python = ">=3.10"
[project.entry-points."ait.plugins"]
{name} = "{name}.plugin"
"""
OP = """
from pathlib import Path
from ait_core.declare.op import pointwise
from ait_core.plugins.hooks import hookimpl
API_VERSION = 1

@pointwise("{op}")
def twice(x):
    "Two times x."
    return x + x

@hookimpl
def ait_ops():
    return [twice]

@hookimpl
def ait_includes():
    return [Path(__file__).parent / "include"]
"""
HOOK = "\n@hookimpl\ndef ait_rules():\n    raise LookupError('the rules are gone')\n"
PLUGINS = {
    "aaa_taker": OP.format(op="tensor.add"),
    "broken": "raise ValueError('out of luck')",
    "fine": OP.format(op="fine.twice"),
    "future": "API_VERSION = 99\nraise SystemError('this must not run')",
    "halfway": OP.format(op="halfway.twice") + HOOK,
    "zzz_taker": OP.format(op="tensor.add"),
}
REPORT = """
import json, multiprocessing
from ait_core import registry
def report():
    r = registry()
    return [[p.name, p.status, p.error] for p in r.plugins] + [list(r.ops), r.identity()]
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps([report(), pool.apply(report)]))
"""
COMPILE = """
import sys, time
import numpy as np
import ait_core as ait
from ait_core.ir.graph import Graph, run_reference
x, w = ait.input("x", (ait.dim("n", 1, 9), 33)), ait.constant(np.ones((17, 33), np.float32), "w")
y = ait.ops.fine.twice(ait.ops.tensor.relu(ait.ops.gemm.linear(x, w)))
graph = Graph({"y": y})
model = ait.compile(graph, jobs=1, threads=2)
a = np.linspace(-1, 2, 5 * 33, dtype=np.float32).reshape(5, 33)
np.testing.assert_allclose(model(a), run_reference(graph, {"x": a})["y"], rtol=1e-5)
assert "torch" not in sys.modules
del model  # its threads idle on: that must not matter
time.sleep(0.3)
print("right")
"""


@pytest.fixture(scope="session")
def plugin_wheels(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("plugins")
    for name, source in PLUGINS.items():
        module = root / name / name
        (module / "include" / name).mkdir(parents=True)
        (module / "include" / name / "k.h").write_text("// a header\n")
        (module / "__init__.py").touch()
        (module / "plugin.py").write_text(source)
        (root / name / "pyproject.toml").write_text(PYPROJECT.format(name=name, version="1.5"))
    built = build_wheels((root / name for name in PLUGINS), root / "dist")
    return {w.name.split("-")[0]: w for w in built}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_holds_all_that_is_needed(wheels, package):
    with zipfile.ZipFile(wheels[package]) as archive:
        names = set(archive.namelist())
        (info,) = {n.split("/")[0] for n in names if ".dist-info/" in n}
        about = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        points = archive.read(f"{info}/entry_points.txt").decode() if f"{info}/entry_points.txt" in names else ""
    source = ROOT / package / "src"
    kept = [p for pattern in ("*.py", "*.h", "py.typed") for p in source.rglob(pattern) if p.parent.name != "binding"]
    assert {p.relative_to(source).as_posix() for p in kept} <= names
    assert not [n for n in names if "__pycache__" in n or n.endswith((".o", ".pyc")) or n.startswith("tests")]
    assert f"{info}/licenses/LICENSE" in names
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.10"
    assert about.get_payload().startswith(f"# {package.replace('_', '-')}\n")
    needs = [Requirement(r).name for r in about.get_all("Requires-Dist") or ()]
    assert ("torch" in needs) == (package == "ait_frontend_torch")
    assert (f"{package} = {package}.plugin" in points) == (ROOT / package / "src" / package / "plugin.py").exists()
    assert ("ait = ait_tools.cli:main" in points) == (package == "ait_tools")


def test_installed_wheels_compile_a_model_and_bad_plugins_cost_only_themselves(wheels, plugin_wheels, environment):
    env = environment([*wheels.values(), *plugin_wheels.values()])
    found = json.loads(env.run("ait", "plugins", "--json"))
    plugins = {p["name"]: p for p in found["plugins"]}
    failed = {"ait_frontend_torch", "ait_ops_tensor", "broken", "future", "halfway", "zzz_taker"}
    assert {n for n, p in plugins.items() if p["status"] == "failed"} == failed
    ours = {p for p in PACKAGES if (ROOT / p / "src" / p / "plugin.py").exists()}
    assert len(ours) >= 6
    assert {n for n, p in plugins.items() if p["status"] == "loaded"} == {"aaa_taker", "fine", *ours} - failed
    errors = {n: p["error"] for n, p in plugins.items() if p["error"]}
    assert "It needs torch" in errors["ait_frontend_torch"]["message"]
    assert "declared by both aaa_taker 1.5 (plugin aaa_taker) and ait-ops-tensor" in errors["ait_ops_tensor"]["message"]
    assert "AIT_DISABLE_PLUGINS=aaa_taker" in errors["ait_ops_tensor"]["fix"]
    assert "'tensor.add' is declared by both aaa_taker" in errors["zzz_taker"]["message"]
    assert errors["broken"]["message"] == "ValueError: out of luck"
    assert "broken/plugin.py" in errors["broken"]["traceback"]
    assert "It needs plugin API 99" in errors["future"]["message"]
    assert "LookupError: the rules are gone" in errors["halfway"]["message"]
    assert all(e["fix"] and plugins[n]["version"] and plugins[n]["distribution"] for n, e in errors.items())
    assert plugins["fine"]["ops"] == ["fine.twice"]
    assert plugins["fine"]["version"] == "1.5"

    here, there = json.loads(env.run("python", _script(env, REPORT)))
    assert here == there
    assert "halfway.twice" not in here[-2]
    assert set(here[-1]) == {"ait_core", *(n for n, p in plugins.items() if p["status"] == "loaded")}

    lists = {"AIT_DISABLE_PLUGINS": "aaa-taker,nobody"}
    found = json.loads(env.run("ait", "plugins", "--json", **lists))
    status = {p["name"]: p["status"] for p in found["plugins"]}
    assert (status["aaa_taker"], status["ait_ops_tensor"], status["zzz_taker"]) == ("disabled", "loaded", "failed")
    assert len(found["problems"]) == 1
    assert "'nobody'" in found["problems"][0]
    here, there = json.loads(env.run("python", _script(env, REPORT), **lists))
    assert here == there
    assert env.run("python", _script(env, COMPILE), **lists) == "right\n"

    only = json.loads(env.run("ait", "plugins", "--json", AIT_PLUGINS="fine"))["plugins"]
    assert [p["name"] for p in only if p["status"] == "loaded"] == ["fine"]
    assert not [p["name"] for p in only if p["status"] == "failed"]
    blind = json.loads(env.run("ait", "doctor", "--json", code=1, AIT_PLUGINS="fine"))
    assert "pip install ait-backend-cpu" in [c["fix"] for c in blind["checks"]]
    assert json.loads(env.run("ait", "doctor", "--json"))["targets"] == ["cpu"]


def test_the_command_alone_says_what_is_missing(wheels, environment):
    env = environment(wheels[p] for p in requirements(["ait_tools"])[0])
    assert [p["name"] for p in json.loads(env.run("ait", "plugins", "--json"))["plugins"]] == ["ait_tools"]
    assert "pip install ait-backend-cpu" in env.run("ait", "doctor", code=1)
    assert env.run("ait", "cache", "path", AIT_CACHE_DIR="/some/where") == "/some/where\n"


def _script(env, text: str) -> str:
    path = env.cwd / "script.py"
    path.write_text(text)
    return str(path)
