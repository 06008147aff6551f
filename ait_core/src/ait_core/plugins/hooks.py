# SPDX-License-Identifier: Apache-2.0
"""The hooks a plugin may implement. Each returns declarations and does nothing else; all are optional.

A plugin is a module named by an entry point of the group ``ait.plugins``. It may set ``API_VERSION`` (an int, or a pair
of the lowest and highest it works with).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from ait_core.declare.backend import Backend
    from ait_core.declare.frontend import Frontend
    from ait_core.declare.kernel import Kernel
    from ait_core.declare.op import Op
    from ait_core.declare.rule import Lowering, Rule

GROUP = "ait.plugins"
API_VERSION = 1
RESERVED_COMMANDS = ("plugins", "doctor", "cache")  # they must work when every plugin is broken
hookspec = pluggy.HookspecMarker("ait")
hookimpl = pluggy.HookimplMarker("ait")


@hookspec
def ait_ops() -> Sequence[Op]:
    """Ops of the pack (``ops_in(module)`` collects them)."""


@hookspec
def ait_kernels() -> Sequence[Kernel]:
    """Kernel templates, for own ops or other packs'."""


@hookspec
def ait_includes() -> Sequence[Path]:
    """Include directories with the headers of the kernel templates."""


@hookspec
def ait_rules() -> Sequence[Rule]:
    """Fusion rules."""


@hookspec
def ait_lowerings() -> Sequence[Lowering]:
    """How frontends' ops become ops of this pack (``lowerings_in(module)`` collects them)."""


@hookspec
def ait_backends() -> Sequence[Backend]:
    """Backends."""


@hookspec
def ait_frontends() -> Sequence[Frontend]:
    """Frontends: importers of other frameworks' models, each asked whether it claims what is to be compiled."""


@hookspec
def ait_commands() -> Sequence[click.Command]:
    """Commands to add to ``ait``."""
