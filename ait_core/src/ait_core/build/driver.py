# SPDX-License-Identifier: Apache-2.0
"""The build driver: sources to one shared library, by ninja, through the object cache.

What is unchanged is never compiled again: objects are keyed by source, flags, compiler and every header; the linked
model by its objects and its weights.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ait_core.build.cache import Cache, copy_atomically
from ait_core.codegen.model import ModelSource
from ait_core.declare.backend import Toolchain
from ait_core.errors import CompileError, ToolchainError
from ait_runtime import FLAGS as RUNTIME_FLAGS
from ait_runtime import INCLUDE_DIR, LINK_FLAGS, SOURCES

PRIVATE = SOURCES[0].parent  # headers that only the runtime's own sources include
EMBED_LIMIT = 2_000_000_000  # bytes; larger weights always lie beside the library
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Built:
    """What a build made, in the cache: the library, and the weights file if they lie beside it."""

    library: Path
    compiled: int  # translation units that a compiler ran for


def _digest(*parts: str | bytes) -> str:
    h = hashlib.sha256()
    for p in parts:
        data = p.encode() if isinstance(p, str) else p
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()


def headers_digest(includes: Sequence[Path]) -> str:
    """One hash over every header below the include directories."""
    parts = []
    for root in includes:
        for path in sorted(root.rglob("*.h")):
            parts.append(_digest(str(path.relative_to(root)), path.read_bytes()))
    return _digest(*parts)


class Builder:
    """Builds one model.

    Args:
        toolchain: the compiler.
        includes: include directories of the runtime, the backend and the packs.
        embed: whether the weights go into the library.
        keep: a directory that receives the sources and a ``build.ninja`` that compiles them by itself.
    """

    def __init__(self, toolchain: Toolchain, includes: Sequence[Path], *, embed: bool = True, jobs: int | None = None,
                 keep: Path | None = None, progress: Progress | None = None) -> None:  # fmt: skip
        self.toolchain, self.embed, self.keep, self.progress = toolchain, embed, keep, progress
        self.includes = [INCLUDE_DIR, *includes]
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.objects, self.models = Cache("objects"), Cache("models")

    def build(self, model: ModelSource, weights_digest: str) -> Built:
        """Compile what is new, link, seal.

        Raises:
            CompileError: if the compiler fails; the sources are kept and named.
            AITError: if the disk is full or not writable.
        """
        from ait_core.codegen.model import manifest_text
        from ait_runtime.artifact import seal

        embed = self.embed and bool(model.weights)
        manifest = manifest_text(model.manifest)
        sources = dict(model.sources)
        sources["model.cpp"] = model.model_cpp(embed, manifest)
        runtime = {f"runtime_{p.name}": p for p in SOURCES}
        headers = headers_digest(self.includes)
        private = headers_digest([PRIVATE])
        exports = (PRIVATE / "exports.map").read_text()
        keys: dict[str, str] = {}
        for name, text in sources.items():
            flags = self._flags(name == "model.cpp")
            keys[name] = _digest(text, headers, self.toolchain.identity, *flags)
        order = [*runtime, *sources]  # the runtime's objects come first on the link line
        for name, path in runtime.items():
            keys[name] = _digest(path.read_bytes(), headers, private, self.toolchain.identity, *self._flags(True))
        linking = [*self.toolchain.link_flags, *LINK_FLAGS, exports]
        model_key = _digest(*sorted(keys.values()), weights_digest if embed else "beside", *linking)

        if self.keep is not None:
            try:
                self._write_tree(self.keep, model, sources, runtime, embed, order)
            except OSError as e:
                raise CompileError(
                    f"The sources could not be kept in {self.keep}: {e.strerror or e}. Give a directory that may be written."
                ) from e
        found = self.models.get(model_key, ".so")
        if found is not None:
            return Built(found, 0)
        try:
            with tempfile.TemporaryDirectory(prefix="ait-build-") as tmp:
                where = Path(tmp)
                missing = [n for n in order if not self.objects.take(keys[n], ".o", where / f"{n}.o")]
                self._write_tree(where, model, sources, runtime, embed, missing)
                if missing:
                    self._ninja(where, [f"{n}.o" for n in missing])
                for n in missing:
                    self.objects.put(keys[n], ".o", where / f"{n}.o")
                self._link(where, [f"{n}.o" for n in order], embed)
                seal(where / "model.so", manifest)
                path = self.models.put(model_key, ".so", where / "model.so")
        except OSError as e:
            raise CompileError(
                f"The build could not write its files: {e.strerror or e} ({e.filename or tempfile.gettempdir()}). "
                "Free some space, or set TMPDIR to a directory with room that may be written."
            ) from e
        self.objects.trim()
        self.models.trim()
        return Built(path, len(missing))

    def _flags(self, baseline: bool) -> list[str]:
        return list(RUNTIME_FLAGS if baseline else self.toolchain.compile_flags)

    def _write_tree(self, where: Path, model: ModelSource, sources: dict[str, str], runtime: dict[str, Path], embed: bool,
                    compile_: list[str]) -> None:  # fmt: skip
        """Sources, weights and a ``build.ninja`` that makes ``model.so`` from them without AIT."""
        where.mkdir(parents=True, exist_ok=True)
        for name, text in sources.items():
            (where / name).write_text(text)
        for name, path in runtime.items():
            shutil.copyfile(path, where / name)
        for path in PRIVATE.glob("*.h"):
            shutil.copyfile(path, where / path.name)
        if embed:
            with open(where / "weights.bin", "wb") as f:
                for offset, v in model.weights:
                    f.seek(offset)
                    v.constant.array.tofile(f)  # type: ignore[union-attr]
                f.truncate(max(64, model.weights_bytes))  # weights may all be empty
            (where / "weights.S").write_text(
                ".section .lrodata,\"a\",@progbits\n.global ait_weights\n.hidden ait_weights\n.balign 64\nait_weights:\n"
                '.incbin "weights.bin"\n.section .note.GNU-stack,"",%progbits\n'
            )
        quote = _ninja_quote
        rules = [
            "ninja_required_version = 1.5",
            f"cxx = {quote(self.toolchain.compiler)}",
            f"includes = {' '.join('-I' + quote(str(i)) for i in self.includes)}",
            f"flags = {' '.join(map(quote, self._flags(False)))}",
            f"baseline = {' '.join(map(quote, self._flags(True)))}",
            f"link = {' '.join(map(quote, self.toolchain.link_flags))}",
            f"runtime_link = {' '.join(map(quote, LINK_FLAGS))}",
            "rule kernel\n  command = $cxx $flags $includes -c $in -o $out\n  description = $in",
            "rule runtime\n  command = $cxx $baseline $includes -c $in -o $out\n  description = $in",
            "rule weights\n  command = $cxx -c $in -o $out",
            "rule library\n  command = $cxx $link $in -o $out $runtime_link",
        ]
        for name in compile_:
            rule = "kernel" if name in sources and name != "model.cpp" else "runtime"
            rules.append(f"build {quote(name)}.o: {rule} {quote(name)}")
        objects = [f"{n}.o" for n in compile_]
        if embed:
            rules.append("build weights.o: weights weights.S | weights.bin")
            objects.append("weights.o")
        rules.append(f"build model.so: library {' '.join(map(quote, objects))}")
        (where / "build.ninja").write_text("\n".join(rules) + "\n")

    def _ninja(self, where: Path, targets: list[str]) -> None:
        ninja = _find_ninja()
        command = [ninja, "-C", str(where), "-j", str(self.jobs), "-k", "0", *targets]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "NINJA_STATUS": "[%f/%t] "})  # fmt: skip
        output = []
        try:
            for line in process.stdout:  # type: ignore[union-attr]
                output.append(line)
                if self.progress and line.startswith("[") and "/" in line.split("]")[0]:
                    done, total = line[1:].split("]")[0].split("/")
                    if done.isdigit() and total.isdigit():
                        self.progress("compile", int(done), int(total))
        except BaseException:  # of the user's progress function, or Ctrl-C: leave no compilers behind
            process.terminate()
            process.wait()
            raise
        if process.wait() != 0:
            raise self._failure("".join(output), where)

    def _link(self, where: Path, objects: list[str], embed: bool) -> None:
        if embed:
            self._run([self.toolchain.compiler, "-c", "weights.S", "-o", "weights.o"], where)
            objects = [*objects, "weights.o"]
        link = [*self.toolchain.link_flags, *objects, "-o", "model.so", *LINK_FLAGS]
        self._run([self.toolchain.compiler, *link], where)

    def _run(self, command: list[str], where: Path) -> None:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True)
        if done.returncode != 0:
            raise self._failure(" ".join(command) + "\n" + done.stderr, where)

    def _failure(self, output: str, where: Path) -> CompileError:
        kept = Path(tempfile.mkdtemp(prefix="ait-failed-"))
        try:
            shutil.copytree(where, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("weights.bin", "*.o"))
        except OSError:
            pass  # a full disk: the error below still says what happened
        lines = output.splitlines()
        error = next((x for x in lines if "error:" in x or "No space left" in x), lines[-1] if lines else "no output")
        command = next((x for x in lines if self.toolchain.compiler in x), self.toolchain.compiler)
        return CompileError(
            f"The compiler failed.\n  error:   {error.strip()}\n  command: {command.strip()}\n  sources: {kept}\n"
            "Set AIT_CXX to try another compiler; if the compiler is fine, this is a bug worth reporting with that folder."
        )


def _find_ninja() -> str:
    beside = Path(sys.executable).parent / "ninja"
    if beside.exists():
        return str(beside)
    found = shutil.which("ninja")
    if found is None:
        raise ToolchainError("ninja was not found. Install it: pip install ninja.")
    return found


def _ninja_quote(text: str) -> str:
    """A word safe both for ninja's syntax and for the shell that ninja runs commands with."""
    import shlex

    return shlex.quote(text).replace("$", "$$").replace(" ", "$ ").replace(":", "$:") if text else "''"


def deliver(built: Built, path: Path) -> None:
    """Copy a built library to where the user wants it; an older file there stays until the new one is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    copy_atomically(built.library, path)
