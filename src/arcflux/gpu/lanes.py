"""Vectors as values of a GPU's kernels: lane_values.py on hardware, small NumPy arrays in the simulator.

A vector's elements are registers of one thread. Both add up a vector's elements in the same order as the CPU does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.gpu import api

__all__ = ["as_boolean", "as_float32", "as_float64", "as_int64", "as_uint64", "copied", "keep", "larger", "load",
           "magnitude", "put", "smaller", "total"]  # fmt: skip

if api.simulated():

    def load(array: Any, row: Any, length: int) -> Any:
        """The first `length` elements of ``array[row]``, integers widened."""
        values = np.array([array[row, k] for k in range(length)])
        return values.astype(np.int64) if values.dtype.kind in "iu" and values.dtype != np.uint64 else values

    def keep(array: Any, row: Any, lanes: Any) -> None:
        """``array[row] = lanes``, each element in the array's type."""
        for k, value in enumerate(lanes):
            array[row, k] = value

    def copied(lanes: Any) -> Any:
        """A copy of the elements."""
        return lanes.copy()

    def put(lanes: Any, index: Any, value: Any) -> Any:
        """`lanes` with another value at `index`."""
        made = lanes.copy()
        made[index] = value
        return made

    def smaller(a: Any, b: Any) -> Any:
        """The smaller of each pair of elements; `a`'s when neither is."""
        return np.where(b < a, b, a)

    def larger(a: Any, b: Any) -> Any:
        """The larger of each pair of elements; `a`'s when neither is."""
        return np.where(a < b, b, a)

    def magnitude(a: Any) -> Any:
        """Every element without its sign."""
        return np.where(a < 0, -a, a)

    def total(a: Any) -> Any:
        """The sum of the elements: the halves are added until one element is left."""
        odd = []
        while len(a) > 1:
            if len(a) % 2:
                odd.append(a[-1])
            half = len(a) // 2
            a = a[:half] + a[half : 2 * half]
        found = a[0]
        for value in odd:
            found = found + value
        return found

    def _as(dtype: Any) -> Any:
        def to_lanes(value: Any, length: int) -> Any:
            return np.asarray(value).astype(dtype) if np.ndim(value) else np.full(length, value, dtype)

        return to_lanes

    as_float32, as_float64 = _as(np.float32), _as(np.float64)
    as_int64, as_uint64, as_boolean = _as(np.int64), _as(np.uint64), _as(np.bool_)
else:
    from arcflux.spmd.lane_values import define

    _made = define(api.extending(), selects=True)
    as_boolean, as_float32, as_float64 = _made.as_boolean, _made.as_float32, _made.as_float64
    as_int64, as_uint64 = _made.as_int64, _made.as_uint64
    keep, larger, load, magnitude = _made.keep, _made.larger, _made.load, _made.magnitude
    copied, put, smaller, total = _made.copied, _made.put, _made.smaller, _made.total
