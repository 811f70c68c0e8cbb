"""The loops of partitioning. All but :func:`scatter` start from :func:`place`, which says at which part an arc is."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take
from arcflux.spmd.random import bits

__all__ = ["CHUNK", "MODES", "copy_arcs", "count_arcs", "scatter"]

MODES = ("target", "source", "grid", "degree")
_TARGET, _SOURCE, _GRID, _DEGREE = range(4)
CHUNK = 256


@inner
def place(mode: Any, first: Any, second: Any, fold: Any, out: Any, limit: Any, u: Any, v: Any) -> Any:
    """The part at which the arc from u to v is, by the tables of a :class:`~arcflux.partition.rule.Rule`."""
    if mode == _TARGET:
        return np.int64(second[v])
    if mode == _SOURCE:
        return np.int64(first[u])
    if mode == _GRID:
        return np.int64(fold[np.int64(first[u]) + np.int64(second[v])])
    one = np.uint64(1)
    leaving = out[u + one] - out[u]
    if leaving <= limit:
        return np.int64(first[u])
    beyond = out[v + one] - out[v]
    if beyond > limit and (leaving < beyond or (leaving == beyond and u < v)):
        return np.int64(first[u])
    return np.int64(second[v])


@kernel
def count_arcs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, rows: Any, wanted: Any, mode: Any,
    first: Any, second: Any, fold: Any, out: Any, limit: Any, counts: Any,
) -> None:  # fmt: skip
    """``counts[r]``: how many in-arcs of the vertex ``rows[r]`` are at the part `wanted`."""
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(rows[r])
            found = np.uint64(0)
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                if place(mode, first, second, fold, out, limit, np.uint64(neighbours[i]), v) == wanted:
                    found += np.uint64(1)
            counts[r] = found


@kernel
def copy_arcs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, rows: Any, wanted: Any, mode: Any,
    first: Any, second: Any, fold: Any, out: Any, limit: Any, starts: Any, sources: Any, origin: Any,
) -> None:  # fmt: skip
    """Write the sources of the arcs that :func:`count_arcs` counted, and with `origin` where each of them was."""
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(rows[r])
            at = starts[r]
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                u = neighbours[i]
                if place(mode, first, second, fold, out, limit, np.uint64(u), v) == wanted:
                    sources[at] = u
                    if origin is not None:
                        origin[at] = i
                    at += np.uint64(1)


@kernel
def scatter(worker: Any, workers: Any, control: Any, key: Any, k: Any, owner: Any) -> None:
    """A random owner below k for each vertex: 32 random bits as a fraction of k."""
    while True:
        begin, end = take(control, np.uint64(owner.size), np.uint64(1 << 14))
        if begin == end:
            break
        for v in range(begin, end):
            owner[v] = ((bits(key, v) >> np.uint64(32)) * k) >> np.uint64(32)
