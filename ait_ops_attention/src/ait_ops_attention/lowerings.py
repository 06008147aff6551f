# SPDX-License-Identifier: Apache-2.0
"""How torch's fused attention becomes the op of this pack."""

from __future__ import annotations

from typing import Any

import ait_ops_tensor as t
from ait_core.declare.rule import lowering
from ait_core.ir import dims
from ait_core.ir.graph import Value
from ait_core.ir.types import broadcast
from ait_ops_attention.attention import scaled_dot_product
from ait_ops_tensor.lowerings.common import to


@lowering("torch", "aten.scaled_dot_product_attention")
def attention(ctx: Any, q: Value, k: Value, v: Value, mask: Value | None = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Value:  # fmt: skip
    if dropout_p > 0:
        ctx.error("its dropout is random: pass dropout_p=0.0 outside of training")
    if not isinstance(scale, (int, float, type(None))):
        ctx.error("its scale depends on a size or on data")
    heads = 1 if enable_gqa else 0  # axes before the matrices that may differ between q and k, v
    common = broadcast(*(x.shape[: x.type.rank - 2 - heads] for x in (q, k, v)))
    q, k, v = (_spread(x, (*common, *x.shape[x.type.rank - 2 - heads :])) for x in (q, k, v))
    if mask is not None and mask.dtype.name != "bool":
        mask = to(mask, q.dtype)
    return scaled_dot_product(q, k, v, mask, scale=scale, causal=is_causal)


def _spread(x: Value, shape: dims.Shape) -> Value:
    return x if dims.same_shape(x.shape, shape) else t.expand(x, shape=shape)


@lowering("torch", "aten._scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    ctx: Any,
    q: Value,
    k: Value,
    v: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    return attention[0].fn(ctx, q, k, v, attn_mask, dropout_p, is_causal, scale), None
