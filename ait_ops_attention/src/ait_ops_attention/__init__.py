# SPDX-License-Identifier: Apache-2.0
"""Fused attention."""

from ait_ops_attention.attention import scaled_dot_product

__all__ = ["scaled_dot_product"]
