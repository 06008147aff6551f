# SPDX-License-Identifier: Apache-2.0
"""Measured limits of this machine, which ``ait bench`` compares kernels with: fused multiply-adds from registers, and a
triad over memory far larger than the caches."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ait_backend_cpu import isa, toolchain

SOURCE = Path(__file__).parent / "peak.cpp"


@lru_cache(maxsize=8)
def measure(threads: int) -> Mapping[str, float]:
    """``{"flops": FLOP/s in float32, "bytes_per_second": read + written}`` with so many threads; takes about a second."""
    with tempfile.TemporaryDirectory() as tmp:
        lib = Path(tmp) / "peak.so"
        flags = [*toolchain.FLAGS, *isa.flags(isa.parse("")), f"-I{SOURCE.parent / 'include'}", "-shared"]
        subprocess.run([toolchain.find(), *flags, str(SOURCE), "-o", str(lib)], check=True, capture_output=True)
        found = ctypes.CDLL(str(lib))
        found.ait_peak_flops.restype = found.ait_peak_bytes.restype = ctypes.c_double
        return {"flops": found.ait_peak_flops(threads), "bytes_per_second": found.ait_peak_bytes(threads)}
