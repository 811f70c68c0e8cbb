"""Triangles: three vertices, each joined to the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

import arcflux as af
from arcflux.devices import Device
from arcflux.distributed.gpus import corners as gpu_corners
from arcflux.distributed.gpus import count as gpu_count
from arcflux.distributed.gpus import on_gpus
from arcflux.engine.advice import chosen_threads, kept
from arcflux.engine.call import graph_call
from arcflux.engine.spread import Spread, asked, on_ranks
from arcflux.errors import GraphError
from arcflux.graph import Graph

__all__ = ["corners", "triangle_count", "triangles"]

Array = NDArray[Any]
# Parts, partition, transport, ranks_per_node and threads.
Where = tuple[Any, str, str | None, int | None, int | None]


@graph_call()
def triangles(
    graph: Graph, *, threads: int | None = None, parts: int | af.Parts | None = None, partition: str = "ranges",
    transport: str | None = None, ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> af.Result:  # fmt: skip
    """The number of triangles through every vertex of an undirected graph: the field ``triangles``, int64.

    Parallel edges count once, self-loops not at all; weights make no difference. A vertex in no triangle has 0. The sum
    over all vertices is three times the number of triangles, which :func:`triangle_count` finds faster.

    Vertices are ranked by degree, each keeps its neighbours of lower rank (Chiba, Nishizeki, "Arboricity and subgraph
    listing algorithms", 1985; Latapy, "Main-memory triangle computations", 2008), and rows are intersected as bits.
    Where no vertex has more than 16 neighbours, rows are merged as they are.
    ``result.seconds`` includes the ranking: nothing is kept on the graph.

    `parts`, `partition`, `transport` and `ranks_per_node` are those of :func:`arcflux.run`. No part has both rows, so
    the owner of a vertex sends pairs of its neighbours to where their edge would be (Pearce, "Triangle counting for
    scale-free graphs at scale in distributed memory", 2017). With ``partition="duplicate"`` each part has all rows, and
    intersects its share of them. `devices` names GPUs, or GPUs and cores, as for :func:`arcflux.run`: each has the
    whole graph and takes a share of the edges, whose shorter row a GPU looks up in the longer one.

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
    where = parts, partition, transport, ranks_per_node, threads
    found, _, finish = corners("triangles", graph, devices, where)
    result = finish({"triangles": found})
    return result.checked_by(lambda made: af.validate.triangles(graph, per_vertex=made["triangles"]))


@graph_call()
def triangle_count(
    graph: Graph, *, threads: int | None = None, parts: int | af.Parts | None = None, partition: str = "ranges",
    transport: str | None = None, ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> int:  # fmt: skip
    """How many triangles an undirected graph has; parallel edges count once, self-loops not at all.

    It is what :func:`triangles` sums to, divided by 3, without finding out whose they are.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.triangle_count(af.load("complete:5"))
    10
    """
    from arcflux.kernels import short_rows
    from arcflux.kernels.rows import Rows

    _refuse_directed(graph)
    where = parts, partition, transport, ranks_per_node, threads
    if (gpus := on_gpus(devices, *where)) is not None:
        return gpu_count(gpus, graph)
    spread = asked(*where)
    if spread is not None:
        from arcflux.distributed.triangles import count

        return on_ranks(spread, graph, count)
    if short_rows.are_short(graph):
        return int(short_rows.corners(graph, threads)[0].sum()) // 3
    return Rows(graph, threads).count()


def corners(
    name: str, graph: Graph, devices: str | Sequence[Device] | None, where: Where, *, degrees: bool = False
) -> tuple[Array, Array | None, Callable[[dict[str, Array]], af.Result]]:
    """What :meth:`~arcflux.kernels.rows.Rows.corners` gives, on GPUs or parts if so asked.

    And what makes the result of the algorithm of that name of its values: it knows how long this took.
    """
    counted: Array | None
    plan, threads = None, where[-1]
    if (gpus := on_gpus(devices, *where)) is not None:
        found, counted = gpu_corners(gpus, graph)
        seconds, compiled = gpus.seconds, gpus.compiled
    else:
        spread = asked(*where)
        if spread is None:
            threads, plan = chosen_threads(name, graph, threads)
        found, counted, seconds, compiled = _on_cores(graph, threads, spread, degrees)

    def finish(values: dict[str, Array]) -> af.Result:
        return kept(plan, graph, af.Result(name, graph, values, [], True, seconds, compiled))

    return found, counted, finish


def _on_cores(
    graph: Graph, threads: int | None, spread: Spread | None, degrees: bool
) -> tuple[Array, Array | None, float, float]:
    """The same on threads or on parts, with the seconds, and those of compiling."""
    if spread is not None:
        from arcflux.distributed import triangles as distributed

        def work(transport: Any, parts: af.Parts) -> tuple[Array, Array | None, Any]:
            return distributed.corners(transport, parts, degrees=degrees)

        found, counted, launch = on_ranks(spread, graph, work)
        return found, counted, launch.seconds, launch.compiled
    from arcflux.kernels import short_rows
    from arcflux.kernels.rows import Rows

    if not degrees and short_rows.are_short(graph):
        found, seconds, compiled = short_rows.corners(graph, threads)
        return found, None, seconds, compiled
    rows = Rows(graph, threads)
    found, counted = rows.corners(degrees=degrees)
    return found, counted, rows.seconds, rows.compile_seconds


def _refuse_directed(graph: Graph) -> None:
    if graph.directed:
        raise GraphError(
            "the graph is directed",
            expected="an undirected graph",
            remedy="load it with directed=False, or Graph.from_edges(source, target, directed=False)",
        )
