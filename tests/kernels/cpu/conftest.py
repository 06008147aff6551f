# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernel headers into small shared libraries, one per instruction set, for the tests to call."""

import ctypes
import os
import pathlib
import platform
import subprocess

import pytest

# The tests use more threads than a small machine has cores: spinning at barriers would starve the others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
INCLUDES = [
    ROOT / package / "src" / package / "include" for package in ("ait_backend_cpu", "ait_ops_gemm", "ait_ops_attention")
]
FLAGS = [
    "-O3",
    "-std=c++17",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fopenmp",
    "-fPIC",
    "-shared",
]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
# Name -> (compiler flags, CPU features that running needs).
ISAS = {
    "native": (["-march=native", "-mprefer-vector-width=512"], set()),
    "generic": ([], set()),
    "v3": (["-march=x86-64-v3"], {"avx2", "fma", "f16c"}),
    "v4": (["-march=x86-64-v4", "-mprefer-vector-width=512"], AVX512),
    "v4bf16": (["-march=x86-64-v4", "-mavx512bf16", "-mprefer-vector-width=512"], AVX512 | {"avx512_bf16"}),
    "amx": (
        ["-march=x86-64-v4", "-mavx512bf16", "-mprefer-vector-width=512", "-DAIT_AMX_EMULATE"],
        AVX512 | {"avx512_bf16"},
    ),
}


def _cpu_features() -> set[str]:
    info = pathlib.Path("/proc/cpuinfo")
    return set(info.read_text().split()) if info.exists() else set()


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Returns build(source, isa, *defines): compiles tests/kernels/cpu/<source> and loads it; skips what cannot run here."""
    folder = tmp_path_factory.mktemp("kernels")
    built: dict[tuple[str, ...], ctypes.CDLL] = {}

    def build_library(source: str, isa: str, *defines: str) -> ctypes.CDLL:
        flags, needed = ISAS[isa]
        if needed and (platform.machine() != "x86_64" or not needed <= _cpu_features()):
            pytest.skip(f"this CPU lacks {', '.join(sorted(needed - _cpu_features()))}")
        key = (source, isa, *defines)
        if key not in built:
            target = folder / f"{'_'.join(key)}.so".replace("/", "_").replace("=", "_")
            command = ["g++", *FLAGS, *WARNINGS, *flags, *(f"-D{d}" for d in defines), *(f"-I{i}" for i in INCLUDES)]
            done = subprocess.run(
                [*command, str(HERE / source), "-o", str(target)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.fail(f"{source} does not compile for {isa}:\n{done.stderr[:4000]}")
            built[key] = ctypes.CDLL(str(target))
        return built[key]

    return build_library
