"""What degrees alone say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.graph import BackendGraph

__all__ = ["degree_assortativity_coefficient", "isolates", "number_of_isolates", "overall_reciprocity", "reciprocity"]

Array = NDArray[Any]


def isolates(G: BackendGraph) -> Iterator[Any]:
    """The nodes without edges."""
    return iter(G.nodes_of(np.flatnonzero(_degrees(G) == 0)))


def number_of_isolates(G: BackendGraph) -> int:
    """How many nodes have no edges."""
    return int(np.count_nonzero(_degrees(G) == 0))


def overall_reciprocity(G: BackendGraph) -> float:
    """The share of edges that go both ways; a self-loop is none of these."""
    if not G.graph.edges:
        raise nx.NetworkXError("Not defined for empty graphs")
    answered = _answered(G) & (G.tails != G.graph.out.neighbours)
    return int(np.count_nonzero(answered)) / G.graph.edges


def reciprocity(G: BackendGraph, nodes: Any = None) -> Any:
    """The share of edges that go both ways, of all or at some nodes."""
    if nodes is None:
        return overall_reciprocity(G)
    both = np.bincount(G.tails[_answered(G)], minlength=len(G))
    degrees = _degrees(G)
    one = G.find(nodes)
    if one is not None:
        if not degrees[one]:
            raise nx.NetworkXError("Not defined for isolated nodes.")
        return 2 * int(both[one]) / int(degrees[one])
    shares = ((node, 2 * int(both[v]), int(degrees[v])) for node, v in G.bunch(nodes))
    return {node: twice / degree if degree else None for node, twice, degree in shares}


def degree_assortativity_coefficient(
    G: BackendGraph, x: str = "out", y: str = "in", weight: str | None = None, nodes: Any = None
) -> float:  # fmt: skip
    """How alike the degrees at both ends of edges are; see :func:`arcflux.degree_assortativity_coefficient`."""
    found = af.degree_assortativity_coefficient(G.graph, x, y)
    if np.isnan(found):
        raise NotImplementedError("there is no answer: NetworkX has warnings of its own")
    return found


def _degrees(g: BackendGraph) -> Array:
    """Arcs at each vertex, in either direction."""
    outgoing = g.graph.out_degrees.astype(np.int64)
    return outgoing + np.bincount(g.graph.out.neighbours, minlength=len(g)) if g.is_directed() else outgoing


def _answered(g: BackendGraph) -> Array:
    """Whether there is an arc back, for each arc."""
    tails, heads = g.tails.astype(np.int64), g.graph.out.neighbours.astype(np.int64)
    return np.isin(tails * len(g) + heads, heads * len(g) + tails)
