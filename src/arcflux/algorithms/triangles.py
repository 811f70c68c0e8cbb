"""Triangles: three vertices, each joined to the others."""

from __future__ import annotations

import arcflux as af
from arcflux.errors import GraphError
from arcflux.graph import Graph

__all__ = ["triangle_count", "triangles"]


def triangles(graph: Graph, *, threads: int | None = None) -> af.Result:
    """The number of triangles through every vertex of an undirected graph: the field ``triangles``, int64.

    Parallel edges count once, self-loops not at all; weights make no difference. A vertex in no triangle has 0. The sum
    over all vertices is three times the number of triangles, which :func:`triangle_count` finds faster.

    Vertices are ranked by degree, each keeps its neighbours of lower rank (Chiba, Nishizeki, "Arboricity and subgraph
    listing algorithms", 1985; Latapy, "Main-memory triangle computations", 2008), and rows are intersected as bits.
    ``result.seconds`` includes the ranking: nothing is kept on the graph.

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
    from arcflux.kernels.rows import Rows

    _refuse_directed(graph)
    rows = Rows(graph, threads)
    found, _ = rows.corners()
    result = af.Result("triangles", graph, {"triangles": found}, [], True, rows.seconds, rows.compile_seconds)
    return result.checked_by(lambda made: af.validate.triangles(graph, per_vertex=made["triangles"]))


def triangle_count(graph: Graph, *, threads: int | None = None) -> int:
    """How many triangles an undirected graph has; parallel edges count once, self-loops not at all.

    It is what :func:`triangles` sums to, divided by 3, without finding out whose they are.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.triangle_count(af.load("complete:5"))
    10
    """
    from arcflux.kernels.rows import Rows

    _refuse_directed(graph)
    return Rows(graph, threads).count()


def _refuse_directed(graph: Graph) -> None:
    if graph.directed:
        raise GraphError(
            "the graph is directed",
            expected="an undirected graph",
            remedy="load it with directed=False, or Graph.from_edges(source, target, directed=False)",
        )
