# SPDX-License-Identifier: Apache-2.0
"""The command line as a user sees it, on small models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ait_tools.cli import main

MODELS = str(Path(__file__).parent / "models.py")


def ait(*args: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, [str(a) for a in args], prog_name="ait")


def ok(*args: str) -> Any:
    """Run a command with ``--json``, which must succeed; its output."""
    result = ait(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def error(*args: str) -> str:
    """Run a command that the user must fix: exit code 1, and its message, the same with and without ``--json``."""
    plain, result = ait(*args), ait(*args, "--json")
    assert plain.exit_code == result.exit_code == 1, result.output
    found = json.loads(result.stdout)["error"]
    assert found["message"] in plain.stderr
    return found["message"]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """``compiled("mlp")`` is the path of that model, compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    made: dict[str, str] = {}

    def get(name: str) -> str:
        if name not in made:
            made[name] = ok("compile", f"{MODELS}:{name}", "--out", str(folder / f"{name}.so"))["artifact"]
        return made[name]

    return get
