"""Common neighbours on a team of cores: sorted rows are merged for pairs, spread out for the best of each vertex."""

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

__all__ = ["best", "common"]

Array = NDArray[Any]
_CHUNK = 64


@inner
def _find(neighbours: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The first place from `low` to before `high` of a sorted row that is not below `wanted`."""
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if neighbours[middle] < wanted:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def merge_pairs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, left: Any, right: Any, share: Any, into: Any
) -> None:  # fmt: skip
    """``into[k]``: the sum of the shares of the neighbours that the k-th pair has in common."""
    one = np.uint64(1)
    while True:
        begin, end = take(control, np.uint64(left.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            u, v = np.uint64(left[k]), np.uint64(right[k])
            a, a_end, b, b_end = offsets[u], offsets[u + one], offsets[v], offsets[v + one]
            if a_end - a > b_end - b:
                a, a_end, b, b_end = b, b_end, a, a_end
            total = 0.0
            if (a_end - a) << np.uint64(4) < b_end - b:  # a hub: its row is searched, not walked
                for i in range(a, a_end):
                    b = _find(neighbours, b, b_end, neighbours[i])
                    if b < b_end and neighbours[b] == neighbours[i]:
                        total += share[neighbours[i]]
                a = a_end
            while a < a_end and b < b_end:
                x, y = neighbours[a], neighbours[b]
                if x == y:
                    total += share[x]
                a += np.uint64(x <= y)
                b += np.uint64(y <= x)
            into[k] = total


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

    totals: float64[workers, n] are 0 and 0 again after; touched: int64[workers, n].
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


def common(worker: Worker, rows: Graph, left: Array, right: Array, share: Array) -> Array:
    """The sum of the shares of common neighbours, for each pair."""
    into = worker.cores.kept(len(left), np.float64)
    arguments = *rows.out, frozen(left), frozen(right), frozen(share), into
    worker.cores.launch(merge_pairs, -(-len(left) // _CHUNK), *arguments)
    return worker.cores.result(into)


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
