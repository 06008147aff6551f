# SPDX-License-Identifier: Apache-2.0
"""The runtime: C++ that is linked into every model, and its Python side, ``load`` and ``Model``.

The build driver compiles ``SOURCES`` with ``FLAGS`` and ``-I INCLUDE_DIR``, puts them before the kernels on the link
line, and ``LINK_FLAGS`` behind everything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ait_runtime.model import Model, load

__all__ = ["FLAGS", "HEADERS", "INCLUDE_DIR", "LINK_FLAGS", "Model", "SOURCES", "__version__", "load"]
__version__ = "0.1.0"

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


def __getattr__(name: str) -> Any:
    if name in ("load", "Model"):  # on first use: the build driver needs neither NumPy nor the binding
        from ait_runtime import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
