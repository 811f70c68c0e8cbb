"""Breadth-first search, edge by edge and level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.search import Search, Searcher

__all__ = [
    "ancestors",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "descendants",
    "descendants_at_distance",
]


def bfs_edges(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: int | None = None,
    sort_neighbors: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[Any, Any]]:  # fmt: skip
    """The edges by which a search from the source meets new nodes."""
    search = _search(G, source, reverse, depth_limit)
    nodes, parents = G.nodes_of(search.order[1:]), G.nodes_of(search.parents[1:])
    yield from zip(parents, nodes, strict=True)


def bfs_tree(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: int | None = None,
    sort_neighbors: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """The tree of these edges, as a DiGraph."""
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, reverse, depth_limit))
    return tree


def bfs_predecessors(
    G: BackendGraph, source: Any, depth_limit: int | None = None, sort_neighbors: Callable[[Any], Any] | None = None
) -> Iterator[tuple[Any, Any]]:
    """Each node with the one that it was met from."""
    for parent, node in bfs_edges(G, source, depth_limit=depth_limit):
        yield node, parent


def bfs_successors(
    G: BackendGraph, source: Any, depth_limit: int | None = None, sort_neighbors: Callable[[Any], Any] | None = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Each node with those that were met from it; nodes from which none was are left out, but not the source."""
    search = _search(G, source, False, depth_limit)
    nodes, parents = G.nodes_of(search.order[1:]), search.parents[1:]
    if not nodes:
        yield source, []
        return
    ends = np.flatnonzero(np.diff(parents, append=-1) != 0) + 1
    begin = 0
    for end, parent in zip(ends.tolist(), G.nodes_of(parents[ends - 1]), strict=True):
        yield parent, nodes[begin:end]
        begin = end


def bfs_layers(G: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    """The nodes at each distance from the sources."""
    first = [sources] if sources in G else list(set(sources))
    numbers = []
    for node in first:
        number = G.find(node)
        if number is None:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
        numbers.append(number)
    if numbers:
        yield from _layers(G, Searcher(G.graph).search(numbers))


def descendants_at_distance(G: BackendGraph, source: Any, distance: int) -> set[Any]:
    """The nodes that are just so many edges away."""
    number = G.find(source)
    if number is None:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    search = Searcher(G.graph).search([number])
    return set(G.nodes_of(search.order[search.levels == distance]))


def descendants(G: BackendGraph, source: Any) -> set[Any]:
    """All nodes that the source reaches, without itself."""
    return set(G.nodes_of(_search(G, source, False, None).order[1:]))


def ancestors(G: BackendGraph, source: Any) -> set[Any]:
    """All nodes that reach the source, without itself."""
    return set(G.nodes_of(_search(G, source, True, None).order[1:]))


def _search(g: BackendGraph, source: Any, reverse: bool, limit: int | None) -> Search:
    number = g.find(source)
    if number is None:
        if g.is_directed():
            raise nx.NetworkXError(f"The node {source} is not in the digraph.")
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return Searcher(g.reverse if reverse else g.graph).search([number], limit)


def _layers(g: BackendGraph, search: Search) -> Iterator[list[Any]]:
    nodes, begin = g.nodes_of(search.order), 0
    for end in np.searchsorted(search.levels, np.arange(1, search.levels[-1] + 2)).tolist():
        yield nodes[begin:end]
        begin = end
