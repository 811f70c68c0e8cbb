"""Graphs without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.kernels import call, generations_in_order

__all__ = ["is_directed_acyclic_graph", "topological_generations", "topological_sort"]

Array = NDArray[Any]


def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    """Lists of nodes to which only nodes of earlier lists lead."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    order, ends = _generations(G)
    nodes, begin = G.nodes_of(order), 0
    for end in ends.tolist():
        yield nodes[begin:end]
        begin = end
    if len(order) < len(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def topological_sort(G: BackendGraph) -> Iterator[Any]:
    """The nodes, each before those that it leads to."""
    for generation in topological_generations(G):
        yield from generation


def is_directed_acyclic_graph(G: BackendGraph) -> bool:
    """Whether edges have directions, and no path comes back."""
    return G.is_directed() and len(_generations(G)[0]) == len(G)


def _generations(g: BackendGraph) -> tuple[Array, Array]:
    """The vertices that are on no cycle and behind none, generation by generation, and where each of these ends."""
    n = len(g)
    left = np.bincount(g.graph.out.neighbours, minlength=n).astype(np.int64)
    order, ends, size = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2, np.int64)
    call(generations_in_order, *g.graph.out, left, order, ends, size)
    return order[: size[1]], ends[: size[0]]
