# SPDX-License-Identifier: Apache-2.0
"""Matrix products: ``matmul`` and ``linear`` are ops; ``matvec``, ``vecmat``, ``vecdot`` functions made of them."""

from ait_ops_gemm.products import linear, matmul, matvec, vecdot, vecmat

__all__ = ["linear", "matmul", "matvec", "vecdot", "vecmat"]
