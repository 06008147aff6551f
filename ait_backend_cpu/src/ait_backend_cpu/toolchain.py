# SPDX-License-Identifier: Apache-2.0
"""Finding a C++17 compiler with OpenMP."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache

from ait_core.errors import ToolchainError

CANDIDATES = ("g++", "clang++", "c++")
FLAGS = (
    "-std=c++17", "-O3", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-DNDEBUG",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fwrapv", "-Wall", "-Wno-unknown-pragmas",
)  # fmt: skip
BASELINE = ("-std=c++17", "-O2", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-DNDEBUG", "-Wall")


def find() -> str:
    """Path of the compiler: ``AIT_CXX``, ``CXX``, then the usual names.

    Raises:
        ToolchainError: if there is none.
    """
    for name in (os.environ.get("AIT_CXX"), os.environ.get("CXX"), *CANDIDATES):
        if name and (path := shutil.which(name)):
            return path
    raise ToolchainError(
        f"No C++ compiler found. Looked for $AIT_CXX, $CXX and {', '.join(CANDIDATES)} on PATH. "
        "Install one (Debian, Ubuntu: apt-get install g++) or set AIT_CXX to its path."
    )


@lru_cache(maxsize=8)
def version(path: str) -> str:
    """First line of ``--version``.

    Raises:
        ToolchainError: if the compiler does not run.
    """
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as e:
        raise ToolchainError(f"The C++ compiler {path} does not run: {e}. Set AIT_CXX to one that does.") from None
    return done.stdout.splitlines()[0] if done.stdout else path
