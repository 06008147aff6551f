# SPDX-License-Identifier: Apache-2.0
"""Passes take a graph and return one that computes the same; :func:`ait_core.passes.pipeline.run_passes` runs them."""
