# SPDX-License-Identifier: Apache-2.0
"""AIT's CPU backend: C++17 and OpenMP."""
