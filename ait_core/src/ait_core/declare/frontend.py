# SPDX-License-Identifier: Apache-2.0
"""Declaring a frontend: what turns a model of some framework into a graph, and makes the result callable like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ait_core.declare.rule import Lowering
from ait_runtime.signature import Signature, Structured

if TYPE_CHECKING:
    from ait_core.ir.graph import Graph


@dataclass
class Imported:
    """A model as a graph. ``signature`` says which tensor of the user's arguments is which graph input, and which
    structure the outputs have; its JSON (``signature.data``) is meant for the artifact's manifest."""

    graph: Graph
    signature: Signature

    def adapt(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """``model`` (tensors in the order of ``graph.inputs`` -> a tensor, or a tuple of several) called as the
        imported one was."""
        return Structured(model, self.signature)


class Frontend(ABC):
    """One framework's importer. ``name`` is what lowerings are registered under."""

    name: str

    @abstractmethod
    def claims(self, obj: object) -> bool:
        """Whether ``obj`` is a model of this framework. Asked about everything: cheap, and imports no framework (an
        object of one can only exist once it is in ``sys.modules``)."""

    @abstractmethod
    def load(
        self,
        obj: Any,
        example_inputs: Any,
        dynamic_shapes: Any,
        dtype: Any,
        lowerings: Mapping[str, Lowering],
    ) -> Imported:
        """Import a model.

        Args:
            obj: what ``claims`` said yes to.
            example_inputs: a tuple of positional arguments, or a mapping of arguments by name.
            dynamic_shapes: which sizes may vary, in the framework's own notation; None: none.
            dtype: floating point type to compute in (parameters and floating inputs are cast); None: as it is.
            lowerings: lowerings of this frontend by target.

        Raises:
            UnsupportedError: listing everything in the model that cannot be imported, and where it comes from.
        """
