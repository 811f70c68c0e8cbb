"""Triangles, and how many there could be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import where

__all__ = ["average_clustering", "clustering", "transitivity", "triadic_census", "triangles"]

Array = NDArray[Any]


def triangles(G: BackendGraph, nodes: Any = None) -> Any:
    """The triangles through each node, or one; see :func:`arcflux.triangles`."""
    found = af.triangles(G.graph, **where())["triangles"]
    return G.chosen(found, nodes)


def clustering(G: BackendGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """The share of each node's pairs of neighbours that are joined; see :func:`arcflux.clustering`."""
    found = G.chosen(af.clustering(G.graph, **where())["clustering"], nodes)
    if isinstance(found, dict):
        return {node: share if share else 0 for node, share in found.items()}
    return found or 0


def average_clustering(
    G: BackendGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:  # fmt: skip
    """The mean of the clustering of nodes, or of those that have any."""
    shares: Any = clustering(G, nodes).values()
    if not count_zeros:
        shares = [share for share in shares if share > 0]
    return sum(shares) / len(shares)  # type: ignore[no-any-return]


def transitivity(G: BackendGraph) -> float:
    """The share of all pairs of edges with a common end that close a triangle."""
    found = int(af.triangles(G.graph, **where())["triangles"].sum())
    others = G.graph.out_degrees.astype(np.int64) - G.loops_at
    pairs = int((others * (others - 1)).sum())
    return 2 * found / pairs if found else 0


def triadic_census(G: BackendGraph, nodelist: Any = None) -> dict[str, int]:
    """How many triples of nodes are joined in each way; see :func:`arcflux.triad_census`."""
    return af.triad_census(G.graph, **where())
