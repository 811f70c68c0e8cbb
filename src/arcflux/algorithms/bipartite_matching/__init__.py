"""The largest matching of a graph with two sides, by Hopcroft's and Karp's algorithm (1973)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.one_core import walk
from arcflux.checks import array
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["maximum_bipartite_matching"]

Array = NDArray[Any]


@graph_call(top_nodes=array)
def maximum_bipartite_matching(graph: Graph, top_nodes: Any = None, **where: Any) -> af.Result:
    """A matching of as many edges as there can be, of a bipartite graph: `mate`, and the `side` of each vertex.

    A vertex without a mate has -1 (None among text ids). `top_nodes` are the ids of one side, between which and the
    others all edges are; without it the sides are found, the first vertex of each component on side 0. Directions,
    weights and parallel edges make no difference. O(E sqrt(V)), the work of one core wherever it runs. Of several such
    matchings it is always the same one. ``result.validate()`` checks it by a vertex cover of as many vertices (Konig).

    Raises
    ------
    GraphError
        When the graph is not bipartite, with an edge on an odd cycle; a self-loop is one.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.maximum_bipartite_matching("path:4")
    >>> found["mate"].tolist(), found["side"].tolist()
    ([1, 0, 3, 2], [0, 1, 0, 1])
    """
    both = graph.both_ways()
    side = None
    if top_nodes is not None:
        if np.ndim(top_nodes) != 1:
            raise UsageError(f"top_nodes is {top_nodes!r}", expected="a list of ids")
        side = np.ones(graph.vertices, np.int8)
        side[arguments.numbers_of(graph, top_nodes) if np.size(top_nodes) else []] = 0
    done = launch(both, where, lambda worker: _work(worker, side))
    mate, sides = done.answer
    _refuse_odd(graph, sides)
    result = af.Result(
        "maximum_bipartite_matching", graph, {"mate": mate, "side": sides}, [], True, done.seconds,
        done.compile_seconds, frozenset({"mate"}),
    )  # fmt: skip
    return done.finish(result).checked_by(
        lambda found: af.validate.maximum_matching(graph, found.numbers("mate"), found["side"])
    )


def _work(worker: Worker, side: Array | None) -> tuple[Array, Array]:
    from arcflux.algorithms.bipartite_matching.cpu import augment, find_sides

    n, queue = worker.graph.vertices, np.empty(worker.graph.vertices, np.int64)
    if side is None:
        side = np.full(n, -1, np.int8)
        walk(worker, find_sides, *worker.graph.out, side, queue)
    mate = np.full(n, -1, np.int64)
    offsets, neighbours = worker.graph.out
    sources = np.repeat(np.arange(n), np.diff(offsets).astype(np.int64))
    if not (side[sources] == side[neighbours]).any():
        level, place, path = (np.empty(n, np.int64) for _ in range(3))
        walk(worker, augment, offsets, neighbours, side, mate, level, place, path, queue)
    return mate, side


def _refuse_odd(graph: Graph, side: Array) -> None:
    sources, targets, _ = graph.edge_numbers()
    wrong = np.flatnonzero(side[sources] == side[targets])
    if len(wrong):
        u, v = (arguments.user_id(graph, end[wrong[0]]) for end in (sources, targets))
        raise GraphError(f"the edge from {u!r} to {v!r} is within a side", expected="a bipartite graph")
