"""Strongly connected components on cores: trimming, the largest one by reach forth and back, then depth-first searches.

1. A vertex that nobody left leads to, or that leads to nobody left, is a component of its own (McLendon and others
   2005); who leaves takes one off the counts of its neighbours.
2. What a vertex of many edges reaches and is reached from is its component (Fleischer, Hendrickson, Pinar 2000): in
   most graphs the only large one.
3. Any other component is in one of three sets: reached, leading there, neither. Workers search these with Tarjan's
   algorithm (1972), each set by one worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.cascade import BOARD, STACK, chunk, flush, items, meet, push, shares
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, compare_and_swap, fetch_add
from arcflux.spmd.pool import SERIAL_VISITS

__all__ = ["strong_components"]

Array = NDArray[Any]
FORTH, BACK = 1, 2


@inner
def _trim(
    begin: Any, end: Any, neighbours: Any, count: Any, component: Any, none: Any, board: Any, lists: Any, stacks: Any,
    worker: Any, alone: Any, turn: Any, top: Any,
) -> Any:  # fmt: skip
    """Take one off the counts of neighbours that are left; those that come to 0 leave, and are pushed."""
    for i in range(begin, end):
        u = neighbours[i]
        if component[u] != none:
            continue
        before = count[u]
        if alone:
            count[u] = before - np.int32(1)
        else:
            before = fetch_add(count, u, np.int32(-1))
        if before == 1 and compare_and_swap(component, u, none, u) == none:
            top = push(board, lists, stacks, worker, turn, top, u)
    return top


@kernel
def trim(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, in_offsets: Any,
    in_neighbours: Any, component: Any, sources: Any, targets: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """component: v for each v that is alone, else as many as there are vertices; sources, targets: int32[n]."""
    one, n = np.uint64(1), np.uint64(component.size)
    none = component.dtype.type(n)
    turn, top = 0, 0
    for w in range(n * np.uint64(worker) // np.uint64(workers), n * np.uint64(worker + 1) // np.uint64(workers)):
        sources[w] = in_offsets[w + one] - in_offsets[w]
        targets[w] = offsets[w + one] - offsets[w]
        component[w] = none
        if sources[w] == 0 or targets[w] == 0:
            component[w] = w
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
                top = _trim(offsets[v], offsets[v + one], neighbours, sources, component, none, board, lists, stacks,
                            worker, workers == 1, turn, top)  # fmt: skip
                top = _trim(in_offsets[v], in_offsets[v + one], in_neighbours, targets, component, none, board, lists,
                            stacks, worker, workers == 1, turn, top)  # fmt: skip
                if shares(board, turn, top):
                    top = flush(board, lists, stacks, worker, turn, top)


@kernel
def reach(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, component: Any, marks: Any,
    pivot: Any, mark: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """Put `mark` on whatever is left and can be reached from `pivot`; ``marks``: uint8[n]."""
    one = np.uint64(1)
    none = component.dtype.type(component.size)
    turn, top = 0, 0
    if worker == 0:
        marks[pivot] |= mark
        top = push(board, lists, stacks, worker, turn, top, pivot)
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
                for i in range(offsets[v], offsets[v + one]):
                    u = np.uint64(neighbours[i])
                    before = marks[u]
                    if before & mark or component[u] != none:
                        continue
                    if compare_and_swap(marks, u, before, before | mark) == before:
                        top = push(board, lists, stacks, worker, turn, top, u)
                if shares(board, turn, top):
                    top = flush(board, lists, stacks, worker, turn, top)


@kernel
def search(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, component: Any, marks: Any, place: Any,
    met: Any, low: Any, path: Any, waiting: Any, begins: Any,
) -> None:  # fmt: skip
    """Tarjan's algorithm on vertices that are left, those of each mark by themselves.

    place: uint64[n]; met, low, path, waiting: integer[n], met zero at first; ``begins[m]``: where mark m's parts of
    path and waiting begin.
    """
    while True:
        mark = claim(control)
        if mark > 2:
            return
        _search(offsets, neighbours, component, marks, np.uint8(mark), place, met, low, path, waiting, begins[mark])


@inner
def _search(
    offsets: Any, neighbours: Any, component: Any, marks: Any, mark: Any, place: Any, met: Any, low: Any, path: Any,
    waiting: Any, begin: Any,
) -> None:  # fmt: skip
    one = np.uint64(1)
    none = component.dtype.type(component.size)
    clock, waits = 0, begin
    for root in range(np.uint64(component.size)):
        if component[root] != none or marks[root] != mark or met[root] != 0:
            continue
        clock += 1
        met[root] = clock
        low[root] = clock
        place[root] = offsets[root]
        path[begin] = root
        waiting[waits] = root
        waits += 1
        top = begin + 1
        while top > begin:
            v = np.uint64(path[top - 1])
            least, deeper = low[v], False
            i, end = place[v], offsets[v + one]
            while i < end:
                w = np.uint64(neighbours[i])
                i += one
                if component[w] != none or marks[w] != mark:
                    continue
                if met[w] == 0:
                    clock += 1
                    met[w] = clock
                    low[w] = clock
                    place[w] = offsets[w]
                    path[top] = w
                    top += 1
                    waiting[waits] = w
                    waits += 1
                    deeper = True
                    break
                least = min(least, met[w])
            place[v] = i
            low[v] = least
            if deeper:
                continue
            top -= 1
            if top > begin:
                above = np.uint64(path[top - 1])
                low[above] = min(low[above], least)
            if least == met[v]:
                bottom = waits
                smallest = component.dtype.type(v)
                while True:
                    bottom -= 1
                    smallest = min(smallest, component.dtype.type(waiting[bottom]))
                    if np.uint64(waiting[bottom]) == v:
                        break
                for k in range(bottom, waits):
                    component[waiting[k]] = smallest
                waits = bottom


def strong_components(worker: Worker) -> Array:
    """The smallest vertex of each vertex's strongly connected component."""
    graph, cores = worker.graph, worker.cores
    n, kind = graph.vertices, graph.out.neighbours.dtype
    if n >= np.iinfo(kind).max:
        kind = np.dtype(np.uint64)
    component, marks = cores.kept(n, kind, zero=False), cores.kept(n, np.uint8)
    sources, targets = cores.host(n, np.int32), cores.host(n, np.int32)
    lists, stacks = cores.host(2 * n, kind), cores.host(cores.workers * STACK, kind)
    visits = n + 2 * graph.arcs
    counts = component, sources, targets
    cores.launch(trim, None, cores.barrier(), *graph.out, *graph.into, *counts, cores.small(BOARD), lists, stacks,
                 visits=visits)  # fmt: skip
    cores.together()
    left = component == n
    degrees = np.where(left, sources.astype(np.int64) * targets, -1)
    pivot = int(degrees.argmax()) if n else 0
    if not n or degrees[pivot] < 0:
        return cores.result(component)
    for rows, mark in ((graph.out, FORTH), (graph.into, BACK)):
        cores.launch(reach, None, cores.barrier(), *rows, component, marks, np.uint64(pivot), np.uint8(mark),
                     cores.small(BOARD), lists, stacks, visits=visits)  # fmt: skip
        cores.together()
    both = marks == FORTH | BACK
    cores.publish(np.where(both, kind.type(both.argmax()), component), component)
    sizes = np.bincount(marks[component == n], minlength=3)
    if sizes.sum():
        place, met, low = cores.host(n, np.uint64), cores.kept(n, kind), cores.host(n, kind)
        begins = np.concatenate([[0], np.cumsum(sizes[:3])])
        scratch = place, met, low, lists[:n], lists[n:], begins
        cores.launch(search, min(3, visits // SERIAL_VISITS), *graph.out, component, marks, *scratch, visits=visits)
    return cores.result(component)
