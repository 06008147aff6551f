# SPDX-License-Identifier: Apache-2.0
"""What AIT raises; the classes live in the runtime, which raises them too."""

from ait_runtime.errors import (
    AITError,
    ArtifactError,
    CompileError,
    DeviceError,
    DTypeError,
    FaultError,
    GraphError,
    InputError,
    InternalError,
    OutOfMemoryError,
    PluginError,
    ShapeError,
    ToolchainError,
    UnsupportedError,
    WeightsError,
)

__all__ = [
    "AITError", "ArtifactError", "CompileError", "DTypeError", "DeviceError", "FaultError", "GraphError",
    "InputError", "InternalError", "OutOfMemoryError", "PluginError", "ShapeError", "ToolchainError",
    "UnsupportedError", "WeightsError",
]  # fmt: skip
