"""Projection: which vertices share neighbours, and how many. Of a bipartite graph, one of its sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.traffic import Traffic, told
from arcflux.applications.vertex_lists import listed
from arcflux.applications.weights import edge_weights
from arcflux.checks import array, maybe, text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.graph.core import Adjacency, Origin
from arcflux.spmd.memory import frozen, zeros
from arcflux.spmd.space import afford

__all__ = ["Projection", "project"]

Array = NDArray[Any]
_METHODS = ("count", "product", "jaccard", "overlap", "newman")


@dataclass(frozen=True, repr=False)
class Projection(af.Result):
    """The result of :func:`project`: the field `degree`, with how many others each vertex shares a neighbour.

    projection: the graph, undirected, with a column ``weight``; sent: bytes between nodes, by what they were for.
    """

    projection: Graph | None = None
    sent: Mapping[str, int] = field(default_factory=dict)

    def highlights(self) -> list[tuple[str, str]]:
        """How many pairs there are."""
        assert self.projection is not None
        heaviest = self.projection.columns["weight"].max(initial=0)
        return [("projection", f"{self.projection.edges:,} edges, the heaviest of {heaviest:g}"), *told(self.sent)]


@graph_call(onto=text, method=text, vertices=maybe(array), weight=maybe(text))
def project(
    graph: Graph,
    onto: str = "targets",
    method: str = "count",
    *,
    vertices: Iterable[Any] | None = None,
    weight: str | None = "weight",
    **where: Any,
) -> Projection:
    """The graph of vertices that share neighbours: A'A without its diagonal, where A is the matrix of edges.

    Two targets are joined when one vertex has edges to both, two sources when they have edges to the same vertex. Of a
    bipartite graph that is the projection on one of its sides (for NetworkX users: weighted_projected_graph).

    Parameters
    ----------
    onto
        "targets" (A'A) or "sources" (AA'); of an undirected graph both are the same.
    method
        The weight of a pair u, t: "count", of common neighbours; "product", the sum over these of the products of both
        weights; "jaccard", the part of all their neighbours; "overlap", the part of the fewer neighbours; "newman", the
        sum over common neighbours of 1 / (their degree - 1) (M. E. J. Newman, "Scientific collaboration networks",
        2001).
    vertices
        The ids of the vertices to project on, such as one side of an undirected bipartite graph; all without it.
    weight
        The edge column of "product"; 1 for each edge without such a column, or with None.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.
        Every worker sees the whole graph and has the rows of a share of the work; rows are gathered.

    Parallel edges count once, their weights add up. Rows are counted first, so that a projection that does not fit the
    memory is a :class:`~arcflux.errors.SpaceError` before it is begun. The result is the same on any number of workers.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "ada", "bob", "bob"], ["tea", "jam", "jam", "tea"])
    >>> found = af.project(g).projection
    >>> found.edges, found.neighbours("tea").tolist(), found.columns["weight"].tolist()
    (1, ['jam'], [2, 2])
    """
    if onto not in ("targets", "sources"):
        raise UsageError(f"onto is {onto!r}", expected="'targets' or 'sources'")
    if method not in _METHODS:
        raise UsageError(f"method is {method!r}", expected="one of " + ", ".join(map(repr, _METHODS)))
    wanted = None
    if vertices is not None:
        wanted = np.zeros(graph.vertices, bool)
        wanted[listed(graph, "vertices", vertices)] = True
    column = edge_weights(graph, weight) if method == "product" else None
    plain = _simple(graph, column)
    turned = plain if onto == "targets" else plain.reverse()
    done = launch(graph, where, lambda worker: _work(worker, turned, method, wanted, column is not None))
    offsets, neighbours, values, sent = done.answer
    made = Graph(
        Adjacency(offsets, neighbours), directed=False, columns={"weight": values}, ids=graph.ids,
        origin=Origin(f"projection of {graph.name or 'a graph'}"),
    )  # fmt: skip
    result = Projection(
        "project", graph, {"degree": np.diff(offsets).astype(np.int64)}, [], True, done.seconds, done.compile_seconds,
        projection=made, sent=sent, validator=lambda one: _validated(one, onto, method, vertices, weight),
    )  # fmt: skip
    return done.finish(result)


def _validated(result: Any, onto: str, method: str, vertices: Any, weight: str | None) -> Any:
    return af.validate.projection(result.graph, result.projection, onto, method, vertices=vertices, weight=weight)


def _simple(graph: Graph, column: Array | None) -> Graph:
    """The graph with sorted rows and no parallel edges, whose column is `weight` if it counts."""
    offsets, neighbours = graph.out
    again = np.zeros(len(neighbours), bool)
    again[1:] = neighbours[1:] == neighbours[:-1]
    again[offsets[:-1][np.diff(offsets) > 0].astype(np.int64)] = False
    columns = {} if column is None else {"weight": column.astype(np.float64)}
    if graph.sorted and not again.any():
        return graph.with_columns(columns)
    rows = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
    return Graph.from_edges(
        rows, neighbours, vertices=graph.vertices, columns=columns, deduplicate="sum" if columns else "first"
    )


def _work(
    worker: Worker, graph: Graph, method: str, wanted: Array | None, weighted: bool
) -> tuple[Array, Array, Array, dict[str, int]]:  # fmt: skip
    kernels, cores, n = worker.kernels("arcflux.applications.project"), worker.cores, graph.vertices
    out, into, team = graph.out, graph.into, cores.workers
    traffic = Traffic(worker)
    first, last = _share(worker, graph)
    span = np.uint64(first), np.uint64(last)
    behind, before = _zeros(cores, n), _zeros(cores, n)
    stamps = np.full((team, n), -1, np.int64)
    chunks = max(1, -(-(last - first) // kernels.CHUNK))
    with worker.task("count the projection", last - first, "vertices") as task:
        cores.launch(kernels.count, chunks, *span, *into, *out, wanted, stamps, behind, before, task=task)
    cores.together()
    del stamps
    with traffic.phase("counts"):
        counts = worker.gather(behind[first:last].copy())
        lower = worker.sum(before)
    half = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    pairs = int(half[-1])
    afford(
        pairs * (2 + 1) * (out.neighbours.itemsize + 8) + 8 * team * n, f"the projection has {pairs:,} edges; it",
        "vertices= for some of them, or a machine with more memory",
    )  # fmt: skip
    own = int(half[last] - half[first])
    ends, values = cores.host(own, out.neighbours.dtype), cores.host(own, np.float64)
    degrees = np.diff(out.offsets).astype(np.float64)
    share = 1.0 / np.maximum(degrees - 1.0, 1.0) if method == "newman" else None
    weights = (graph.in_columns["weight"], graph.columns["weight"]) if weighted else (None, None)
    maps = [zeros(team * (n // bits + 1), np.uint64).reshape(team, -1) for bits in (64, 4096)]
    sums = zeros(team * n, np.float64).reshape(team, n)
    with worker.task("project", last - first, "vertices") as task:
        cores.launch(
            kernels.fill, chunks, *span, *into, weights[0], *out, weights[1], share, wanted, sums, *maps,
            half[first : last + 1] - half[first], ends, values, task=task,
        )  # fmt: skip
    cores.together()
    with traffic.phase("rows"):
        ends, values = worker.gather(ends[:own]), worker.gather(values[:own])
    values = _similarity(method, half, ends, values, np.diff(into.offsets).astype(np.float64))
    offsets = np.concatenate([[0], np.cumsum(lower + counts)]).astype(np.int64)
    total = int(offsets[-1])
    neighbours, doubled = cores.kept(total, ends.dtype, zero=False), cores.kept(total, values.dtype, zero=False)
    cursor = cores.host(n, np.int64)
    cores.publish(offsets[:-1], cursor)
    width = max(1, n // (4 * team))
    rows = half, frozen(ends), frozen(values)
    cores.launch(kernels.mirror, max(1, -(-n // width)), np.uint64(width), *rows, offsets, cursor, neighbours, doubled)
    return offsets.astype(np.uint64), cores.result(neighbours), cores.result(doubled), traffic.total()


def _zeros(cores: Any, size: int) -> Array:
    there: Array = cores.host(size, np.int64)
    cores.publish(0, there)
    return there


def _share(worker: Worker, graph: Graph) -> tuple[int, int]:
    """The rows of this worker: each has its part of all pairs of edges that meet."""
    offsets, neighbours = graph.into
    length = np.diff(graph.out.offsets).astype(np.float64)[neighbours]
    sums = np.concatenate([[0.0], np.cumsum(length)])[offsets.astype(np.int64)]
    cuts = np.searchsorted(sums, np.array(worker.shares.cuts(1 << 30)) / (1 << 30) * sums[-1])
    cuts[0], cuts[-1] = 0, graph.vertices
    return int(cuts[worker.rank]), int(cuts[worker.rank + 1])


def _similarity(method: str, half: Array, ends: Array, values: Array, degrees: Array) -> Array:
    """Sums as the method wants them: whole numbers of a count, parts of degrees."""
    if method == "count":
        return values.astype(np.int64)
    if method in ("product", "newman"):
        return values
    one, other = degrees[np.repeat(np.arange(len(half) - 1), np.diff(half))], degrees[ends]
    return np.asarray(values / (one + other - values if method == "jaccard" else np.minimum(one, other)))
