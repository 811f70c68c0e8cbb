"""Graph search on cores: the neighbour of the highest score, or one that is drawn by score.

Both read a whole row at each visit, or precompute: for every vertex the best neighbour, for every arc the prefix sum of
scores, in which a draw is looked up. Sums are added in the same order, so that walks are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take
from arcflux.spmd.random import key, uniform

__all__ = ["best_neighbours", "choose", "score_sums", "search"]

_ONE = np.uint64(1)


@inner
def _best(offsets: Any, neighbours: Any, scores: Any, v: Any) -> Any:
    """The neighbour of the highest score, of equals the first in the row; -1 without neighbours."""
    goal, most = np.int64(-1), 0.0
    for i in range(offsets[v], offsets[v + _ONE]):
        score = scores[neighbours[i]]
        if goal < 0 or score > most:
            goal, most = np.int64(neighbours[i]), score
    return goal


@inner
def _drawn(offsets: Any, neighbours: Any, scores: Any, sums: Any, v: Any, number: Any) -> Any:
    """A neighbour that is drawn by its score; -1 when all scores are 0."""
    begin, end = offsets[v], offsets[v + _ONE]
    total = 0.0
    if sums is not None:
        total = sums[end - _ONE] if end > begin else 0.0
    else:
        for i in range(begin, end):
            total += scores[neighbours[i]]
    if not total > 0.0:
        return np.int64(-1)
    aim = number * total
    if sums is not None:
        while begin < end:
            middle = (begin + end) >> _ONE
            if sums[middle] > aim:
                end = middle
            else:
                begin = middle + _ONE
        return np.int64(neighbours[begin])
    total = 0.0
    for i in range(begin, end):
        total += scores[neighbours[i]]
        if total > aim:
            return np.int64(neighbours[i])
    return np.int64(-1)


@inner
def _goal(
    offsets: Any, neighbours: Any, scores: Any, best: Any, sums: Any, greedy: Any, v: Any, stream: Any, step: Any
) -> Any:  # fmt: skip
    if best is not None:
        return best[v]
    if greedy:
        return _best(offsets, neighbours, scores, v)
    return _drawn(offsets, neighbours, scores, sums, v, uniform(stream, step << np.uint64(32)))


@kernel
def best_neighbours(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, scores: Any, first: Any, last: Any,
    best: Any,
) -> None:  # fmt: skip
    """best[v]: the best neighbour of each vertex from `first` to before `last`."""
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            best[v] = _best(offsets, neighbours, scores, v)


@kernel
def score_sums(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, scores: Any, first: Any, last: Any,
    sums: Any,
) -> None:  # fmt: skip
    """sums[arc]: the scores of the neighbours of a row up to this one."""
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            total = 0.0
            for i in range(offsets[v], offsets[v + _ONE]):
                total += scores[neighbours[i]]
                sums[i] = total


@kernel
def search(
    worker: Any, workers: Any, control: Any, starts: Any, first: Any, last: Any, seed: Any, offsets: Any,
    neighbours: Any, scores: Any, best: Any, sums: Any, greedy: Any, out: Any,
) -> None:  # fmt: skip
    """out[walk - first]: the vertices of walks `first` to before `last`, -1 behind the end of one."""
    while True:
        begin, end = take(control, last - first, np.uint64(64))
        if begin == end:
            break
        for walk in range(first + begin, first + end):
            row, stream = walk - first, key(seed, walk)
            v = np.int64(starts[walk % np.uint64(starts.size)])
            out[row, 0] = v
            for step in range(1, out.shape[1]):
                if v >= 0:
                    at = np.uint64(v)
                    v = np.int64(
                        _goal(offsets, neighbours, scores, best, sums, greedy, at, stream, np.uint64(step - 1))
                    )
                out[row, step] = v


@kernel
def choose(
    worker: Any, workers: Any, control: Any, step: Any, seed: Any, walks: Any, at: Any, offsets: Any, neighbours: Any,
    scores: Any, best: Any, sums: Any, greedy: Any, goals: Any,
) -> None:  # fmt: skip
    """goals[i]: the next vertices of walkers at a worker's own vertices; -1 if they end."""
    while True:
        begin, end = take(control, np.uint64(at.size), np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            stream = key(seed, walks[i])
            goals[i] = _goal(offsets, neighbours, scores, best, sums, greedy, at[i], stream, step)
