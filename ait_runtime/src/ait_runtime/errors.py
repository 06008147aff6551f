# SPDX-License-Identifier: Apache-2.0
"""What AIT raises. User mistakes are ``AITError``; a broken invariant of ours is ``InternalError``."""

from __future__ import annotations


class AITError(Exception):
    """A mistake the user can fix. The text says what happened, what was expected, and what to do."""


class GraphError(AITError):
    """A graph that cannot be built: wrong shapes, dtypes, attributes or names."""


class UnsupportedError(AITError):
    """The model asks for something that no installed plugin offers; lists everything of that kind at once."""


class CompileError(AITError):
    """The C++ compiler failed; shows its command, the first error line and where the sources lie."""


class ToolchainError(AITError):
    """A compiler or tool is missing or too old; says how to get it."""


class PluginError(AITError):
    """A plugin cannot be used: import failure, clashing name, other API version."""


class InputError(AITError):
    """Inputs of a call that do not fit the model: missing, extra, not a tensor."""


class ShapeError(InputError):
    """A size out of its range, sizes that contradict each other, or a wrong rank."""


class DTypeError(InputError):
    """A tensor of another dtype than the model's."""


class FaultError(InputError):
    """A kernel met data it cannot serve, such as a lookup index outside its table."""


class WeightsError(AITError):
    """A weights file or dict with missing, extra or wrongly shaped tensors."""


class ArtifactError(AITError):
    """A model file that is damaged, or made for another ABI, operating system or instruction set."""


class DeviceError(AITError):
    """The accelerator is missing, of another kind than the model or its inputs, or failed."""


class OutOfMemoryError(AITError, MemoryError):
    """A run or a load needs more memory than there is."""


class InternalError(RuntimeError):
    """An invariant of AIT is broken: a bug in AIT or in a plugin, with the pass and node where it showed."""
