# SPDX-License-Identifier: Apache-2.0
"""Weights, dtypes, dims, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from ait_core.declare.rule import Lowering
from ait_core.errors import AITError, DTypeError, InternalError, UnsupportedError
from ait_frontend_torch.plugin import TorchFrontend
from tests.frontend_torch.helpers import LOWERINGS, assert_same, callable_of, check, imported
from tests.frontend_torch.models import CNN, MLP, GPTBlock, RMSBlock


def test_weights_are_shared_and_named() -> None:
    module = MLP()
    found = imported(module, torch.randn(3, 8))
    arrays = {v.name: v.constant.array for v in found.graph.constants}
    assert found.parameters == [n for n, _ in module.named_parameters()]
    with torch.no_grad():
        module.layers[0].weight.fill_(3.0)
    assert (arrays["layers.0.weight"] == 3.0).all()


def test_tied_weights_are_one_constant() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight
            self.alias = self.embed.weight.detach()
            self.turned = nn.Parameter(torch.randn(4, 10).t())

        def forward(self, ids: Tensor) -> Tensor:
            return self.head(self.embed(ids)) + self.alias.sum() + self.turned.sum()

    for dtype in (None, "bfloat16"):
        found = imported(Tied(), torch.arange(3), dtype=dtype)
        assert found.parameters[0] == "embed.weight" and "turned" in found.parameters
        assert len(found.graph.constants) == (2 if dtype is None else 3)  # a plain attribute is not cast, as in torch
    check(Tied(), (torch.arange(3),))


def test_buffers_and_constants() -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.ones(2))
            self.register_buffer("scratch", torch.full((2,), 2.0), persistent=False)
            self.plain = torch.full((2,), 3.0)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.kept + self.scratch + self.plain + torch.tensor([1.0, 2.0])

    found = check(Held(), (torch.zeros(2),))
    assert sorted(found.parameters) == ["kept", "scratch"]
    assert len(found.graph.constants) == 4


@pytest.mark.parametrize("dtype", ["bfloat16", torch.float16, np.float64])
@pytest.mark.parametrize("block", [GPTBlock, RMSBlock])
def test_dtype_is_that_of_module_to(dtype: Any, block: type[nn.Module]) -> None:
    torch.manual_seed(0)
    module = block()
    module.train()
    before = {k: (v, v.clone()) for k, v in module.state_dict(keep_vars=True).items()}
    x = torch.randn(2, 5, 32)
    found = imported(module, x, dtype=dtype, dynamic_shapes={"x": {0: Dim("batch", min=1, max=4)}})
    for key, value in module.state_dict(keep_vars=True).items():
        assert value is before[key][0] and torch.equal(value, before[key][1])
    assert all(m.training for m in module.modules())
    cast = block().eval()
    cast.load_state_dict(module.state_dict())
    cast.to(getattr(torch, np.dtype(dtype).name if dtype is np.float64 else str(dtype).split(".")[-1]))
    kind = next(cast.parameters()).dtype
    want = cast(x.to(kind))
    got = callable_of(found)(x.to(kind))
    step = torch.finfo(kind).eps
    assert_same(got, want.detach(), rtol=8 * step, atol=max(8 * step, 1e-6))
    assert {v.dtype.name for v in found.graph.inputs} == {str(kind).split(".")[-1]}


def test_half_module_without_dtype() -> None:
    check(GPTBlock().eval().to(torch.bfloat16), (torch.randn(1, 4, 32, dtype=torch.bfloat16),), rtol=0.05, atol=0.05)


def test_training_flags_come_back() -> None:
    module = MLP().train()
    module.layers[1].eval()
    flags = [m.training for m in module.modules()]
    imported(module, torch.randn(2, 8))
    assert [m.training for m in module.modules()] == flags
    with pytest.raises(UnsupportedError):
        imported(module, torch.randn(2, 7))
    assert [m.training for m in module.modules()] == flags


def test_dims_are_named_and_bounded() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x.sum() + y.sum()

    x, y = torch.randn(4, 6, 3), torch.randn(5, 2)
    found = imported(
        Two(), (x, y), dynamic_shapes=({0: Dim("rows", min=2, max=8), 1: Dim.AUTO}, (Dim.DYNAMIC(min=1, max=7), None))
    )
    assert [(s.name, s.lo, s.hi) for s in found.graph.symbols] == [("dim0", 2, 1 << 31), ("dim1", 1, 7), ("rows", 2, 8)]
    rows = Dim("rows", min=1, max=8)
    found = imported(Two(), (x, torch.randn(8, 2)), dynamic_shapes={"x": {0: rows}, "y": {0: 2 * rows}})
    assert [str(v.shape[0]) for v in found.graph.inputs] == ["rows", "2*rows"]
    with pytest.raises(UnsupportedError, match=r"2\*batch"):
        imported(Two(), (x, y), dynamic_shapes=({0: 2 * Dim("rows", max=8)}, None))
    clash = {"x": {0: Dim("dim0", max=8), 1: Dim.AUTO}, "y": None}
    assert [s.name for s in imported(Two(), (x, y), dynamic_shapes=clash).graph.symbols] == ["dim0", "dim1"]


def test_source_and_names() -> None:
    found = imported(GPTBlock(), torch.randn(1, 4, 32))
    node = next(n for n in found.graph.nodes if n.op.name == "gemm.linear")
    assert node.output.name == "qkv_linear" and node.source.startswith("qkv (models.py:")


def test_every_unsupported_op_is_reported_once() -> None:
    with pytest.raises(UnsupportedError) as caught:
        imported(CNN(), torch.randn(1, 3, 8, 8))
    text = str(caught.value)
    assert "aten.convolution.default (2x): no installed plugin lowers it" in text
    assert "models.py:" in text and "self.norm(self.conv1(x))" in text and "[in module conv1]" in text
    assert "max_pool2d" in text and "Install a pack" in text and "docs/lowerings.md" in text


def test_a_lowering_that_declines() -> None:
    """torch's decomposition takes over; without one the reason is reported."""

    def decline(ctx: Any, *_: Any, **__: Any) -> None:
        ctx.error("it is Tuesday")

    own = {**LOWERINGS, "aten.linear": Lowering("torch", "aten.linear", decline)}
    x = torch.randn(3, 8)
    module = MLP().eval()
    found = imported(module, x, lowerings=own)
    assert "gemm.linear" not in {n.op.name for n in found.graph.nodes}
    assert_same(callable_of(found)(x), module(x).detach())
    with pytest.raises(UnsupportedError, match=r"aten.exp.default \(1x\): it is Tuesday"):
        imported(
            Case(lambda m, x: x.exp()), x, lowerings={**LOWERINGS, "aten.exp": Lowering("torch", "aten.exp", decline)}
        )


def test_a_wrong_lowering_is_found() -> None:
    wrong = Lowering("torch", "aten.relu", lambda ctx, x: LOWERINGS["aten.sum"].fn(ctx, x))
    with pytest.raises(InternalError, match="aten.relu.default gives float32"):
        imported(MLP(), torch.randn(3, 8), lowerings={**LOWERINGS, "aten.relu": wrong})


class Case(nn.Module):
    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn
        self.register_buffer("state", torch.zeros(3))

    def forward(self, x: Tensor) -> Any:
        return self.fn(self, x)


def _count(m: nn.Module, x: Tensor) -> Tensor:
    m.state.add_(1)
    return x + m.state


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (_count, "writes to its buffers state"),
        (lambda m, x: x.add_(1), "writes to its inputs x"),
        (lambda m, x: x + 1 if x.sum() > 0 else x - 1, "data-dependent"),
        (lambda m, x: x[x > 0], "a boolean mask selects a number of elements that depends on data"),
        (lambda m, x: torch.fft.fft(x), "aten._fft_r2c.default (1x): no installed plugin lowers it"),
        (lambda m, x: F.dropout(x, training=True), "decomposed by torch because dropout with train=True"),
        (lambda m, x: x + torch.rand(3), "aten.rand"),
        (lambda m, x: x.undefined, "has no attribute 'undefined'"),
        (lambda m, x: torch.ones(x.argmax().item()), "depends on data"),
    ],
)  # fmt: skip
def test_refusals_say_why(fn: Any, text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        imported(Case(fn), torch.randn(3))
    assert text in str(caught.value)


def test_other_refusals() -> None:
    x = torch.randn(2, 8)
    with pytest.raises(DTypeError, match="no floating point type"):
        imported(MLP(), x, dtype="int32")
    program = torch.export.export(MLP().eval(), (x,))
    assert imported(program, None, dtype="float32").parameters
    with pytest.raises(DTypeError, match="cannot be cast to bfloat16"):
        imported(program, None, dtype="bfloat16")
    with pytest.raises(AITError, match=r"torch.nn.Module"):
        imported(torch.relu, x)
    with torch.device("meta"):
        empty = MLP()
    with pytest.raises(UnsupportedError, match="no data"):
        imported(empty, torch.randn(2, 8, device="meta"))


def test_claims() -> None:
    frontend = TorchFrontend()
    program = torch.export.export(MLP().eval(), (torch.randn(2, 8),))
    assert all(map(frontend.claims, (MLP(), program, "model.pt2")))
    assert not any(map(frontend.claims, (3, "model.onnx", None, MLP, torch.ones(1))))


def test_plugins_do_not_import_torch() -> None:
    code = (
        "import sys, importlib\n"
        "for p in ('tensor', 'gemm', 'norm', 'attention'):\n"
        "    assert importlib.import_module(f'ait_ops_{p}.plugin').ait_lowerings()\n"
        "import ait_frontend_torch.plugin as f\n"
        "f.ait_lowerings(); assert not any(x.claims(3) for x in f.ait_frontends())\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_failing_exports_do_not_dump_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    def fn(m: nn.Module, x: Tensor) -> Tensor:
        print("kept", file=sys.stderr)
        return x[: x.argmax().item()].view(-1, 2) if x.exp().sum() > 0 else x

    with pytest.raises(UnsupportedError):
        imported(Case(fn), torch.randn(4))
    err = capsys.readouterr().err
    assert "kept" in err and "aten.exp" not in err
