"""Brandes' accumulation from one source as two vertex programs: the simple way, for reading and for comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.graph import Graph
from arcflux.history import Chained

__all__ = ["Dependencies", "ShortestPaths", "dependencies"]


@af.program
class ShortestPaths:
    """Forward (Lux, section 3.4): the level of every vertex, and how many shortest paths lead there."""

    source: af.vertex
    sparse = True
    level: af.i32
    paths: af.f64

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.paths = 1.0 if v.number == p.source else 0.0
        return v.number == p.source

    def wants(v):
        return v.level < 0

    def compute(v, u):
        v.paths += u.paths

    def update(v, step):
        if v.paths == 0.0:
            return False
        v.level = step + 1
        return True


@af.program
class Dependencies:
    """Backward: the dependency of a vertex is its share of its successors' dependencies, plus 1 for each of these.

    Runs on the edges of shortest paths only, reversed, with ``share = paths[v] / paths[u]`` of each.
    """

    dependency: af.f64

    def start(v):
        v.dependency = 0.0
        return True

    def init(v):
        v.dependency = 0.0

    def compute(v, u, edge):
        v.dependency += edge.share * (1.0 + u.dependency)

    def update(v, old):
        return v.dependency != old.dependency


def dependencies(graph: Graph, source: Any, **options: Any) -> af.Result:
    """The dependencies of one source on each vertex, by two vertex programs, one after the other.

    The simple way, for reading and for comparisons: :func:`betweenness_centrality` with ``sources=[source]`` gives the
    same many times faster. The source's own value is the number of vertices that it reaches, which centrality does not
    count. Unreached vertices have 0. Parallel edges count as often as they appear (build the graph with
    ``deduplicate="first"``); self-loops make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> from arcflux.algorithms.betweenness.programs import dependencies
    >>> dependencies(af.load("path:4"), 0)["dependency"].tolist()
    [3.0, 2.0, 1.0, 0.0]
    """
    forward = af.run(ShortestPaths, graph, source=source, **options)
    level, paths = forward["level"], forward["paths"]
    rows = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    tight = (level[rows] >= 0) & (level[graph.out.neighbours] == level[rows] + 1)
    near, far = rows[tight], graph.out.neighbours[tight]
    back = af.Graph.from_edges(far, near, columns={"share": paths[near] / paths[far]}, vertices=graph.vertices)
    found = af.run(Dependencies, back, **options)
    return replace(
        found,
        graph=graph,
        history=Chained(forward.history, found.history),
        seconds=forward.seconds + found.seconds,
        compile_seconds=forward.compile_seconds + found.compile_seconds,
    )
