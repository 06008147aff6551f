# SPDX-License-Identifier: Apache-2.0
"""Models written by hand and built as the build driver builds them, so that the runtime is tested without the compiler."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from ait_core.runtime import FLAGS, INCLUDE_DIR, LINK_FLAGS, SOURCES
from ait_core.runtime.artifact import seal
from ait_core.runtime.weights_file import write_weights

MODELS = Path(__file__).parent / "models"


def run(*command: object) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"


@pytest.fixture(scope="session")
def runtime_objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runtime")
    objects = []
    for source in SOURCES:
        objects.append(folder / f"{source.stem}.o")
        run("g++", *FLAGS, "-Wall", "-Wextra", "-Werror", "-I", INCLUDE_DIR, "-c", source, "-o", objects[-1])
    return objects


Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(runtime_objects: list[Path]) -> Build:
    def build(target: Path, source: str, defines: Mapping[str, str] | None = None, weights: bytes | None = None, manifest: str = "{}") -> Path:
        """Compile ``models/source`` with the runtime to ``target`` and seal it; ``weights``: embed as symbol ``toy_weights``."""
        folder = target.parent
        objects = [*runtime_objects, folder / "model.o"]
        flags = [f"-D{name}={value}" for name, value in (defines or {}).items()]
        if weights is not None:
            flags.append("-DTOY_EMBEDDED")
            (folder / "weights.bin").write_bytes(weights)
            (folder / "weights.s").write_text(
                '.section .lrodata,"a",@progbits\n.balign 64\n.globl toy_weights\n.hidden toy_weights\n.type toy_weights, @object\n'
                f'toy_weights:\n.incbin "weights.bin"\n.size toy_weights, {len(weights)}\n.section .note.GNU-stack,"",@progbits\n'
            )
            run("g++", "-c", "-Wa,-I", f"-Wa,{folder}", folder / "weights.s", "-o", folder / "weights.o")
            objects.append(folder / "weights.o")
        run("g++", *FLAGS, *flags, "-I", INCLUDE_DIR, "-c", MODELS / source, "-o", folder / "model.o")
        run("g++", *objects, *LINK_FLAGS, "-o", target)
        seal(target, manifest)
        return target

    return build


def toy_weights(seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "weight": random.standard_normal(4, dtype=np.float32),
        "scale": np.array(random.standard_normal(), dtype=np.float32),
        "table.rows": random.standard_normal((5, 4), dtype=np.float32),
    }


def toy_block(weights: Mapping[str, np.ndarray]) -> bytes:
    """The weights as the toy's ConstantSpecs place them."""
    return b"".join(weights[name].tobytes().ljust(size, b"\0") for name, size in [("weight", 64), ("scale", 64), ("table.rows", 128)])


def toy_inputs(batch: int = 2, seq: int = 3, seed: int = 1) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "x": random.standard_normal((batch, seq, 4), dtype=np.float32),
        "index": random.integers(0, 5, batch),
        "flat": random.standard_normal(batch * seq, dtype=np.float32),
    }


def toy_reference(inputs: Mapping[str, np.ndarray], weights: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, index, flat = inputs["x"], inputs["index"], inputs["flat"]
    hidden = x * (weights["weight"] * weights["scale"])
    y = hidden + weights["table.rows"][index][:, None, :] + flat.reshape(x.shape[:2])[..., None]
    return y, y, y.sum(dtype=np.float64).astype(np.float32)


TOY_MANIFEST = json.dumps({"producer": "hand"})


def quoted(text: str) -> str:
    return json.dumps(text)


@pytest.fixture(scope="session")
def toy(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy with its weights (``toy_weights()``) inside."""
    target = tmp_path_factory.mktemp("toy") / "toy.so"
    return build(target, "toy.cpp", {"TOY_MANIFEST": quoted(TOY_MANIFEST)}, toy_block(toy_weights()), TOY_MANIFEST)


@pytest.fixture(scope="session")
def bare_toy(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy with its weights in the safetensors file beside it."""
    target = tmp_path_factory.mktemp("bare_toy") / "toy.so"
    write_weights(target.with_suffix(".safetensors"), toy_weights())
    return build(target, "toy.cpp", {"TOY_MANIFEST": quoted(TOY_MANIFEST)}, manifest=TOY_MANIFEST)


@pytest.fixture(scope="session")
def identity(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("identity") / "identity.so", "identity.cpp")
