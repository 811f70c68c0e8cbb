"""What the distances between all nodes add up to, in edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

import arcflux as af
from arcflux.algorithms.closeness import all_distances
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.search import Searcher
from arcflux.integrations.networkx.settings import where

__all__ = [
    "average_shortest_path_length",
    "closeness_centrality",
    "diameter",
    "eccentricity",
    "harmonic_centrality",
    "periphery",
    "radius",
    "wiener_index",
]


def closeness_centrality(
    G: BackendGraph, u: Any = None, distance: str | None = None, wf_improved: bool = True
) -> Any:  # fmt: skip
    """One over the mean distance to each node; see :func:`arcflux.closeness_centrality`."""
    if u is None:
        return G.by_node(af.closeness_centrality(G.graph, wf_improved=wf_improved, **where())["centrality"])
    number = G.find(u)
    if number is None:
        raise nx.NodeNotFound(f"Source {u} is not in G")
    levels = Searcher(G.reverse).search([number]).levels
    total, others = int(levels.sum()), len(levels) - 1.0
    share = others / (len(G) - 1) if wf_improved and len(G) > 1 else 1.0
    return others / total * share if total else 0.0


def harmonic_centrality(
    G: BackendGraph, nbunch: Any = None, distance: str | None = None, sources: Any = None
) -> dict[Any, float]:
    """The sum of one over the distances to each node; see :func:`arcflux.harmonic_centrality`."""
    found = G.by_node(af.harmonic_centrality(G.graph, **where())["centrality"])
    return {node: found[node] or 0 for node in set(G.nodes)}


def eccentricity(G: BackendGraph, v: Any = None, sp: Any = None, weight: str | None = None) -> Any:
    """How far the farthest node is from each; see :func:`arcflux.eccentricity`."""
    if v is None:
        found = af.eccentricity(G.graph, **where())["eccentricity"]
        if np.isinf(found).any():
            raise _infinite(G)
        return G.by_node(found.astype(np.int64))
    one, searcher = G.find(v), Searcher(G.graph)
    if one is not None:
        return _farthest(G, searcher, one)
    return {node: _farthest(G, searcher, number) for node, number in G.bunch(v)}


def _farthest(g: BackendGraph, searcher: Searcher, number: int) -> int:
    levels = searcher.search([number]).levels
    if len(levels) < len(g):
        raise _infinite(g)
    return int(levels[-1])


def _infinite(g: BackendGraph) -> nx.NetworkXError:
    kind = "digraph is not strongly" if g.is_directed() else "graph is not"
    return nx.NetworkXError(f"Found infinite path length because the {kind} connected")


def diameter(
    G: BackendGraph, e: Mapping[Any, int] | None = None, usebounds: bool = False, weight: str | None = None
) -> int:
    """The largest distance."""
    return max(_all(G, e))


def radius(
    G: BackendGraph, e: Mapping[Any, int] | None = None, usebounds: bool = False, weight: str | None = None
) -> int:
    """The smallest eccentricity."""
    return min(_all(G, e))


def periphery(
    G: BackendGraph, e: Mapping[Any, int] | None = None, usebounds: bool = False, weight: str | None = None
) -> list[Any]:
    """The nodes whose eccentricity is the diameter."""
    known = eccentricity(G) if e is None else e
    most = max(known.values())
    return [node for node, far in known.items() if far == most]


def _all(g: BackendGraph, known: Mapping[Any, int] | None) -> Iterable[int]:
    values: Iterable[int] = (eccentricity(g) if known is None else known).values()
    return values


def average_shortest_path_length(G: BackendGraph, weight: str | None = None, method: str | None = None) -> float:
    """The mean distance between two nodes."""
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if n == 1:
        return 0
    result = all_distances(G.graph, **where())
    if (result["reached"] < n - 1).any():
        raise nx.NetworkXError(f"Graph is not {'strongly ' if G.is_directed() else ''}connected.")
    return int(result["total"].sum()) / (n * (n - 1))


def wiener_index(G: BackendGraph, weight: str | None = None) -> float:
    """The sum of the distances between all pairs of nodes."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    result = all_distances(G.graph, **where())
    if (result["reached"] < len(G) - 1).any():
        return float("inf")
    total = int(result["total"].sum())
    return total if G.is_directed() else total / 2
