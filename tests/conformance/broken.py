# SPDX-License-Identifier: Apache-2.0
"""A plugin with one fault in each declaration, which the conformance kit must find."""

import wave  # noqa: F401  the framework that a plugin may not import
from pathlib import Path

import numpy as np

from ait_core.declare.kernel import Absorbs, Kernel, kernels_in
from ait_core.declare.op import opaque, ops_in, pointwise
from ait_core.declare.rule import AnyScalar, rule, rules_in
from ait_core.errors import GraphError
from ait_core.ir import dtypes
from ait_core.plugins.hooks import hookimpl

API_VERSION = 1


@pointwise("broken.sound")
def sound(x):
    """Twice ``x``."""
    return x + x


@pointwise("broken.undocumented")
def undocumented(x):
    return x


@pointwise("broken.sampleless")
def sampleless(x, *, by: float):
    """``x`` times a number that must be given."""
    return x * by


@opaque("broken.dtype", infer=lambda x: x.of_dtype(dtypes.float64), reference=lambda x: x)
def wrong_dtype(x):
    """Itself."""


@opaque("broken.shape", infer=lambda x: x.of_shape((3, 5)), reference=lambda x: x)
def wrong_symbolic_shape(x):
    """Itself."""


def _fixed(x):
    if not all(isinstance(n, int) for n in x.shape):
        raise GraphError("Only fixed sizes.")
    return x


@opaque("broken.fixed", infer=_fixed, reference=lambda x: x)
def fixed(x):
    """Itself."""


@opaque("broken.list", infer=lambda x: x, reference=lambda x: x.tolist())
def no_array(x):
    """Itself."""


@rule("broken.changes", example=lambda: {"x": ("float32", (2, 3))})
def changes(x):
    return sound(sound(x))


@changes.replace
def _(m, x):
    return sound(x)


@rule("broken.guarded", example=lambda: {"x": ("float32", (2, 3))})
def guarded(x):
    return sound(sampleless(x, by=2.0))


@guarded.replace
def _(m, x):
    return None


@opaque("broken.scale", infer=lambda x, y: x, reference=lambda x, y: x * y)
def scale(x, y):
    """``x * y``."""


@rule("broken.captures", example=lambda: {"x": ("float32", (2, 3))})
def captures(x):
    return scale(x, AnyScalar("by"))


@captures.replace
def _(m, x):
    return sampleless(x, by=m["by"] if m["by"] != 0.5 else 0.25)


def _stale(k):
    """Forgets the last element of each row."""
    n = k.size(k.node.output.type.numel)
    k.body(f"broken::copy({n}, {k.reader('x', (k.node.output.type.numel,))}, {k.writer((k.node.output.type.numel,))});")


@opaque("broken.copy", infer=lambda x: x, reference=np.copy)
def copied(x):
    """Itself."""


READS = Absorbs(prologue=frozenset({"x"}))
forgetful = Kernel("broken.forgetful", "broken.copy", "cpu", _stale, READS, headers=("broken/copy.h",))
unknown = Kernel("broken.unknown", "broken.nothing", "cpu", _stale)
param = Kernel("broken.param", "broken.copy", "cpu", _stale, Absorbs(prologue=frozenset({"z"})))
once = Kernel("broken.once", "broken.copy", "cpu", _stale, Absorbs(reads_once=frozenset({"x"})))
rows = Kernel("broken.rows", "broken.copy", "cpu", _stale, Absorbs(rows=True))
arity = Kernel("broken.arity", "broken.copy", "cpu", _stale, accepts=lambda node: None)  # type: ignore[arg-type]
elsewhere = Kernel("broken.elsewhere", "broken.copy", "abacus", _stale)
featured = Kernel("broken.featured", "broken.copy", "cpu", _stale, features=frozenset({"telepathy"}))
picky = Kernel("broken.picky", "broken.copy", "cpu", _stale, accepts=lambda node, target: "never")


def _array(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


SAMPLES = {name: [((_array(3, 5),), {})] for name in (
    "broken.dtype", "broken.shape", "broken.fixed", "broken.list", "broken.copy"
)} | {"broken.scale": [((_array(3, 5), _array(3, 5)), {})], "broken.stranger": []}  # fmt: skip


@hookimpl
def ait_ops():
    return ops_in(__import__("sys").modules[__name__])


@hookimpl
def ait_rules():
    return rules_in(__import__("sys").modules[__name__])


@hookimpl
def ait_kernels():
    return kernels_in(__import__("sys").modules[__name__])


@hookimpl
def ait_includes():
    return [Path(__file__).parent / "include"]
