# SPDX-License-Identifier: Apache-2.0
"""Wrong graphs are refused when they are built, wrong data when it is met."""

import numpy as np
import pytest

import ait_ops_attention as attention
import ait_ops_gemm as gemm
import ait_ops_norm as norm
import ait_ops_tensor as t
from ait_core.errors import FaultError, GraphError
from ait_core.fuse.lower import Lowerer
from ait_core.ir.graph import input
from ait_core.ir.index import var
from tests.ops.samples import M, N


def x(*shape, dtype="float32"):
    return input("x", shape, dtype)


def ids(*shape):
    return x(*shape, dtype="int64")


WRONG = {
    "reshape to another number of elements": (lambda: t.reshape(x(N, 6), shape=(N, 5)), "numbers of elements differ"),
    "reshape with two unknowns": (lambda: t.reshape(x(4, 6), shape=(-1, -1)), "cannot be worked out"),
    "reshape that divides nothing": (lambda: t.reshape(x(N, 6), shape=(5, -1)), "cannot be worked out"),
    "reshape of nothing": (lambda: t.reshape(x(0, 6), shape=(0, -1)), "cannot be worked out"),
    "flatten backwards": (lambda: t.flatten(x(2, 3), start=1, end=0), "start <= end"),
    "permute an axis twice": (lambda: t.permute(x(2, 3), dims=(0, 0)), "may be named once"),
    "permute too few": (lambda: t.permute(x(2, 3), dims=(0,)), "each of the 2 axes"),
    "no such axis": (lambda: t.transpose(x(2, 3), dim0=0, dim1=2), "out of range"),
    "movedim lists": (lambda: t.movedim(x(2, 3), source=(0,), destination=(0, 1)), "as many destinations"),
    "expand what is not 1": (lambda: t.expand(x(2, 3), shape=(4, 3)), "only axes of size 1"),
    "expand to fewer axes": (lambda: t.expand(x(2, 3), shape=(3,)), "new axes in front"),
    "select outside": (lambda: t.select(x(2, 3), dim=0, index=2), "may be outside"),
    "slice by 0": (lambda: t.slice(x(2, 3), step=0), "other than 0"),
    "concat of unlike shapes": (lambda: t.concat(x(2, 3), x(2, 4), dim=0), "equal shapes but for axis 0"),
    "broadcast": (lambda: t.add(x(N, 3), x(M, 3)), "do not broadcast"),
    "gelu": (lambda: t.gelu(x(3), approximate="erf"), "'none' and 'tanh'"),
    "glu of odd": (lambda: t.glu(x(3, 5)), "even size"),
    "glu of symbolic": (lambda: t.glu(x(3, N)), "static"),
    "pad lists": (lambda: t.pad(x(2, 3), before=(1,), after=(1,)), "one entry of before for each axis"),
    "pad mode": (lambda: t.pad(x(2, 3), before=(1, 0), after=(0, 0), mode="edge"), "knows the modes"),
    "pad to less than nothing": (lambda: t.pad(x(2, 3), before=(-3, 0), after=(0, 0)), "less than nothing"),
    "pad nothing by itself": (lambda: t.pad(x(0, 3), before=(1, 0), after=(0, 0), mode="replicate"), "may be empty"),
    "roll lists": (lambda: t.roll(x(2, 3), shifts=(1, 2), dims=(0,)), "a shift for each axis"),
    "repeat list": (lambda: t.repeat(x(2, 3), repeats=(2,)), "a number for each axis"),
    "triangle of a vector": (lambda: t.tril(x(3)), "at least two axes"),
    "unfold too large": (lambda: t.unfold(x(3), dim=0, size=4, step=1), "windows that fit"),
    "embedding of floats": (lambda: t.embedding(x(3, 2), x(4)), "looks up by integers"),
    "embedding of a vector": (lambda: t.embedding(x(3), ids(4)), "a table of rows"),
    "mask as index": (lambda: t.index(x(3), x(3, dtype="bool")), "Masks need their size"),
    "too many indices": (lambda: t.index(x(3), ids(2), ids(2)), "between one and 1"),
    "no index": (lambda: t.index(x(3), None), "between one and 1"),
    "gather too large": (lambda: t.gather(x(3, 2), ids(4, 2), dim=1), "no larger than"),
    "index_select by a matrix": (lambda: t.index_select(x(3, 2), ids(2, 2), dim=0), "rank 0 or 1"),
    "amax of nothing": (lambda: t.amax(x(3, 0), axes=(1,)), "empty axis"),
    "topk of too many": (lambda: t.topk(x(3), k=4, dim=0), "0 <= k"),
    "topk of perhaps too many": (lambda: t.topk(x(N), k=5, dim=0), "for certain"),
    "matmul of vectors": (lambda: gemm.matmul(x(3), x(3)), "multiplies matrices"),
    "matmul of unlike sizes": (lambda: gemm.matmul(x(2, 3), x(2, 3)), "as many columns"),
    "matmul of truth values": (lambda: gemm.matmul(x(2, 3, dtype="bool"), x(3, 2, dtype="bool")), "truth values"),
    "linear with a long bias": (lambda: gemm.linear(x(2, 3), x(4, 3), x(3)), "weight \\[n, k\\]"),
    "layer_norm weight": (lambda: norm.layer_norm(x(2, 3), x(1)), "shape \\[3\\]"),
    "layer_norm axes": (lambda: norm.layer_norm(x(2, 3), axes=3), "between 1 and 2"),
    "group_norm groups": (lambda: norm.group_norm(x(2, 3, 4), groups=2), "groups divide"),
    "batch_norm of a vector": (lambda: norm.batch_norm(x(3), x(3), x(3)), "a batch and a channel axis"),
    "batch_norm statistics": (lambda: norm.batch_norm(x(2, 3), x(2), x(3)), "The mean of batch_norm"),
    "attention heads": (lambda: attention.scaled_dot_product(x(3, 4, 8), x(2, 5, 8), x(2, 5, 8)), "kv_heads dividing"),
    "attention features": (lambda: attention.scaled_dot_product(x(4, 8), x(5, 6), x(5, 6)), "kv_heads dividing"),
    "attention dtypes": (lambda: attention.scaled_dot_product(x(4, 8), x(5, 8), x(5, 8, dtype="float16")), "one float"),
    "attention mask": (lambda: attention.scaled_dot_product(x(4, 8), x(5, 8), x(5, 8), x(3, 5)), "do not broadcast"),
    "attention mask too wide": (
        lambda: attention.scaled_dot_product(x(4, 8), x(5, 8), x(5, 8), x(2, 4, 5)), "not broadcast to the scores"),
    "attention mask of integers": (
        lambda: attention.scaled_dot_product(x(4, 8), x(5, 8), x(5, 8), ids(4, 5)), "bool \\(true: attend\\)"),
    "attention of symbolic features": (
        lambda: attention.scaled_dot_product(x(4, N), x(5, N), x(5, N)), "needs a scale"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_graph_is_refused(case):
    build, message = WRONG[case]
    with pytest.raises(GraphError, match=message):
        build()


TABLE = np.zeros((4, 3), "f4")
FAULTS = {
    "embedding beyond": lambda: t.embedding.reference(TABLE, np.asarray([0, 4])),
    "embedding below": lambda: t.embedding.reference(TABLE, np.asarray([-1])),
    "gather": lambda: t.gather.reference(TABLE, np.asarray([[3, 0, 0]]), dim=1),
    "index_select": lambda: t.index_select.reference(TABLE, np.asarray([4]), dim=0),
    "index beyond": lambda: t.index.reference(TABLE, np.asarray([4])),
    "index below": lambda: t.index.reference(TABLE, np.asarray([-5])),
    "one_hot": lambda: t.one_hot.reference(np.asarray([3]), classes=3),
}


@pytest.mark.parametrize("case", FAULTS)
def test_index_outside_its_table_faults(case):
    with pytest.raises(FaultError, match="is outside 0.."):
        FAULTS[case]()


def lowered(v):
    return repr(Lowerer(lambda node: True, {}).at(v, tuple(var(f"i{k}", n) for k, n in enumerate(v.shape))))


def test_provable_indices_cost_no_check():
    table = x(N, 3)
    assert "check" in lowered(t.index_select(table, ids(M), dim=0))
    for index in (t.iota(size=N), t.iota(size=N, start=N - 1, step=-1)):
        for found in (t.index_select(table, index, dim=0), t.index(table, index), t.embedding(table, index)):
            assert "check" not in lowered(found) and "where" not in lowered(found)


def test_wrapped_coordinates_need_no_clamp():
    rolled = t.roll(x(N, 7), shifts=(2,), dims=(0,))
    assert "clamp" not in lowered(rolled) and "remainder" in lowered(rolled)
