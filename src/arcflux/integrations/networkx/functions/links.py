"""How likely two nodes are to be joined, by the neighbours that they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.similarity import similarities
from arcflux.engine.launch import launch
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import where

__all__ = ["adamic_adar_index", "jaccard_coefficient", "preferential_attachment", "resource_allocation_index"]

Array = NDArray[Any]
Pairs = Iterable[tuple[Any, Any]] | None
Scores = Iterator[tuple[Any, Any, Any]]


def jaccard_coefficient(G: BackendGraph, ebunch: Pairs = None) -> Scores:
    """Common neighbours as a share of all; see :func:`arcflux.jaccard_coefficient`."""
    return _scores(G, ebunch, "jaccard")


def adamic_adar_index(G: BackendGraph, ebunch: Pairs = None) -> Scores:
    """The sum of 1 / log(degree) over common neighbours; see :func:`arcflux.adamic_adar_index`."""
    return _scores(G, ebunch, "adamic_adar")


def resource_allocation_index(G: BackendGraph, ebunch: Pairs = None) -> Scores:
    """The sum of 1 / degree over common neighbours; see :func:`arcflux.resource_allocation_index`."""
    return _scores(G, ebunch, "resource_allocation")


def preferential_attachment(G: BackendGraph, ebunch: Pairs = None) -> Scores:
    """The product of both degrees."""
    pairs, left, right = _ends(G, ebunch)
    degrees = G.graph.out_degrees.astype(np.int64) + G.loops_at
    return _listed(pairs, degrees[left] * degrees[right])


def _scores(g: BackendGraph, ebunch: Pairs, measure: str) -> Scores:
    if g.loops_at.any():
        raise NotImplementedError("nodes are neighbours of their own")
    pairs, left, right = _ends(g, ebunch)
    if (left == right).any():
        raise NotImplementedError("a node is compared with itself")
    values = launch(g.graph, where(), lambda worker: similarities(worker, left, right, measure)).answer
    return _listed(pairs, values)


def _ends(g: BackendGraph, ebunch: Pairs) -> tuple[list[tuple[Any, Any]], Array, Array]:
    if ebunch is None:
        raise NotImplementedError("all pairs that are not joined, in the order of NetworkX's sets")
    pairs = [(u, v) for u, v in ebunch]
    numbers = np.empty((len(pairs), 2), np.int64)
    for place, pair in enumerate(pairs):
        for side, node in enumerate(pair):
            number = g.find(node)
            if number is None:
                raise nx.NodeNotFound(f"Node {node} not in G.")
            numbers[place, side] = number
    return pairs, numbers[:, 0].copy(), numbers[:, 1].copy()


def _listed(pairs: list[tuple[Any, Any]], values: Array) -> Scores:
    return ((u, v, value if value else 0) for (u, v), value in zip(pairs, values.tolist(), strict=True))
