"""Louvain and Leiden, level by level: vertices move to communities, communities become vertices.

Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", 2008. Traag, Waltman, van
Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019.

Both maximise the weight within communities less rate * mass^2 of each: with a vertex's strength as its mass that is
modularity, with 1 for each vertex it is the constant Potts model. What moves changes nothing but sums of whole
numbers, so the result is the same on any number of workers (cpu.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcflux.applications.louvain.moves import Array, Level, Moves
from arcflux.engine.worker import Worker

__all__ = ["Method", "leiden", "louvain", "quality"]

Found = list[tuple[Array, float]]
# How often vertices look around again in the end, at most.
_POLISHES = 16


@dataclass(frozen=True)
class Method:
    """What is asked for. rate: how much of a squared mass counts; seed: of the order in which vertices move."""

    rate: float
    threshold: float
    max_level: int | None
    seed: int

    def depths(self, level: Level) -> range:
        """The levels that there may be."""
        return range(level.size if self.max_level is None else self.max_level)


def louvain(worker: Worker, level: Level, method: Method) -> Found:
    """The community of every vertex and the quality, level by level, while there is more to gain.

    In the end single vertices move once more, while that is worthwhile.
    """
    first, own = level, np.arange(level.size, dtype=np.uint32)
    value, found = quality(level, method.rate), []
    with worker.task("louvain", len(method.depths(level)), "levels") as task:
        for depth in method.depths(level):
            worker.superstep(depth)
            moves = Moves(worker, level, method.rate, method.seed, depth)
            labels, count = _renumbered(moves.settled(np.arange(level.size, dtype=np.uint32)))
            level = moves.contracted(labels, count)
            before, value = value, quality(level, method.rate)
            if value <= before:
                break
            own = labels[own]
            found.append((own, value))
            task.at(depth + 1)
            if value - before <= method.threshold:
                break
    return [*found, _polished(worker, first, method, own, len(found))]


def leiden(worker: Worker, level: Level, method: Method) -> Found:
    """The same with a refinement of communities before they become vertices, until it joins nothing any more."""
    first, own = level, np.arange(level.size, dtype=np.uint32)
    start = own
    found: Found = []
    with worker.task("leiden", len(method.depths(level)), "levels") as task:
        for depth in method.depths(level):
            worker.superstep(depth)
            moves = Moves(worker, level, method.rate, method.seed, depth)
            labels, _ = _renumbered(moves.settled(start))
            inner, size = _renumbered(moves.refined(labels))
            last = size == level.size or depth + 1 == method.max_level
            level = moves.contracted(inner, size)
            part = np.empty(size, np.uint32)
            part[inner] = labels
            own = inner[own]
            value = quality(level, method.rate, part)
            last = last or (method.threshold > 0 and bool(found) and value - found[-1][1] <= method.threshold)
            found.append((part[own], value))
            task.at(depth + 1)
            if last:
                break
            start = _first_member(part)
    labels = found[-1][0] if found else own
    for turn in range(_POLISHES):
        polished, _ = _polished(worker, first, method, labels, len(found) + turn)
        labels = _connected(first, polished)
        if labels.max(initial=0) == polished.max(initial=0):  # nothing fell apart, and nobody gains
            break
    return [*found, (labels, quality(first, method.rate, labels))]


def _polished(worker: Worker, level: Level, method: Method, own: Array, depth: int) -> tuple[Array, float]:
    """Communities after single vertices have moved once more, until none gains.

    A vertex that rests does not see that a community far away has become lighter: so all look around again, until
    nobody moves.
    """
    moves = Moves(worker, level, method.rate, method.seed, depth)
    for _ in range(_POLISHES):
        before, own = own, _renumbered(moves.settled(_first_member(own), 0.0))[0]
        if (_first_member(before) == _first_member(own)).all():
            break
    labels, count = _renumbered(own)
    return labels, quality(moves.contracted(labels, count), method.rate)


def quality(level: Level, rate: float, part: Array | None = None) -> float:
    """What is maximised, as a part of all weight: of the vertices as communities, or of parts of them."""
    inside, mass = int(level.loops.sum()), level.mass
    if part is not None:
        together = _together(level, part)[1]
        inside += int(together.sum() if level.weights is None else level.weights[together].sum())
        mass = np.bincount(part, level.mass)
    squares = float((mass.astype(np.float64) ** 2).sum())
    return (inside - rate * squares) / max(1, level.weight)


def _renumbered(community: Array) -> tuple[Array, int]:
    """Labels from 0 on without gaps, in the same order, and how many there are."""
    there = np.zeros(len(community), bool)
    there[community] = True
    numbers = np.cumsum(there, dtype=np.uint32) - np.uint32(1)
    return numbers[community], int(there.sum())


def _first_member(part: Array) -> Array:
    """Of each vertex, the first vertex of its part."""
    first = np.zeros(len(part), np.uint32)
    first[part[::-1]] = np.arange(len(part), dtype=np.uint32)[::-1]
    return first[part]


def _connected(level: Level, part: Array) -> Array:
    """Parts that are not connected fall into those that are: each leaves fewer squares."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows, together = _together(level, part)
    ones, shape = np.ones(int(together.sum()), np.int8), (level.size, level.size)
    kept = csr_array((ones, (rows[together], level.neighbours[together])), shape)
    labels: Array = connected_components(kept, directed=False)[1].astype(np.uint32)
    return labels


def _together(level: Level, part: Array) -> tuple[Array, Array]:
    """The row of each arc, and whether it joins two vertices of the same part; loops do not."""
    rows = np.repeat(np.arange(level.size, dtype=level.neighbours.dtype), np.diff(level.offsets).astype(np.int64))
    return rows, (part[rows] == part[level.neighbours]) & (rows != level.neighbours)
