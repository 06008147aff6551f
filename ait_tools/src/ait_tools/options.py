# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share. Those that belong together reach a command as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from ait_core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from ait_core.compiler import Plan
    from ait_tools.interface import Interface
    from ait_tools.source import Opened

model_argument = click.argument("model")
threads_option = click.option("--threads", type=click.IntRange(1), help="Threads a run may use. Default: all cores.")
jobs_option = click.option("--jobs", type=click.IntRange(1), help="Compilers that run at once. Default: one a core.")


@dataclass(frozen=True)
class How:
    """How to import and plan a model."""

    target: str | None = None
    dtype: str | None = None
    disable: tuple[str, ...] = ()

    def manifest(self) -> dict[str, Any]:
        """What a compiled model says of this, but for the target, which it says anyway."""
        return {"dtype": self.dtype, "disable": names(self.disable)}

    @staticmethod
    def of_manifest(manifest: Mapping[str, Any]) -> How:
        """How to compile a model as a compiled one was."""
        how = manifest.get("how", {})
        return How(manifest["target"], how.get("dtype"), tuple(how.get("disable", ())))

    def open(self, model: str) -> Opened:
        """Import a model, see :func:`ait_tools.source.open_model`."""
        from ait_tools.source import open_model

        return open_model(model, self.dtype)

    def plan(self, opened: Opened) -> Plan:
        """What the compiler decides for it."""
        from ait_core import api, compiler
        from ait_core.plugins.registry import registry

        target = api.find_target(self.target or "auto", registry())
        return compiler.make_plan(opened.graph, registry(), target, names(self.disable))

    def refuse(self, model: str) -> None:
        """Refuse to say how to compile what is compiled.

        Raises:
            InputError: naming the options.
        """
        given = [f"--{f.name}" for f in fields(self) if getattr(self, f.name)]
        if given:
            raise InputError(f"{model} is compiled: {', '.join(given)} can only be given for a model that is not.")


@dataclass(frozen=True)
class Sizes:
    """Sizes of dims."""

    dims: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

    def of(self, interface: Interface) -> dict[str, int]:
        """A size for every dim.

        Raises:
            InputError: for what cannot be read or does not fit the model.
        """
        given = pairs("--dim", names(self.dims), int, "NAME=SIZE")
        return interface.sizes(given, pairs("--shape", names(self.shapes), shape, "NAME=2x3"))


@dataclass(frozen=True)
class Inputs(Sizes):
    """Inputs of a call."""

    files: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    seed: int = 0

    def make(self, interface: Interface) -> tuple[dict[str, int], dict[str, np.ndarray]]:
        """Sizes of all dims, and the inputs by name.

        Raises:
            InputError: for what cannot be read or does not fit the model.
        """
        from ait_tools import inputs

        if not self.files:
            sizes = self.of(interface)
            return sizes, inputs.random(interface, sizes, self.seed, bounds(self.ranges))
        if self.dims or self.shapes or self.ranges:
            raise InputError("--dim, --shape and --range describe random inputs: leave them out with --input.")
        read = inputs.read(self.files, interface)
        return interface.sizes({}, {n: a.shape for n, a in read.items()}), read


def _bundle(name: str, kind: type, *options: Callable) -> Callable[[Callable], Callable]:
    def wrap(command: Callable) -> Callable:
        @functools.wraps(command)
        def call(*args: Any, **kwargs: Any) -> Any:
            taken = {f.name: kwargs.pop(f.name) for f in fields(kind)}
            return command(*args, **kwargs, **{name: kind(**taken)})

        for option in reversed(options):
            call = option(call)
        return call

    return wrap


_SIZES = (
    click.option("--dim", "dims", multiple=True, metavar="NAME=SIZE[,...]", help="Sizes of dims: batch=2,seq=16."),
    click.option("--shape", "shapes", multiple=True, metavar="NAME=2x3", help="The shape of an input."),
)
how_options = _bundle(
    "how",
    How,
    click.option("--target", help="auto (the default), cpu, cpu:x86-64-v3, ..."),
    click.option("--dtype", help="Floating point type to compute in, such as bfloat16. Default: the model's."),
    click.option(
        "--disable", multiple=True, metavar="NAME[,...]", help="Leave out passes; see `ait explain --list-passes`."
    ),
)
size_options = _bundle("sizes", Sizes, *_SIZES)
input_options = _bundle(
    "inputs",
    Inputs,
    *_SIZES,
    click.option(
        "--input",
        "files",
        multiple=True,
        metavar="FILE",
        help="Inputs: x.npz, x.safetensors or name=x.npy. Default: random.",
    ),
    click.option(
        "--range", "ranges", multiple=True, metavar="NAME=LO:HI", help="Smallest and largest number of a random input."
    ),
    click.option("--seed", default=0, show_default=True, help="Of random inputs."),
)


def names(values: Sequence[str]) -> list[str]:
    """What an option that may be repeated holds; each may be several, separated by commas."""
    return [n.strip() for v in values for n in v.split(",") if n.strip()]


def pairs(option: str, values: Sequence[str], parse: Callable[[str], Any], form: str) -> dict[str, Any]:
    """``name=value`` options as a dict.

    Raises:
        InputError: naming the option and the form it has.
    """
    out: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        try:
            made = parse(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"{option} is given as {form}; got {text!r}.")
        if name in out:
            raise InputError(f"{option} gives {name!r} twice.")
        out[name] = made
    return out


def shape(text: str) -> tuple[int, ...]:
    """``2x3`` as (2, 3); nothing is the shape of a scalar. Raises ValueError for anything else."""
    return tuple(int(n) for n in text.split("x")) if text else ()


def bounds(ranges: Sequence[str]) -> Mapping[str, tuple[float, float]]:
    """``--range`` by input.

    Raises:
        InputError: for what is no range.
    """

    def parse(text: str) -> tuple[float, float]:
        lo, hi = (float(n) for n in text.split(":"))
        if not lo <= hi:
            raise ValueError
        return lo, hi

    return pairs("--range", names(ranges), parse, "NAME=LO:HI with LO <= HI")
