# SPDX-License-Identifier: Apache-2.0
"""Functions made of ops: several results, or choices that depend on the operands' types."""

import numpy as np
import pytest
import torch

import ait_ops_gemm as gemm
import ait_ops_tensor as t
from ait_core.errors import GraphError
from ait_core.ir.graph import Graph, input, run_reference
from tests.ops.oracles import to_numpy, to_torch
from tests.ops.samples import M, N, values


def run(fn, *arrays):
    """A function of graph values on arrays, with symbolic sizes where they are 5 and 7."""
    xs = [input(f"x{i}", [{5: N, 7: M}.get(n, n) for n in a.shape], a.dtype.name) for i, a in enumerate(arrays)]
    made = fn(*xs)
    many = made if isinstance(made, tuple) else (made,)
    graph = Graph({str(i): v for i, v in enumerate(many)}, xs)
    out = run_reference(graph, {x.name: a for x, a in zip(xs, arrays, strict=True)})
    return [out[str(i)] for i in range(len(many))]


def same(got, want):
    want = want if isinstance(want, (tuple, list)) else (want,)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, to_numpy(w), rtol=1e-5, atol=1e-5)


X = values((5, 6, 7), "float32")


@pytest.mark.parametrize(("sizes", "dim"), [(2, 1), (4, 1), (6, 1), (9, 1), ([1, 2, 3], 1), ([6, 0], -2)])
def test_split(sizes, dim):
    same(run(lambda x: t.split(x, sizes, dim=dim), X), torch.split(to_torch(X), sizes, dim))


def test_split_of_a_symbolic_axis():
    same(run(lambda x: t.split(x, [1, N - 1], dim=0), X), torch.split(to_torch(X), [1, 4], 0))
    same(run(lambda x: t.split(x, N, dim=0), X), torch.split(to_torch(X), 5, 0))


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 5, 7])
def test_chunk(chunks):
    same(run(lambda x: t.chunk(x, chunks, dim=1), X), torch.chunk(to_torch(X), chunks, 1))


def test_chunk_of_a_symbolic_axis():
    doubled = np.concatenate([X, X])
    y = run(lambda x: t.chunk(t.concat(x, x, dim=0), 2, dim=0), X)
    same(y, torch.chunk(to_torch(doubled), 2, 0))


def test_unbind():
    same(run(lambda x: t.unbind(x, dim=1), X), torch.unbind(to_torch(X), 1))


@pytest.mark.parametrize("dims", [None, 0, 1, -1, (0, 1), (1, 3)])
def test_squeeze_keeps_what_is_not_one(dims):
    x = values((5, 1, 7, 1), "float32")
    want = to_torch(x).squeeze() if dims is None else to_torch(x).squeeze(dims)
    same(run(lambda v: t.squeeze(v, dims=dims), x), want)


def test_squeeze_keeps_symbolic_axes_that_happen_to_be_one():
    x = input("x", (N, 1))
    assert t.squeeze(x).shape == (N,)
    with pytest.raises(GraphError, match="of size 1"):
        t.squeeze_axes(x, dims=(0,))


def test_products_with_vectors():
    a, b, x, y = (values(s, "float32") for s in ((3, 5, 7), (3, 7, 4), (7,), (3, 7)))
    same(run(gemm.matvec, a, x), to_torch(a) @ to_torch(x))
    same(run(gemm.vecmat, x, b), to_torch(x) @ to_torch(b))
    same(run(gemm.vecdot, y, x), to_torch(y) @ to_torch(x))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: t.split(x, 2, dim=0), "known number of pieces"),
        (lambda x: t.split(x, [1, 2], dim=1), "do not add up"),
        (lambda x: t.chunk(x, 2, dim=0), "divides for certain"),
        (lambda x: t.unbind(x, dim=0), "static size"),
    ],
)
def test_undecided_sizes_are_refused(build, message):
    with pytest.raises(GraphError, match=message):
        build(input("x", (N, 6)))
