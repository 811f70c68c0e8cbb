"""Concurrent reductions by many threads of a GPU into one array. Each returns whether the array changed.

They are those of the CPU (spmd/reductions.py): a compare-and-swap in a loop, on the enclosing 32-bit word for narrower
values. Where CUDA has an atomic for the operation and the type, the name ends in ``_native``. `place` is an index, or a
pair of them for an element of a vector.
"""

from __future__ import annotations

from typing import Any

from arcflux.gpu import api
from arcflux.gpu.kit import cuda, inner
from arcflux.spmd.reductions import define

__all__ = ["into_and", "into_and_native", "into_any", "into_any_native", "into_max", "into_max_native",
           "into_min", "into_min_native", "into_or", "into_or_native", "into_product", "into_sum", "into_sum_native",
           "locked", "read_now", "swap", "unlock", "write_now"]  # fmt: skip


if api.simulated():
    import numpy as np

    from arcflux.gpu.simulator import switch

    def swap(array: Any, place: Any, expected: Any, new: Any) -> bool:
        """Compare and swap: True if `expected` was replaced by `new`."""
        switch()
        there = array[place]
        if there == expected or (there != there and expected != expected):
            if isinstance(new, (int, np.integer)) and array.dtype.kind in "iu":
                # A register has 64 bits, Python's integers are unbounded.
                new = np.uint64(int(new) % (1 << 64)).astype(array.dtype)
            array[place] = new
            return True
        return False

else:
    from arcflux.gpu.swap import swap


_made = define(inner, swap, coherent=False)
into_min, into_max, into_sum, into_product = _made.into_min, _made.into_max, _made.into_sum, _made.into_product
into_or, into_and, into_any = _made.into_or, _made.into_and, _made.into_any
locked, unlock, read_now, write_now = _made.locked, _made.unlock, _made.read_now, _made.write_now

into_any_native = into_any


@inner
def into_sum_native(array: Any, place: Any, value: Any) -> Any:
    """``array[place] += value``."""
    cuda.atomic.add(array, place, value)
    return True


@inner
def into_min_native(array: Any, place: Any, value: Any) -> Any:
    """``array[place] = min(array[place], value)``."""
    if not value < array[place]:
        return False
    return value < cuda.atomic.min(array, place, value)


@inner
def into_max_native(array: Any, place: Any, value: Any) -> Any:
    """``array[place] = max(array[place], value)``."""
    if not value > array[place]:
        return False
    return value > cuda.atomic.max(array, place, value)


@inner
def into_or_native(array: Any, place: Any, value: Any) -> Any:
    """``array[place] |= value``."""
    if array[place] | value == array[place]:
        return False
    before = cuda.atomic.or_(array, place, value)
    return before | value != before


@inner
def into_and_native(array: Any, place: Any, value: Any) -> Any:
    """``array[place] &= value``."""
    if array[place] & value == array[place]:
        return False
    before = cuda.atomic.and_(array, place, value)
    return before & value != before
