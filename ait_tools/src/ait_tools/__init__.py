# SPDX-License-Identifier: Apache-2.0
"""The commands of AIT that work on models, and what they are made of."""

from ait_tools.report import Explanation, explain
from ait_tools.source import Spec

__all__ = ["Explanation", "Spec", "explain"]
