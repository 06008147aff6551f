# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and traffic of kernels at given sizes, and the time that a machine needs for them at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ait_core.ir import dims


@dataclass(frozen=True)
class Kernel:
    """One kernel launch. ``flops`` is None where an op does not say."""

    name: str
    ops: str
    flops: int | None
    bytes: int

    def least_seconds(self, peak: Mapping[str, float]) -> float | None:
        """The roofline's bound (Williams et al. 2009): the longer of computing at the peak rate and moving at the peak
        bandwidth. None if neither is known."""
        times = [
            w / p
            for w, p in ((self.flops, peak.get("flops")), (self.bytes, peak.get("bytes_per_second")))
            if w is not None and p
        ]
        return max(times, default=None)


def kernels(manifest: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Kernel]:
    """The kernels of a compiled model in the order in which they run."""

    def at(text: str) -> int:
        return int(dims.parse(text, dict(sizes)))  # type: ignore[arg-type]

    return [
        Kernel(k["group"], k["ops"], None if k["flops"] is None else at(k["flops"]), at(k["bytes"]))
        for k in manifest["kernels"]
    ]
