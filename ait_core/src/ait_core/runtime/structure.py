# SPDX-License-Identifier: Apache-2.0
"""Puts a model's flat outputs back into the structure its author wrote, described as plain JSON.

A structure is one of::

    3                                              output number 3
    {"constant": 0.5}                              this JSON value
    {"tuple": [structure, ...]}   {"list": [...]}  {"dict": [[key, structure], ...]}
    {"namedtuple": "Boxes", "fields": [[name, structure], ...]}
    {"record": "package.module.Class", "fields": [[name, structure], ...]}

A record is what ``register_record`` made known under its name, and a ``Record`` where nothing is: a model loads
without the package that its author used. No structure imports or runs anything.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from ait_core.errors import ArtifactError

Outputs = Sequence[Any]
Build = Callable[[Outputs], Any]

_records: dict[str, Callable[..., Any]] = {}


class Record(dict):
    """A dict whose keys are attributes too: stands for a class that this process does not have."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the model's output has no field {name!r}; it has {', '.join(map(str, self))}") from None


def register_record(name: str, constructor: Callable[..., Any]) -> None:
    """Make ``constructor(**fields)`` build the records called ``name`` of models loaded from now on."""
    _records[name] = constructor


def build_unflatten(structure: Any, outputs: int) -> Build:
    """A function from the tuple of ``outputs`` flat outputs to the described structure.

    Raises ``ArtifactError`` for anything that is not described above.
    """
    match structure:
        case bool():
            pass
        case int() if 0 <= structure < outputs:
            return lambda flat: flat[structure]
        case {"constant": value, **rest} if not rest:
            return lambda flat: value
        case {"tuple": list(items), **rest} if not rest:
            builds = [build_unflatten(item, outputs) for item in items]
            return lambda flat: tuple(build(flat) for build in builds)
        case {"list": list(items), **rest} if not rest:
            builds = [build_unflatten(item, outputs) for item in items]
            return lambda flat: [build(flat) for build in builds]
        case {"dict": list(items), **rest} if not rest:
            fields = _fields(items, outputs, (str, int))
            return lambda flat: {key: build(flat) for key, build in fields.items()}
        case {"namedtuple": str(name), "fields": list(items), **rest} if not rest:
            fields = _fields(items, outputs, str)
            try:
                cls = namedtuple(name, list(fields))
            except ValueError as error:
                raise _bad(structure) from error
            return lambda flat: cls(*(build(flat) for build in fields.values()))
        case {"record": str(name), "fields": list(items), **rest} if not rest:
            fields = _fields(items, outputs, str)
            make = _records.get(name, Record)
            return lambda flat: make(**{key: build(flat) for key, build in fields.items()})
    raise _bad(structure)


def _fields(items: list[Any], outputs: int, key_type: type | tuple[type, ...]) -> dict[Any, Build]:
    fields: dict[Any, Build] = {}
    for item in items:
        match item:
            case [key, structure] if isinstance(key, key_type) and key not in fields:
                fields[key] = build_unflatten(structure, outputs)
            case _:
                raise _bad(item)
    return fields


def _bad(structure: Any) -> ArtifactError:
    text = repr(structure)
    text = text if len(text) <= 200 else text[:200] + "..."
    return ArtifactError(f"The manifest describes an output structure that this ait-core does not know: {text}. Compile the model again.")
