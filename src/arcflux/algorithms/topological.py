"""Graphs without cycles: an order in which every edge leads forward, and the longest path (Kahn 1962)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import maybe, text, unwelcome
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["Generations", "LongestPaths", "dag_longest_path", "dag_longest_path_length", "topological_sort"]

Array = NDArray[Any]


@af.program
class Generations:
    """A vertex is ready when all its in-neighbours are; its generation is one more than the latest of theirs."""

    sparse = True
    left: af.i64  # edges from vertices that are not ready
    generation: af.i64

    def start(v):
        v.left = v.in_degree
        return v.in_degree == 0

    def compute(v, u):
        v.left += -1
        v.generation = max(v.generation, u.generation + 1)

    def update(v):
        return v.left == 0


@af.program
class LongestPaths:
    """The same with the length of the longest path that ends at a vertex, which may begin there."""

    sparse = True
    left: af.i64
    length: af.f64

    def start(v):
        v.left = v.in_degree
        return v.in_degree == 0

    def compute(v, u, edge):
        v.left += -1
        v.length = max(v.length, u.length + edge.weight)

    def update(v):
        return v.left == 0


@graph_call(given=unwelcome)
def topological_sort(graph: Graph, **options: Any) -> af.Result:
    """The place of every vertex in an order in which all edges lead forward: `position`, and its `generation`.

    Vertices of generation 0 have no edge to them, those of generation k one from generation k - 1 and none from later
    ones. Positions go by generation, and within one by the number of the vertex. Parallel edges and weights make no
    difference.

    Raises
    ------
    GraphError
        When the graph is undirected, or has a cycle, of which it names the vertices; a self-loop is one.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["shirt", "shirt", "tie"], ["tie", "belt", "jacket"])
    >>> found = af.topological_sort(g)
    >>> found.ids[found["position"].argsort()].tolist()
    ['shirt', 'belt', 'tie', 'jacket']
    """
    _refuse_undirected(graph)
    made = af.run(Generations, graph, **options)
    generation = made.values["generation"]
    if made.converged:
        _refuse_cycles(graph, made.values["left"])
    position = np.empty(graph.vertices, np.int64)
    position[np.argsort(generation, kind="stable")] = np.arange(graph.vertices)
    result = replace(made, name="topological_sort", values={"position": position, "generation": generation})
    return result.checked_by(lambda found: af.validate.topological_order(graph, found["position"]))


@graph_call(weight=maybe(text), given=unwelcome)
def dag_longest_path(graph: Graph, weight: str | None = "weight", **options: Any) -> list[Any]:
    """The ids on a longest path of a graph without cycles, in their order.

    Edges count what the column `weight` says, 1 each without one; a path of one vertex has length 0, so edges of
    negative weight need not be taken. Of several longest paths it is the one whose last vertex has the smallest number,
    and before it always the smallest one.

    Raises
    ------
    GraphError
        When the graph is undirected, or has a cycle.

    Examples
    --------
    >>> import arcflux as af
    >>> af.dag_longest_path(af.Graph.from_edges(["a", "a", "b"], ["b", "c", "c"]))
    ['a', 'b', 'c']
    """
    weighed, length = _longest(graph, weight, options)
    if not graph.vertices:
        return []
    offsets, neighbours = weighed.into
    weights = weighed.in_columns["weight"]
    path = [int(np.argmax(length))]
    while length[path[-1]] > 0:
        row = slice(int(offsets[path[-1]]), int(offsets[path[-1] + 1]))
        before = neighbours[row][length[neighbours[row]] + weights[row] == length[path[-1]]]
        path.append(int(before.min()))
    found: list[Any] = graph.ids.to_ids(np.array(path[::-1])).tolist()
    return found


@graph_call(weight=maybe(text), given=unwelcome)
def dag_longest_path_length(graph: Graph, weight: str | None = "weight", **options: Any) -> float:
    """The length of a longest path of a graph without cycles; see :func:`dag_longest_path`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.dag_longest_path_length(af.Graph.from_edges([0, 1], [1, 2], columns={"weight": [2.5, 4.0]}))
    6.5
    """
    return float(_longest(graph, weight, options)[1].max(initial=0.0))


def _longest(graph: Graph, weight: str | None, options: dict[str, Any]) -> tuple[Graph, Array]:
    """The graph with the lengths of edges as its only column, and the length of the longest path to each vertex."""
    _refuse_undirected(graph)
    plain = weight is None or (weight == "weight" and not graph.weighted)
    column = np.ones(graph.arcs) if plain else _finite(graph, weight)
    weighed = graph.with_columns({"weight": column})
    made = af.run(LongestPaths, weighed, **options)
    if made.converged:
        _refuse_cycles(graph, made.values["left"])
    return weighed, made.values["length"]


def _finite(graph: Graph, weight: str | None) -> Array:
    if weight not in graph.columns:
        arguments.weights(graph, weight)  # reports what is wrong
    column = graph.columns[str(weight)].astype(np.float64)
    if not np.isfinite(float(np.abs(column).max(initial=0)) * max(1, graph.vertices - 1)):
        raise GraphError(
            f"the column {weight!r} has a value that is not finite, or lengths of paths may be no floats",
            expected="finite numbers, of which as many as a path has edges sum to a float",
        )  # fmt: skip
    return column


def _refuse_undirected(graph: Graph) -> None:
    if not graph.directed:
        raise GraphError("the graph is undirected", expected="a directed graph", remedy="load it with directed=True")


def _refuse_cycles(graph: Graph, left: Array) -> None:
    """An error that names a cycle if vertices were never ready: each has an edge from another one of them."""
    if not (left > 0).any():
        return
    offsets, neighbours = graph.into
    path, place = [int(np.flatnonzero(left > 0)[0])], {}
    while path[-1] not in place:
        place[path[-1]] = len(path) - 1
        row = neighbours[int(offsets[path[-1]]) : int(offsets[path[-1] + 1])]
        path.append(int(row[left[row] > 0][0]))
    cycle = path[place[path[-1]] :][::-1]
    names = graph.ids.to_ids(np.array(cycle)).tolist()
    shown = " -> ".join(map(str, names if len(names) <= 8 else [*names[:7], "...", names[-1]]))
    raise GraphError(f"the graph has a cycle: {shown}", expected="a graph without cycles",
                     remedy="af.condensation(graph) makes one vertex of each cycle")  # fmt: skip
