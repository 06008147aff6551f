# SPDX-License-Identifier: Apache-2.0
"""Load a compiled model where no torch is installed, and reproduce embeddings.

    python serve.py minilm.so MODEL_DIR embeddings.npy
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

import ait_runtime


def main() -> None:
    artifact, model_dir, expected = (Path(a) for a in sys.argv[1:4])
    if find_spec("torch") is not None:
        raise SystemExit("This environment has torch installed, so the run would prove nothing.")
    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.enable_padding()
    sentences = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines()
    encoded = tokenizer.encode_batch(sentences)
    model = ait_runtime.load(artifact)
    embeddings = model(
        np.array([e.ids for e in encoded], dtype=np.int64), np.array([e.attention_mask for e in encoded], dtype=np.int64)
    )
    difference = np.abs(embeddings - np.load(expected)).max()
    print(f"Without torch: {len(sentences)} embeddings from {artifact.name}, largest difference {difference:.1e}")
    if difference > 1e-6:
        raise SystemExit("The embeddings differ.")


if __name__ == "__main__":
    main()
