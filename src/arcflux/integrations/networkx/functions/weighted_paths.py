"""Paths of the least weight: distances by :func:`arcflux.multi_source_sssp`, their order and paths by a walk.

Weights below 0, infinite ones, and those that are no numbers are left to NetworkX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.kernels import call, settle_in_order
from arcflux.integrations.networkx.settings import where

__all__ = [
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "dijkstra_path",
    "dijkstra_path_length",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
]

Array = NDArray[Any]
Lengths = dict[Any, float]
Paths = dict[Any, list[Any]]
# Up to here all whole numbers are floats.
_EXACT = 2.0**53


class _Settled(NamedTuple):
    """Vertices in the order in which Dijkstra's algorithm settles them, sources first; of each distance and parent.

    whole: whether all weights are whole numbers, and so all distances.
    """

    order: Array
    distance: Array
    parent: Array
    sources: int
    whole: bool


def multi_source_dijkstra_path_length(
    G: BackendGraph, sources: Iterable[Any], cutoff: float | None = None, weight: str | None = "weight"
) -> Lengths:
    """The distance of each node from the nearest source, nearest first."""
    return _lengths(G, _settle(G, _checked(G, sources), weight, cutoff))


def multi_source_dijkstra_path(
    G: BackendGraph, sources: Iterable[Any], cutoff: float | None = None, weight: str | None = "weight"
) -> Paths:
    """A shortest path to each node from the nearest source."""
    return _paths(G, _settle(G, _checked(G, sources), weight, cutoff))


def multi_source_dijkstra(
    G: BackendGraph, sources: Iterable[Any], target: Any = None, cutoff: float | None = None,
    weight: str | None = "weight",
) -> tuple[Any, Any]:  # fmt: skip
    """Distances and paths to all nodes, or to one, from the nearest source."""
    numbers = _checked(G, sources)
    if target in sources:
        return 0, [target]
    settled = _settle(G, numbers, weight, cutoff)
    if target is None:
        return _lengths(G, settled), _paths(G, settled)
    number = G.find(target)
    if number is None or not np.isfinite(settled.distance[number]):
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return _value(settled.distance[number], settled.whole), _path(G, settled, number)


def single_source_dijkstra_path_length(
    G: BackendGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> Lengths:
    """The distance of each node from the source, nearest first."""
    return multi_source_dijkstra_path_length(G, [source], cutoff, weight)


def single_source_dijkstra_path(
    G: BackendGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> Paths:
    """A shortest path to each node."""
    return multi_source_dijkstra_path(G, [source], cutoff, weight)


def single_source_dijkstra(
    G: BackendGraph, source: Any, target: Any = None, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[Any, Any]:
    """Distances and paths to all nodes, or to one."""
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def dijkstra_path(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> list[Any]:
    """A shortest path between two nodes."""
    path: list[Any] = single_source_dijkstra(G, source, target, weight=weight)[1]
    return path


def dijkstra_path_length(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> float:
    """The length of a shortest path between two nodes."""
    numbers = _checked(G, [source])
    if source == target:
        return 0
    number, settled = G.find(target), _distances(G, numbers, weight)
    if number is None or not np.isfinite(settled[number]):
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return _value(settled[number], _is_whole(G, weight))


def all_pairs_dijkstra(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, tuple[Lengths, Paths]]]:
    """Of each node the distances and paths to all others."""
    for number, node in enumerate(G.nodes):
        settled = _settle(G, [number], weight, cutoff)
        yield node, (_lengths(G, settled), _paths(G, settled))


def all_pairs_dijkstra_path_length(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Of each node the distances to all others."""
    for number, node in enumerate(G.nodes):
        yield node, _lengths(G, _settle(G, [number], weight, cutoff))


def all_pairs_dijkstra_path(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, Paths]]:
    """Of each node a shortest path to every other one."""
    for number, node in enumerate(G.nodes):
        yield node, _paths(G, _settle(G, [number], weight, cutoff))


def _checked(g: BackendGraph, sources: Iterable[Any]) -> list[int]:
    """The numbers of the sources, each once."""
    if not sources:
        raise ValueError("sources must not be empty")
    numbers: dict[int, None] = {}
    for source in sources:
        number = g.find(source)
        if number is None:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
        numbers[number] = None
    return list(numbers)


def _weights(g: BackendGraph, weight: str | None) -> Array:
    """The column of weights, all of which Dijkstra's algorithm can take."""
    column = g.column(weight)
    least, most = (column.min(), column.max()) if len(column) else (0, 0)
    if not (least >= 0 and most < np.inf):
        raise NotImplementedError(f"the weights {weight!r} are not all from 0 on and finite")
    if column.dtype.kind in "iu" and float(most) * max(1, len(g)) >= _EXACT:
        raise NotImplementedError(f"paths of the weights {weight!r} can be longer than 2^53")
    return column


def _is_whole(g: BackendGraph, weight: str | None) -> bool:
    return g.column(weight).dtype.kind in "iub"


def _distances(g: BackendGraph, sources: list[int], weight: str | None) -> Array:
    _weights(g, weight)
    weighed = g.weighed(weight)
    column = None if weighed is None else "weight"
    found = af.multi_source_sssp(weighed or g.graph, sources, weight=column, predecessors=False, **where())
    return found["distance"]


def _settle(g: BackendGraph, sources: list[int], weight: str | None, cutoff: float | None) -> _Settled:
    distance = _distances(g, sources, weight)
    if cutoff is not None:
        distance = np.where(distance > cutoff, np.inf, distance)
        distance[sources] = 0
    reached = np.flatnonzero(distance < np.inf)
    different, place = np.unique(distance[reached], return_inverse=True)
    group = np.full(len(g), -1, np.int64)
    group[reached] = place
    begin = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(different)))])
    order, parent = np.empty(len(reached), np.int64), np.full(len(g), -1, np.int64)
    order[: len(sources)], parent[sources] = sources, sources
    arguments = g.column(weight), distance, group, begin, order, parent, np.array([len(sources)])
    call(settle_in_order, *g.graph.out, *arguments)
    return _Settled(order, distance, parent, len(sources), _is_whole(g, weight))


def _value(distance: Any, whole: bool) -> float:
    return int(distance) if whole else float(distance)


def _lengths(g: BackendGraph, settled: _Settled) -> Lengths:
    distances = settled.distance[settled.order]
    listed = (distances.astype(np.int64) if settled.whole else distances).tolist()
    listed[: settled.sources] = [0] * settled.sources
    return dict(zip(g.nodes_of(settled.order), listed, strict=True))


def _path(g: BackendGraph, settled: _Settled, number: int) -> list[Any]:
    path = [number]
    while settled.parent[path[-1]] != path[-1]:
        path.append(int(settled.parent[path[-1]]))
    return g.nodes_of(np.array(path[::-1]))


def _paths(g: BackendGraph, settled: _Settled) -> Paths:
    nodes, before = g.nodes_of(settled.order), g.nodes_of(settled.parent[settled.order])
    paths: Paths = {node: [node] for node in nodes[: settled.sources]}
    for node, parent in zip(nodes[settled.sources :], before[settled.sources :], strict=True):
        paths[node] = [*paths[parent], node]
    return paths
