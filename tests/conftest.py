# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: a cache of their own, so that a run neither reads nor grows the user's."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("AIT_CACHE_DIR", str(Path(__file__).resolve().parent.parent / "out" / "test-cache"))
