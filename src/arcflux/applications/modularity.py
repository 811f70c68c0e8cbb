"""Modularity: how much more weight lies within communities than would at random (Newman, Girvan 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.applications.weights import edge_weights, whole_units
from arcflux.checks import array, maybe, real, text
from arcflux.engine.call import graph_call
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.spmd.pool import run
from arcflux.validate import arguments

__all__ = ["modularity"]

# Arcs that make another worker worth waking.
_ARCS = 1 << 15


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
    from arcflux.applications.louvain.coarse import masses_of, weight_within
    from arcflux.applications.louvain.levels import quality
    from arcflux.applications.louvain.moves import Level

    both = graph.both_ways()
    units = whole_units(edge_weights(both, weight))[0]
    strength, loops = np.empty(graph.vertices, np.int64), np.empty(graph.vertices, np.int64)
    chunks, within = 1 + both.arcs // _ARCS, np.zeros(1, np.int64)
    run(masses_of, chunks, *both.out, units, strength, loops)
    run(weight_within, chunks, *both.out, units, labels, within)
    level = Level(*both.out, units, strength, loops, int(strength.sum()))
    rate = resolution * (1.0 / max(1, level.weight))
    return quality(level, rate, int(within[0]), np.bincount(labels, strength))
