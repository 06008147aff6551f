# SPDX-License-Identifier: Apache-2.0
"""Every lowering against torch, at several sizes of a dynamic batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
import torch

from ait_core.declare.rule import Lowering
from tests.frontend_torch.cases import CASES
from tests.frontend_torch.helpers import LOWERINGS, PLUGINS, check_fn, f

HALVES = ("layer_norm softmax linear gelu mean.dim attention add.tensor batch_norm add.scalar rms_norm.plain var.dim "
          "clamp where.scalar pow.2").split()  # fmt: skip
USED: set[str] = set()


class Recording(Mapping[str, Lowering]):
    """The lowerings, noting which are asked for and exist."""

    def __getitem__(self, target: str) -> Lowering:
        found = LOWERINGS[target]
        USED.add(target)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(LOWERINGS)

    def __len__(self) -> int:
        return len(LOWERINGS)


@pytest.mark.parametrize("name", CASES)
def test_equals_torch(name: str) -> None:
    fn, inputs = CASES[name]
    check_fn(fn, inputs, Recording())


def test_every_lowering_has_a_case() -> None:
    if len(USED) < 10:
        pytest.skip("runs after the cases")
    assert not sorted(LOWERINGS.keys() - USED)


def test_targets_are_torch_ops_and_declared_once() -> None:
    targets = [low.target for plugin in PLUGINS for low in plugin.ait_lowerings()]
    assert len(targets) == len(set(targets))
    for target in targets:
        space, name, *overload = target.split(".")
        if space != "python":
            packet = getattr(getattr(torch.ops, space), name)
            assert not overload or overload[0] in packet.overloads(), target


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", HALVES)
def test_halves(name: str, dtype: torch.dtype) -> None:
    fn, inputs = CASES[name]
    halves = [f(x.sizes, dtype) if x.at(3).is_floating_point() and name != "batch_norm" else x for x in inputs]
    halves = [f(halves[0].sizes, dtype), *halves[1:]] if name == "batch_norm" else halves
    step = torch.finfo(dtype).eps
    check_fn(fn, halves, rtol=4 * step, atol=4 * step)
