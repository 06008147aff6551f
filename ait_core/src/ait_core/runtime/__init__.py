# SPDX-License-Identifier: Apache-2.0
"""The runtime: C++ that is linked into every model, and its Python side.

The build driver compiles ``SOURCES`` (in any order, but before the kernels on the link line) with ``FLAGS`` and
``-I INCLUDE_DIR``, and links with ``LINK_FLAGS``.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent

INCLUDE_DIR = _HERE / "include"
SOURCES = tuple(sorted((_HERE / "src").glob("*.cpp")))
HEADERS = tuple(sorted([*(_HERE / "src").glob("*.h"), *INCLUDE_DIR.glob("ait/*.h")]))
# No -march: this code decides whether the processor may run the rest.
FLAGS = (
    *("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-fno-gnu-unique", "-ffunction-sections", "-fdata-sections"),
)
# The C++ library goes inside (about 120 kB), so that a model runs on systems with an older one or none.
LINK_FLAGS = (
    *("-shared", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-z,noexecstack"),
    *(f"-Wl,--version-script={_HERE / 'src' / 'exports.map'}", "-ldl"),
)
