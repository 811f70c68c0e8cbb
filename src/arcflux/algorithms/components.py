"""Connected components, by the smallest vertex number that reaches each vertex."""

from __future__ import annotations

from typing import Any

import arcflux as af
from arcflux.errors import GraphError
from arcflux.graph import Graph

__all__ = ["Components", "connected_components"]


@af.program
class Components:
    """Every vertex takes the smallest label among its neighbours' (Lux, section 3.4)."""

    component: af.u32

    def start(v):
        v.component = v.number
        return True

    def compute(v, u):
        v.component = min(v.component, u.component)

    def update(v, old):
        return v.component < old.component


def connected_components(graph: Graph, **options: Any) -> af.Result:
    """The component of every vertex, named by its smallest vertex number. The graph has to be undirected.

    Isolated vertices are components of their own. Weights, self-loops and parallel edges make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 3], [1, 4], vertices=5, directed=False)
    >>> af.algorithms.connected_components(g)["component"].tolist()
    [0, 0, 2, 3, 3]
    """
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="load it with directed=False")
    return af.run(Components, graph, **options)
