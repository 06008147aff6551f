# SPDX-License-Identifier: Apache-2.0
"""How torch's ops become ops of this pack."""

from ait_core.declare.rule import lowerings_in
from ait_ops_tensor.lowerings import fills, lookups, pointwise, reductions, shapes, sizes

LOWERINGS = lowerings_in(fills, lookups, pointwise, reductions, shapes, sizes)
