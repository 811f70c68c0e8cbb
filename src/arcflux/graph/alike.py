"""Vertices that are alike: their out-neighbours stand at the same distances, as those inside a mesh or an image do.

A graph of which nearly all vertices are of a few kinds need not be read to know who is next to whom: the kind of a
vertex, one byte, says it. A frontier that crosses a mesh has its vertices far apart, so that each row would be fetched
for itself; kinds of many vertices share a cache line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Graph
from arcflux.graph.runs import likely, stretches
from arcflux.spmd.memory import frozen
from arcflux.spmd.team import Team

__all__ = ["NONE", "Kinds", "kinds"]

Array = NDArray[Any]

# A kind is one byte, and 0 says that a vertex is of none: its row has to be read.
_MOST = 255
# Rows longer than this are read, so that all distances stay in the nearest cache; and small graphs are there anyway.
_LONGEST = 16
_FEWEST_VERTICES = 1 << 14


@dataclass(frozen=True)
class Kinds:
    """The kind of each vertex, and by kind where its distances begin; they are added to a vertex, modulo 2^64."""

    of: Array
    rows: Array
    distances: Array


NONE = Kinds(*(frozen(np.empty(0, kind)) for kind in (np.uint8, np.uint64, np.uint64)))


def kinds(graph: Graph) -> Kinds:
    """The kinds of a graph, empty if its vertices are not alike; found once and kept with it."""
    if "kinds" not in graph.kept:
        graph.kept["kinds"] = NONE
        if graph.vertices >= _FEWEST_VERTICES and likely(*graph.out):
            graph.kept["kinds"] = _found(graph)
    found: Kinds = graph.kept["kinds"]
    return found


def _found(graph: Graph) -> Kinds:
    """The kinds of most vertices, each with the distances of its row."""
    offsets, neighbours = graph.out
    starts = stretches(offsets, neighbours, Team())
    if starts is None:
        return NONE
    ends = starts.astype(np.int64)
    begins, lengths = ends[:-1], ends[1:] - ends[:-1]
    rows = offsets[begins].astype(np.int64)
    degrees = offsets[begins + 1].astype(np.int64) - rows
    found: list[tuple[float, Array, Array]] = []  # how many vertices; the stretches they are in; their distances
    for degree in np.unique(degrees[degrees <= _LONGEST]).tolist():
        these = np.flatnonzero(degrees == degree)
        away = neighbours[rows[these, None] + np.arange(degree)].astype(np.int64) - begins[these, None]
        different, which = np.unique(away, axis=0, return_inverse=True)
        vertices = np.bincount(which.ravel(), lengths[these], len(different))
        often = np.argsort(-vertices, kind="stable")[:_MOST].tolist()
        found += [(float(vertices[k]), these[which.ravel() == k], different[k]) for k in often]
    found.sort(key=lambda one: -one[0])
    of = np.zeros(len(begins), np.uint8)
    for kind, (_, among, _) in enumerate(found[:_MOST], 1):
        of[among] = kind
    rows_of = [np.empty(0, np.int64), *(distances for _, _, distances in found[:_MOST])]
    places = np.cumsum([0, *map(len, rows_of)]).astype(np.uint64)
    return Kinds(frozen(np.repeat(of, lengths)), frozen(places), frozen(np.concatenate(rows_of).astype(np.uint64)))
