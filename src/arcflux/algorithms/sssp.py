"""Shortest paths from one source, by relaxing the edges of every vertex that came closer."""

from __future__ import annotations

import math
from typing import Any

import arcflux as af
from arcflux.graph import Graph

__all__ = ["SSSP", "sssp"]


@af.program
class SSSP:
    """Bellman-Ford (Lux, section 3.4): a vertex that came closer tells its out-neighbours."""

    source: af.vertex
    sparse = True
    distance: af.f64

    def start(v, p):
        v.distance = 0.0 if v.number == p.source else math.inf
        return v.number == p.source

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance


def sssp(graph: Graph, source: Any, **options: Any) -> af.Result:
    """The length of the shortest path from `source` to every vertex, by the edge column ``weight``.

    Unreachable vertices are at distance inf. Of parallel edges the lightest counts; self-loops make no difference. A
    cycle of negative weight has no shortest paths: the run then stops at `max_supersteps`, not converged.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 0, 1], [1, 2, 2], columns={"weight": [1, 5, 2]})
    >>> af.algorithms.sssp(g, 0)["distance"].tolist()
    [0.0, 1.0, 3.0]
    """
    return af.run(SSSP, graph, source=source, **options)
