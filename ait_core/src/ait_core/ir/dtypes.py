# SPDX-License-Identifier: Apache-2.0
"""Element types: how a tensor is stored, and the wider type it is computed in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ait_core.errors import DTypeError


@dataclass(frozen=True)
class DType:
    """A storage type.

    ``compute`` is the C++ type that arithmetic on it runs in: halves compute in ``float``, everything else in itself.
    ``code`` is the number of the type in the C ABI (``ait.h``).
    """

    name: str
    numpy: np.dtype
    storage: str
    compute: str
    code: int
    rank: int  # of promotion; bool < ints < floats

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.rank >= 20

    @property
    def is_int(self) -> bool:
        return 0 < self.rank < 20

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


def _ml(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


float64 = DType("float64", np.dtype("f8"), "double", "double", 4, 24)
float32 = DType("float32", np.dtype("f4"), "float", "float", 1, 23)
float16 = DType("float16", np.dtype("f2"), "ait::f16", "float", 2, 21)
bfloat16 = DType("bfloat16", _ml("bfloat16"), "ait::bf16", "float", 3, 20)
int64 = DType("int64", np.dtype("i8"), "std::int64_t", "std::int64_t", 5, 14)
int32 = DType("int32", np.dtype("i4"), "std::int32_t", "std::int32_t", 6, 13)
int16 = DType("int16", np.dtype("i2"), "std::int16_t", "std::int32_t", 7, 12)
int8 = DType("int8", np.dtype("i1"), "std::int8_t", "std::int32_t", 8, 11)
uint8 = DType("uint8", np.dtype("u1"), "std::uint8_t", "std::int32_t", 9, 10)
bool_ = DType("bool", np.dtype("?"), "bool", "bool", 10, 0)

ALL: dict[str, DType] = {
    t.name: t for t in (float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool_)
}


def dtype(of: object) -> DType:
    """The ``DType`` of a name, a NumPy dtype, a ``DType`` or anything whose ``str`` ends in a known name (torch).

    Raises:
        DTypeError: if AIT has no such type.
    """
    if isinstance(of, DType):
        return of
    name = str(of).rsplit(".", 1)[-1]
    if name not in ALL:
        try:
            name = np.dtype(of).name  # type: ignore[arg-type]
        except TypeError:
            pass
    if name not in ALL:
        raise DTypeError(f"AIT has no dtype {of!r}. It has: {', '.join(ALL)}.")
    return ALL[name]


def promote(*types: DType) -> DType:
    """The common type of operands, as torch promotes tensors: the widest; float16 with bfloat16 gives float32."""
    if {float16, bfloat16} <= set(types):
        types = (*types, float32)
    if uint8 in types and int8 in types:
        types = (*types, int16)
    return max(types, key=lambda t: t.rank)
