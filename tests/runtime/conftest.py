# SPDX-License-Identifier: Apache-2.0
"""Models written by hand and built as the build driver builds them: the runtime is tested without the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ait_runtime import FLAGS, INCLUDE_DIR, LINK_FLAGS, SOURCES
from ait_runtime.artifact import seal
from ait_runtime.weights_file import write_weights
from tests.runtime.toy import TOY_MANIFEST, quoted, run, toy_block, toy_weights

MODELS = Path(__file__).parent / "models"


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
    def build(
        target: Path,
        source: str,
        defines: Mapping[str, str] | None = None,
        weights: bytes | None = None,
        manifest: str = "{}",
    ) -> Path:
        """Compile ``models/source`` to ``target`` and seal it; ``weights`` go in as ``toy_weights``."""
        folder = target.parent
        objects = [*runtime_objects, folder / "model.o"]
        flags = [f"-D{name}={value}" for name, value in (defines or {}).items()]
        if weights is not None:
            flags.append("-DTOY_EMBEDDED")
            (folder / "weights.bin").write_bytes(weights)
            (folder / "weights.s").write_text(
                '.section .lrodata,"a",@progbits\n.balign 64\n.globl toy_weights\n.hidden toy_weights\n'
                'toy_weights:\n.incbin "weights.bin"\n.section .note.GNU-stack,"",@progbits\n'
            )
            run("g++", "-c", "-Wa,-I", f"-Wa,{folder}", folder / "weights.s", "-o", folder / "weights.o")
            objects.append(folder / "weights.o")
        run("g++", *FLAGS, *flags, "-I", INCLUDE_DIR, "-c", MODELS / source, "-o", folder / "model.o")
        run("g++", *objects, *LINK_FLAGS, "-o", target)
        seal(target, manifest)
        return target

    return build


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
