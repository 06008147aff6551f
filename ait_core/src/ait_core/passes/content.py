# SPDX-License-Identifier: Apache-2.0
"""Comparing constants by what they hold."""

from __future__ import annotations

import hashlib

import numpy as np


def content(array: np.ndarray) -> bytes:
    """A hash of the bits of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8)).digest()
