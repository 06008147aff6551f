# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch models through ``torch.export``. Importing this package does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ait_frontend_torch.frontend import TorchImported, import_module

__all__ = ["TorchImported", "import_module"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ait_frontend_torch import frontend

        return getattr(frontend, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
