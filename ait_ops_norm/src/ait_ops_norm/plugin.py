# SPDX-License-Identifier: Apache-2.0
"""What this pack offers to AIT (entry point of the group ``ait.plugins``)."""

from importlib.util import find_spec
from pathlib import Path

from ait_core.declare.op import ops_in
from ait_core.plugins.hooks import hookimpl
from ait_ops_norm import normalise, probabilities

API_VERSION = 1
INCLUDE = Path(__file__).parent / "include"


@hookimpl
def ait_ops():
    return ops_in(normalise, probabilities)


if INCLUDE.is_dir():

    @hookimpl
    def ait_includes():
        return [INCLUDE]


if find_spec(f"{__package__}.kernels"):

    @hookimpl
    def ait_kernels():
        from ait_core.declare.kernel import kernels_in
        from ait_ops_norm import kernels

        return kernels_in(kernels)


if find_spec(f"{__package__}.rules"):

    @hookimpl
    def ait_rules():
        from ait_core.declare.rule import rules_in
        from ait_ops_norm import rules

        return rules_in(rules)


if find_spec(f"{__package__}.lowerings"):

    @hookimpl
    def ait_lowerings():
        from ait_core.declare.rule import lowerings_in
        from ait_ops_norm import lowerings

        return lowerings_in(lowerings)
