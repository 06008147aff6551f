# SPDX-License-Identifier: Apache-2.0
"""The C and C++ headers, used by programs that know nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ait_runtime import INCLUDE_DIR
from tests.runtime.toy import run

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-std=c++17", "-x", "c++")])
def test_c_program(bare_toy, tmp_path, compiler):
    program = tmp_path / "program"
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
    run(
        *compiler,
        *warnings,
        "-I",
        INCLUDE_DIR,
        PROGRAMS / "use_ait.c",
        "-x",
        "none",
        bare_toy,
        f"-Wl,-rpath,{bare_toy.parent}",
        "-lm",
        "-o",
        program,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


def test_cpp_program(bare_toy, identity, tmp_path):
    program = tmp_path / "program"
    run(
        "g++",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-I",
        INCLUDE_DIR,
        PROGRAMS / "use_ait.cpp",
        "-ldl",
        "-o",
        program,
    )
    weights = bare_toy.with_suffix(".safetensors")
    done = subprocess.run([program, bare_toy, identity, weights], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr
