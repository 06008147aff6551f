# SPDX-License-Identifier: Apache-2.0
"""x86-64 levels and extensions: how a target is spelt, what it lets kernels use, and what the compiler is told."""

from __future__ import annotations

import platform
import re
from functools import lru_cache
from pathlib import Path

from ait_core.declare.backend import Target
from ait_core.errors import ToolchainError

# Features that kernels or artifacts ask for by name, per level of the x86-64 psABI.
LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("sse4.2",),
    "x86-64-v3": ("avx2", "fma", "f16c", "bmi2"),
    "x86-64-v4": ("avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512dq"),
}
# Extension -> (features as named in /proc/cpuinfo, compiler flags).
EXTENSIONS = {
    "avx512bf16": (("avx512bf16",), ("-mavx512bf16",)),
    "amx": (("amx-tile", "amx-bf16"), ("-mamx-tile", "-mamx-bf16")),
}
_CPUINFO = {"avx512_bf16": "avx512bf16", "amx_tile": "amx-tile", "amx_bf16": "amx-bf16", "sse4_2": "sse4.2"}


@lru_cache(maxsize=1)
def machine_features() -> frozenset[str]:
    """Features of this machine's processor, empty where it is no x86-64."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return frozenset()
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.M)
    return frozenset(_CPUINFO.get(f, f) for f in found.group(1).split()) if found else frozenset()


def native() -> str:
    """The spelling of this machine's target, without the backend's name."""
    have = machine_features()
    if platform.machine() not in ("x86_64", "AMD64"):
        return platform.machine()
    level = [name for name, needs in LEVELS.items() if have.issuperset(needs)][-1]
    extra = [n for n, (needs, _) in EXTENSIONS.items() if have.issuperset(needs)] if level == "x86-64-v4" else []
    return "+".join([level, *extra])


def parse(spec: str) -> Target:
    """``"x86-64-v4+amx"`` as a target; the empty spec is this machine.

    Raises:
        ToolchainError: for an unknown level or extension.
    """
    spec = spec or native()
    level, *extra = spec.split("+")
    if level == platform.machine() and level not in ("x86_64", "AMD64") and not extra:
        return Target(f"cpu:{level}", "cpu", frozenset(), ())
    unknown = [e for e in extra if e not in EXTENSIONS]
    if level not in LEVELS or unknown:
        raise ToolchainError(
            f"No CPU target {spec!r}. Levels: {', '.join(LEVELS)}; extensions, joined with +: {', '.join(EXTENSIONS)}. "
            f"This machine is cpu:{native()}."
        )
    isa = [*LEVELS[level], *(f for e in extra for f in EXTENSIONS[e][0])]
    return Target(f"cpu:{spec}", "cpu", frozenset(isa), tuple(isa))


def flags(target: Target) -> list[str]:
    """Architecture flags for g++ and clang++."""
    level, *extra = target.name.removeprefix("cpu:").split("+")
    if level not in LEVELS:
        return []
    wide = ["-mprefer-vector-width=512"] if level == "x86-64-v4" else []
    return [f"-march={level}", *wide, *(f for e in extra for f in EXTENSIONS[e][1])]
