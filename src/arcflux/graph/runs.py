"""Runs: stretches of vertices whose in-neighbours stand at the same distances, as in meshes, images and rings.

Within a run, a sweep over all arcs need not read who the neighbours are: it adds whole stretches of values at a time,
which the compiler turns into vector instructions. (Matrices are stored by diagonals for the same reason.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Graph
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.memory import frozen
from arcflux.spmd.team import Team

__all__ = ["Runs", "likely", "runs", "stretches"]

Array = NDArray[Any]

# Shorter runs, on average, are not worth their while.
_LENGTH = 32
_SAMPLE = 256
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Runs:
    """Where runs begin, by vertex, with the number of vertices at the end; and the run of each chunk's first vertex."""

    starts: Array
    first: Array


def runs(graph: Graph, chunk: int) -> Runs | None:
    """The runs of a graph, if they are long, for sweeps by so many vertices at a time; found once and kept with it.

    Every process finds them for itself: they are small, and what one rank has found before, another may not have.
    """
    name = ("runs", chunk)
    if name not in graph.kept:
        graph.kept[name] = _found(graph, chunk, Team()) if likely(*graph.into) else None
    found: Runs | None = graph.kept[name]
    return found


def likely(offsets: Array, neighbours: Array) -> bool:
    """Whether nearly all rows, by a sample, are like the row before."""
    vertices = len(offsets) - 1
    if vertices < 2:
        return False
    some = np.unique(np.linspace(1, vertices - 1, _SAMPLE).astype(np.int64))
    here, before = (offsets[some + k].astype(np.int64) for k in (0, -1))
    degrees = offsets[some + 1].astype(np.int64) - here
    alike = degrees == here - before
    if alike.mean() < 1 - 4 / _LENGTH:
        return False
    rows = zip(before[alike].tolist(), here[alike].tolist(), degrees[alike].tolist(), strict=True)
    same = sum(np.array_equal(neighbours[b : b + d] + 1, neighbours[h : h + d]) for b, h, d in rows)
    return bool(same >= (1 - 4 / _LENGTH) * len(some))


def stretches(offsets: Array, neighbours: Array, team: Team) -> Array | None:
    """The vertices whose row is not that of the vertex before, moved on by one, and how many vertices there are.

    None when stretches are short.
    """
    vertices = len(offsets) - 1
    other = team.lasting(vertices, np.bool_)
    team.launch(_differ, -(-vertices // _CHUNK), offsets, neighbours, other)
    starts = np.append(np.flatnonzero(other), vertices).astype(np.uint64)
    return starts if (len(starts) - 1) * _LENGTH <= vertices else None


def _found(graph: Graph, chunk: int, team: Team) -> Runs | None:
    starts = stretches(*graph.into, team)
    if starts is None:
        return None
    first = np.searchsorted(starts, np.arange(0, graph.vertices, chunk).astype(np.uint64), side="right") - 1
    return Runs(frozen(starts), frozen(first.astype(np.uint64)))


@kernel
def _differ(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, other: Any) -> None:
    """Say of each vertex whether its row is not that of the vertex before, moved on by one."""
    one, n = np.uint64(1), np.uint64(offsets.size - 1)
    while True:
        begin = np.uint64(claim(control)) * np.uint64(_CHUNK)
        if begin >= n:
            break
        for v in range(begin, min(begin + np.uint64(_CHUNK), n)):
            row, degree = offsets[v], offsets[v + one] - offsets[v]
            same = v > 0 and offsets[v] - offsets[v - one] == degree
            i = np.uint64(0)
            while same and i < degree:
                same = np.uint64(neighbours[row - degree + i]) + one == np.uint64(neighbours[row + i])
                i += one
            other[v] = not same
