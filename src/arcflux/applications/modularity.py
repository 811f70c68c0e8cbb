"""Modularity: how much more weight lies within communities than would at random (Newman, Girvan 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.applications.weights import edge_weights, within_one
from arcflux.checks import array, maybe, real, text
from arcflux.engine.call import graph_call
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["modularity"]


@graph_call(community=array, resolution=real, weight=maybe(text))
def modularity(graph: Graph, community: Any, resolution: float = 1.0, weight: str | None = "weight") -> float:
    """The modularity of communities; `community` has a label for every vertex, in the order of the graph's ids.

    The sum over communities of w / W - resolution * (s / W)^2, where w is twice the weight within a community, s the
    strength of its vertices, W that of all. A self-loop adds twice its weight to its vertex, as in NetworkX. Edges of a
    directed graph count as undirected ones. A graph without weight has modularity 0.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> round(af.modularity(g, [0, 0, 0, 1, 1, 1]), 4)
    0.3571
    """
    labels = np.unique(arguments.labels("community", community, graph.vertices), return_inverse=True)[1]
    if not 0 <= resolution < np.inf:
        raise UsageError(f"resolution is {resolution!r}", expected="a number from 0 on")
    column = edge_weights(graph, weight)
    sources, targets, arcs = graph.edge_numbers()
    weights = np.ones(len(sources)) if column is None else within_one(column[arcs])[0]
    whole = 2.0 * weights.sum()
    if whole == 0:
        return 0.0
    strength = np.bincount(sources, weights, graph.vertices) + np.bincount(targets, weights, graph.vertices)
    within = 2.0 * weights[labels[sources] == labels[targets]].sum()
    shares = np.bincount(labels, strength) / whole
    return float(within / whole - resolution * (shares**2).sum())
