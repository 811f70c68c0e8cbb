"""Paths of the fewest edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from arcflux.integrations.networkx.functions import weighted_paths as weighted
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.search import Search, Searcher, depth_of

__all__ = [
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "has_path",
    "shortest_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
]


def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    """How many edges each node is away, nearest first."""
    return _lengths(G, Searcher(G.graph).search([_known(G, source, f"Source {source} is not in G")], depth_of(cutoff)))


def single_target_shortest_path_length(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, int]:
    """From how many edges away each node reaches the target, nearest first."""
    return _lengths(
        G, Searcher(G.reverse).search([_known(G, target, f"Target {target} is not in G")], depth_of(cutoff))
    )


def single_source_shortest_path(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A path of the fewest edges to each node."""
    number = _known(G, source, f"Source {source} not in G")
    return _paths(G, Searcher(G.graph).search([number], depth_of(cutoff)))


def single_target_shortest_path(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A path of the fewest edges from each node."""
    number = _known(G, target, f"Target {target} not in G")
    return _paths(G, Searcher(G.reverse).search([number], depth_of(cutoff)), backwards=True)


def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Of each node how many edges every other one is away."""
    searcher, depth = Searcher(G.graph), depth_of(cutoff)
    for number, node in enumerate(G.nodes):
        yield node, _lengths(G, searcher.search([number], depth))


def all_pairs_shortest_path(G: BackendGraph, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Of each node a path of the fewest edges to every other one."""
    searcher, depth = Searcher(G.graph), depth_of(cutoff)
    for number, node in enumerate(G.nodes):
        yield node, _paths(G, searcher.search([number], depth))


def has_path(G: BackendGraph, source: Any, target: Any) -> bool:
    """Whether the source reaches the target."""
    begin, end = _pair(G, source, target)
    return begin == end or bool(Searcher(G.graph).search([begin]).level[end] >= 0)


def shortest_path_length(
    G: BackendGraph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    """The length of the shortest path between two nodes, or one and all others, or all."""
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    if weight is not None:
        return _weighted_length(G, source, target, weight)
    if source is None and target is None:
        return all_pairs_shortest_path_length(G)
    if source is None:
        searcher = Searcher(G.reverse)
        return _lengths(G, searcher.search([_known(G, target, f"Source {target} is not in G")]))
    if target is None:
        return single_source_shortest_path_length(G, source)
    begin, end = _pair(G, source, target)
    level = int(Searcher(G.graph).search([begin]).level[end])
    if level < 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return level


def _weighted_length(g: BackendGraph, source: Any, target: Any, weight: str) -> Any:
    if source is None and target is None:
        return weighted.all_pairs_dijkstra_path_length(g, weight=weight)
    if source is None:
        return weighted.single_source_dijkstra_path_length(g, target, weight=weight)
    if target is None:
        return weighted.single_source_dijkstra_path_length(g, source, weight=weight)
    return weighted.dijkstra_path_length(g, source, target, weight)


def _known(g: BackendGraph, node: Any, missing: str) -> int:
    number = g.find(node)
    if number is None:
        raise nx.NodeNotFound(missing)
    return number


def _pair(g: BackendGraph, source: Any, target: Any) -> tuple[int, int]:
    return _known(g, source, f"Source {source} is not in G"), _known(g, target, f"Target {target} is not in G")


def _lengths(g: BackendGraph, search: Search) -> dict[Any, int]:
    return dict(zip(g.nodes_of(search.order), search.levels.tolist(), strict=True))


def _paths(g: BackendGraph, search: Search, backwards: bool = False) -> dict[Any, list[Any]]:
    nodes = g.nodes_of(search.order)
    before = g.nodes_of(search.parents)
    paths: dict[Any, list[Any]] = {nodes[0]: [nodes[0]]} if nodes else {}
    for node, parent in zip(nodes[1:], before[1:], strict=True):
        paths[node] = [node, *paths[parent]] if backwards else [*paths[parent], node]
    return paths
