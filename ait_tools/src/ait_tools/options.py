# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ait_core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from ait_tools.interface import Interface

model_argument = click.argument("model")


def _together(*options: Callable) -> Callable[[Callable], Callable]:
    def wrap(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command

    return wrap


import_options = _together(
    click.option("--target", help="auto (the default), cpu, cpu:x86-64-v3, ..."),
    click.option("--dtype", help="Floating point type to compute in, such as bfloat16. Default: the model's."),
    click.option("--disable", multiple=True, metavar="NAME[,...]", help="Leave out passes or fusions; see `ait explain --list-passes`."),
)  # fmt: skip
size_options = _together(
    click.option("--dim", "dims", multiple=True, metavar="NAME=SIZE[,...]", help="Sizes of dims: batch=2,seq=16."),
    click.option("--shape", "shapes", multiple=True, metavar="NAME=2x3", help="The shape of an input."),
)
input_options = _together(
    size_options,
    click.option("--input", "files", multiple=True, metavar="FILE", help="Inputs from .npz, .safetensors, or name=x.npy. Default: random."),
    click.option("--range", "ranges", multiple=True, metavar="NAME=LO:HI", help="Smallest and largest number of a random input."),
    click.option("--seed", default=0, show_default=True, help="Of random inputs."),
)  # fmt: skip
threads_option = click.option("--threads", type=click.IntRange(1), help="Threads a run may use. Default: all cores.")
jobs_option = click.option("--jobs", type=click.IntRange(1), help="Compilers that run at once. Default: one a core.")


def names(values: Sequence[str]) -> list[str]:
    """Names from an option that may be repeated and may hold several, separated by commas."""
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


def sizes(interface: Interface, dims: Sequence[str], shapes: Sequence[str]) -> dict[str, int]:
    """Sizes of all dims from ``--dim`` and ``--shape``.

    Raises:
        InputError: for what cannot be read or does not fit the model.
    """
    given = pairs("--dim", names(dims), int, "NAME=SIZE")
    return interface.sizes(given, pairs("--shape", names(shapes), shape, "NAME=2x3"))


def shape(text: str) -> tuple[int, ...]:
    """``2x3`` as (2, 3); nothing is the shape of a scalar. Raises ValueError for anything else."""
    return tuple(int(n) for n in text.split("x")) if text else ()


def inputs(interface: Interface, dims: Sequence[str], shapes: Sequence[str], files: Sequence[str], ranges: Sequence[str],
           seed: int) -> tuple[dict[str, int], dict[str, np.ndarray]]:  # fmt: skip
    """Sizes of all dims and inputs by name, as the options say.

    Raises:
        InputError: for what cannot be read or does not fit the model.
    """
    from ait_tools import inputs as makers

    if not files:
        at = sizes(interface, dims, shapes)
        return at, makers.random(interface, at, seed, bounds(ranges))
    if dims or shapes or ranges:
        raise InputError("--dim, --shape and --range describe random inputs: leave them out with --input.")
    read = makers.read(files, interface)
    return interface.sizes({}, {n: a.shape for n, a in read.items()}), read


def bounds(ranges: Sequence[str]) -> Mapping[str, tuple[float, float]]:
    """``--range`` by input.

    Raises:
        InputError: for what is no range.
    """
    def parse(text: str) -> tuple[float, float]:
        lo, hi = (float(n) for n in text.split(":"))
        if lo > hi:
            raise ValueError
        return lo, hi

    return pairs("--range", names(ranges), parse, "NAME=LO:HI with LO <= HI")


def no_import_options(model: str, **given: Any) -> None:
    """Refuse options that say how to compile when the model is compiled already.

    Raises:
        InputError: naming them.
    """
    extra = [f"--{n}" for n, value in given.items() if value]
    if extra and model.endswith(".so"):
        raise InputError(f"{model} is compiled: {', '.join(extra)} can only be given for a model that is not.")


def as_path(text: str | None) -> Path | None:
    return Path(text) if text else None
