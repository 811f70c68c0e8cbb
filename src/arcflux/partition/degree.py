"""HIVE's split by degree: arcs of low vertices stay together, arcs of high ones are scattered over all parts.

An arc is at the owner of its source when few arcs leave that; else at the owner of its target when few arcs leave that;
and between two high vertices at the owner of the lower one, the smaller number of equal ones. So a low vertex touches
few parts, and only the high ones, of which there are few, are summed over all. Owners are ranges, as in ranges.py.
"""

from __future__ import annotations

import operator

from arcflux.errors import UsageError
from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts
from arcflux.partition.ranges import bounds
from arcflux.partition.rule import Rule

__all__ = ["split"]

# A vertex is high from this many times the mean degree on. In a power-law graph these are few per cent of the vertices,
# and have most of the arcs.
_TIMES_MEAN = 8


def split(graph: Graph, k: int, *, threshold: int | None = None) -> Parts:
    """Deal the arcs by degree: a vertex is high when more than `threshold` arcs leave it (8 times the mean)."""
    if threshold is None:
        threshold = _TIMES_MEAN * graph.arcs // max(1, graph.vertices)
    elif operator.index(threshold) < 0:
        raise UsageError(f"threshold is {threshold}", expected="out-arcs of a vertex: 0 or more")
    rule = Rule("degree", limit=threshold)
    note = f"vertices that more than {threshold:,} arcs leave are high"
    return Parts(graph, k, "degree", bounds=bounds(graph.into.offsets, k), rule=rule, notes=[note])
