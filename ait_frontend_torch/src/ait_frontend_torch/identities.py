# SPDX-License-Identifier: Apache-2.0
"""Lowerings of torch ops that change nothing about values: they need no op."""

from __future__ import annotations

from typing import Any

from ait_core.declare.rule import lowering


@lowering(
    "torch", "aten.alias", "aten.clone", "aten.contiguous", "aten.detach", "aten.detach_copy", "aten.alias_copy",
    "aten.lift_fresh_copy", "aten.positive", "aten.resolve_conj", "aten.resolve_neg",
)  # fmt: skip
def same(ctx: Any, x: Any, **_: Any) -> Any:
    return x


@lowering("torch", "aten.dropout", "aten.alpha_dropout", "aten.feature_dropout",
          "aten.feature_alpha_dropout")  # fmt: skip
def dropout(ctx: Any, x: Any, p: float, train: bool) -> Any:
    if train and p > 0:
        ctx.error("dropout with train=True is random: call it with training=self.training, so that evaluation mode "
                  "switches it off")  # fmt: skip
    return x
