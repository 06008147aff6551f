# SPDX-License-Identifier: Apache-2.0
"""The activation arena: offsets for buffers by liveness, with symbolic sizes.

Buffers are packed into slots: two that are never alive at once may share one, and a slot is as large as the largest
buffer in it. Larger buffers choose first, as in greedy-by-size (Pisarchyk and Lee, arXiv 2001.03288); because sizes are
symbolic, "larger" is judged at the upper bounds and slot offsets are expressions that hold for every size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ait_core.fuse.place import Buffer
from ait_core.ir import dims
from ait_core.ir.dims import Dim

ALIGNMENT = 64  # bytes: a cache line, and an AVX-512 register


@dataclass(eq=False)
class Request:
    """A buffer and the first and last step that touches it (both inclusive)."""

    buffer: Buffer
    first: int
    last: int


@dataclass
class _Slot:
    nbytes: Dim
    taken: list[tuple[int, int]] = field(default_factory=list)

    def free(self, r: Request) -> bool:
        return all(r.last < a or b < r.first for a, b in self.taken)


def plan(requests: list[Request]) -> Dim:
    """Set the offset of every buffer; returns the bytes of the whole arena."""
    slots: list[_Slot] = []
    homes: list[tuple[Request, _Slot]] = []
    for r in sorted(requests, key=lambda r: (-dims.bounds(r.buffer.nbytes)[1], r.first)):
        size = aligned(r.buffer.nbytes)
        fitting = [s for s in slots if s.free(r)]
        slot = next((s for s in fitting if dims.at_least(s.nbytes, size)), fitting[0] if fitting else None)
        if slot is None:
            slots.append(slot := _Slot(size))
        elif not dims.at_least(slot.nbytes, size):
            slot.nbytes = size if dims.at_least(size, slot.nbytes) else dims.dim_max(slot.nbytes, size)
        slot.taken.append((r.first, r.last))
        homes.append((r, slot))
    offset: Dim = 0
    at: dict[int, Dim] = {}
    for s in slots:
        at[id(s)] = offset
        offset = dims.as_dim(offset + s.nbytes)
    for r, s in homes:
        r.buffer.offset = at[id(s)]
    return offset


def aligned(nbytes: Dim) -> Dim:
    """``nbytes`` rounded up to the alignment."""
    if isinstance(nbytes, int):
        return -(-nbytes // ALIGNMENT) * ALIGNMENT
    if dims.same(dims.floor_div(nbytes, ALIGNMENT) * ALIGNMENT, nbytes):
        return nbytes
    return dims.ceil_div(nbytes, ALIGNMENT) * ALIGNMENT
