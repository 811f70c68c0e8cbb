"""Strongly connected components on cores: trimming, the largest one by reach both ways, then depth-first search.

1. A vertex without remaining in-neighbours, or without remaining out-neighbours, is a component of its own (McLendon
   and others 2005); when it is removed, the degrees of its neighbours decrease.
2. The vertices that a vertex of many edges reaches, and that reach it, are its component (Fleischer, Hendrickson,
   Pinar 2000): in most graphs the only large one. Once a part is reached, the others pull: they search a reached
   neighbour, and stop at the first (Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", 2012);
   levels do not matter, so a found vertex counts at once.
3. Any other component is in one of three sets: reached, leading there, neither. Workers search these depth first
   (Tarjan 1972; with one number for each vertex, Pearce 2016), each set by one worker.

Where pulling finds little, as on roads, both searches visit every arc; depth-first search visits each arc once. So one
or two workers skip step 2 then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.barrier import all_here
from arcflux.spmd.cascade import BOARD, STACK, chunk, flush, items, meet, push, shares
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, compare_and_swap, fetch_add
from arcflux.spmd.pool import SERIAL_VISITS

__all__ = ["strong_components"]

Array = NDArray[Any]
# Marks of a vertex: reached, reaches the pivot, removed.
FORTH, BACK, GONE = 1, 2, 4
# The others pull once one in this many vertices is reached, and again as long as one in this many of them was found.
_SEEN = 32
_WORTHWHILE = 4
# With at most this many workers, both searches take longer than a depth-first search by one of them.
_FEW = 2
_LINE = 8


@inner
def _trim(
    begin: Any, end: Any, neighbours: Any, count: Any, component: Any, none: Any, marks: Any, board: Any, lists: Any,
    stacks: Any, worker: Any, alone: Any, turn: Any, top: Any,
) -> Any:  # fmt: skip
    """Decrement the counts of remaining neighbours; those that reach 0 are removed, and pushed."""
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
            marks[u] = GONE
            top = push(board, lists, stacks, worker, turn, top, u)
    return top


@kernel
def trim(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, in_offsets: Any,
    in_neighbours: Any, component: Any, marks: Any, sources: Any, targets: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """component: v for each v that is alone, else the number of vertices; sources, targets: int32[n].

    marks: uint8[n], zero before, GONE for removed ones.
    """
    one, n = np.uint64(1), np.uint64(component.size)
    none = component.dtype.type(n)
    turn, top = 0, 0
    for w in range(n * np.uint64(worker) // np.uint64(workers), n * np.uint64(worker + 1) // np.uint64(workers)):
        sources[w] = in_offsets[w + one] - in_offsets[w]
        targets[w] = offsets[w + one] - offsets[w]
        component[w] = none
        if sources[w] == 0 or targets[w] == 0:
            component[w] = w
            marks[w] = GONE
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
                top = _trim(offsets[v], offsets[v + one], neighbours, sources, component, none, marks, board, lists,
                            stacks, worker, workers == 1, turn, top)  # fmt: skip
                top = _trim(in_offsets[v], in_offsets[v + one], in_neighbours, targets, component, none, marks, board,
                            lists, stacks, worker, workers == 1, turn, top)  # fmt: skip
                if shares(board, turn, top):
                    top = flush(board, lists, stacks, worker, turn, top)


@inner
def _begin(offsets: Any, neighbours: Any, marks: Any, pivot: Any, mark: Any, queue: Any) -> Any:
    """Mark what `pivot` reaches, up to one of _SEEN vertices; returns how many of them are still in the queue."""
    marks[pivot] |= mark
    queue[0] = pivot
    head, tail, enough = 0, 1, marks.size // _SEEN + 1
    while head < tail and tail < enough:
        v = np.uint64(queue[head])
        head += 1
        for i in range(offsets[v], offsets[v + np.uint64(1)]):
            u = np.uint64(neighbours[i])
            if marks[u] & (mark | GONE) == 0:
                marks[u] |= mark
                queue[tail] = u
                tail += 1
    return tail - head


@inner
def _look(
    first: Any, last: Any, ahead: Any, in_offsets: Any, in_neighbours: Any, marks: Any, mark: Any, found: Any
) -> Any:  # fmt: skip
    """Mark those of some vertices that have a marked neighbour: how many had no mark, how many have one now."""
    asked, count = 0, 0
    for k in range(last - first):
        v = first + k if ahead else last - np.uint64(1) - k
        if marks[v] & (mark | GONE):
            continue
        asked += 1
        for i in range(in_offsets[v], in_offsets[v + np.uint64(1)]):
            if marks[in_neighbours[i]] & mark:
                marks[v] |= mark
                found[first + np.uint64(count)] = v
                count += 1
                break
    return asked, count


@kernel
def reach(
    worker: Any, workers: Any, control: Any, barrier: Any, offsets: Any, neighbours: Any, in_offsets: Any,
    in_neighbours: Any, marks: Any, pivot: Any, mark: Any, doubts: Any, tally: Any, board: Any, lists: Any, stacks: Any,
) -> None:  # fmt: skip
    """Put `mark` on all remaining vertices that can be reached from `pivot`.

    tally: int64[_LINE * (4 * workers + 1)]. The search continues from the vertices marked in the last pass over all.
    With `doubts` it gives up if pulling finds few vertices: then tally[0] is -1.
    """
    one, n = np.uint64(1), np.uint64(marks.size)
    first, last = n * np.uint64(worker) // np.uint64(workers), n * np.uint64(worker + 1) // np.uint64(workers)
    if worker == 0:
        tally[0] = _begin(offsets, neighbours, marks, pivot, mark, lists)
    if not all_here(barrier, worker, workers) or tally[0] == 0:
        return
    look, found = 0, 0
    while True:
        asked, found = _look(first, last, look % 2 == 0, in_offsets, in_neighbours, marks, mark, lists)
        side = 1 + look % 2 * 2 * workers
        tally[(side + worker) * _LINE], tally[(side + workers + worker) * _LINE] = asked, found
        if not all_here(barrier, worker, workers):
            return
        asked, everyone = 0, 0
        for k in range(workers):
            asked += tally[(side + k) * _LINE]
            everyone += tally[(side + workers + k) * _LINE]
        if everyone == 0:
            return
        if everyone * _WORTHWHILE < asked:
            break
        look += 1
    if doubts and 2 * (asked - everyone) > marks.size:
        if worker == 0:
            tally[0] = -1
        return
    turn, top = 0, 0
    for k in range(found):
        top = push(board, lists, stacks, worker, turn, top, lists[first + np.uint64(k)])
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
                    if before & (mark | GONE):
                        continue
                    if compare_and_swap(marks, u, before, before | mark) == before:
                        top = push(board, lists, stacks, worker, turn, top, u)
                if shares(board, turn, top):
                    top = flush(board, lists, stacks, worker, turn, top)


@kernel
def search(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, component: Any, marks: Any, index: Any,
    path: Any, places: Any, numbers: Any, waiting: Any, begins: Any, several: Any,
) -> None:  # fmt: skip
    """Depth-first search of the remaining vertices, separately for each mark.

    index: integer[n], zero for a remaining vertex, else n + 1; ``begins[m]``: where mark m's parts of path (vertices),
    places (of their arcs, uint64), numbers and waiting begin; several: whether there are several marks.
    """
    while True:
        mark = claim(control)
        if mark > 2:
            return
        _search(offsets, neighbours, component, marks, np.uint8(mark), index, path, places, numbers, waiting,
                begins[mark], several)  # fmt: skip


@inner
def _search(
    offsets: Any, neighbours: Any, component: Any, marks: Any, mark: Any, index: Any, path: Any, places: Any,
    numbers: Any, waiting: Any, begin: Any, several: Any,
) -> None:  # fmt: skip
    """index: 0 before a vertex is discovered, then the least number that it reaches, n + 1 once its component is known.

    So an arc reads one word of its target. A vertex that is not the first of its component waits after all its arcs are
    searched.
    """
    one = np.uint64(1)
    done = np.uint64(component.size) + one
    clock, waits = np.uint64(0), begin
    for root in range(np.uint64(component.size)):
        if index[root] != 0 or marks[root] != mark:
            continue
        v: Any = root
        top = begin
        clock += one
        number, least = clock, clock
        index[v] = number
        i, end = offsets[v], offsets[v + one]
        while True:
            while i < end:
                w = np.uint64(neighbours[i])
                i += one
                if several and marks[w] != mark:
                    continue
                seen = np.uint64(index[w])
                if seen != 0:
                    least = min(least, seen)
                    continue
                path[top], places[top], numbers[top] = v, i, number
                index[v] = least
                top += 1
                v = w
                clock += one
                number, least = clock, clock
                index[v] = number
                i, end = offsets[v], offsets[v + one]
            if least != number:
                index[v] = least
                waiting[waits] = v
                waits += 1
            else:
                bottom, smallest = waits, component.dtype.type(v)
                while bottom > begin and index[waiting[bottom - 1]] >= number:
                    bottom -= 1
                    smallest = min(smallest, component.dtype.type(waiting[bottom]))
                for k in range(bottom, waits):
                    component[waiting[k]] = smallest
                    index[waiting[k]] = done
                waits = bottom
                component[v] = smallest
                index[v] = done
            if top == begin:
                break
            below = np.uint64(index[v])
            top -= 1
            v = np.uint64(path[top])
            i, end, number = places[top], offsets[v + one], np.uint64(numbers[top])
            least = min(np.uint64(index[v]), below)


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
    counts = component, marks, sources, targets
    cores.launch(trim, None, cores.barrier(), *graph.out, *graph.into, *counts, cores.small(BOARD), lists, stacks,
                 visits=visits)  # fmt: skip
    cores.together()
    left = marks == 0
    if not left.any():
        return cores.result(component)
    pivot = int(np.where(left, np.multiply(sources, targets, dtype=np.int64), -1).argmax())
    doubts = cores.workers <= _FEW
    for rows, others, mark in ((graph.out, graph.into, FORTH), (graph.into, graph.out, BACK)):
        tally = cores.small(_LINE * (4 * cores.workers + 1))
        cores.launch(reach, None, cores.barrier(), *rows, *others, marks, np.uint64(pivot), np.uint8(mark), doubts,
                     tally, cores.small(BOARD), lists, stacks, visits=visits)  # fmt: skip
        cores.together()
        if tally[0] < 0:
            cores.publish(marks & GONE, marks)
            break
    both = marks == FORTH | BACK
    if cores.leads:
        component[both] = both.argmax()
    cores.together()
    sizes = [np.count_nonzero(marks == mark) for mark in (0, FORTH, BACK)]
    if any(sizes):
        index, places, numbers = cores.kept(n, kind), cores.host(n, np.uint64), cores.host(n, kind)
        cores.publish(np.where(component == n, 0, n + 1), index)
        begins, several = np.concatenate([[0], np.cumsum(sizes)]), np.count_nonzero(sizes) > 1
        scratch = index, lists[:n], places, numbers, lists[n:], begins, several
        cores.launch(search, min(3, visits // SERIAL_VISITS), *graph.out, component, marks, *scratch, visits=visits)
    return cores.result(component)
