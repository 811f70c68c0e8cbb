"""Clustering of a whole graph: triangles among the paths of two edges, and the mean over vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.algorithms.clustering import clustering
from arcflux.algorithms.triangles import triangle_count
from arcflux.checks import flag
from arcflux.engine.call import graph_call
from arcflux.graph import Graph
from arcflux.graph.subgraphs import simple_view

__all__ = ["average_clustering", "transitivity"]


@graph_call()
def transitivity(graph: Graph, **where: Any) -> float:
    """The share of paths of two edges whose ends are neighbours, in an undirected graph; 0 without such paths.

    Parallel edges count once, self-loops not at all; weights make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> af.transitivity("complete:4")
    1.0
    """
    triangles = triangle_count(graph, **where)
    degrees = simple_view(graph).out_degrees.astype(np.float64)
    paths = float((degrees * (degrees - 1)).sum()) / 2
    return 3 * triangles / paths if paths else 0.0


@graph_call(count_zeros=flag)
def average_clustering(graph: Graph, count_zeros: bool = True, **where: Any) -> float:
    """The mean of :func:`arcflux.clustering` over all vertices, or, without `count_zeros`, over those that have any.

    Examples
    --------
    >>> import arcflux as af
    >>> af.average_clustering("complete:4")
    1.0
    """
    found = clustering(graph, **where)["clustering"]
    if not count_zeros:
        found = found[found > 0]
    return float(found.mean()) if len(found) else 0.0
