"""A maximal independent set in one launch: vertices wait for neighbours with smaller draws, and are checked in rounds.

A vertex remembers the arc of the neighbour that it waits for, and continues from there when that is decided: a row is
read once, however many rounds there are. The state of another vertex may be from this round or from the one before: a
vertex is decided only by decided neighbours, so the set is always that of taking vertices in the order of their draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.barrier import all_here
from arcflux.spmd.draws import random_of
from arcflux.spmd.jit import kernel
from arcflux.spmd.pool import STOP

__all__ = ["independent"]

Array = NDArray[Any]
WAITING, INSIDE, OUTSIDE = 0, 1, 2
_LINE = 8


@kernel
def enter(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, seed: Any, state: Any,
    draw: Any, place: Any, waiting: Any, board: Any,
) -> None:  # fmt: skip
    """state: int8[n], INSIDE for vertices that have to be; draw: float64[n]; place: uint64[n]; waiting: integer[n].

    board: int64[2 * (workers + 1) * _LINE], zero at first: how many vertices of each worker wait, and whether to end.
    """
    one, zero, n = np.uint64(1), np.uint64(0), state.size
    first, last = n * worker // workers, n * (worker + 1) // workers
    for w in range(np.uint64(first), np.uint64(last)):
        draw[w] = -1.0 if state[w] == INSIDE else random_of(seed, w, zero, zero)  # required vertices come first
        place[w] = offsets[w]
        waiting[w] = w
    turn = 0
    while True:
        if not all_here(barrier, worker, workers):
            return
        kept = first
        for i in range(first, last):
            v = np.uint64(waiting[i])
            own, known = draw[v], state[v]
            if known != WAITING:
                continue
            known = np.int8(INSIDE)
            for k in range(place[v], offsets[v + one]):
                u = np.uint64(neighbours[k])
                if (draw[u] < own or (draw[u] == own and u < v)) and state[u] != OUTSIDE:
                    place[v] = k
                    known = np.int8(OUTSIDE) if state[u] == INSIDE else np.int8(WAITING)
                    break
            if known == WAITING:
                waiting[kept] = v
                kept += 1
            else:
                state[v] = known
        last = kept
        side = (turn % 2) * (workers + 1)
        board[(side + worker) * _LINE] = last - first
        if worker == 0:
            board[(side + workers) * _LINE] = control[STOP]
        if not all_here(barrier, worker, workers):
            return
        left = np.int64(0)
        for other in range(workers):
            left += board[(side + other) * _LINE]
        if left == 0 or board[(side + workers) * _LINE] != 0:
            return
        turn += 1


def independent(worker: Worker, seed: int, chosen: Array) -> Array:
    """Which vertices are in the set: bool[n]; `chosen` have to be."""
    graph, cores = worker.graph, worker.cores
    n, kind = graph.vertices, graph.out.neighbours.dtype
    state = cores.kept(n, np.int8)
    if len(chosen):
        flags = np.zeros(n, np.int8)
        flags[chosen] = INSIDE
        cores.publish(flags, state)
    scratch = cores.host(n, np.float64), cores.host(n, np.uint64), cores.host(n, kind)
    board = cores.small(2 * (cores.workers + 1) * _LINE)
    arguments = cores.barrier(), *graph.out, np.uint64(seed), state, *scratch, board
    cores.launch(enter, None, *arguments, visits=n + graph.arcs)
    found: Array = cores.result(state) == INSIDE
    return found
