# SPDX-License-Identifier: Apache-2.0
"""Whether two arrays agree, as far as their dtype can tell."""

from __future__ import annotations

import numpy as np

from ait_core.ir.dtypes import dtype

# Relative and absolute tolerance by dtype: results are rounded once, sums are ordered differently.
TOLERANCE = {"float64": (1e-6, 1e-6), "float32": (2e-5, 2e-5), "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)}


def difference(got: np.ndarray, want: np.ndarray, loose: float = 1.0) -> str | None:
    """What is wrong with ``got``, or None. Integers and truth values must be equal; floats within the tolerance of their
    dtype times ``loose``, NaN and infinities in the same places."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if dtype(want.dtype).is_float:
        rtol, atol = (t * loose for t in TOLERANCE[dtype(want.dtype).name])
        with np.errstate(all="ignore"):
            a, b = got.astype(np.float64), want.astype(np.float64)
            wrong = np.asarray(~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True))
    else:
        wrong = np.asarray(got != want)
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} elements differ, first at {at}: {got[at]} instead of {want[at]}"
