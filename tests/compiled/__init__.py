# SPDX-License-Identifier: Apache-2.0
"""Compiled models against the NumPy references of their ops."""
