# SPDX-License-Identifier: Apache-2.0
"""The MiniLM example: one artifact, few kernels, agreement in every dtype, and the same answers without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ait_core as ait

torch = pytest.importorskip("torch")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minilm"
sys.path.insert(0, str(EXAMPLE))
minilm = pytest.importorskip("minilm")


@pytest.fixture(scope="module")
def module():
    return minilm.load_module()


def build(module, **options):
    return ait.compile(module, minilm.example_inputs(), dynamic_shapes=minilm.dynamic_shapes(), **options)


@pytest.fixture(scope="module")
def model(module):
    return build(module)


def test_five_kernels_a_layer_and_no_copies(model):
    kernels = [k["ops"] for k in model.manifest["kernels"]]
    assert len(kernels) <= 2 + 6 * 5
    assert not any("core.copy" in k for k in kernels)


@pytest.mark.parametrize("size", [(1, 1), (3, 7), (8, 128), (1, 512), (64, 3)])
def test_float32_agrees_to_1e_5(module, model, size):
    inputs = minilm.example_inputs(*size)
    with torch.inference_mode():
        assert (model(*inputs) - module(*inputs)).abs().max() <= 1e-5


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_agree_in_direction(module, dtype):
    model = build(module, dtype=dtype)
    for size in ((1, 1), (3, 33), (2, 200)):
        inputs = minilm.example_inputs(*size)
        with torch.inference_mode():
            y, want = model(*inputs), module(*inputs)
        assert y.dtype == getattr(torch, dtype)
        assert torch.nn.functional.cosine_similarity(y.float(), want).min() >= 0.999


def test_saved_artifact_answers_the_same_without_torch(model, tmp_path):
    model.save(tmp_path / "minilm.so")
    sentences = minilm.read_lines("sentences.txt")
    np.save(tmp_path / "expected.npy", model(*minilm.tokenize(sentences)))
    code = (  # an import of torch fails in this process, whether it is installed or not
        "import sys, runpy; sys.modules['torch'] = None; sys.meta_path.insert(0, type('No', (), {'find_spec': "
        "staticmethod(lambda n, *a: (_ for _ in ()).throw(ImportError(n)) if n == 'torch' else None)}));"
        "import importlib.util as u; real = u.find_spec; u.find_spec = lambda n: None if n == 'torch' else real(n);"
        f"sys.argv = ['serve.py', {str(tmp_path / 'minilm.so')!r}, {str(minilm.model_dir())!r}, "
        f"{str(tmp_path / 'expected.npy')!r}]; runpy.run_path({str(EXAMPLE / 'serve.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "16 embeddings" in done.stdout


def test_token_id_outside_the_vocabulary_is_a_fault(model):
    ids, mask = minilm.example_inputs(2, 5)
    ids[1, 3] = 10**6
    with pytest.raises(ait.FaultError, match="out of range"):
        model(ids, mask)
