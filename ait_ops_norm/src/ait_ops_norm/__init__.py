# SPDX-License-Identifier: Apache-2.0
"""Softmax and normalisations. Semantics are torch.nn.functional's; statistics are float32 at least."""

from ait_ops_norm.normalise import batch_norm, group_norm, instance_norm, l2_normalize, layer_norm, rms_norm
from ait_ops_norm.probabilities import log_softmax, softmax

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "l2_normalize", "layer_norm", "log_softmax", "rms_norm", "softmax",
]  # fmt: skip
