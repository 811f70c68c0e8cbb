"""Louvain and Leiden, level by level: vertices move to communities, communities become vertices.

Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", 2008. Traag, Waltman, van
Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019.

Both maximise the weight within communities minus rate * mass^2 of each: with a vertex's strength as its mass that is
modularity, with 1 for each vertex it is the constant Potts model. Moves change only sums of integers, so the result is
the same on any number of workers (cpu.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arcflux.applications.louvain.moves import Array, Level, Moves, Tables
from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker

__all__ = ["Method", "leiden", "louvain", "quality"]

# The communities of every vertex, level by level, the quality of the last ones, and the bytes that were sent.
Found = tuple[list[Array], float, Mapping[str, int]]
# How often vertices are reconsidered at the end, at most.
_POLISHES = 16


@dataclass(frozen=True)
class Method:
    """The parameters. rate: the factor of a squared mass; seed: of the order in which vertices move."""

    rate: float
    threshold: float
    max_level: int | None
    seed: int

    def depths(self, level: Level) -> range:
        """The levels that there may be."""
        return range(level.size if self.max_level is None else self.max_level)


def louvain(worker: Worker, level: Level, method: Method) -> Found:
    """Communities level by level, while there is more to gain; in the end single vertices move once more."""
    first, own, tables = level, np.arange(level.size, dtype=np.uint32), Tables(worker, level.size)
    value, found, traffic = quality(level, method.rate), [], Traffic(worker)
    with worker.task("louvain", len(method.depths(level)), "levels") as task:
        for depth in method.depths(level):
            worker.superstep(depth)
            moves = Moves(worker, level, tables, method.rate, (method.seed, depth), traffic)
            labels, count = _renumbered(moves.settled(np.arange(level.size, dtype=np.uint32)))
            level = moves.contracted(labels, count)
            before, value = value, quality(level, method.rate)
            if value <= before:
                break
            own = labels[own]
            found.append(own)
            task.at(depth + 1)
            if value - before <= method.threshold:
                break
    moves = Moves(worker, first, tables, method.rate, (method.seed, len(found)), traffic)
    polished, _ = _renumbered(moves.polished(_first_member(own), _POLISHES))
    return [*found, polished], _value(moves, polished), traffic.total()


def leiden(worker: Worker, level: Level, method: Method) -> Found:
    """The same with a refinement of communities before they become vertices, until it joins nothing any more."""
    first, own, tables = level, np.arange(level.size, dtype=np.uint32), Tables(worker, level.size)
    start, found, value, traffic = own, [], -np.inf, Traffic(worker)
    with worker.task("leiden", len(method.depths(level)), "levels") as task:
        for depth in method.depths(level):
            worker.superstep(depth)
            moves = Moves(worker, level, tables, method.rate, (method.seed, depth), traffic)
            labels, parts = _renumbered(moves.settled(start))
            inner, size = _renumbered(moves.refined(labels, parts))
            last = size == level.size or depth + 1 == method.max_level
            if method.threshold > 0:
                before, value = value, _value(moves, labels)
                last = last or value - before <= method.threshold
            found.append(labels[own])
            task.at(depth + 1)
            if last:
                break
            level = moves.contracted(inner, size)
            own = inner[own]
            part = np.empty(size, np.uint32)
            part[inner] = labels
            start = _first_member(part)
    moves = Moves(worker, first, tables, method.rate, (method.seed, len(found)), traffic)
    labels = _settled_pieces(moves, found[-1] if found else own)
    return [*found, labels], _value(moves, labels), traffic.total()


def _settled_pieces(moves: Moves, labels: Array) -> Array:
    """Communities that are connected, and that no single move improves, if some turns are enough for both."""
    for _ in range(_POLISHES):
        polished, count = _renumbered(moves.polished(_first_member(labels), _POLISHES))
        labels, pieces = _renumbered(moves.connected(polished))  # separate pieces have a smaller sum of squares
        if pieces == count:
            break
    return labels


def _value(moves: Moves, labels: Array) -> float:
    """The quality of communities of a level's vertices."""
    level = moves.level
    return quality(level, moves.rate, moves.within(labels), np.bincount(labels, level.mass))


def quality(level: Level, rate: float, within: int = 0, mass: Array | None = None) -> float:
    """The objective, as a share of all weight: of the vertices as communities.

    Or of communities that have so much weight of arcs within, and these masses.
    """
    squares = float(((level.mass if mass is None else mass).astype(np.float64) ** 2).sum())
    return (within + int(level.loops.sum()) - rate * squares) / max(1, level.weight)


def _renumbered(community: Array) -> tuple[Array, int]:
    """Labels from 0 on without gaps, in the same order, and how many there are."""
    there = np.zeros(len(community), bool)
    there[community] = True
    numbers = np.cumsum(there, dtype=np.uint32) - np.uint32(1)
    return numbers[community], int(np.count_nonzero(there))


def _first_member(part: Array) -> Array:
    """Of each vertex, the first vertex of its part."""
    first = np.zeros(len(part), np.uint32)
    first[part[::-1]] = np.arange(len(part), dtype=np.uint32)[::-1]
    return first[part]
