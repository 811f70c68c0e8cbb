"""What disconnects without a vertex or an edge: articulation points, bridges, biconnected components.

One depth-first search of all vertices (Hopcroft and Tarjan 1973): an edge belongs to the component of the tree edge
into the end that was discovered later.
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
from arcflux.graph.arcs import not_both_ways

__all__ = ["Blocks", "articulation_points", "biconnected_components", "blocks", "bridges", "find_bridges"]

Array = NDArray[Any]


class Blocks(NamedTuple):
    """met: when the search discovered each vertex; block: the component of the tree edge into it, -1 of a root.

    tops: of how many components each vertex is the first discovered one, so that it is in one more if it has a block.
    points: the articulation points, in the order of the search; total: the number of components.
    """

    met: Array
    block: Array
    tops: Array
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
    ends = np.searchsorted(graph.out.offsets, places.astype(np.uint64), side="right") - 1, graph.out.neighbours[places]
    counts = np.bincount(np.concatenate(ends), minlength=graph.vertices).astype(np.int64)
    result = EdgeSubset(
        "bridges", graph, {"bridges": counts}, [], True, done.seconds, done.compile_seconds,
        edges=edge_values(graph, chosen=lambda: flags_of(graph, places)), places=places,
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
    values = {"components": found.tops.astype(np.int64) + (found.block >= 0)}
    made = af.Result(
        "biconnected_components", graph, values, [], True, done.seconds, done.compile_seconds,
        totals={"components": found.total}, edges=edge_values(graph, component=lambda: _arc_labels(graph, found)),
    )  # fmt: skip
    return done.finish(made).checked_by(
        lambda result: af.validate.biconnected_components(graph, result.edges["component"])
    )


def _arc_labels(graph: Graph, found: Blocks) -> Array:
    """The component of every arc, -1 of a self-loop."""
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    label = labels_of(found, sources, graph.out.neighbours)
    label[sources == graph.out.neighbours] = -1
    return label


def blocks(worker: Worker) -> Blocks:
    """The biconnected components of the worker's graph, by one search in row order."""
    from arcflux.algorithms.biconnected.cpu import find_blocks

    n = worker.graph.vertices
    kind = np.int32 if n + worker.graph.arcs < 1 << 31 else np.int64
    met, block, tops = np.full(n, -1, kind), np.full(n, -1, kind), np.zeros(n, kind)
    points, size = np.empty(n, kind), np.zeros(2, np.int64)
    scratch = [np.empty(n, kind) for _ in range(4)]
    walk(worker, find_blocks, *worker.graph.out, met, block, tops, points, size, *scratch)
    return Blocks(met, block, tops, points[: size[1]], int(size[0]))


def labels_of(found: Blocks, sources: Array, targets: Array) -> Array:
    """The component of each of some edges: that of the tree edge into the end that was discovered later."""
    later = np.where(found.met[sources] > found.met[targets], sources, targets)
    label: Array = found.block[later].astype(np.int64)
    if (label < 0)[sources != targets].any():  # the search left a vertex by an edge without a reverse
        raise not_both_ways()
    return label


def find_bridges(graph: Graph, found: Blocks) -> Array:
    """The positions of the edges that are alone in their component."""
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
