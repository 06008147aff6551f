# SPDX-License-Identifier: Apache-2.0
"""The CPU backend's hooks."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from ait_backend_cpu import isa, loops, toolchain
from ait_core.codegen.kernel import SourceBuilder
from ait_core.declare.backend import Backend, Check, Target, Toolchain
from ait_core.errors import ToolchainError
from ait_core.fuse.nest import LoopNest
from ait_core.plugins.hooks import hookimpl

API_VERSION = 1


class CpuBackend(Backend):
    """C++17 and OpenMP, by g++ or clang++."""

    name = "cpu"
    prelude = "ait/cpu/prelude.h"

    def target(self, spec: str) -> Target:
        return isa.parse(spec)

    def available(self) -> int:
        return 1

    def toolchain(self, target: Target) -> Toolchain:
        path = toolchain.find()
        return Toolchain(
            compiler=path,
            identity=f"{path} {toolchain.version(path)}",
            compile_flags=(*toolchain.FLAGS, *isa.flags(target)),
            # nodelete: the threads of OpenMP outlive the model; unmapping the library that holds them would crash.
            link_flags=("-shared", "-fopenmp", "-Wl,--no-undefined", "-Wl,-z,nodelete"),
            baseline_flags=toolchain.BASELINE,
        )

    def includes(self) -> Sequence[Path]:
        return [Path(__file__).parent / "include"]

    def loops(self, nest: LoopNest, k: SourceBuilder) -> None:
        loops.emit(nest, k)

    def doctor(self) -> list[Check]:
        checks = [Check("CPU", True, f"{platform.machine()}, target cpu:{isa.native()}")]
        try:
            path = toolchain.find()
            checks.append(Check("C++ compiler", True, f"{path}: {toolchain.version(path)}"))
        except ToolchainError as e:
            checks.append(Check("C++ compiler", False, str(e), "apt-get install g++"))
        return checks

    def peak(self, threads: int) -> Mapping[str, float]:
        from ait_backend_cpu.peak import measure

        return measure(threads)


@hookimpl
def ait_backends() -> Sequence[Backend]:
    return [CpuBackend()]
