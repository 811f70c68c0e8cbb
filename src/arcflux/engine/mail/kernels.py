"""The loops of sorting records: every worker has a slice of the records, and its own positions to write.

Arguments: ``numbers: int64[records]``, the sort keys, at least ``low``; ``heads: uint64[workers, boxes]``, how many of
a worker's records have each key, then where its next one goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel

__all__ = ["count", "number_through", "outside", "place", "put"]


@inner
def share(worker: Any, workers: Any, size: Any) -> Any:
    """The slice of a worker: from, to before."""
    return worker * size // workers, (worker + 1) * size // workers


@kernel
def outside(worker: Any, workers: Any, control: Any, numbers: Any, end: Any, found: Any) -> None:
    """``found[worker]``: the worker's first position whose number is not in 0 to before `end`."""
    first, last = share(worker, workers, numbers.size)
    for i in range(first, last):
        if numbers[i] < 0 or numbers[i] >= end:
            found[worker] = i
            break


@kernel
def count(worker: Any, workers: Any, control: Any, numbers: Any, low: Any, heads: Any) -> None:
    """How many of a worker's records have each key."""
    first, last = share(worker, workers, numbers.size)
    own = heads[worker]
    for i in range(first, last):
        own[np.uint64(numbers[i] - low)] += np.uint64(1)


@kernel
def number_through(worker: Any, workers: Any, control: Any, heads: Any, begins: Any) -> None:
    """Counts become positions: records of a key are contiguous, those of the first worker first."""
    place = np.uint64(0)
    for box in range(heads.shape[1]):
        begins[box] = place
        for w in range(heads.shape[0]):
            several = heads[w, box]
            heads[w, box] = place
            place += several
    begins[heads.shape[1]] = place


@kernel
def place(worker: Any, workers: Any, control: Any, numbers: Any, low: Any, heads: Any, where: Any) -> None:
    """``where[i]``: the position of record i after sorting."""
    first, last = share(worker, workers, numbers.size)
    own = heads[worker]
    for i in range(first, last):
        box = np.uint64(numbers[i] - low)
        where[i] = own[box]
        own[box] += np.uint64(1)


@kernel
def put(worker: Any, workers: Any, control: Any, values: Any, where: Any, into: Any) -> None:
    """Copy values to their positions."""
    first, last = share(worker, workers, values.size)
    for i in range(first, last):
        into[where[i]] = values[i]
