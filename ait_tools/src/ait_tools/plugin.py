# SPDX-License-Identifier: Apache-2.0
"""What this distribution offers to AIT (entry point of the group ``ait.plugins``): the modules of ``commands``."""

import importlib
import pkgutil
from collections.abc import Sequence

import click

from ait_core.plugins.hooks import hookimpl
from ait_tools import commands

API_VERSION = 1


@hookimpl
def ait_commands() -> Sequence[click.Command]:
    names = [m.name for m in pkgutil.iter_modules(commands.__path__)]
    return [importlib.import_module(f"{commands.__name__}.{n}").command for n in names]
