# SPDX-License-Identifier: Apache-2.0
"""Compile all-MiniLM-L6-v2 to one shared library, search with it, and compare it with PyTorch.

    python demo.py [--out out] [--no-speed]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import venv
from pathlib import Path

import minilm
import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import ait_core as ait

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
console = Console()


def compile_model(path: Path):
    """Compile for batch 1-64 and sequence 1-512, and save to ``path``."""
    module = minilm.load_module()
    started = time.perf_counter()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("compile", total=None)
        model = ait.compile(
            module,
            minilm.example_inputs(),
            dynamic_shapes=minilm.dynamic_shapes(),
            progress=lambda stage, done, total: bar.update(task, completed=done, total=total),
        )
    model.save(path)
    seconds = time.perf_counter() - started
    size = path.stat().st_size / 1e6
    kernels = len(model.manifest["kernels"])
    console.print(f"[bold]{path}[/]: {size:.1f} MB, {kernels} kernels a forward pass, ready after {seconds:.1f} s")
    return module, model


def search(model) -> None:
    """Print the best two sentences for each query."""
    sentences, queries = minilm.read_lines("sentences.txt"), minilm.read_lines("queries.txt")
    corpus = model(*minilm.tokenize(sentences))
    asked = model(*minilm.tokenize(queries))
    table = Table("query", "score", "sentence", title="Semantic search")
    for query, scores in zip(queries, asked @ corpus.T, strict=True):
        for rank, i in enumerate(np.argsort(-scores)[:2]):
            table.add_row(query if rank == 0 else "", f"{scores[i]:.3f}", sentences[i])
    console.print(table)


def agree(module, model) -> None:
    """Print the largest difference from PyTorch in float32."""
    worst = 0.0
    with torch.inference_mode():
        for batch, sequence in ((1, 1), (3, 7), (8, 128), (2, 512)):
            inputs = minilm.example_inputs(batch, sequence)
            worst = max(worst, (model(*inputs) - module(*inputs)).abs().max().item())
    console.print(f"Agreement with PyTorch float32: largest difference of any embedding {worst:.1e} (at most 1e-5)")


def speed(module, model) -> None:
    """Print latencies beside PyTorch eager and torch.compile, measured in turn in this process."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import latency

    console.print("Measuring; torch.compile needs a minute to compile ...")
    rows = latency.compare(module, model, minilm.example_inputs)
    console.print(latency.table(rows))


def serve(path: Path, out: Path) -> None:
    """Reproduce the embeddings in a fresh process of an environment that has no torch."""
    home = out / "serve"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
        wheels = out / "wheels"
        build = ["wheel", "--no-build-isolation", "--no-deps", "-w", str(wheels), str(ROOT / "ait_runtime")]
        subprocess.run([sys.executable, *pip, *build], check=True)
        wheel = next(wheels.glob("ait_runtime-*.whl"))
        subprocess.run([python, *pip, "install", str(wheel), "tokenizers"], check=True)
    command = [python, HERE / "serve.py", path, minilm.model_dir(), out / "embeddings.npy"]
    subprocess.run([str(c) for c in command], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="where minilm.so goes")
    parser.add_argument("--no-speed", action="store_true", help="leave out the comparison of speed")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "minilm.so"
    module, model = compile_model(path)
    search(model)
    agree(module, model)
    np.save(args.out / "embeddings.npy", model(*minilm.tokenize(minilm.read_lines("sentences.txt"))))
    if not args.no_speed:
        speed(module, model)
    serve(path, args.out)


if __name__ == "__main__":
    main()
