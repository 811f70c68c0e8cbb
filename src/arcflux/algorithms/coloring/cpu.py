"""Greedy colours in one launch: a vertex is coloured after the last neighbour before it (Jones, Plassmann 1993).

Vertices count the neighbours that come before them. A coloured vertex decrements those that come after it; the last
decrement releases the vertex. So every row is read twice, whatever the order is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.cascade import BOARD, STACK, chunk, flush, items, meet, push, shares
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add_ordered
from arcflux.spmd.memory import frozen

__all__ = ["colors"]

Array = NDArray[Any]


@inner
def _before(key: Any, u: Any, v: Any) -> Any:
    """Whether u comes before v: by their keys, equal ones by number."""
    return key[u] < key[v] or (key[u] == key[v] and u < v)


@inner
def _smallest_free(offsets: Any, neighbours: Any, key: Any, color: Any, v: Any, taken: Any, base: Any) -> Any:
    """The smallest colour that no neighbour before v has; ``taken[base + c] == v + 1``: one has c."""
    stamp = np.int64(v) + 1
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        if _before(key, u, v):
            taken[base + np.int64(color[u])] = stamp
    free = np.int64(0)
    while taken[base + free] == stamp:
        free += 1
    return free


@kernel
def paint(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, key: Any, most: Any,
    color: Any, waits: Any, taken: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """key: the order of vertices; color: int64[n]; waits: int32[n]; taken: int64[workers * most], zero at first.

    There are fewer than `most` colours.
    """
    one, n = np.uint64(1), color.size
    turn, top = 0, 0
    for w in range(np.uint64(n * worker // workers), np.uint64(n * (worker + 1) // workers)):
        count = 0
        for i in range(offsets[w], offsets[w + one]):
            count += _before(key, np.uint64(neighbours[i]), w)
        waits[w] = count
        if count == 0:
            top = push(board, lists, stacks, worker, turn, top, w)
    top = flush(board, lists, stacks, worker, turn, top)
    while meet(board, barrier, control, worker, workers, turn):
        turn += 1
        limit = items(board, turn)
        if limit == 0:
            return
        base = (turn % 2) * (lists.size // 2)
        while True:
            begin, end = chunk(board, turn, limit)
            if begin == end:
                break
            for i in range(begin, end):
                top = push(board, lists, stacks, worker, turn, top, lists[base + i])
            while top > 0:
                top -= 1
                v = np.uint64(stacks[worker * STACK + top])
                color[v] = _smallest_free(offsets, neighbours, key, color, v, taken, worker * most)
                for i in range(offsets[v], offsets[v + one]):
                    u = np.uint64(neighbours[i])
                    if _before(key, v, u):
                        left = waits[u]
                        if workers == 1:
                            waits[u] = left - np.int32(1)
                        else:
                            left = fetch_add_ordered(waits, u, np.int32(-1))
                        if left == 1:
                            top = push(board, lists, stacks, worker, turn, top, u)
                if shares(board, turn, top):
                    top = flush(board, lists, stacks, worker, turn, top)


def colors(worker: Worker, key: Array) -> Array:
    """The colour of every vertex of an undirected graph, in the order of keys, small ones first: int64[n]."""
    graph, cores = worker.graph, worker.cores
    n, kind = graph.vertices, graph.out.neighbours.dtype
    most = int(graph.out_degrees.max(initial=0)) + 2
    # Zeros: if an undirected graph has an edge in one direction only, a vertex may read one that is not coloured yet.
    color, waits, board = cores.kept(n, np.int64), cores.host(n, np.int32), cores.small(BOARD)
    taken = cores.small(cores.workers * most)
    scratch = waits, taken, board, cores.host(2 * n, kind), cores.host(cores.workers * STACK, kind)
    arguments = cores.barrier(), *graph.out, frozen(key), np.int64(most), color, *scratch
    cores.launch(paint, None, *arguments, visits=n + graph.arcs)
    return cores.result(color)
