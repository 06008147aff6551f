# SPDX-License-Identifier: Apache-2.0
"""Causal smoothing for PyTorch: ``acme_ait_ops.torch.causal_smooth(x, decay)``. The only module that needs torch."""

import torch


@torch.library.custom_op("acme::causal_smooth", mutates_args=())
def causal_smooth(x: torch.Tensor, decay: float) -> torch.Tensor:
    """``y[t] = decay * y[t - 1] + (1 - decay) * x[t]`` along the time axis of ``x[..., time, channels]``."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    state = wide.new_zeros((*x.shape[:-2], x.shape[-1]))
    for t in range(x.shape[-2]):
        state = decay * state + (1 - decay) * wide[..., t, :]
        out[..., t, :] = state
    return out


@causal_smooth.register_fake
def _(x: torch.Tensor, decay: float) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)
