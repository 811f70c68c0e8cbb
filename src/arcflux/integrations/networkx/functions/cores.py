"""Dense parts: cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.convert import convert_to_nx
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import where

__all__ = ["core_number", "k_core", "k_corona", "k_crust", "k_shell", "k_truss", "refuse_loops"]

Array = NDArray[Any]
Numbers = Mapping[Any, int]


def refuse_loops(g: BackendGraph) -> None:
    """Raise NetworkX's error if there is a self-loop."""
    if g.loops_at.any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )


def core_number(G: BackendGraph) -> dict[Any, int]:
    """The largest k for which each node is in a k-core; see :func:`arcflux.core_number`."""
    refuse_loops(G)
    return G.by_node(af.core_number(G.graph, **where())["core"])


_core_number = core_number


def k_core(G: BackendGraph, k: int | None = None, core_number: Numbers | None = None) -> Any:
    """The part of the graph in which every node has k neighbours; the largest k without one."""
    return _part(G, k, core_number, lambda core, most: core >= most)


def k_shell(G: BackendGraph, k: int | None = None, core_number: Numbers | None = None) -> Any:
    """The nodes whose core number is k."""
    return _part(G, k, core_number, lambda core, most: core == most)


def k_crust(G: BackendGraph, k: int | None = None, core_number: Numbers | None = None) -> Any:
    """The nodes whose core number is at most k; all but the innermost core without one."""
    numbers = _core_number(G) if core_number is None else core_number
    most = max(numbers.values()) - 1 if k is None else k
    return _part(G, most, numbers, lambda core, most: core <= most)


def k_corona(G: BackendGraph, k: int, core_number: Numbers | None = None) -> Any:
    """The nodes of core number k that have exactly k neighbours in the k-core."""
    numbers = _core_number(G) if core_number is None else core_number
    within = np.array([numbers[node] >= k for node in G.nodes], np.int64)
    offsets, neighbours = G.graph.out
    sums = np.concatenate([[0], np.cumsum(within[neighbours])])
    inside = sums[offsets[1:]] - sums[offsets[:-1]]
    return _part(G, k, numbers, lambda core, most: (core == most) & (inside == most))


def _part(g: BackendGraph, k: int | None, numbers: Numbers | None, chosen: Callable[[Any, Any], Any]) -> Any:
    """The induced part of the nodes that are chosen by their core numbers, as a graph of NetworkX's with its data."""
    numbers = _core_number(g) if numbers is None else numbers
    most = max(numbers.values()) if k is None else k
    listed = np.array([numbers.get(node, np.nan) for node in g.nodes], np.float64)
    nodes = g.nodes_of(np.flatnonzero(chosen(listed, most)))
    return convert_to_nx(g).subgraph(nodes).copy()


def k_truss(G: BackendGraph, k: int) -> Any:
    """The largest part of the graph in which every edge is in k - 2 triangles of the part (Cohen 2008)."""
    refuse_loops(G)
    stays = _truss(G, k)
    whole, made = convert_to_nx(G), convert_to_nx(G).__class__()
    made.graph.update(whole.graph)
    made.add_nodes_from((node, whole.nodes[node]) for node in G.nodes_of(np.unique(G.tails[stays])))
    firsts = stays[G.tails[stays] <= G.graph.out.neighbours[stays]]  # each edge from the end that comes first
    ends = (G.nodes_of(found[firsts]) for found in (G.tails, G.graph.out.neighbours))
    made.add_edges_from((u, v, whole._adj[u][v]) for u, v in zip(*ends, strict=True))
    return made


def _truss(g: BackendGraph, k: int) -> Array:
    """The places of the arcs that are in the k-truss; see :func:`arcflux.k_truss`."""
    if k < 3:
        return np.arange(g.graph.arcs)
    return np.flatnonzero(af.k_truss(g.graph, k, **where()).edges["chosen"])
