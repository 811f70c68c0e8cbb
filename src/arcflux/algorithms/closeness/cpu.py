"""Searches from all vertices, 256 at a time; each worker has its own batches.

A vertex has four words of bits for the searches that have visited it, and four for those that arrived last. A batch is
a ball of vertices that are near each other: their searches reach other vertices at about the same time, so that one
pass over a row serves many of them (Liu, Huang, Hu, "iBFS: concurrent breadth-first search on GPUs", SIGMOD 2016). If
few vertices have new bits, they push them along their edges; if many do, vertices with missing searches pull.

All sums are of integers, and do not depend on the order of additions: one over a distance is rounded to a fraction of
2^-k, with k such that the sum over all vertices fits into a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.closeness import harmonic_unit
from arcflux.engine.worker import Worker
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, count_ones
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import STOP, run

__all__ = ["distances"]

Array = NDArray[Any]
_WORDS = 4
BATCH = 64 * _WORDS
# Vertices with new bits push while they have at most this share of all arcs.
_PUSH_SHARE = 8


@kernel
def balls(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, order: Any, used: Any) -> None:
    """An order of all vertices in which each BATCH is what a search from one of them visits first.

    used: bool[n], False at first. If a search ends, another one begins.
    """
    one, n = np.uint64(1), order.size
    placed, begin, seed = 0, 0, 0
    while placed < n:
        if begin == placed or placed % BATCH == 0:
            while used[seed]:
                seed += 1
            begin = placed
            order[placed] = seed
            used[seed] = True
            placed += 1
            continue
        u = np.uint64(order[begin])
        begin += 1
        for i in range(offsets[u], offsets[u + one]):
            v = neighbours[i]
            if not used[v] and placed % BATCH != 0:
                used[v] = True
                order[placed] = v
                placed += 1


@inner
def _note(
    new: Any, v: Any, depth: Any, share: Any, reached: Any, total: Any, harmonic: Any, farthest: Any, base: Any
) -> None:  # fmt: skip
    """`new` searches arrived at v at this depth."""
    reached[base + v] += new
    total[base + v] += new * depth
    harmonic[base + v] += new * share
    farthest[base + v] = max(farthest[base + v], depth)


@inner
def _settle(
    v: Any, seen: Any, fresh: Any, arrived: Any, row: Any
) -> Any:  # fmt: skip
    """The arrived bits of v become fresh and visited; returns how many searches that are."""
    count = np.int64(0)
    for w in range(_WORDS):
        k = row + v * _WORDS + w
        new = arrived[k] & ~seen[k]
        seen[k] |= new
        fresh[k] = new
        arrived[k] = np.uint64(0)
        count += np.int64(count_ones(new))
    return count


@inner
def _push(
    offsets: Any, neighbours: Any, seen: Any, fresh: Any, arrived: Any, row: Any, queues: Any, here: Any, many: Any,
    there: Any,
) -> Any:  # fmt: skip
    """Vertices of a queue push their fresh bits along their edges; receivers are enqueued once, and counted."""
    found = 0
    for k in range(many):
        v = np.int64(queues[here + k])
        for i in range(offsets[v], offsets[v + 1]):
            u = np.int64(neighbours[i])
            before, news = np.uint64(0), np.uint64(0)
            for w in range(_WORDS):
                before |= arrived[row + u * _WORDS + w]
                news |= fresh[row + v * _WORDS + w] & ~seen[row + u * _WORDS + w]
            if news == 0:
                continue
            if before == 0:
                queues[there + found] = u
                found += 1
            for w in range(_WORDS):
                arrived[row + u * _WORDS + w] |= fresh[row + v * _WORDS + w] & ~seen[row + u * _WORDS + w]
    return found


@inner
def _pull(
    in_offsets: Any, in_neighbours: Any, size: Any, seen: Any, fresh: Any, arrived: Any, row: Any, queues: Any,
    there: Any,
) -> Any:  # fmt: skip
    """Vertices with missing searches pull the fresh bits of their neighbours."""
    found = 0
    for v in range(in_offsets.size - 1):
        known = np.int64(0)
        for w in range(_WORDS):
            known += np.int64(count_ones(seen[row + v * _WORDS + w]))
        if known == size:
            continue
        a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        for i in range(in_offsets[v], in_offsets[v + 1]):
            k = row + np.int64(in_neighbours[i]) * _WORDS
            a |= fresh[k]
            b |= fresh[k + 1]
            c |= fresh[k + 2]
            d |= fresh[k + 3]
        k = row + v * _WORDS
        a, b, c, d = a & ~seen[k], b & ~seen[k + 1], c & ~seen[k + 2], d & ~seen[k + 3]
        if (a | b | c | d) != 0:
            arrived[k], arrived[k + 1], arrived[k + 2], arrived[k + 3] = a, b, c, d
            queues[there + found] = v
            found += 1
    return found


@kernel
def search(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, in_offsets: Any, in_neighbours: Any,
    sources: Any, unit: Any, seen: Any, fresh: Any, arrived: Any, queues: Any, reached: Any, total: Any, harmonic: Any,
    farthest: Any,
) -> None:  # fmt: skip
    """Add the distances of `sources` to every vertex's sums, BATCH by BATCH; int64[workers * n] each.

    seen, fresh, arrived: uint64[workers * n * _WORDS]; queues: integer[workers * 2 * n]; unit: the value of 1 in
    harmonic.
    """
    one, n = np.uint64(1), (offsets.size - 1)
    base, row = worker * n, worker * n * _WORDS
    here, there = worker * 2 * n, worker * 2 * n + n
    arcs = np.int64(neighbours.size)
    while True:
        first = claim(control) * BATCH
        if first >= sources.size or control[STOP] != 0:
            return
        size = min(BATCH, sources.size - first)
        for k in range(row, row + n * _WORDS):
            seen[k] = np.uint64(0)
            fresh[k] = np.uint64(0)
            arrived[k] = np.uint64(0)
        many, load = size, np.int64(0)
        for k in range(size):
            v = np.int64(sources[first + k])
            seen[row + v * _WORDS + (k >> 6)] |= one << np.uint64(k & 63)
            fresh[row + v * _WORDS + (k >> 6)] |= one << np.uint64(k & 63)
            queues[here + k] = v
            load += np.int64(offsets[v + 1] - offsets[v])
        depth = np.int64(0)
        while many > 0 and control[STOP] == 0:
            depth += 1
            share = (unit + depth // 2) // depth
            if load * _PUSH_SHARE <= arcs:
                found = _push(offsets, neighbours, seen, fresh, arrived, row, queues, here, many, there)
            else:
                found = _pull(in_offsets, in_neighbours, size, seen, fresh, arrived, row, queues, there)
            for k in range(many):
                v = np.int64(queues[here + k])
                for w in range(_WORDS):
                    fresh[row + v * _WORDS + w] = np.uint64(0)
            load = np.int64(0)
            for k in range(found):
                v = np.int64(queues[there + k])
                new = _settle(v, seen, fresh, arrived, row)
                _note(new, v, depth, share, reached, total, harmonic, farthest, base)
                load += np.int64(offsets[v + 1] - offsets[v])
            here, there, many = there, here, found


def distances(worker: Worker) -> tuple[Array, Array, Array, Array]:
    """For every vertex: how many others lead to it, the sum of their distances, of one over these, and the maximum."""
    graph, cores = worker.graph, worker.cores
    n, kind = graph.vertices, graph.out.neighbours.dtype
    order = np.empty(n, kind)
    run(balls, 1, *graph.out, order, np.zeros(n, np.bool_), threads=1)
    batches = -(-n // BATCH)
    first, last = worker.share(batches)
    workers = cores.workers
    unit = harmonic_unit(n)
    words = [cores.host(workers * n * _WORDS, np.uint64) for _ in range(3)]
    counts = [cores.host(workers * n, np.int64) for _ in range(4)]
    for array in counts:
        cores.publish(0, array)
    given = *graph.out, *graph.into, frozen(order[BATCH * first : BATCH * last]), np.int64(unit), *words
    queues = cores.host(workers * 2 * n, kind)
    cores.launch(search, last - first, *given, queues, *counts, visits=4 * batches * (n + graph.arcs))
    cores.together()
    reached, total, harmonic = (worker.sum(array.reshape(workers, n).sum(axis=0)) for array in counts[:3])
    farthest = -worker.least(-counts[3].reshape(workers, n).max(axis=0, initial=0))
    return reached, total, harmonic.astype(np.float64) / unit, farthest
