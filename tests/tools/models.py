# SPDX-License-Identifier: Apache-2.0
"""Small models, named on the command line as ``tests/tools/models.py:name``."""

from __future__ import annotations

import numpy as np

import ait_core as ait
import ait_ops_gemm as gemm
import ait_ops_tensor as t
from ait_tools import Spec

rng = np.random.default_rng(0)
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


def mlp() -> ait.Graph:
    """Two products, with a lookup before and a reduction after."""
    batch = ait.dim("batch", 1, 64)
    ids = ait.input("ids", (batch,), "int64")
    x = ait.input("x", (batch, 8))
    table = ait.constant(rng.standard_normal((10, 8)).astype("f4"), "table")
    w1, w2 = (ait.constant(rng.standard_normal(s).astype("f4"), n) for n, s in (("w1", (8, 16)), ("w2", (16, 4))))
    h = t.relu(gemm.matmul(t.add(x, t.embedding(table, ids)), w1))
    y = gemm.matmul(h, w2)
    return ait.Graph({"y": y, "total": t.sum(y, axes=(0,))}, [ids, x])


def branches() -> ait.Graph:
    """Three products of one input, side by side in one output."""
    x = ait.input("x", (ait.dim("n", 1, 32), 8))
    ws = [ait.constant(rng.standard_normal((8, 4)).astype("f4"), f"w{i}") for i in range(3)]
    return ait.Graph({"joined": t.concat(*(t.exp(gemm.matmul(x, w)) for w in ws), dim=1)})


def spec() -> Spec:
    """A graph that says of which numbers its inputs are."""
    return Spec(mlp(), ranges={"ids": (0, 9), "x": (2.0, 3.0)})


def hostile() -> ait.Graph:
    """Names that would like to be markup."""
    x = ait.input(HOSTILE, (4,))
    y = t.exp(t.add(x, ait.constant(np.ones(4, "f4"), f"w{HOSTILE}")))
    y.name, y.node.source = f"value{HOSTILE}", f"file{HOSTILE}:1"
    return ait.Graph({f"out{HOSTILE}": y})


graph = mlp()
as_tuple = (graph,)
as_dict = {"model": graph, "ranges": {"ids": (3, 3)}}
bad_dict = {"module": graph}
bad_tuple = (graph, None, None, None)
nothing = 7


def needs(x):
    """A function that cannot be called without an argument."""
    return graph


def fails():
    """A function with a bug."""
    raise KeyError("lost")


def net():
    """A torch module with a dynamic batch."""
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Embedding(7, 8), torch.nn.Linear(8, 3))
    batch = torch.export.Dim("batch", min=1, max=16)
    return layers, (torch.tensor([6, 0, 3]),), ({0: batch},)
