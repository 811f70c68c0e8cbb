"""Measures from degrees: centrality, assortativity, reciprocity, density."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import text
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph

__all__ = ["degree_assortativity_coefficient", "degree_centrality", "density", "ends_of", "reciprocity"]

Array = NDArray[Any]


@graph_call(ends=text)
def degree_centrality(graph: Graph, ends: str = "both") -> af.Result:
    """The degree of every vertex over the number of all others: `centrality`.

    `ends` of a directed graph: "both", "in" or "out". Parallel edges count as often as they are there, so that it may
    be above 1, and a self-loop twice; weights make no difference. A graph of one vertex has 1, as in NetworkX.

    Examples
    --------
    >>> import arcflux as af
    >>> af.degree_centrality("star:4")["centrality"].round(3).tolist()
    [1.0, 0.333, 0.333, 0.333]
    """
    n, degrees = graph.vertices, ends_of(graph, ends)
    values = degrees / (n - 1) if n > 1 else np.ones(n)
    return af.Result("degree_centrality", graph, {"centrality": values}, [], True, 0.0)


@graph_call()
def reciprocity(graph: Graph) -> float:
    """The share of a directed graph's edges that go both ways; a self-loop is none of these, parallel edges count once.

    Examples
    --------
    >>> import arcflux as af
    >>> af.reciprocity(af.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 3]))
    0.5
    """
    if not graph.directed:
        raise GraphError("the graph is undirected", expected="a directed graph")
    if not graph.edges:
        raise GraphError("the graph has no edges", expected="at least one, of which to take a share")
    sources, targets, _ = graph.edge_numbers()
    wide = np.uint64(max(1, graph.vertices))
    there = np.unique(sources.astype(np.uint64) * wide + targets)
    u, v = there // wide, there % wide
    back = np.isin(there, v * wide + u) & (u != v)
    return int(np.count_nonzero(back)) / len(there)


@graph_call(x=text, y=text)
def degree_assortativity_coefficient(graph: Graph, x: str = "out", y: str = "in") -> float:
    """The correlation of the degrees at the two ends of edges (Newman 2002); NaN where all are alike.

    `x` and `y` say which degree counts at the source and at the target of a directed graph's edges, "in" or "out". An
    undirected edge is taken in both directions, and a self-loop counts twice for the degree. Weights make no
    difference.

    Examples
    --------
    >>> import arcflux as af
    >>> round(af.degree_assortativity_coefficient("star:5"), 3)
    -1.0
    """
    sources, targets, _ = graph.edge_numbers()
    one, other = ends_of(graph, x), ends_of(graph, y)
    left, right = one[sources].astype(np.float64), other[targets].astype(np.float64)
    if not graph.directed:
        apart = sources != targets  # a self-loop is one arc, as in NetworkX
        left, right = np.concatenate([left, right[apart]]), np.concatenate([right, left[apart]])
    if not len(left):
        return float("nan")
    a, b = left - left.mean(), right - right.mean()
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread > 0 else float("nan")


@graph_call()
def density(graph: Graph) -> float:
    """The number of edges as a share of all possible ones between different vertices; 0 for fewer than two vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> af.density("complete:5")
    1.0
    """
    n = graph.vertices
    return graph.edges * (1 if graph.directed else 2) / (n * (n - 1)) if n > 1 else 0.0


def ends_of(graph: Graph, ends: str) -> Array:
    """Ends of edges at each vertex, "in", "out" or "both"; undirected, all of them, of a self-loop two."""
    if ends not in ("both", "in", "out"):
        raise UsageError(f"the ends are {ends!r}", expected="'in', 'out' or 'both'")
    sources, targets, _ = graph.edge_numbers()
    counts = [np.bincount(side, minlength=graph.vertices) for side in (sources, targets)]
    if graph.directed and ends != "both":
        return counts[0] if ends == "out" else counts[1]
    both: Array = counts[0] + counts[1]
    return both
