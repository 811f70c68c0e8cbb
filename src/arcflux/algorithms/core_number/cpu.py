"""Peeling in one launch: level by level, within a level without barriers as long as a cascade is small.

``degree[v]`` is the number of v's remaining neighbours, and never goes below the level at which v is removed: in the
end it is its core number. A decrement below that level is undone (Kabir, Madduri, "Parallel k-core decomposition on
multicore platforms", IPDPSW 2017). The decrement of its degree from k + 1 to k removes a vertex, so it is removed once.

Each worker has a list of remaining vertices. A level begins with a scan of it for vertices of degree k; if no worker
finds one, the next level is the smallest degree that was seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.cascade import BOARD, STACK, chunk, flush, items, meet, push, shares
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add
from arcflux.spmd.pool import SERIAL_VISITS, STOP

__all__ = ["core_numbers"]

Array = NDArray[Any]
_NONE = np.iinfo(np.int64).max
_LINE, _LOAD, _LAST = 8, 1, 2
# One worker peels a level with less work than that, and those after it while they are as small: a barrier costs more,
# above all if a worker has lost its core to another process.
_SMALL = SERIAL_VISITS >> 2


@inner
def _leave(
    begin: Any, end: Any, neighbours: Any, degree: Any, k: Any, board: Any, lists: Any, stacks: Any, worker: Any,
    alone: Any, turn: Any, top: Any,
) -> Any:  # fmt: skip
    """Decrement the remaining neighbours; those that are removed with it are pushed."""
    for i in range(begin, end):
        u = neighbours[i]
        if degree[u] > k:
            before = degree[u]
            if alone:
                degree[u] = before - np.int32(1)
            else:
                before = fetch_add(degree, u, np.int32(-1))
            if before == k + 1:
                top = push(board, lists, stacks, worker, turn, top, u)
            elif before <= k:
                fetch_add(degree, u, np.int32(1))
    return top


@inner
def _look(
    live: Any, first: Any, last: Any, degree: Any, k: Any, board: Any, lists: Any, stacks: Any, worker: Any, turn: Any,
    top: Any,
) -> Any:  # fmt: skip
    """Push vertices of degree k and compact those with more: the list's end, least degree, work, stack height."""
    low, kept, load = np.int64(_NONE), first, np.int64(last - first)
    for i in range(first, last):
        v = live[i]
        left = np.int64(degree[v])
        if left == k:
            top = push(board, lists, stacks, worker, turn, top, v)
            load += k
        elif left > k:
            live[kept] = v
            kept += 1
            low = min(low, left)
    return kept, low, load, top


@kernel
def peel(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, in_offsets: Any,
    in_neighbours: Any, degree: Any, live: Any, lows: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """degree: int32[n], becomes the core numbers; live: integer[n]; lows: int64[(3 * workers + 1) * _LINE].

    A directed graph's in-edges count too; otherwise `in_offsets` is empty. The words of `lows`, for each worker in each
    of three slots: the least degree, how much work it has found, and in the first slot the end of its list.
    """
    one, n = np.uint64(1), degree.size
    both, shared = in_offsets.size > 0, 3 * workers * _LINE
    first, last = n * worker // workers, n * (worker + 1) // workers
    for w in range(np.uint64(first), np.uint64(last)):
        degree[w] = offsets[w + one] - offsets[w]
        if both:
            degree[w] += np.int32(in_offsets[w + one] - in_offsets[w])
        live[w] = w
    k, turn, looking, alone = np.int64(0), 0, True, workers == 1
    while True:
        top = 0
        if looking:
            last, low, load, top = _look(live, first, last, degree, k, board, lists, stacks, worker, turn, top)
            own = ((turn % 3) * workers + worker) * _LINE
            lows[own], lows[own + _LOAD], lows[worker * _LINE + _LAST] = low, load, last
            top = flush(board, lists, stacks, worker, turn, top)
        elif worker == 0 or not alone:
            limit = items(board, turn)
            base = (turn % 2) * (lists.size // 2)
            while True:
                begin, end = chunk(board, turn, limit)
                if begin == end and not (alone and workers > 1 and items(board, turn + 1) == 0):
                    break
                if begin == end:  # alone: the next level too, while it is as small
                    k += 1
                    low, load = np.int64(_NONE), np.int64(0)
                    for other in range(workers):
                        where = other * _LINE + _LAST
                        lows[where], least, more, top = _look(live, n * other // workers, lows[where], degree, k, board,
                                                              lists, stacks, worker, turn, top)  # fmt: skip
                        low, load = min(low, least), load + more
                    if top == 0 and items(board, turn + 1) == 0:
                        k = low - 1
                        if low == _NONE or control[STOP] != 0:
                            break
                    elif load > _SMALL:
                        top = flush(board, lists, stacks, worker, turn, top)
                        break
                for i in range(begin, end):
                    top = push(board, lists, stacks, worker, turn, top, lists[base + i])
                while top > 0:
                    top -= 1
                    v = np.uint64(stacks[worker * STACK + top])
                    top = _leave(offsets[v], offsets[v + one], neighbours, degree, np.int32(k), board, lists, stacks,
                                 worker, alone, turn, top)  # fmt: skip
                    if both:
                        top = _leave(in_offsets[v], in_offsets[v + one], in_neighbours, degree, np.int32(k), board,
                                     lists, stacks, worker, alone, turn, top)  # fmt: skip
                    if shares(board, turn, top):
                        top = flush(board, lists, stacks, worker, turn, top)
            lows[shared] = k
        if not meet(board, barrier, control, worker, workers, turn):
            return
        turn += 1
        if not looking:
            if alone and workers > 1:
                k, last = lows[shared], lows[worker * _LINE + _LAST]
                if k + 1 == _NONE:
                    return
            alone = workers == 1
        if items(board, turn) > 0:
            if looking and workers > 1:
                load = np.int64(0)
                for other in range(workers):
                    load += lows[(((turn + 2) % 3) * workers + other) * _LINE + _LOAD]
                alone = load <= _SMALL
            looking = False
        elif not looking:
            looking = True
            k += 1
        else:
            k = np.int64(_NONE)
            for other in range(workers):
                k = min(k, lows[(((turn + 2) % 3) * workers + other) * _LINE])
            if k == _NONE:
                return


def core_numbers(worker: Worker) -> Array:
    """The core number of every vertex: int32[n]."""
    graph, cores = worker.graph, worker.cores
    n, kind = graph.vertices, graph.out.neighbours.dtype
    degree = cores.kept(n, np.int32, zero=False)
    into = graph.into if graph.directed else (graph.out.offsets[:0], graph.out.neighbours[:0])
    scratch = (
        cores.host(n, kind),
        cores.small(_LINE * (3 * cores.workers + 1)),
        cores.small(BOARD),
        cores.host(2 * n, kind),
    )
    arguments = cores.barrier(), *graph.out, *into, degree, *scratch, cores.host(cores.workers * STACK, kind)
    cores.launch(peel, None, *arguments, visits=n + graph.arcs)
    return cores.result(degree)
