"""Spanning trees and forests of the least or the most weight, by Boruvka's algorithm on all cores.

Edges are ranked once by weight, ties by position in the graph; so no two have the same rank, and the forest of least
ranks is unique on any workers (Kruskal's algorithm finds the same). In a round every tree takes the edge of lowest rank
that leads out of it, and joined trees become one: at most log2 of the vertices rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.edge_subset import EdgeSubset, edge_values, flags_of
from arcflux.checks import maybe, text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, WeightError
from arcflux.graph import Graph

__all__ = ["maximum_spanning_tree", "minimum_spanning_tree", "spanning_places"]

Array = NDArray[Any]


@graph_call(weight=maybe(text))
def minimum_spanning_tree(graph: Graph, weight: str | None = "weight", **where: Any) -> EdgeSubset:
    """A spanning tree of the least weight, or one of each component: a forest.

    `tree` is the vertex of the smallest number in each vertex's tree, ``result.edges["chosen"]`` says of every arc
    whether it is in the forest, ``result.pairs()`` are its edges, the lightest first, ``result.subgraph()`` is the
    forest as a graph, and ``result.totals["weight"]`` its weight. Of equal weights the edge that comes first in the
    graph is taken, so the forest is always the same, and NetworkX's of the same edges in the same order. Weights may be
    negative; a graph without a column `weight`, or with ``weight=None``, has edges that all count 1. Of parallel edges
    at most one is taken, self-loops never.

    `where` are the options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
    `ranks_per_node`. Every worker sees the whole graph and takes a share of its edges.

    Raises
    ------
    GraphError
        When the graph is directed.
    WeightError
        When a weight is NaN, or there is no such column.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2], [1, 2, 0], columns={"weight": [3, 1, 2]}, directed=False)
    >>> found = af.minimum_spanning_tree(g)
    >>> found.totals["weight"], found.edges["chosen"].tolist()
    (3, [False, True, False, True, True, True])
    """
    return _forest("minimum_spanning_tree", graph, weight, 1, where)


@graph_call(weight=maybe(text))
def maximum_spanning_tree(graph: Graph, weight: str | None = "weight", **where: Any) -> EdgeSubset:
    """A spanning tree of the most weight, or one of each component; as :func:`minimum_spanning_tree`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2], [1, 2, 0], columns={"weight": [3, 1, 2]}, directed=False)
    >>> af.maximum_spanning_tree(g).totals["weight"]
    5
    """
    return _forest("maximum_spanning_tree", graph, weight, -1, where)


def _forest(name: str, graph: Graph, weight: str | None, sign: int, where: dict[str, Any]) -> EdgeSubset:
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
    column = _weights(graph, weight)
    done = launch(graph, where, lambda worker: spanning_places(worker, column, sign))
    places, tree = done.answer
    total = len(places) if column is None else _exact_sum(column[places])
    result = EdgeSubset(
        name, graph, {"tree": tree}, [], True, done.seconds, done.compile_seconds, frozenset({"tree"}),
        totals={"weight": total}, edges=edge_values(graph, chosen=lambda: flags_of(graph, places)), places=places,
    )  # fmt: skip
    made = done.finish(result).checked_by(
        lambda found: af.validate.spanning_forest(graph, found.edges["chosen"], weight, maximum=sign < 0)
    )
    assert isinstance(made, EdgeSubset)
    return made


def _exact_sum(values: Array) -> float:
    """The exact sum of numbers; of integers as a Python integer, from sums of their halves."""
    if values.dtype.kind == "f":
        return float(values.sum())
    values = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _weights(graph: Graph, weight: str | None) -> Array | None:
    if weight is None or (weight == "weight" and weight not in graph.columns):
        return None
    if weight not in graph.columns:
        known = ", ".join(graph.columns) or "none"
        raise WeightError(f"the graph has no column {weight!r}", expected=f"one of: {known}", remedy="weight=None")
    column = graph.columns[weight]
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise WeightError(f"a value of the column {weight!r} is NaN", expected="numbers that have an order")
    return column.astype(np.int64) if column.dtype == np.bool_ else column


def spanning_places(worker: Worker, column: Array | None, sign: int = 1) -> tuple[Array, Array]:
    """The positions of the forest's edges by weight, and each vertex's tree by its smallest vertex."""
    n = worker.graph.vertices
    places, root = worker.kernels(__name__).forest(worker, column, sign)
    smallest = np.empty(n, root.dtype)
    smallest[root[::-1]] = np.arange(n, dtype=root.dtype)[::-1]  # the last of several assignments stays
    return places, smallest[root]
