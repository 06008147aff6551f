# SPDX-License-Identifier: Apache-2.0
"""Small models of the kinds that people compile."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MLP(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(width, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3)
        self.norm, self.head = nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
        return self.head(self.conv2(x).mean((2, 3)))


class GPTBlock(nn.Module):
    """Pre-norm block with causal attention over fused q, k, v."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, s, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (t.view(b, s, self.heads, c // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class HandAttention(nn.Module):
    """Attention spelt out, with a mask of the caller's."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, s, c = x.shape
        q, k, v = (f(x).view(b, s, self.heads, -1).permute(0, 2, 1, 3) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :] == 0, torch.finfo(scores.dtype).min)
        return (scores.softmax(-1) @ v).permute(0, 2, 1, 3).contiguous().view(b, s, c)


class ViTBlock(nn.Module):
    """Class token, learned positions, one encoder block, layer scale; patches come ready."""

    def __init__(self, width: int = 32, patches: int = 9) -> None:
        super().__init__()
        self.token, self.positions = (
            nn.Parameter(torch.randn(1, 1, width)),
            nn.Parameter(torch.randn(1, patches + 1, width)),
        )
        self.scale = nn.Parameter(torch.full((width,), 0.1))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.block = GPTBlock(width)
        self.head = nn.Linear(width, 7)

    def forward(self, patches: Tensor) -> Tensor:
        x = torch.cat([self.token.expand(patches.shape[0], -1, -1), patches], 1) + self.positions
        x = x + self.scale * self.block(x)
        return self.head(self.norm(x)[:, 0])


class RMSBlock(nn.Module):
    """As T5 and Llama norm and gate: RMSNorm spelt out in float32, SiLU gate, rotary positions made in the forward."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.gate, self.up, self.down = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.register_buffer("frequencies", 1e4 ** -(torch.arange(0, width, 2) / width), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        h = self.weight * h.to(x.dtype)
        angles = torch.arange(x.shape[1])[:, None].float() * self.frequencies.float()
        angles = torch.cat([angles, angles], -1)
        half = x.shape[-1] // 2
        turned = torch.cat([-h[..., half:], h[..., :half]], -1)
        h = h * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))
