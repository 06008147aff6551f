# SPDX-License-Identifier: Apache-2.0
"""The conformance kit finds what is wrong, and what can be checked where."""

import pytest

from ait_core.errors import AITError, PluginError
from ait_core.plugins.registry import registry
from ait_testing import ConformanceError, Sample, check_plugin, checks, conformance, suite
from tests.conformance import broken

FAULTS = {
    "plugin tests.conformance.broken: imports no framework": "imports wave",
    "plugin tests.conformance.broken: samples": "broken.stranger, which is no op",
    "op broken.undocumented: documented": "has no docstring",
    "op broken.sampleless: samples": "none are given",
    "op broken.dtype: infer agrees with reference": "on numbers infer gives",
    "op broken.shape: infer agrees with reference": "on symbolic sizes at {'n3': 4, 'n5': 6} infer gives",
    "op broken.fixed: infer agrees with reference": "infer refuses symbolic sizes",
    "op broken.list: infer agrees with reference": "NumPy arrays are expected",
    "rule broken.changes: proved by its example": "6 of 6 elements differ",
    "rule broken.guarded: proved by its example": "its guard says no",
    "rule broken.captures: proved by its example": "6 of 6 elements differ",
    "kernel broken.unknown: described": "which no installed plugin declares",
    "kernel broken.param: described": "absorbs z, but broken.copy takes x",
    "kernel broken.once: described": "but not through a prologue",
    "kernel broken.rows: described": "absorbs rows but no epilogue",
    "kernel broken.arity: described": "accepts must take 2 arguments",
}
COMPILED = {
    "kernel broken.forgetful: compiled": "3 of 15 elements differ, first at (2, 2): 0.0 instead of 13.0",
    "kernel broken.picky: compiled": "accepts no sample of broken.copy: never",
}


@pytest.fixture(autouse=True)
def framework(monkeypatch):
    """A module of the standard library plays the framework."""
    monkeypatch.setattr(suite, "FRAMEWORKS", ("wave",))


def test_every_fault_is_found_and_nothing_else():
    found = {c.name: problem for c in checks(broken, compile=False) if (problem := c.find())}
    assert found.keys() == FAULTS.keys()
    assert {n: p for n, p in found.items() if FAULTS[n] not in p} == {}


def test_a_wrong_kernel_is_found_where_it_can_run():
    ran = {c.name: c for c in checks(broken, targets=["cpu"])}
    for name, problem in COMPILED.items():
        assert problem in ran[name].find()
    assert ran["kernel broken.elsewhere: compiled"].skip == "no backend works here for target abacus"
    assert "telepathy" in ran["kernel broken.featured: compiled"].skip
    assert ran["op broken.sound: compiled for " + ran_on(ran)].find() is None


def ran_on(ran) -> str:
    (name,) = (n for n in ran if n.startswith("op broken.sound: compiled for "))
    return name.rpartition(" for ")[2]


def test_all_problems_are_listed_at_once():
    with pytest.raises(ConformanceError) as raised:
        check_plugin(broken, compile=False)
    assert str(raised.value).count("\n") >= len(FAULTS) - 1
    assert all(problem in str(raised.value) for problem in FAULTS.values())


def test_given_samples_take_the_place_of_those_of_the_module():
    given = {"broken.fixed": [Sample((broken._array(3, 5),), sizes={})]}
    named = {c.name: c for c in checks(broken, given, compile=False)}
    assert named["op broken.fixed: infer agrees with reference"].find() is None
    assert "none are given" in named["op broken.dtype: samples"].find()
    with pytest.raises(AITError, match="tuple \\(inputs, attributes\\)"):
        checks(broken, {"broken.fixed": [broken._array(3, 5)]})


def test_a_registry_is_checked_plugin_by_plugin():
    names = {c.name for c in checks(registry(), compile=False)}
    assert {f"plugin {p.name}: imports no framework" for p in registry().loaded} <= names


def test_what_is_not_installed_is_named():
    with pytest.raises(PluginError, match="There is no plugin 'ait_ops_dreams'; installed: .*ait_ops_tensor"):
        conformance("ait_ops_dreams")
