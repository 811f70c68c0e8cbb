"""Neighbour patterns: vertices whose out-neighbours are at the same distances, such as those inside a mesh or an image.

If nearly all vertices of a graph have one of a few patterns, their rows need not be read: the pattern of a vertex, one
byte, gives its neighbours. A frontier that crosses a mesh has its vertices far apart, so that each row would be fetched
separately; the patterns of many vertices share a cache line.
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

__all__ = ["NONE", "Patterns", "neighbour_patterns"]

Array = NDArray[Any]

# A pattern is one byte; 0 means that a vertex has none, and its row has to be read.
_MOST = 255
# Rows longer than this are read, so that all distances stay in the nearest cache; and small graphs are there anyway.
_LONGEST = 16
_FEWEST_VERTICES = 1 << 14


@dataclass(frozen=True)
class Patterns:
    """The pattern of each vertex, and by pattern where its distances begin; they are added to a vertex, modulo 2^64."""

    of: Array
    rows: Array
    distances: Array


NONE = Patterns(*(frozen(np.empty(0, kind)) for kind in (np.uint8, np.uint64, np.uint64)))


def neighbour_patterns(graph: Graph) -> Patterns:
    """The neighbour patterns of a graph, empty if most vertices have none; computed once and kept with it."""
    if "neighbour patterns" not in graph.kept:
        graph.kept["neighbour patterns"] = NONE
        if graph.vertices >= _FEWEST_VERTICES and likely(*graph.out):
            graph.kept["neighbour patterns"] = _find(graph)
    found: Patterns = graph.kept["neighbour patterns"]
    return found


def _find(graph: Graph) -> Patterns:
    """The most frequent patterns, each with the distances of its row."""
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
    for pattern, (_, among, _) in enumerate(found[:_MOST], 1):
        of[among] = pattern
    rows_of = [np.empty(0, np.int64), *(distances for _, _, distances in found[:_MOST])]
    places = np.cumsum([0, *map(len, rows_of)]).astype(np.uint64)
    return Patterns(frozen(np.repeat(of, lengths)), frozen(places), frozen(np.concatenate(rows_of).astype(np.uint64)))
