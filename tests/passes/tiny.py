# SPDX-License-Identifier: Apache-2.0
"""A few ops, so that the passes are tested without any op pack."""

import numpy as np

from ait_core import scalar as s
from ait_core.declare.op import composite, contraction, indexed, join, opaque, ops_in, pointwise, reduction, view
from ait_core.ir.dims import as_dim
from ait_core.ir.dtypes import dtype
from ait_core.ir.types import TensorType
from ait_core.ir.views import Expand, Permute, Reshape, Slice


# fmt: off
@pointwise("tiny.add", commutative=True)
def add(x, y): return x + y

@pointwise("tiny.sub")
def sub(x, y): return x - y

@pointwise("tiny.mul", commutative=True)
def mul(x, y): return x * y

@pointwise("tiny.div", result="float")
def div(x, y): return x / y

@pointwise("tiny.power", result="float")
def power(x, y): return s.pow(x, y)

@pointwise("tiny.neg")
def neg(x): return -x

@pointwise("tiny.relu")
def relu(x): return s.maximum(x, 0)

@pointwise("tiny.sigmoid", result="float")
def sigmoid(x): return 1.0 / (1.0 + s.exp(-x))

@pointwise("tiny.where", result=lambda c, x, y: add.infer(x, y).dtype)
def where(c, x, y): return s.where(c, x, y)

@pointwise("tiny.cast", result=lambda x, to: dtype(to))
def cast(x, *, to): return s.cast(x, to)

@pointwise("tiny.clamp")
def clamp(x, lo=None, hi=None):
    x = x if lo is None else s.maximum(x, lo)
    return x if hi is None else s.minimum(x, hi)

@view("tiny.permute")
def permute(x, *, axes): return [Permute(tuple(axes))]

@view("tiny.reshape")
def reshape(x, *, shape): return [Reshape(tuple(shape))]

@view("tiny.expand")
def expand(x, *, shape): return [Expand(tuple(shape))]

@view("tiny.narrow")
def narrow(x, *, axis, start, size, step=1): return [Slice(axis, start, size, step)]

@join("tiny.concat")
def concat(*xs, axis): return axis

@reduction("tiny.sum", combine="sum")
def sum_(x, *, axes, keepdim=False): """Sum."""

@indexed("tiny.iota", infer=lambda *, size: TensorType(dtype("int64"), (as_dim(size),)))
def iota(at, *, size): return at[0]

@indexed("tiny.fill", infer=lambda *, shape, value: TensorType(dtype("float32"), tuple(map(as_dim, shape))))
def fill(at, *, shape, value): return value
# fmt: on


@contraction(
    "tiny.matmul",
    infer=lambda a, b: TensorType(a.dtype, (*a.shape[:-1], b.shape[-1])),
    reference=lambda a, b: (a.astype("f8") @ b.astype("f8")).astype(a.dtype),
)
def matmul(a, b):
    """Product."""


def _halves(x, *, axis=0):
    shape = (*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :])
    return [x.of_shape(shape), x.of_shape(shape)]


@opaque("tiny.halves", infer=_halves, reference=lambda x, *, axis=0: tuple(np.split(x, 2, axis)))
def halves(x, *, axis=0):
    """Both halves."""


@composite("tiny.swish")
def swish(x):
    """``x * sigmoid(x)``"""
    return mul(x, sigmoid(x))


@composite("tiny.twice")
def twice(x):
    """Two results, one of a composite."""
    return add(x, x), swish(x)


OPS = {op.name: op for op in ops_in(__import__("sys").modules[__name__])}
