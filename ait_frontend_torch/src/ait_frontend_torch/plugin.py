# SPDX-License-Identifier: Apache-2.0
"""The plugin: one frontend. torch is imported when a model is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ait_core.declare.frontend import Frontend, Imported
from ait_core.declare.rule import Lowering, lowerings_in
from ait_core.plugins.hooks import hookimpl
from ait_frontend_torch import identities

API_VERSION = 1


class TorchFrontend(Frontend):
    """``torch.nn.Module``, ``torch.export.ExportedProgram``, and files that ``torch.export.save`` wrote (``.pt2``)."""

    name = "torch"

    def claims(self, obj: object) -> bool:
        if isinstance(obj, (str, Path)):
            return str(obj).endswith(".pt2")
        torch = sys.modules.get("torch")
        exported = getattr(sys.modules.get("torch.export"), "ExportedProgram", ())
        return torch is not None and isinstance(obj, (torch.nn.Module, exported))

    def load(
        self,
        obj: Any,
        example_inputs: Any,
        dynamic_shapes: Any,
        dtype: Any,
        lowerings: Mapping[str, Lowering],
    ) -> Imported:
        from ait_frontend_torch.frontend import import_module

        return import_module(obj, example_inputs, dynamic_shapes=dynamic_shapes, dtype=dtype, lowerings=lowerings)


@hookimpl
def ait_frontends() -> Sequence[Frontend]:
    return [TorchFrontend()]


@hookimpl
def ait_lowerings() -> Sequence[Lowering]:
    return lowerings_in(identities)
