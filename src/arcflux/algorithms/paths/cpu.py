"""Dijkstra's search with a binary heap: from one end with estimates, from both ends, from many sources on all cores.

A vertex may be in the heap several times; all but its first entry are skipped. Equal keys come out in the order of the
vertices' numbers, so that a path does not depend on how the heap is filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen

__all__ = ["distances", "meet_in_between", "settle"]

Array = NDArray[Any]


@inner
def _push(keys: Any, items: Any, size: Any, key: Any, item: Any) -> Any:
    """Push an item on the heap of `size`; returns the new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] < key or (keys[above] == key and items[above] <= item):
            break
        keys[place] = keys[above]
        items[place] = items[above]
        place = above
    keys[place] = key
    items[place] = item
    return size + 1


@inner
def _drop(keys: Any, items: Any, size: Any) -> Any:
    """Remove the first item of the heap; returns the new size."""
    size -= 1
    key, item = keys[size], items[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and (
            keys[child + 1] < keys[child] or (keys[child + 1] == keys[child] and items[child + 1] < items[child])
        ):
            child += 1
        if key < keys[child] or (key == keys[child] and item <= items[child]):
            break
        keys[place] = keys[child]
        items[place] = items[child]
        place = child
    keys[place] = key
    items[place] = item
    return size


@inner
def _length(lengths: Any, i: Any) -> Any:
    if lengths is None:
        return 1.0
    return lengths[i]


@kernel
def settle(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, lengths: Any, estimate: Any, blocked: Any,
    avoided: Any, source: Any, target: Any, distance: Any, before: Any, settled: Any, keys: Any, items: Any,
) -> None:  # fmt: skip
    """Distances from the source, until the target is settled; a vertex that comes nearer is settled again.

    keys: float64[arcs + 2]; items: int64[arcs + 2]. Inconsistent estimates may reopen settled vertices; if that fills
    the heap, ``items[0]`` is -1 at the end.
    """
    one = np.uint64(1)
    distance[source] = 0.0
    size = _push(keys, items, 0, estimate[source], source)
    while size > 0:
        u = np.uint64(items[0])
        size = _drop(keys, items, size)
        if settled[u]:
            continue
        settled[u] = True
        if np.int64(u) == target:
            break
        for i in range(offsets[u], offsets[u + one]):
            v = np.uint64(neighbours[i])
            if blocked[v] or (np.int64(u) == source and avoided[v]):
                continue
            length = distance[u] + _length(lengths, i)
            if length < distance[v]:
                if size + 1 >= keys.size:
                    items[0] = -1
                    return
                settled[v] = False
                distance[v] = length
                before[v] = np.int64(u)
                size = _push(keys, items, size, length + estimate[v], np.int64(v))


@kernel
def meet_in_between(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, lengths: Any, back_offsets: Any,
    back_neighbours: Any, back_lengths: Any, source: Any, target: Any, distance: Any, before: Any, settled: Any,
    back_distance: Any, after: Any, back_settled: Any, keys: Any, items: Any, back_keys: Any, back_items: Any,
    best: Any, meeting: Any,
) -> None:  # fmt: skip
    """Search along edges from the source and against them from the target, always on the side that is nearer.

    ``best[0]`` is the length of the shortest known path, by way of ``meeting[0]``; it is final when the sum of both
    searches' distances reaches it.
    """
    one = np.uint64(1)
    distance[source] = 0.0
    back_distance[target] = 0.0
    size = _push(keys, items, 0, 0.0, source)
    back_size = _push(back_keys, back_items, 0, 0.0, target)
    if source == target:
        best[0], meeting[0] = 0.0, source
    while size > 0 and back_size > 0 and keys[0] + back_keys[0] < best[0]:
        if keys[0] <= back_keys[0]:
            u = np.uint64(items[0])
            size = _drop(keys, items, size)
            if settled[u]:
                continue
            settled[u] = True
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                length = distance[u] + _length(lengths, i)
                if length < distance[v]:
                    distance[v] = length
                    before[v] = np.int64(u)
                    size = _push(keys, items, size, length, np.int64(v))
                    if length + back_distance[v] < best[0]:
                        best[0], meeting[0] = length + back_distance[v], np.int64(v)
        else:
            u = np.uint64(back_items[0])
            back_size = _drop(back_keys, back_items, back_size)
            if back_settled[u]:
                continue
            back_settled[u] = True
            for i in range(back_offsets[u], back_offsets[u + one]):
                v = np.uint64(back_neighbours[i])
                length = back_distance[u] + _length(back_lengths, i)
                if length < back_distance[v]:
                    back_distance[v] = length
                    after[v] = np.int64(u)
                    back_size = _push(back_keys, back_items, back_size, length, np.int64(v))
                    if length + distance[v] < best[0]:
                        best[0], meeting[0] = length + distance[v], np.int64(v)


@kernel
def settle_many(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, lengths: Any, sources: Any, rows: Any,
    all_keys: Any, all_items: Any,
) -> None:  # fmt: skip
    """``rows[k]``: distances from the k-th source, inf at first; all_keys: float64[workers, room], all_items alike.

    If every edge counts 1, items are a queue.
    """
    one = np.uint64(1)
    keys, items = all_keys[worker], all_items[worker]
    while True:
        begin, end = take(control, np.uint64(sources.size), one)
        if begin == end:
            break
        distance = rows[begin]
        distance[sources[begin]] = 0.0
        if lengths is None:
            items[0] = sources[begin]
            first, last = 0, 1
            while first < last:
                u = np.uint64(items[first])
                first += 1
                for i in range(offsets[u], offsets[u + one]):
                    v = np.uint64(neighbours[i])
                    if distance[v] == np.inf:
                        distance[v] = distance[u] + 1.0
                        items[last] = np.int64(v)
                        last += 1
        else:
            size = _push(keys, items, 0, 0.0, np.int64(sources[begin]))
            while size > 0:
                key, u = keys[0], np.uint64(items[0])
                size = _drop(keys, items, size)
                if key > distance[u]:
                    continue
                for i in range(offsets[u], offsets[u + one]):
                    v = np.uint64(neighbours[i])
                    length = key + lengths[i]
                    if length < distance[v]:
                        distance[v] = length
                        size = _push(keys, items, size, length, np.int64(v))


def distances(worker: Worker, sources: Array, lengths: Array | None) -> Array:
    """Rows of distances from some sources, by a team of cores."""
    cores, graph = worker.cores, worker.graph
    team, n = cores.workers, graph.vertices
    room = graph.vertices + 1 if lengths is None else graph.arcs + 2
    flat = cores.kept(len(sources) * n, np.float64, zero=False)
    cores.publish(np.inf, flat)
    keys = np.empty((team, 1 if lengths is None else room))
    items = np.empty((team, room), np.int64)
    weights = None if lengths is None else frozen(lengths.astype(np.float64))
    with worker.task("distances", len(sources), "sources") as task:
        cores.launch(
            settle_many, len(sources), *graph.out, weights, frozen(np.asarray(sources, np.int64)),
            flat.reshape(len(sources), n), keys, items, task=task,
        )  # fmt: skip
    found: Array = cores.result(flat).reshape(len(sources), n)
    return found
