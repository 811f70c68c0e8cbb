"""A round of belief propagation on cores: for each vertex and pattern edge its message, and the best offer it gets.

The distance of an edge's attributes to those of a pattern edge is computed on the fly: a matrix of all of them would be
many times as large as the graph. Beliefs are not normalised, which leaves out a constant for each vertex of the
pattern: messages are shifted by their maximum anyway.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take

__all__ = ["CHUNK", "offer", "speak"]

CHUNK = 64
_ONE = np.uint64(1)


@kernel
def speak(
    worker: Any, workers: Any, control: Any, nodes: Any, sources: Any, targets: Any, forward: Any, backward: Any,
    most: Any, beliefs: Any, behind: Any, ahead: Any, tops: Any,
) -> None:  # fmt: skip
    """behind, ahead [v, q]: v's belief for pattern edge q's source and target, minus the message of that edge.

    Messages count less most[0] (forward) and most[1] (backward). beliefs: float64[workers, labels] is scratch;
    tops[worker, 0] and tops[worker, 1] are the largest of behind and of ahead, -inf before.
    """
    belief = beliefs[worker]
    while True:
        begin, end = take(control, np.uint64(nodes.shape[0]), np.uint64(CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            for p in range(belief.size):
                belief[p] = -nodes[v, p]
            for q in range(sources.size):
                belief[targets[q]] += forward[v, q] - most[0, q]
                belief[sources[q]] += backward[v, q] - most[1, q]
            for q in range(sources.size):
                behind[v, q] = belief[sources[q]] - (backward[v, q] - most[1, q])
                ahead[v, q] = belief[targets[q]] - (forward[v, q] - most[0, q])
                tops[worker, 0, q] = max(tops[worker, 0, q], behind[v, q])
                tops[worker, 1, q] = max(tops[worker, 1, q], ahead[v, q])


@inner
def _better(row: Any, theirs: Any, marks: Any, arc: Any, wanted: Any) -> None:
    """row: the maximum of it and of a neighbour's values, minus the distance of the arc's attributes."""
    if marks is None:
        for q in range(row.size):
            row[q] = max(row[q], theirs[q])
    elif marks.shape[1] == 1:
        mark = marks[arc, 0]
        for q in range(row.size):
            row[q] = max(row[q], theirs[q] - abs(mark - wanted[0, q]))
    else:
        for q in range(row.size):
            square = 0.0
            for k in range(marks.shape[1]):
                square += (marks[arc, k] - wanted[k, q]) ** 2
            row[q] = max(row[q], theirs[q] - math.sqrt(square))


@kernel
def offer(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, places: Any,
    marks: Any, wanted: Any, values: Any, null: Any, out: Any, tops: Any,
) -> None:  # fmt: skip
    """out[v - first, q]: the maximum of null[q] and of values[u, q] minus the distance of the arc, over the row of v.

    The arc at position i of the rows has its attributes at marks[places[i]] (None: at i); without attributes (None) all
    distances are 0. tops[worker]: the maximum of all, -inf before.
    """
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            row = out[v - first]
            for q in range(row.size):
                row[q] = null[q]
            for i in range(offsets[v], offsets[v + _ONE]):
                arc = i if places is None else np.uint64(places[i])
                _better(row, values[neighbours[i]], marks, arc, wanted)
            for q in range(row.size):
                tops[worker, q] = max(tops[worker, q], row[q])
