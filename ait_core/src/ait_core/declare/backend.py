# SPDX-License-Identifier: Apache-2.0
"""Declaring a backend: how a target is named, found, compiled for, and how its generic loop kernels are spelt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ait_core.codegen.kernel import SourceBuilder
    from ait_core.fuse.nest import LoopNest


@dataclass(frozen=True)
class Target:
    """What is compiled for: a backend, an architecture, and the features kernels may use.

    ``name`` is the canonical spelling, ``cpu:x86-64-v4+avx512bf16``. ``isa`` is what the artifact demands of the
    machine that loads it.
    """

    name: str
    backend: str
    features: frozenset[str]
    isa: tuple[str, ...] = ()
    options: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Check:
    """One line of ``ait doctor``."""

    what: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Toolchain:
    """A compiler that was found. ``identity`` (path, version) is part of cache keys."""

    compiler: str
    identity: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    baseline_flags: tuple[str, ...]  # for code that must run before the ISA was checked
    source_suffix: str = ".cpp"


class Backend(ABC):
    """A family of targets."""

    name: str
    prelude: str  # the header that defines what generated code calls, "ait/cpu/prelude.h"

    @abstractmethod
    def target(self, spec: str) -> Target:
        """Parse what follows the backend's name in a target (``""`` means this machine).

        Raises:
            ToolchainError: if there is no such architecture, with the list of those there are.
        """

    @abstractmethod
    def available(self) -> int:
        """Preference for ``target="auto"`` on this machine: the highest wins, 0 means not usable here."""

    @abstractmethod
    def toolchain(self, target: Target) -> Toolchain:
        """Find the compiler.

        Raises:
            ToolchainError: one message: what was looked for, where, and how to install it.
        """

    @abstractmethod
    def includes(self) -> Sequence[Path]:
        """Include directories; they hold the prelude ``ait/prelude.h`` and the runtime's ``ait/device.h``."""

    @abstractmethod
    def loops(self, nest: LoopNest, k: SourceBuilder) -> None:
        """Write the body of a kernel that runs a fused nest of pointwise work, reductions and gathers."""

    @abstractmethod
    def doctor(self) -> list[Check]:
        """What works and what is missing on this machine."""

    def peak(self, threads: int) -> Mapping[str, float]:
        """Measured limits of this machine, ``{"flops": ..., "bytes_per_second": ...}``, for ``ait bench``."""
        return {}
