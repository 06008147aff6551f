# SPDX-License-Identifier: Apache-2.0
"""What a registry offers to the compiler, and the namespace ``ait.ops``."""

from __future__ import annotations

import copy
import subprocess
import sys
import types

import click
import numpy as np
import pytest

import ait_core as ait
from ait_core.declare.backend import Backend
from ait_core.declare.kernel import Kernel
from ait_core.declare.op import pointwise
from ait_core.declare.rule import lowering, rule
from ait_core.errors import AITError, PluginError
from ait_core.ir.graph import Graph, run_reference
from ait_core.plugins import hooks, kinds
from ait_core.plugins.hooks import hookimpl
from ait_core.plugins.namespace import Ops
from ait_core.plugins.registry import Registry


class Toy(Backend):
    name = "toy"
    target = available = toolchain = loops = doctor = None  # type: ignore[assignment]

    def __init__(self, *include):
        self.include = include

    def includes(self):
        return self.include


def plugin(name: str, **declared) -> types.ModuleType:
    """A plugin module whose hooks return what is given, ``plugin("p", ops=[...])``."""
    module = types.ModuleType(name)
    module.__version__ = "3"
    for hook, items in declared.items():
        fn = eval(f"lambda: items_of_{hook}", {f"items_of_{hook}": items})
        fn.__name__ = f"ait_{hook}"
        setattr(module, f"ait_{hook}", hookimpl(fn))
    return module


def op(name: str):
    return pointwise(name)(lambda x: x + x)


def kernel(name: str, of: str, *headers: str) -> Kernel:
    return Kernel(name, of, "toy", render=print, headers=headers)


def test_every_declaration_is_found(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "k.h").write_text("1")
    pattern = rule("r", example=dict)(lambda x: x).replace(lambda m, x: x)
    one = plugin("one", ops=[op("b.x"), op("a.x")], kernels=[kernel("z", "a.x"), kernel("c", "b.x", "p/k.h")],
                 includes=[tmp_path], commands=[click.Command("hello")])  # fmt: skip
    two = plugin("two", kernels=[kernel("a", "a.x")], rules=[pattern], backends=[Toy()],
                 lowerings=lowering("torch", "aten.x", "aten.y")(print))  # fmt: skip
    r = Registry.from_plugins([one, two])
    assert list(r.ops) == ["a.x", "b.x"]
    assert {of: [k.name for k in ks] for of, ks in r.kernels.items()} == {"a.x": ["a", "z"], "b.x": ["c"]}
    assert r.rules == (pattern,)
    assert sorted(r.lowerings) == [("torch", "aten.x"), ("torch", "aten.y")]
    assert list(r.backends) == ["toy"]
    assert r.includes == (tmp_path,)
    assert list(r.commands) == ["hello"]
    assert r.frontends == {}
    assert r.owner("ait_kernels", "a").name == "two"
    assert r.owner("ait_kernels", "nothing") is None
    assert [p.name for p in r.loaded] == ["one", "two"]


def test_the_identity_follows_versions_and_the_text_of_headers(tmp_path):
    header, prelude = tmp_path / "pack" / "p.h", tmp_path / "backend" / "prelude.h"
    for h in (header, prelude):
        h.parent.mkdir()
        h.write_text("old")
    pack = plugin("pack", includes=[header.parent], kernels=[kernel("k", "a.b", "p.h", "prelude.h")])
    r = Registry.from_plugins([pack, plugin("target", backends=[Toy(prelude.parent)]), plugin("bare")])
    seen = [(r.identity(), r.header_digest(["p.h"]))]
    assert list(seen[0][0]) == ["ait_core", "pack", "target", "bare"]
    assert seen[0][0]["bare"] == "3"
    assert seen[0][0]["pack"].startswith("3+")
    assert (r.identity(), r.header_digest(["p.h"])) == seen[0]
    prelude.write_text("new")
    assert {k for k, v in r.identity().items() if v != seen[0][0][k]} == {"target"}
    header.write_text("new")
    assert {k for k, v in r.identity().items() if v != seen[0][0][k]} == {"pack", "target"}
    assert r.header_digest(["p.h"]) != seen[0][1]
    header.rename(header.with_name("q.h"))
    assert {k for k, v in r.identity().items() if v != seen[0][0][k]} == {"pack", "target"}
    with pytest.raises(PluginError, match=r"The header 'p\.h' is in none of"):
        r.header_digest(["p.h"])


def test_a_pack_whose_headers_come_from_another_pack_goes_with_it(tmp_path):
    (tmp_path / "gemm.h").write_text("")
    below = plugin("below", includes=[tmp_path], ops=[op("a.b")])
    above = plugin("above", kernels=[kernel("k", "a.b", "gemm.h")])
    assert not Registry.from_plugins([above, below]).failed
    clash = plugin("clash", ops=[op("a.b")])
    r = Registry.from_plugins([above, clash, below], strict=False)
    assert [(p.name, p.status) for p in r.plugins] == [("above", "failed"), ("clash", "loaded"), ("below", "failed")]


def test_every_hook_has_a_kind_and_documentation():
    declared = {n: f for n, f in vars(hooks).items() if n.startswith("ait_")}
    assert declared
    assert {n for n in declared if n not in kinds.KINDS} == set()
    assert all(f.__doc__ for f in declared.values())


def test_ops_are_attributes():
    r = Registry.from_plugins([plugin("p", ops=[op("tensor.twice"), op("tensor.thrice"), op("image.twice")])])
    ops = Ops(lambda: r)
    assert dir(ops) == ["image", "tensor"]
    assert dir(ops.tensor) == ["thrice", "twice"]
    x = ait.input("x", (ait.dim("n", 1, 9), 3))
    graph = Graph({"y": ops.tensor.twice(x)})
    assert np.all(run_reference(graph, {"x": np.ones((2, 3), np.float32)})["y"] == 2)
    with pytest.raises(AttributeError, match=r"No plugin in use has a pack 'tensr'\. Did you mean tensor\?"):
        ops.tensr  # noqa: B018
    with pytest.raises(AITError, match=r"The pack 'tensor' has no op 'trice'\. Did you mean thrice"):
        ops.tensor.trice  # noqa: B018
    assert not hasattr(ops, "__wrapped__")
    assert copy.copy(ops.tensor).twice is ops.tensor.twice


def test_a_missing_pack_says_which_plugins_failed(site):
    site("vision", "raise ImportError('libjpeg')")
    with pytest.raises(AttributeError, match=r"vision 1.0 \(plugin vision\) was disabled: ImportError: libjpeg"):
        ait.ops.vision  # noqa: B018


def test_importing_ait_imports_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import ait_core as ait; new = set(sys.modules) - before;"
        "heavy = {'torch', 'sympy', 'numpy', 'click', 'rich', 'pluggy', 'jinja2', 'subprocess', 'importlib.metadata'};"
        "assert 'ops' in dir(ait) and not hasattr(ait, 'nonsense');"
        "print(sorted(new & heavy), sorted(m for m in new if m.startswith('ait_') and not m.startswith('ait_core')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] ['ait_runtime', 'ait_runtime.errors']\n"


def test_the_public_names_exist():
    for name in ait.__all__:
        assert getattr(ait, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        ait.nonsense  # noqa: B018
