"""Triples with a joined pair, counted on a team of cores by merging the rows of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen

__all__ = ["census"]

Array = NDArray[Any]
_CHUNK = 32


@kernel
def count_triads(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, codes: Any, begin_row: Any, end_row: Any,
    counts: Any,
) -> None:  # fmt: skip
    """``counts[worker, code]``: triples whose first joined pair is u < v, with u among these rows.

    A triple in which u, v and w are joined more than once counts at the pair u, v if v < w, or if u < w < v and u and w
    are not joined. codes: uint8[arcs]; counts: int64[workers, 64 + 8], whose last columns pad a cache line.
    """
    one = np.uint64(1)
    n = np.int64(offsets.size - 1)
    own = counts[worker]
    while True:
        begin, end = take(control, end_row - begin_row, np.uint64(_CHUNK))
        if begin == end:
            break
        for u in range(begin_row + begin, begin_row + end):
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if v <= u:
                    continue
                pair = np.int64(codes[i])
                a, a_end, b, b_end = offsets[u], offsets[u + one], offsets[v], offsets[v + one]
                beside = 0
                while a < a_end or b < b_end:
                    x = np.uint64(neighbours[a]) if a < a_end else np.uint64(n)
                    y = np.uint64(neighbours[b]) if b < b_end else np.uint64(n)
                    w = min(x, y)
                    first = np.int64(codes[a]) if x == w else 0
                    second = np.int64(codes[b]) if y == w else 0
                    a += np.uint64(x == w)
                    b += np.uint64(y == w)
                    if w in (u, v):
                        continue
                    beside += 1
                    if v < w or (u < w and first == 0):
                        own[pair | (first << 2) | (second << 4)] += 1
                own[pair] += n - beside - 2


def census(worker: Worker, rows: Graph, codes: Array) -> Array:
    """How many triples have each of 64 codes, of the worker's share of rows."""
    first, last = worker.share(rows.vertices)
    counts = worker.cores.small((worker.cores.workers, 72), np.int64)
    worker.cores.launch(
        count_triads, -(-(last - first) // _CHUNK), *rows.out, frozen(codes), np.uint64(first), np.uint64(last), counts
    )
    worker.cores.together()
    found: Array = counts[:, :64].sum(axis=0)
    return found
