# SPDX-License-Identifier: Apache-2.0
"""Tensors side by side."""

from ait_core.declare.op import composite, join
from ait_ops_tensor.views import unsqueeze


@join("tensor.concat")
def concat(*xs, dim: int = 0):
    """The operands one after the other along ``dim``, in their common dtype."""
    return xs[0].axis(dim)


@composite("tensor.stack")
def stack(*xs, dim: int = 0):
    """Operands of equal shape along a new axis ``dim``."""
    return concat(*(unsqueeze(x, dim=dim) for x in xs), dim=xs[0].type.of_shape((*xs[0].shape, 1)).axis(dim))
