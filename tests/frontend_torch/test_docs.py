# SPDX-License-Identifier: Apache-2.0
"""The example of docs/lowerings.md works as it is printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.frontend_torch.helpers import LOWERINGS, check_fn, f

PAGE = Path(__file__).parents[2] / "docs" / "lowerings.md"


def test_example(monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python run\n(.*?)```", PAGE.read_text(), re.S)
    assert code is not None
    module = ModuleType("lowerings_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code[1], str(PAGE), "exec"), module.__dict__)
    (own,) = module.ait_lowerings()
    check_fn(lambda x, v: torch.heaviside(x.round(), v), (f("B,4"), f("4")), {**LOWERINGS, own.target: own})
