"""The graph of strongly connected components, which has no cycles."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.algorithms.strong_components import strongly_connected_components
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.graph.subgraphs import contracted

__all__ = ["condensation"]


@graph_call()
def condensation(graph: Graph, **options: Any) -> Graph:
    """The graph whose vertices are the strongly connected components, each by the id of its first vertex.

    There is an edge where one leads from one component to another; its column `count` says how many do. Edges within a
    component are left out, so there are no cycles. Which vertices a component has says
    :func:`arcflux.strongly_connected_components`.

    Raises
    ------
    GraphError
        When the graph is undirected.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["a", "b", "c", "c"], ["b", "c", "b", "d"])
    >>> small = af.condensation(g)
    >>> list(small.ids), small.edges, small.columns["count"].tolist()
    (['a', 'b', 'd'], 2, [1, 1])
    """
    if not graph.directed:
        raise GraphError(
            "the graph is undirected",
            expected="a directed graph",
            remedy="af.connected_components(graph) has its parts",
        )
    label = np.asarray(strongly_connected_components(graph, **options).numbers("component"))
    return contracted(graph, label)
