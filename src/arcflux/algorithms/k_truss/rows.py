"""Some of the arcs of a graph as rows of their own, on a team of cores: those of edges that stay, or that lead up.

An arc leads up to a vertex of higher degree, or of equal degree and larger number. Rows of such arcs are short, even of
hubs, and one of a triangle's corners leads up to both others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Cores
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take

__all__ = ["Rows", "select"]

Array = NDArray[Any]
_CHUNK = 256


class Rows(NamedTuple):
    """offsets: uint64[n + 1]; neighbours: uint[arcs]; edges: uint[arcs], the number of each arc's edge."""

    offsets: Array
    neighbours: Array
    edges: Array


@inner
def _chosen(offsets: Any, v: Any, u: Any, edge: Any, stays: Any) -> Any:
    """Whether the edge of an arc stays; without `stays`, whether the arc leads up."""
    if stays is not None:
        return np.bool_(stays[edge])
    one = np.uint64(1)
    here, there = offsets[v + one] - offsets[v], offsets[u + one] - offsets[u]
    return here < there or (here == there and v < u)


@kernel
def count_arcs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, edges: Any, stays: Any, lengths: Any
) -> None:
    """``lengths[v + 1]``: how many arcs of v are chosen; stays: a flag for each edge, or None for arcs that lead up."""
    one = np.uint64(1)
    while True:
        begin, end = take(control, np.uint64(offsets.size - 1), np.uint64(_CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            count = np.uint64(0)
            for i in range(offsets[v], offsets[v + one]):
                count += np.uint64(_chosen(offsets, v, np.uint64(neighbours[i]), edges[i], stays))
            lengths[v + one] = count


@kernel
def copy_arcs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, edges: Any, stays: Any, numbers: Any,
    starts: Any, targets: Any, names: Any,
) -> None:  # fmt: skip
    """Those arcs, row after row from ``starts[v]`` on; numbers: the new numbers of their edges; None: as before."""
    one = np.uint64(1)
    while True:
        begin, end = take(control, np.uint64(offsets.size - 1), np.uint64(_CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            place = starts[v]
            for i in range(offsets[v], offsets[v + one]):
                if _chosen(offsets, v, np.uint64(neighbours[i]), edges[i], stays):
                    targets[place] = neighbours[i]
                    names[place] = edges[i] if numbers is None else numbers[edges[i]]
                    place += one


def select(cores: Cores, rows: Rows, stays: Array | None = None, numbers: Array | None = None) -> Rows:
    """The arcs of edges that stay, by their new numbers; without `stays` the arcs that lead up."""
    starts = cores.host(len(rows.offsets), np.uint64)
    visits = len(rows.offsets) + 2 * len(rows.neighbours)
    cores.launch(count_arcs, None, *rows, stays, starts, visits=visits)
    cores.together()
    cores.publish(np.concatenate([np.zeros(1, np.uint64), np.cumsum(starts[1:])]), starts)
    found = Rows(starts, *(cores.host(int(starts[-1]), array.dtype) for array in rows[1:]))
    cores.launch(copy_arcs, None, *rows, stays, numbers, *found, visits=visits)
    cores.together()
    return found
