"""The extent of a graph: diameter, radius, center, periphery, and the mean distance, exact or of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.algorithms.closeness import all_distances, eccentricity
from arcflux.algorithms.paths import distance_matrix
from arcflux.checks import maybe, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError
from arcflux.graph import Graph

__all__ = ["average_shortest_path_length", "center", "diameter", "periphery", "radius"]


@graph_call()
def diameter(graph: Graph, **options: Any) -> float:
    """The largest distance between two vertices, in edges; inf when some cannot be reached.

    By a search from every vertex, 62 at once. Edges are followed in their direction.

    Examples
    --------
    >>> import arcflux as af
    >>> af.diameter("grid:4x5")
    7.0
    """
    return float(_eccentricity(graph, options).max())


@graph_call()
def radius(graph: Graph, **options: Any) -> float:
    """The smallest eccentricity: how far the farthest vertex is from the most central one, in edges.

    Examples
    --------
    >>> import arcflux as af
    >>> af.radius("path:5")
    2.0
    """
    return float(_eccentricity(graph, options).min())


@graph_call()
def center(graph: Graph, **options: Any) -> list[Any]:
    """The ids of the vertices whose eccentricity is the radius.

    Examples
    --------
    >>> import arcflux as af
    >>> af.center("path:5")
    [2]
    """
    far = _eccentricity(graph, options)
    found: list[Any] = graph.ids.to_ids(np.flatnonzero(far == far.min())).tolist()
    return found


@graph_call()
def periphery(graph: Graph, **options: Any) -> list[Any]:
    """The ids of the vertices whose eccentricity is the diameter.

    Examples
    --------
    >>> import arcflux as af
    >>> af.periphery("path:5")
    [0, 4]
    """
    far = _eccentricity(graph, options)
    found: list[Any] = graph.ids.to_ids(np.flatnonzero(far == far.max())).tolist()
    return found


@graph_call(k=maybe(wholes(1)), seed=any_seed)
def average_shortest_path_length(
    graph: Graph, weight: str | None = None, k: int | None = None, seed: int = 0, **where: Any
) -> float:  # fmt: skip
    """The mean length of the shortest paths between different vertices; inf when one cannot be reached from another.

    `k`: from this many sources alone, drawn without repetition by `seed`: an estimate. Without it, from all. `weight`
    is a column of numbers from 0 on; without it edges count 1. A graph of one vertex has 0.

    Examples
    --------
    >>> import arcflux as af
    >>> af.average_shortest_path_length("complete:6")
    1.0
    """
    n = graph.vertices
    if n == 0:
        raise GraphError("the graph has no vertices", expected="at least one")
    if n == 1:
        return 0.0
    if k is None and weight is None:
        found = all_distances(graph, **where)
        reached, total = (int(found.values[name].sum()) for name in ("reached", "total"))
        return total / (n * (n - 1)) if reached == n * (n - 1) else float("inf")
    count = n if k is None else min(k, n)
    chosen = np.sort(np.random.Generator(np.random.Philox(seed % (1 << 64))).permutation(n)[:count])
    size, sums = max(1, (1 << 23) // n), 0.0
    huge = weight in graph.columns and float(graph.columns[str(weight)].max(initial=0)) > 1e200
    unit = 2.0**-64 if huge else 1.0  # so that sums of distances are floats, too
    for begin in range(0, count, size):
        ids = graph.ids.to_ids(chosen[begin : begin + size])
        sums += float((distance_matrix(graph, ids, weight, **where) * unit).sum())
    return sums / (count * (n - 1)) / unit


def _eccentricity(graph: Graph, options: dict[str, Any]) -> Any:
    if not graph.vertices:
        raise GraphError("the graph has no vertices", expected="at least one")
    return eccentricity(graph, **options)["eccentricity"]
