"""The local clustering coefficient: how many of a vertex's neighbours are neighbours of one another."""

from __future__ import annotations

from typing import Any

import numpy as np

import arcflux as af
from arcflux.algorithms.triangles import corners
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.graph import Graph

__all__ = ["clustering"]


@graph_call()
def clustering(graph: Graph, **where: Any) -> af.Result:
    """The local clustering coefficient of every vertex, as LDBC Graphalytics defines it: the field ``clustering``, f64.

    The neighbours of a vertex are the d other vertices that it has an edge to or from. Its coefficient is the number of
    edges among them over d(d - 1), which is how many there can be; 0 if d is less than 2. In an undirected graph an
    edge counts in both directions, and the coefficient is NetworkX's. In a directed one the direction of the edges
    among the neighbours counts, but not that of the edges to them (NetworkX's coefficient of directed graphs is another
    one, Fagiolo's). Parallel edges count once, self-loops not at all; weights make no difference.

    `where` are the options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
    `ranks_per_node`, `devices`. Every worker sees the whole graph and takes a share of its edges.

    "The LDBC Graphalytics Benchmark", section 2.3: https://arxiv.org/abs/2011.15028

    Examples
    --------
    >>> import arcflux as af
    >>> source, target = [0, 0, 0, 1], [1, 2, 3, 2]
    >>> g = af.Graph.from_edges(source, target, directed=False)
    >>> af.algorithms.clustering(g)["clustering"].round(3).tolist()
    [0.333, 1.0, 1.0, 0.0]
    >>> af.algorithms.clustering(af.Graph.from_edges(source, target))["clustering"].round(3).tolist()
    [0.167, 0.5, 0.5, 0.0]
    """
    done = launch(graph, where, lambda worker: corners(worker, degrees=True), advised="clustering")
    found, degrees = done.answer
    links = found if graph.directed else 2 * found
    pairs = degrees.astype(np.float64) * (degrees - 1)
    share = np.divide(links, pairs, out=np.zeros(graph.vertices), where=degrees > 1)
    times = done.seconds, done.compile_seconds
    made = done.finish(af.Result("clustering", graph, {"clustering": share}, [], True, *times))
    return made.checked_by(lambda found: af.validate.clustering(graph, found["clustering"]))
