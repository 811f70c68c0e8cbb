"""Trusses: parts of a graph in which every edge is in many triangles (Cohen 2008), and how many each edge is in.

First the supports of all edges are counted. Then edges with too little support are removed, round by round, and
decrement the other edges of their triangles (Kabir and Madduri 2017); if a triangle loses several edges in one round,
the first of them does so. When so many are removed that rows are mostly gaps, the remaining edges become a new graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.edge_subset import EdgeSubset, edge_values
from arcflux.checks import wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.graph.arcs import edge_of_arcs
from arcflux.graph.subgraphs import simple_view
from arcflux.spmd.memory import frozen

__all__ = ["edge_support", "k_truss", "supports", "truss_number", "truss_numbers"]

Array = NDArray[Any]


@graph_call()
def edge_support(graph: Graph, **where: Any) -> af.Result:
    """In how many triangles every edge of an undirected graph is: ``result.edges["support"]``.

    `support` of a vertex is the most that one of its edges has. Parallel edges count as one and all have its support; a
    self-loop has 0; weights make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> found = af.edge_support(g)
    >>> found.edges["support"].tolist(), found["support"].tolist()
    ([1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0])
    """
    _refuse_directed(graph)
    done = launch(graph, where, supports)
    values = _by_arc(graph, done.answer, 0)
    by_vertex = _most(graph, values)
    times = done.seconds, done.compile_seconds
    edges = edge_values(graph, support=values)
    made = done.finish(af.Result("edge_support", graph, {"support": by_vertex}, [], True, *times, edges=edges))
    return made.checked_by(lambda found: af.validate.edge_support(graph, found.edges["support"]))


@graph_call()
def truss_number(graph: Graph, **where: Any) -> af.Result:
    """The largest k for which every edge of an undirected graph is in the k-truss: ``result.edges["truss"]``.

    `truss` of a vertex is the largest of its edges', 0 of one without. An edge in no triangle has 2. Parallel edges
    count as one, self-loops not at all (0).

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> af.truss_number(g)["truss"].tolist()
    [3, 3, 3, 2]
    """
    _refuse_directed(graph)
    done = launch(graph, where, truss_numbers)
    values = _by_arc(graph, done.answer, 0)
    times = done.seconds, done.compile_seconds
    edges = edge_values(graph, truss=values)
    by_vertex = _most(graph, values)
    made = done.finish(af.Result("truss_number", graph, {"truss": by_vertex}, [], True, *times, edges=edges))
    return made.checked_by(lambda found: af.validate.truss_number(graph, found.edges["truss"]))


@graph_call(k=wholes(0))
def k_truss(graph: Graph, k: int = 3, **where: Any) -> EdgeSubset:
    """The largest part of an undirected graph in which every edge is in k - 2 triangles of that part.

    `inside` says which vertices have an edge in it, ``result.edges["chosen"]`` which arcs are in it, and
    ``result.subgraph()`` has all vertices and those edges. Parallel edges count as one and stay or leave
    together; self-loops are in none. Weights make no difference.

    `where` are the options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
    `ranks_per_node`. Every worker sees the whole graph and takes a share of its edges.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> af.k_truss(g, 3)["inside"].tolist()
    [True, True, True, False]
    """
    _refuse_directed(graph)
    done = launch(graph, where, lambda worker: members(worker, k))
    flags = _by_arc(graph, done.answer, False)
    _, _, places = graph.edge_numbers()
    inside = np.zeros(graph.vertices, np.bool_)
    inside[graph.out.neighbours[flags]] = True
    result = EdgeSubset(
        "k_truss", graph, {"inside": inside}, [], True, done.seconds, done.compile_seconds,
        edges=edge_values(graph, chosen=flags), places=places[flags[places]],
    )  # fmt: skip
    made = done.finish(result).checked_by(lambda found: af.validate.k_truss(graph, found.edges["chosen"], k))
    assert isinstance(made, EdgeSubset)
    return made


def supports(worker: Worker) -> Array:
    """In how many triangles each edge of the simple view is, in the order of its `edge_numbers`."""
    found: Array = worker.kernels(__name__).Trusses(worker, simple_view(worker.graph)).supports().astype(np.int64)
    return found


def truss_numbers(worker: Worker) -> Array:
    """The truss number of each edge of the simple view: level by level, edges outside the next truss leave."""
    trusses = worker.kernels(__name__).Trusses(worker, simple_view(worker.graph))
    numbers = np.full(trusses.size, 2, np.int64)
    trusses.supports()
    left = trusses.left()
    while left.any():
        level = int(trusses.support[left].min()) + 3
        trusses.peel(level - 2)
        after = trusses.left()
        numbers[trusses.numbers[left & ~after]] = level - 1
        left = after
        if 2 * np.count_nonzero(left) < trusses.size:
            trusses.restrict(left)
            left = trusses.left()
    return numbers


def members(worker: Worker, k: int) -> Array:
    """Which edges of the simple view are in its k-truss.

    If many edges are in too few triangles, triangles are counted again without them: that costs less than finding all
    triangles that they remove.
    """
    trusses = worker.kernels(__name__).Trusses(worker, simple_view(worker.graph))
    inside = np.zeros(trusses.size, np.bool_)
    while trusses.size:
        strong = trusses.supports() >= k - 2
        if not strong.any():
            return inside
        if 4 * np.count_nonzero(strong) > 3 * trusses.size:
            break
        trusses.restrict(strong)
    trusses.peel(k - 2)
    inside[trusses.numbers[trusses.left()]] = True
    return inside


def _by_arc(graph: Graph, values: Array, otherwise: int) -> Array:
    """Values of the simple view's edges for all arcs of the graph, in the order of its columns."""
    edge_of = _simple_edges(graph)
    return np.append(values, otherwise)[edge_of]


def _simple_edges(graph: Graph) -> Array:
    """The number of each arc's edge in the simple view; loops, which have none, get one past the last; cached."""
    rows = simple_view(graph)
    if rows is graph:
        return edge_of_arcs(graph)
    if "simple edges" not in graph.kept:
        low, high, _ = rows.edge_numbers()
        wide = np.uint64(max(1, graph.vertices))
        keys = low.astype(np.uint64) * wide + high
        sources = np.repeat(np.arange(graph.vertices, dtype=np.uint64), graph.out_degrees.astype(np.int64))
        targets = graph.out.neighbours.astype(np.uint64)
        place = np.searchsorted(keys, np.minimum(sources, targets) * wide + np.maximum(sources, targets))
        place[sources == targets] = len(keys)
        graph.kept["simple edges"] = frozen(place.astype(np.uint32 if len(keys) < 1 << 32 else np.uint64))
    found: Array = graph.kept["simple edges"]
    return found


def _most(graph: Graph, values: Array) -> Array:
    """The largest value of an arc of each vertex, 0 without one."""
    found = np.zeros(graph.vertices, np.int64)
    there = np.flatnonzero(graph.out_degrees > 0)
    if len(there):
        found[there] = np.maximum.reduceat(values, graph.out.offsets[:-1][there].astype(np.int64))
    return found


def _refuse_directed(graph: Graph) -> None:
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
