"""Common neighbours on a team of cores: rows are merged or marked for pairs, expanded for the best of each vertex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen, zeros
from arcflux.spmd.search import lower_bound

__all__ = ["best", "common"]

Array = NDArray[Any]
_CHUNK = 64
# Searching a long row for a neighbour takes about as long as walking this many entries.
_SEARCH = np.uint64(16)


@kernel
def group_pairs(
    worker: Any, workers: Any, control: Any, offsets: Any, left: Any, right: Any, places: Any, order: Any
) -> None:  # fmt: skip
    """`order`: the pairs by the end that has more neighbours; places: uint64[n + 1] is scratch. One worker does it."""
    if worker != 0:
        return
    places[:] = 0
    for k in range(np.uint64(left.size)):
        places[_hub(offsets, left[k], right[k]) + np.uint64(1)] += np.uint64(1)
    for v in range(np.uint64(1), np.uint64(places.size)):
        places[v] += places[v - np.uint64(1)]
    for k in range(np.uint64(left.size)):
        hub = _hub(offsets, left[k], right[k])
        order[places[hub]] = k
        places[hub] += np.uint64(1)


@inner
def _hub(offsets: Any, left: Any, right: Any) -> Any:
    """The vertex with more neighbours; of equals the second."""
    one, u, v = np.uint64(1), np.uint64(left), np.uint64(right)
    return u if offsets[u + one] - offsets[u] > offsets[v + one] - offsets[v] else v


@inner
def _other(offsets: Any, left: Any, right: Any, hub: Any) -> Any:
    """The end of a pair that is not its hub, and its number of neighbours."""
    one, other = np.uint64(1), np.uint64(left) + np.uint64(right) - hub
    return other, offsets[other + one] - offsets[other]


@inner
def _marking_pays(offsets: Any, left: Any, right: Any, order: Any, begin: Any, end: Any, hub: Any) -> Any:
    """Whether marking a hub's row, and clearing it, costs less than it saves for the hub's pairs from `begin` on."""
    one = np.uint64(1)
    size = offsets[hub + one] - offsets[hub]
    saved = np.uint64(0)
    for k in range(begin, end):
        pair = np.uint64(order[k])
        if _hub(offsets, left[pair], right[pair]) != hub:
            break
        _, few = _other(offsets, left[pair], right[pair], hub)
        saved += min(few * _SEARCH, size)
    return saved > size + size


@inner
def _meet(neighbours: Any, a: Any, a_end: Any, b: Any, b_end: Any, share: Any) -> Any:
    """The sum of the shares of the common elements of two sorted rows, the shorter one first."""
    total = 0.0
    searches = (a_end - a) * _SEARCH < b_end - b
    while a < a_end and b < b_end:
        if searches:
            b = lower_bound(neighbours, b, b_end, neighbours[a])
            if b == b_end:
                break
        x, y = neighbours[a], neighbours[b]
        if x == y:
            total += 1.0 if share is None else share[x]
        a += np.uint64(x <= y)
        b += np.uint64(y <= x)
    return total


@inner
def _meet_marked(neighbours: Any, a: Any, a_end: Any, mark: Any, share: Any) -> Any:
    """The sum of the shares of the marked elements of a row."""
    if share is None:
        found = np.uint64(0)
        for i in range(a, a_end):
            found += np.uint64(mark[neighbours[i]])
        return np.float64(found)
    total = 0.0
    for i in range(a, a_end):
        if mark[neighbours[i]]:
            total += share[neighbours[i]]
    return total


@kernel
def meet_pairs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, left: Any, right: Any, order: Any,
    share: Any, marks: Any, into: Any,
) -> None:  # fmt: skip
    """``into[k]``: the sum of the shares of the neighbours that the k-th pair has in common; without `share` 1 each.

    Pairs are ordered by hub. Where it pays, the hub's neighbours are marked, and only the other rows are walked; the
    order of sums is the same. marks: uint8[workers, n], zero before and after.
    """
    one, mark = np.uint64(1), marks[worker]
    none = np.uint64(offsets.size)
    while True:
        begin, end = take(control, np.uint64(order.size), np.uint64(_CHUNK))
        if begin == end:
            break
        last, marked = none, False
        for k in range(begin, end):
            pair = np.uint64(order[k])
            hub = _hub(offsets, left[pair], right[pair])
            if hub != last:
                if marked:
                    for i in range(offsets[last], offsets[last + one]):
                        mark[neighbours[i]] = 0
                last, marked = hub, _marking_pays(offsets, left, right, order, k, end, hub)
                if marked:
                    for i in range(offsets[hub], offsets[hub + one]):
                        mark[neighbours[i]] = 1
            other, _ = _other(offsets, left[pair], right[pair], hub)
            a, a_end = offsets[other], offsets[other + one]
            if marked:
                into[pair] = _meet_marked(neighbours, a, a_end, mark, share)
            else:
                into[pair] = _meet(neighbours, a, a_end, offsets[hub], offsets[hub + one], share)
        if marked:
            for i in range(offsets[last], offsets[last + one]):
                mark[neighbours[i]] = 0


@inner
def _score(total: Any, one: Any, other: Any, code: Any) -> Any:
    if code == 0:
        return total / (one + other - total)
    if code == 1:
        return total / min(one, other)
    if code == 2:
        return total / math.sqrt(one * other)
    return total


@kernel
def spread(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, begin_row: Any, k: Any, code: Any,
    share: Any, totals: Any, touched: Any, who: Any, score: Any,
) -> None:  # fmt: skip
    """The k best of each vertex from `begin_row` on; who: int64[rows, k], -1 at first; score alike.

    totals: float64[workers, n] are 0 before and after; touched: int64[workers, n].
    """
    one = np.uint64(1)
    total, seen = totals[worker], touched[worker]
    while True:
        begin, end = take(control, np.uint64(who.shape[0]), np.uint64(_CHUNK))
        if begin == end:
            break
        for row in range(begin, end):
            v = np.uint64(begin_row) + row
            count = 0
            for i in range(offsets[v], offsets[v + one]):
                u = np.uint64(neighbours[i])
                if share[u] == 0.0:
                    continue
                for j in range(offsets[u], offsets[u + one]):
                    w = np.uint64(neighbours[j])
                    if w != v:
                        if total[w] == 0.0:
                            seen[count] = np.int64(w)
                            count += 1
                        total[w] += share[u]
            degree = np.float64(offsets[v + one] - offsets[v])
            held = 0
            for c in range(count):
                w = np.uint64(seen[c])
                value = _score(total[w], degree, np.float64(offsets[w + one] - offsets[w]), code)
                total[w] = 0.0
                place = held
                while place > 0 and (
                    score[row, place - 1] < value
                    or (score[row, place - 1] == value and who[row, place - 1] > np.int64(w))
                ):
                    place -= 1
                if place == k:
                    continue
                held = min(held + 1, k)
                for shifted in range(held - 1, place, -1):
                    who[row, shifted] = who[row, shifted - 1]
                    score[row, shifted] = score[row, shifted - 1]
                who[row, place] = np.int64(w)
                score[row, place] = value


def common(worker: Worker, rows: Graph, left: Array, right: Array, share: Array | None) -> Array:
    """The sum of the shares of common neighbours, for each pair; without `share`, how many they are."""
    cores = worker.cores
    into, order = cores.kept(len(left), np.float64), cores.host(len(left), np.int64)
    ends = frozen(left), frozen(right)
    visits = len(left) + rows.vertices
    cores.launch(
        group_pairs, 1, rows.out.offsets, *ends, cores.host(rows.vertices + 1, np.uint64), order, visits=visits
    )
    cores.together()
    marks = zeros(cores.workers * rows.vertices, np.uint8).reshape(cores.workers, -1)
    shares = None if share is None else frozen(share)
    cores.launch(meet_pairs, -(-len(left) // _CHUNK), *rows.out, *ends, order, shares, marks, into)
    return cores.result(into)


def best(
    worker: Worker, rows: Graph, span: tuple[int, int], k: int, code: int, share: Array
) -> tuple[Array, Array]:  # fmt: skip
    """The k best of each vertex of a span, and their scores, flat."""
    cores, (first, last) = worker.cores, span
    who, score = (cores.kept((last - first) * k, kind) for kind in (np.int64, np.float64))
    cores.publish(-1, who)
    scratch = [zeros(cores.workers * rows.vertices, kind).reshape(cores.workers, -1) for kind in (float, np.int64)]
    with worker.task("compare neighbours", last - first, "vertices") as task:
        cores.launch(
            spread, -(-(last - first) // _CHUNK), *rows.out, np.int64(first), np.int64(k), np.int64(code),
            frozen(share), *scratch, who.reshape(-1, k), score.reshape(-1, k), task=task,
        )  # fmt: skip
    return cores.result(who), cores.result(score)
