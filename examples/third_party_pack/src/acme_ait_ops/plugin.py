# SPDX-License-Identifier: Apache-2.0
"""What this pack offers to AIT (entry point of the group ``ait.plugins``)."""

from pathlib import Path

import acme_ait_ops
import ait_ops_tensor as tensor
from acme_ait_ops import kernels
from ait_core.declare.kernel import kernels_in
from ait_core.declare.op import ops_in
from ait_core.declare.rule import lowering, rule
from ait_core.plugins.hooks import hookimpl

API_VERSION = 1


@rule("acme.fuse_squared_relu", example=lambda: {"x": ("float32", (2, 3))})
def spelt_out(x):
    return tensor.square(tensor.relu(x))


@spelt_out.replace
def _(m, x):
    return acme_ait_ops.squared_relu(x)


@lowering("torch", "acme.causal_smooth")
def causal_smooth(ctx, x, decay):
    return acme_ait_ops.causal_smooth(x, decay=decay)


@hookimpl
def ait_ops():
    return ops_in(acme_ait_ops)


@hookimpl
def ait_kernels():
    return kernels_in(kernels)


@hookimpl
def ait_includes():
    return [Path(__file__).parent / "include"]


@hookimpl
def ait_rules():
    return [spelt_out]


@hookimpl
def ait_lowerings():
    return causal_smooth
