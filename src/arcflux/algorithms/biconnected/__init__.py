"""What falls apart without a vertex or an edge: articulation points, bridges, biconnected components.

One depth-first search of all vertices (Hopcroft and Tarjan 1973): an edge belongs to the component of the tree edge
into that end of it which the search meets later.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.edge_subset import EdgeSubset, edge_values, flags_of
from arcflux.algorithms.one_core import walk
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError
from arcflux.graph import Graph

__all__ = ["Blocks", "articulation_points", "biconnected_components", "blocks", "bridges", "find_bridges"]

Array = NDArray[Any]


class Blocks(NamedTuple):
    """met: when the search met each vertex; block: the component of the tree edge into it, -1 of a root.

    points: the articulation points, in the order in which the search knows them; total: how many components there are.
    """

    met: Array
    block: Array
    points: Array
    total: int


@graph_call()
def articulation_points(graph: Graph, **where: Any) -> af.Result:
    """Vertices without which a component of an undirected graph falls apart: the flag `articulation`.

    Weights, parallel edges and self-loops make no difference. `where` are the options of :func:`arcflux.run` that say
    where it runs; the search itself is the work of one core, and every worker makes it.

    Examples
    --------
    >>> import arcflux as af
    >>> af.articulation_points(af.load("path:4"))["articulation"].tolist()
    [False, True, True, False]
    """
    done = launch(_undirected(graph), where, blocks)
    flags = np.zeros(graph.vertices, np.bool_)
    flags[done.answer.points] = True
    values, times = {"articulation": flags}, (done.seconds, done.compile_seconds)
    made = done.finish(af.Result("articulation_points", graph, values, [], True, *times))
    return made.checked_by(lambda found: af.validate.articulation_points(graph, found["articulation"]))


@graph_call()
def bridges(graph: Graph, **where: Any) -> EdgeSubset:
    """Edges without which a component of an undirected graph falls apart.

    ``result.edges["chosen"]`` says of each arc whether it is a bridge, ``result.pairs()`` lists them; `bridges` is how
    many each vertex has. An edge that has a parallel one is none, nor is a self-loop. Weights make no difference. The
    search is the work of one core.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> [ends.tolist() for ends in af.bridges(g).pairs()]
    [[2], [3]]
    """
    done = launch(_undirected(graph), where, lambda worker: find_bridges(graph, blocks(worker)))
    places = done.answer
    flags = flags_of(graph, places)
    counts = np.bincount(graph.out.neighbours[flags], minlength=graph.vertices).astype(np.int64)
    result = EdgeSubset(
        "bridges", graph, {"bridges": counts}, [], True, done.seconds, done.compile_seconds,
        edges=edge_values(graph, chosen=flags), places=places,
    )  # fmt: skip
    made = done.finish(result).checked_by(lambda found: af.validate.bridges(graph, found.edges["chosen"]))
    assert isinstance(made, EdgeSubset)
    return made


@graph_call()
def biconnected_components(graph: Graph, **where: Any) -> af.Result:
    """The biconnected component of every edge of an undirected graph: ``result.edges["component"]``, from 0 on.

    Components are sets of edges: any two of them are on a common cycle, or it is a single edge. `components` is of how
    many each vertex is a member: more than one at articulation points, 0 without edges. A self-loop is in none (-1);
    parallel edges are in the same. ``result.totals["components"]`` is how many there are. The search is the work of one
    core.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> found = af.biconnected_components(g)
    >>> found.edges["component"].tolist(), found["components"].tolist()
    ([1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 2, 1])
    """
    done = launch(_undirected(graph), where, blocks)
    found = done.answer
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    label = labels_of(found, sources, graph.out.neighbours)
    label[sources == graph.out.neighbours] = -1
    apart = label >= 0
    pairs = np.unique(sources[apart] * max(1, found.total) + label[apart])
    values = {"components": np.bincount(pairs // max(1, found.total), minlength=graph.vertices).astype(np.int64)}
    made = af.Result(
        "biconnected_components", graph, values, [], True, done.seconds, done.compile_seconds,
        totals={"components": found.total}, edges=edge_values(graph, component=label),
    )  # fmt: skip
    return done.finish(made)


def blocks(worker: Worker) -> Blocks:
    """The biconnected components of the worker's graph, by one search in the order of its rows."""
    from arcflux.algorithms.biconnected.cpu import find_blocks

    n = worker.graph.vertices
    met, block = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    points, size = np.empty(n, np.int64), np.zeros(2, np.int64)
    scratch = [np.zeros(n, np.int64) for _ in range(4)]
    walk(worker, find_blocks, *worker.graph.out, met, block, points, size, *scratch, np.zeros(n, np.bool_))
    return Blocks(met, block, points[: size[1]], int(size[0]))


def labels_of(found: Blocks, sources: Array, targets: Array) -> Array:
    """The component of each of some edges: that of the tree edge into the end that was met later."""
    later = np.where(found.met[sources] > found.met[targets], sources, targets)
    return found.block[later]


def find_bridges(graph: Graph, found: Blocks) -> Array:
    """The places of the edges that are alone in their component."""
    sources, targets, places = graph.edge_numbers()
    apart = sources != targets
    sources, targets, places = sources[apart], targets[apart], places[apart]
    label = labels_of(found, sources, targets)
    alone = np.bincount(label, minlength=found.total) == 1
    bridged: Array = places[alone[label]]
    return bridged


def _undirected(graph: Graph) -> Graph:
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
    return graph
