# SPDX-License-Identifier: Apache-2.0
"""What this pack offers to AIT (entry point of the group ``ait.plugins``)."""

from ait_core.plugins.pack import pack_hooks
from ait_ops_gemm import products

API_VERSION = 1
ait_ops, ait_kernels, ait_rules, ait_lowerings, ait_includes = pack_hooks("ait_ops_gemm", products)
