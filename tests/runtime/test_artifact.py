# SPDX-License-Identifier: Apache-2.0
"""Model files that are damaged, foreign or need another machine are refused before anything of them runs."""

from __future__ import annotations

import struct
import time

import pytest

from ait_core.errors import ArtifactError
from ait_runtime import artifact
from ait_runtime.artifact import read_artifact, seal
from ait_runtime.model import load
from tests.runtime.toy import quoted, run, toy_block, toy_weights


@pytest.fixture
def copy(toy, tmp_path):
    path = tmp_path / "model.so"
    path.write_bytes(toy.read_bytes())
    return path


def test_manifest_without_loading(toy):
    found = read_artifact(toy)
    assert found.manifest == {"producer": "hand"} and found.abi == 1
    assert toy.read_bytes()[: found.library_bytes].startswith(b"\x7fELF")


@pytest.mark.parametrize("size", [0, 1, 10, 64, 1000, -1, -50, -104, -105, -1000])
def test_truncated(copy, size):
    data = copy.read_bytes()
    copy.write_bytes(data[:size])
    with pytest.raises(ArtifactError, match="model.so"):
        load(copy)


def test_every_part_is_covered(copy):
    data = copy.read_bytes()
    for at in [*range(20, len(data), len(data) // 300), *range(len(data) - 130, len(data))]:
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        copy.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="damaged|no seal"):
            read_artifact(copy)


def test_appended(copy):
    copy.write_bytes(copy.read_bytes() + b"\0")
    with pytest.raises(ArtifactError, match="no seal"):
        load(copy)


def test_inserted(copy):
    data = copy.read_bytes()
    copy.write_bytes(data[:5000] + b"\0" + data[5000:])
    with pytest.raises(ArtifactError, match=r"damaged: \d+ bytes, expected \d+"):
        load(copy)


def test_other_abi(copy, monkeypatch):
    monkeypatch.setattr(artifact, "ABI_VERSION", 7)
    seal(copy, "{}")
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="has ABI version 7, this ait-core has version 1"):
        load(copy)


@pytest.mark.parametrize(
    "start, text",
    [
        (b"MZ\x90\0", r"made for Windows \(PE\), this machine is linux"),
        (b"\xcf\xfa\xed\xfe", r"made for macOS \(Mach-O\), this machine is linux"),
        (b"#!/bin/sh\n", "no library"),
        (
            b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 183),
            "made for aarch64, this machine is linux x86_64",
        ),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 9999), "made for an unknown processor"),
        (b"\x7fELF\x02\x02\x01" + bytes(9) + struct.pack(">HH", 3, 62), "big-endian"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 62), "no seal"),
    ],
)
def test_foreign_files(tmp_path, start, text):
    path = tmp_path / "model.so"
    path.write_bytes(start + bytes(5000))
    with pytest.raises(ArtifactError, match=text):
        load(path)


def test_missing_and_unreadable(tmp_path):
    for path in (tmp_path / "missing.so", tmp_path):
        with pytest.raises(ArtifactError, match="cannot be read"):
            load(path)


def test_a_library_that_is_no_model(tmp_path):
    (tmp_path / "other.c").write_text("int answer(void) { return 42; }")
    run("gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", tmp_path / "other.so")
    with pytest.raises(ArtifactError, match="no seal"):
        load(tmp_path / "other.so")
    seal(tmp_path / "other.so", "{}")
    with pytest.raises(ArtifactError, match="lacks the function ait_abi_version"):
        load(tmp_path / "other.so")


def test_seal_twice(copy):
    size = copy.stat().st_size
    library = read_artifact(copy).library_bytes
    seal(copy, '{"a": "much longer than it was before"}')
    seal(copy, '{"producer": "hand"}')
    assert copy.stat().st_size == size and read_artifact(copy).library_bytes == library
    load(copy)


def test_seal_wants_json(copy):
    before = copy.read_bytes()
    with pytest.raises(ValueError):
        seal(copy, "{")
    assert copy.read_bytes() == before


def test_sealed_with_another_manifest(copy):
    seal(copy, '{"producer": "somebody else"}')
    with pytest.raises(ArtifactError, match="not the one it was sealed with"):
        load(copy)


def test_isa_is_checked(build, tmp_path):
    defines = {"TOY_MANIFEST": quoted("{}"), "TOY_ISA": quoted("avx2 no-such-thing sse3 other")}
    path = build(tmp_path / "toy.so", "toy.cpp", defines, toy_block(toy_weights()))
    with pytest.raises(
        ArtifactError,
        match='lacks no-such-thing other. The model needs "avx2 no-such-thing sse3 other"; the machine is x86 with',
    ):
        load(path)


def test_isa_of_this_machine(build, tmp_path):
    """The processor's features as the kernel reports them are those that we see, name by name."""
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    others = {"sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "avxvnni": "avx_vnni"}
    same = ("ssse3", "popcnt", "avx", "f16c", "fma", "avx2", "bmi2", "avx512f", "avx512dq", "avx512cd", "avx512bw")
    others |= {f"avx512{x}": f"avx512_{x}" for x in ("vnni", "fp16", "bf16")}
    others |= {f"amx-{x}": f"amx_{x}" for x in ("bf16", "tile", "int8")}
    spelling = {name: name for name in (*same, "avx512vl", "avx512vbmi")} | others
    has = [name for name, flag in spelling.items() if flag in flags]
    lacks = [name for name in spelling if name not in has]
    defines = {"TOY_MANIFEST": quoted("{}"), "TOY_ISA": quoted(" ".join(has))}
    load(build(tmp_path / "toy.so", "toy.cpp", defines, toy_block(toy_weights())))
    if lacks:
        defines["TOY_ISA"] = quoted(" ".join(lacks))
        with pytest.raises(ArtifactError, match=f"it lacks {' '.join(lacks)}. "):
            load(build(tmp_path / "toy2.so", "toy.cpp", defines, toy_block(toy_weights())))


def test_speed_of_the_check(toy, tmp_path, capsys):
    """Printed, not asserted: the machine may be busy."""
    path = tmp_path / "big.so"
    path.write_bytes(toy.read_bytes()[: read_artifact(toy).library_bytes] + bytes(90 << 20))
    seal(path, "{}")
    begin = time.perf_counter()
    read_artifact(path)
    with capsys.disabled():
        print(f"\n  check of a 90 MB file: {time.perf_counter() - begin:.3f} s", end="")
