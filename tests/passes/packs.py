# SPDX-License-Identifier: Apache-2.0
"""The ops that random graphs are made of, by name, with those of the passes."""

import ait_ops_gemm.plugin
import ait_ops_tensor.plugin
from ait_core.passes.views import CORE_OPS

OPS = {op.name: op for op in [*ait_ops_tensor.plugin.ait_ops(), *ait_ops_gemm.plugin.ait_ops(), *CORE_OPS.values()]}
