# SPDX-License-Identifier: Apache-2.0
"""Arguments and results: structures, constants, sizes, aliases; with torch and from JSON alone."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from ait_core.errors import InputError
from ait_core.ir.graph import run_reference
from ait_runtime.signature import Signature, Structured
from tests.frontend_torch.helpers import assert_same, callable_of, check, imported

Pair = namedtuple("Pair", "first second")


class Results(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))
        self.register_buffer("table", torch.arange(3))

    def forward(self, x: Tensor, y: Tensor | None = None, *, scale: float = 2.0) -> Any:
        z = x * scale
        return {
            "z": z, "again": z, "input": x, "weight": self.weight, "table": self.table, "none": None, "number": 5,
            "text": "a", "size": x.shape[0], "twice": 2 * x.shape[0] + 1, "list": [z + 1, (x, z)], "pair": Pair(x, z),
            "ordered": OrderedDict(b=z, a=x), "view": z[:1], 3: z.sum(),
        }  # fmt: skip


@pytest.mark.parametrize("shapes", [None, {"x": {0: Dim("batch", min=1, max=9)}}])
def test_results_of_every_kind(shapes: Any) -> None:
    """Repeated outputs, outputs that are inputs, parameters, views and constants, and integers made of sizes."""
    calls = [(torch.randn(n, 4),) for n in ((3, 1, 5) if shapes else (3,))]
    found = check(Results().eval(), *calls, dynamic_shapes=shapes)
    assert list(found.graph.outputs) == [
        "z", "again", "input", "weight", "table", "list_0", "list_1_0", "list_1_1", "pair_first", "pair_second",
        "ordered_b", "ordered_a", "view", "output_3",
    ]  # fmt: skip
    assert found.graph.outputs["input"].is_input and found.graph.outputs["z"] is found.graph.outputs["again"]


def test_json_alone_rebuilds_results() -> None:
    """What an artifact carries is enough to call the model where there is no torch."""
    found = imported(Results(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("batch", min=1, max=9)}})
    signature = Signature(json.loads(json.dumps(found.signature.data)))

    def run(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(run_reference(found.graph, {"x": x}).values())

    x = np.ones((5, 4), np.float32)
    out = Structured(run, signature)(x=x)
    assert out["size"] == 5 and out["twice"] == 11 and out["number"] == 5 and out["none"] is None and out["text"] == "a"
    assert isinstance(out["pair"], Pair) and out["pair"].first is not None and isinstance(out["list"][1], tuple)
    np.testing.assert_array_equal(out["list"][0], 2 * x + 1)
    data = json.loads(json.dumps(found.signature.data).replace("test_structure:Pair", "test_structure:Gone"))
    assert Structured(run, Signature(data))(x)["pair"].keys() == {"first", "second"}


class Arguments(nn.Module):
    def forward(
        self, a: Tensor, b: Tensor | None = None, *rest: Tensor, mode: str = "add", pair: Any = None, **named: Tensor
    ):
        out = a if b is None else a + b
        for x in (*rest, *named.values()):
            out = out * x
        if pair is not None:
            out = out - pair["x"] - pair["y"][0]
        return out if mode == "add" else -out


def test_arguments_by_position_and_by_name() -> None:
    a, b, c = (torch.randn(4) for _ in range(3))
    module = Arguments()
    found = imported(module, (a,), example_kwargs={"b": b, "mode": "minus", "pair": {"x": a, "y": [b]}, "w": c})
    model = callable_of(found)
    want = module(a, b, mode="minus", pair={"x": a, "y": [b]}, w=c)
    assert_same(model(a, b, mode="minus", pair={"x": a, "y": [b]}, w=c), want)
    assert_same(model(w=c, pair={"y": [b], "x": a}, b=b, a=a), want)
    for args, kwargs, text in (
        ((a,), {}, "Argument b is missing"),
        ((a, b), {"mode": "add", "pair": {"x": a, "y": [b]}, "w": c}, "imported with 'minus'"),
        ((a, b), {"pair": {"x": a}, "w": c}, "must be a dict with 'x', 'y'"),
        ((a, b), {"pair": {"x": a, "y": [b, b]}, "w": c}, "must be a list of 1"),
        ((a, b), {"pair": {"x": a, "y": [b]}, "w": c, "v": c}, "must be a dict with 'w'"),
        ((a, b), {"a": a}, "by position and by name"),
        ((a, b, c), {"pair": {"x": a, "y": [b]}, "w": c}, "'rest' was not given"),
    ):
        with pytest.raises(InputError, match=text):
            model(*args, **kwargs)


def test_more_and_absent_arguments() -> None:
    a, b, c = (torch.randn(4) for _ in range(3))
    check(Arguments(), (a, b, c, a))
    check(Arguments(), (a, None, c), (b, None, a))
    model = callable_of(imported(Arguments(), (a,)))
    assert_same(model(a, None), a)
    with pytest.raises(InputError, match="'b' was not given when the model was imported"):
        model(a, b)


def test_example_inputs_in_other_forms() -> None:
    x = torch.randn(3, 4)
    for inputs in (x, [x], {"x": x}, x.numpy(), {"x": x.numpy()}):
        assert_same(callable_of(imported(Results(), inputs))(x)["z"], x * 2)
    with pytest.raises(InputError, match="example_inputs"):
        imported(Results(), None)


def test_unread_inputs_stay_inputs() -> None:
    class Unread(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return y + 1

    found = check(Unread(), (torch.randn(2), torch.randn(3)))
    assert [v.name for v in found.graph.inputs] == ["x", "y"]


def test_exported_programs_and_files(tmp_path: Any) -> None:
    class Scaled(nn.Module):
        def forward(self, x: Tensor, *, scale: float = 2.0) -> dict[str, Any]:
            return {"z": x * scale, "rows": x.shape[0]}

    x = torch.randn(3, 4)
    program = torch.export.export(Scaled(), (x,), dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}})
    torch.export.save(program, tmp_path / "model.pt2")
    for source in (program, tmp_path / "model.pt2"):
        found = imported(source, None)
        assert [s.name for s in found.graph.symbols] == ["dim0"]
        assert_same(callable_of(found)(torch.ones(2, 4)), {"z": 2 * torch.ones(2, 4), "rows": 2})
        named = imported(source, None, dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}})
        assert [s.name for s in named.graph.symbols] == ["n"]
