"""Triangles: three vertices, each joined to the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.spmd.memory import frozen

__all__ = ["corners", "count", "degrees_of", "order_by_degree", "triangle_count", "triangles"]

Array = NDArray[Any]

# Vertices are ranked by degree if the mean of the squared degrees is this many times the square of their mean.
# Otherwise their numbers are as good, without the work.
_SKEWED = 2.0
_MOST = 65535


@graph_call()
def triangles(graph: Graph, **where: Any) -> af.Result:
    """The number of triangles through every vertex of an undirected graph: the field ``triangles``, int64.

    Parallel edges count once, self-loops not at all; weights make no difference. A vertex in no triangle has 0. The sum
    over all vertices is three times the number of triangles, which :func:`triangle_count` finds faster.

    Vertices are ranked by degree, each keeps its neighbours of lower rank (Chiba, Nishizeki, "Arboricity and subgraph
    listing algorithms", 1985; Latapy, "Main-memory triangle computations", 2008), and rows are intersected as bits.
    Where merging sorted rows walks few entries for each edge, they are merged as they are.
    ``result.seconds`` includes the ranking: nothing is kept on the graph.

    `where` are the options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
    `ranks_per_node`, `devices`. Every worker sees the whole graph and takes a share of its rows, or of its edges, whose
    shorter row a GPU looks up in the longer one.

    Raises
    ------
    GraphError
        When the graph is directed.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> af.algorithms.triangles(g)["triangles"].tolist()
    [1, 1, 1, 0]
    """
    _refuse_directed(graph)
    done = launch(graph, where, lambda worker: corners(worker)[0], advised="triangles")
    times = done.seconds, done.compile_seconds
    result = done.finish(af.Result("triangles", graph, {"triangles": done.answer}, [], True, *times))
    return result.checked_by(lambda made: af.validate.triangles(graph, per_vertex=made["triangles"]))


@graph_call()
def triangle_count(graph: Graph, **where: Any) -> int:
    """How many triangles an undirected graph has; parallel edges count once, self-loops not at all.

    It is the sum of :func:`triangles`, divided by 3, without attributing them to vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.triangle_count(af.load("complete:5"))
    10
    """
    _refuse_directed(graph)
    return launch(graph, where, count).answer


def count(worker: Worker) -> int:
    """How many triangles an undirected graph has."""
    own = worker.kernels(__name__).Triangles(worker).count()
    return int(worker.sum(np.array([own]))[0])


def corners(worker: Worker, degrees: bool = False) -> tuple[Array, Array]:
    """Triangles through each vertex, or edges among its neighbours if directed; and its number of neighbours, if asked.

    A triangle belongs to one of its corners, and every worker finds those of some vertices: shares add up.
    """
    found, counted = worker.kernels(__name__).Triangles(worker).corners(degrees)
    return worker.sum(found), worker.sum(counted) if degrees else counted


def degrees_of(graph: Graph) -> Array:
    """The number of arcs at each vertex."""
    found: Array = graph.out_degrees + graph.in_degrees if graph.directed else graph.out_degrees
    return found


def order_by_degree(graph: Graph) -> tuple[Array | None, Array | None]:
    """The vertices by rank, highest degree first, and their ranks; None if vertex numbers do as well.

    Degrees of 16 bits are sorted by counting; for larger ones, ranks need not be exact.
    """
    degrees, dtype = degrees_of(graph), graph.out.neighbours.dtype
    sizes = degrees.astype(np.float64)
    if len(sizes) * float(np.square(sizes).sum()) <= _SKEWED * float(sizes.sum()) ** 2:
        return None, None
    keys = np.uint16(_MOST) - np.minimum(degrees, np.uint64(_MOST)).astype(np.uint16)
    order = np.argsort(keys, kind="stable").astype(dtype)
    rank = np.empty(len(order), dtype)
    rank[order] = np.arange(len(order), dtype=dtype)
    return frozen(order), frozen(rank)


def _refuse_directed(graph: Graph) -> None:
    if graph.directed:
        raise GraphError(
            "the graph is directed",
            expected="an undirected graph",
            remedy="load it with directed=False, or Graph.from_edges(source, target, directed=False)",
        )
