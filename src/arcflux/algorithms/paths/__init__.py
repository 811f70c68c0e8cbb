"""Paths between two vertices, and distances between many: searches from both ends, with estimates, and Yen's.

A search for one path visits a part of the graph, on one core; distances from many sources are distributed over cores
and workers by source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.katz import start_values
from arcflux.algorithms.paths.queries import Query
from arcflux.checks import array, maybe, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph
from arcflux.graph.ids import by_id
from arcflux.validate import arguments

__all__ = [
    "all_pairs_distances", "astar_path", "distance_matrix", "has_path", "k_shortest_paths", "shortest_path",
    "shortest_path_length",
]  # fmt: skip

Array = NDArray[Any]


@graph_call(target=array)
def shortest_path(graph: Graph, source: Any, target: Any, weight: str | None = None, **where: Any) -> list[Any]:
    """The ids on a shortest path from one vertex to another, both given by id, by searches from both ends.

    Without `weight` every edge counts 1; else it is a column of numbers from 0 on. Edges are followed in their
    direction; of parallel ones the lightest counts. Of several shortest paths it is always the same one.

    Raises
    ------
    GraphError
        When there is no path.

    Examples
    --------
    >>> import arcflux as af
    >>> af.shortest_path("grid:3x3", 0, 8)[::4]
    [0, 8]
    """
    return _found(graph, source, target, _search(graph, source, target, weight, where)[1])


@graph_call(target=array)
def shortest_path_length(graph: Graph, source: Any, target: Any, weight: str | None = None, **where: Any) -> float:
    """The length of a shortest path from one vertex to another, inf when there is none; see :func:`shortest_path`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.shortest_path_length("grid:3x3", 0, 8)
    4.0
    """
    return _search(graph, source, target, weight, where)[0]


@graph_call(target=array)
def has_path(graph: Graph, source: Any, target: Any, **where: Any) -> bool:
    """Whether there is a path from one vertex to another.

    Examples
    --------
    >>> import arcflux as af
    >>> af.has_path(af.Graph.from_edges([0, 1], [1, 2]), 2, 0)
    False
    """
    return bool(_search(graph, source, target, None, where)[0] < np.inf)


@graph_call(target=array, heuristic=None)
def astar_path(
    graph: Graph, source: Any, target: Any, heuristic: Callable[[Any, Any], float] | Mapping[Any, float] | None = None,
    weight: str | None = None, **where: Any,
) -> list[Any]:  # fmt: skip
    """The ids on a path from one vertex to another by A*, which looks first where it is estimated to be near.

    `heuristic` is a function of two ids, a vertex and the target (it is called once for every vertex), or a number for
    each id, or an array in the order of the ids. The path is a shortest one when no estimate is more than what is
    really left; without one, this is Dijkstra's search. See :func:`shortest_path` for the rest.

    Examples
    --------
    >>> import arcflux as af
    >>> af.astar_path("path:5", 0, 4, heuristic=lambda u, v: abs(u - v))
    [0, 1, 2, 3, 4]
    """
    ends = _ends(graph, source, target)
    estimate = _estimates(graph, target, heuristic)
    lengths = arguments.lengths(graph, weight)
    done = launch(graph, where, lambda worker: Query(worker, lengths).along(*ends, estimate))
    return _found(graph, source, target, done.answer[1])


@graph_call(target=array, k=wholes(0))
def k_shortest_paths(
    graph: Graph, source: Any, target: Any, k: int, weight: str | None = None, **where: Any
) -> list[list[Any]]:  # fmt: skip
    """The k shortest paths without loops from one vertex to another, shortest first, as lists of ids (Yen 1971).

    Fewer when there are not this many. Paths that differ only in which of parallel edges they take are one. Equally
    long paths come in the order of the vertices' numbers. See :func:`shortest_path` for `weight`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.k_shortest_paths("cycle:5", 0, 2, k=3)
    [[0, 1, 2], [0, 4, 3, 2]]
    """
    ends, lengths = _ends(graph, source, target), arguments.lengths(graph, weight)
    done = launch(graph, where, lambda worker: Query(worker, lengths).several(*ends, k))
    return [graph.ids.to_ids(np.array(path)).tolist() for path in done.answer]


@graph_call()
def distance_matrix(graph: Graph, sources: Any = None, weight: str | None = None, **where: Any) -> Array:
    """The lengths of the shortest paths from some vertices to all: a row for each source, inf where there is no path.

    `sources` are ids, all without it. The matrix has to fit the memory; :func:`all_pairs_distances` goes through it
    block by block. Workers take a share of the sources. See :func:`shortest_path` for `weight`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.distance_matrix("path:4", [0, 3]).tolist()
    [[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]]
    """
    chosen = np.arange(graph.vertices) if sources is None else arguments.numbers_of(graph, sources)
    lengths = arguments.lengths(graph, weight)
    return launch(graph, where, lambda worker: _rows(worker, chosen, lengths)).answer


@graph_call(block=maybe(wholes(1)))
def all_pairs_distances(
    graph: Graph, weight: str | None = None, block: int | None = None, **where: Any
) -> Iterator[tuple[Array, Array]]:  # fmt: skip
    """All pairs, block by block: the ids of some sources, and their rows of :func:`distance_matrix`.

    A block has as many rows as `block` says, or as fit 64 MiB; no more than one is in memory.

    Examples
    --------
    >>> import arcflux as af
    >>> [rows.shape for ids, rows in af.all_pairs_distances("path:5", block=2)]
    [(2, 5), (2, 5), (1, 5)]
    """
    size = max(1, (1 << 23) // max(1, graph.vertices)) if block is None else block

    def blocks() -> Iterator[tuple[Array, Array]]:
        for begin in range(0, graph.vertices, size):
            ids = graph.ids.to_ids(np.arange(begin, min(begin + size, graph.vertices)))
            yield ids, distance_matrix(graph, ids, weight, **where)

    return blocks()


def _rows(worker: Worker, chosen: Array, lengths: Array | None) -> Array:
    from arcflux.algorithms.paths.cpu import distances

    worker.kernels(__name__)
    first, last = worker.share(len(chosen))
    own = distances(worker, chosen[first:last], lengths)
    return worker.gather(own.reshape(-1)).reshape(len(chosen), worker.graph.vertices)


def _search(
    graph: Graph, source: Any, target: Any, weight: str | None, where: dict[str, Any]
) -> tuple[float, list[int]]:  # fmt: skip
    ends, lengths = _ends(graph, source, target), arguments.lengths(graph, weight)
    return launch(graph, where, lambda worker: Query(worker, lengths).from_both_ends(*ends)).answer


def _ends(graph: Graph, source: Any, target: Any) -> tuple[int, int]:
    for name, given in (("source", source), ("target", target)):
        if given is None or np.ndim(given):
            raise UsageError(f"{name} is {given!r}", expected="the id of one vertex")
    return graph.ids.to_number(source), graph.ids.to_number(target)


def _found(graph: Graph, source: Any, target: Any, path: list[int]) -> list[Any]:
    if not path:
        raise GraphError(f"there is no path from {source!r} to {target!r}", expected="a path",
                         remedy="af.has_path(graph, source, target) asks first")  # fmt: skip
    found: list[Any] = graph.ids.to_ids(np.array(path)).tolist()
    return found


def _estimates(graph: Graph, target: Any, heuristic: Any) -> Array:
    if heuristic is None:
        return np.zeros(graph.vertices)
    if callable(heuristic):
        values = np.array([_estimate(heuristic, one, target) for one in graph.ids], np.float64)
    elif isinstance(known := by_id(heuristic), Mapping):
        values = start_values(graph, "heuristic", known, 0.0)
    else:
        values = arguments.reals("heuristic", heuristic, graph.vertices)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise UsageError("heuristic has an estimate below 0, infinite or NaN", expected="finite numbers from 0 on")
    return values


def _estimate(heuristic: Callable[[Any, Any], float], one: Any, target: Any) -> float:
    try:
        return float(heuristic(one, target))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"heuristic({one!r}, {target!r}) gives no number: {error}", expected="a function of two ids that gives one"
        ) from error
