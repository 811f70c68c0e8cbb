"""The whole graph at every part: for work that reads far from where it writes. Vertices are owned as in ranges.py."""

from __future__ import annotations

from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts
from arcflux.partition.ranges import bounds
from arcflux.partition.rule import Rule

__all__ = ["split"]


def split(graph: Graph, k: int) -> Parts:
    """Own ranges; every `Part.graph` may be read whole, and the arcs of a part are those it answers for."""
    return Parts(graph, k, "duplicate", bounds=bounds(graph.into.offsets, k), rule=Rule(duplicated=True))
