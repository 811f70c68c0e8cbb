"""Records stably sorted by a number that each has: its receiver, or the owner of the receiver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.spmd.pool import run

__all__ = ["first_outside", "sort_by"]

Array = NDArray[Any]

# Another worker is worth waking for this many records; and it has a count for every box, so for enough records per box.
_ENOUGH = 1 << 14
_BOXES_A_RECORD = 2


def first_outside(numbers: Array, end: int, threads: int) -> int:
    """The position of the first number that is not in 0 to before `end`; -1 if there is none."""
    from arcflux.engine.mail.kernels import outside

    workers = _workers(len(numbers), 0, threads)
    firsts = np.full(workers, len(numbers), np.int64)
    _run(outside, workers, numbers, np.int64(end), firsts)
    first = int(firsts.min())
    return first if first < len(numbers) else -1


def sort_by(numbers: Array, low: int, begins: Array, pairs: list[tuple[Array, Array]], threads: int) -> None:
    """Copy the first array of each pair into the second, sorted by `numbers`, which are `low` and above.

    begins: uint64[boxes + 1] gets where the records of each number begin. The second arrays have room.

    Examples
    --------
    >>> values, copy, begins = np.array([10, 11, 12, 13]), np.zeros(4, np.int64), np.zeros(4, np.uint64)
    >>> sort_by(np.array([7, 5, 7, 5]), 5, begins, [(values, copy)], 1)
    >>> copy.tolist(), begins.tolist()
    ([11, 13, 10, 12], [0, 2, 2, 4])
    """
    from arcflux.engine.mail.kernels import count, number_through, place, put

    boxes, size = len(begins) - 1, len(numbers)
    if not size:
        begins[:] = 0
        return
    workers = _workers(size, boxes, threads)
    heads = np.zeros((workers, boxes), np.uint64)
    _run(count, workers, numbers, np.int64(low), heads)
    number_through(0, 1, np.zeros(16, np.int64), heads, begins)
    where = np.empty(size, np.uint32 if size < 1 << 32 else np.uint64)
    _run(place, workers, numbers, np.int64(low), heads, where)
    for values, into in pairs:
        _run(put, workers, values, where, into)


def _run(kernel: Any, workers: int, *arguments: Any) -> None:
    """Run a kernel to its end: a cancelled token ends the run only after the superstep, which all ranks complete."""
    run(kernel, workers, *arguments, threads=workers, ends=True)


def _workers(records: int, boxes: int, threads: int) -> int:
    return max(1, min(threads, records // _ENOUGH, _BOXES_A_RECORD * records // max(1, boxes)))
