# SPDX-License-Identifier: Apache-2.0
"""Everything that is promised of MiniLM on the CPU, measured in one run: python benchmarks/minilm.py [--json FILE]

Latency in three dtypes beside PyTorch eager and ``torch.compile`` of the same dtype, build times from an empty and a full
cache, build time at two sequence bounds, import time, and the cost of a call.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import latency
import torch
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "minilm"))
import minilm

import ait_core as ait


def build(module, **options):
    """Seconds and the model."""
    bound = options.pop("bound", minilm.MAX_SEQUENCE)
    started = time.perf_counter()
    model = ait.compile(module, minilm.example_inputs(), dynamic_shapes=minilm.dynamic_shapes(bound), **options)
    return time.perf_counter() - started, model


def build_times(module) -> dict[str, float]:
    """Seconds for a build from an empty cache, from a full one, and from an empty one at two sequence bounds."""
    long = minilm.load_module(positions=4096)
    times = {}
    for name, of, bound in (("cold", module, 512), ("again", module, 512),
                            ("cold, 4096 positions, sequence bound 128", long, 128),
                            ("cold, 4096 positions, sequence bound 4096", long, 4096)):  # fmt: skip
        if name.startswith("cold"):
            os.environ["AIT_CACHE_DIR"] = tempfile.mkdtemp(prefix="ait-bench-")
        times[name] = build(of, bound=bound)[0]
    return times


def import_seconds() -> float:
    """Best of five imports of ``ait_core`` in fresh processes."""
    code = "import time; t = time.perf_counter(); import ait_core; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(r.stdout) for r in runs)


def call_microseconds() -> dict[str, float]:
    """A call of a model of one op on four numbers, output allocation included."""
    import numpy as np

    x = ait.input("x", (4,))
    model = ait.compile(ait.Graph({"y": ait.ops.tensor.relu(x)}))
    return {
        kind: 1e3 * min(latency.milliseconds(lambda a=a: model(a), 0.2) for _ in range(5))
        for kind, a in (("NumPy", np.ones(4, "f4")), ("torch", torch.ones(4)))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--seconds", type=float, default=0.5, help="per measurement and round")
    args = parser.parse_args()
    console = Console()
    module = minilm.load_module()
    figures: dict = {
        "machine": f"{platform.machine()}, {ait.registry().backends['cpu'].target('').name}",
        "torch": torch.__version__,
        "builds": build_times(module),
        "import": import_seconds(),
        "call": call_microseconds(),
        "latency": {},
    }
    table = Table("dtype", "batch, sequence", "AIT ms", "eager ms", "torch.compile ms", "ratio to the better")
    for dtype in ("float32", "bfloat16", "float16"):
        model = build(module, dtype=dtype)[1]
        own = minilm.load_module().to(getattr(torch, dtype))
        rows = latency.compare(own, model, minilm.example_inputs, seconds=args.seconds)
        figures["latency"][dtype] = [{**asdict(r), "ratio": r.ratio} for r in rows]
        for r in rows:
            cells = (r.ait, r.eager, r.compiled, r.ratio)
            table.add_row(dtype, f"{r.batch}, {r.sequence}", *(f"{c:.2f}" for c in cells))
    console.print(table)
    for name, seconds in figures["builds"].items():
        console.print(f"build, {name}: {seconds:.1f} s")
    console.print(f"import ait_core: {figures['import'] * 1e3:.0f} ms")
    console.print(", ".join(f"call with {k}: {v:.1f} us" for k, v in figures["call"].items()))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
