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
from arcflux.errors import UsageError, WeightError
from arcflux.graph import Graph
from arcflux.graph.core import Adjacency, Origin
from arcflux.spmd.memory import zeros
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
    if method == "product" and column is None:
        column = np.ones(graph.arcs)  # parallel edges add up
    plain = _simple(graph, column)
    if column is not None:
        _refuse_overflow(plain)
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


def _refuse_overflow(graph: Graph) -> None:
    """Refuse weights whose products have no finite sum."""
    most = float(graph.columns["weight"].max(initial=0.0))
    if most > (np.finfo(np.float64).max / max(1, graph.vertices)) ** 0.5:
        raise WeightError(
            f"the largest weight of a pair is {most:g}, and products of two may sum to infinity",
            expected="smaller weights", remedy="divide all by the same number",
        )  # fmt: skip


def _work(
    worker: Worker, graph: Graph, method: str, wanted: Array | None, weighted: bool
) -> tuple[Array, Array, Array, dict[str, int]]:  # fmt: skip
    kernels, cores, n = worker.kernels("arcflux.applications.project"), worker.cores, graph.vertices
    out, into, team = graph.out, graph.into, cores.workers
    traffic = Traffic(worker)
    first, last = _share(worker, graph)
    span = np.uint64(first), np.uint64(last)
    counts = cores.host(last - first, np.int64)
    stamps = zeros(team * n, out.neighbours.dtype).reshape(team, n)
    chunks = max(1, -(-(last - first) // kernels.CHUNK))
    with worker.task("count the projection", last - first, "vertices") as task:
        cores.launch(kernels.count, chunks, *span, *into, *out, wanted, stamps, counts, task=task)
    cores.together()
    del stamps
    with traffic.phase("counts"):
        offsets = np.concatenate([[0], np.cumsum(worker.gather(counts))]).astype(np.int64)
    total = int(offsets[-1])
    number = np.dtype(np.float64 if weighted or method == "newman" else np.int64)
    afford(
        total * (out.neighbours.itemsize + 8) * (1 if worker.size == 1 else 2) + 8 * team * n,
        f"the projection has {total // 2:,} edges; it", "vertices= for some of them, or a machine with more memory",
    )  # fmt: skip
    starts = offsets[first : last + 1] - offsets[first]
    ends = cores.kept(int(starts[-1]), out.neighbours.dtype, zero=False)
    values = cores.kept(int(starts[-1]), number, zero=False)
    share = 1.0 / np.maximum(np.diff(out.offsets).astype(np.float64) - 1.0, 1.0) if method == "newman" else None
    weights = (graph.in_columns["weight"], graph.columns["weight"]) if weighted else (None, None)
    maps = [zeros(team * (n // bits + 1), np.uint64).reshape(team, -1) for bits in (64, 4096)]
    sums = zeros(team * n, number if number.kind == "f" else out.neighbours.dtype).reshape(team, n)
    with worker.task("project", last - first, "vertices") as task:
        cores.launch(
            kernels.fill, chunks, *span, *into, weights[0], *out, weights[1], share, wanted, sums, *maps, starts, ends,
            values, task=task,
        )  # fmt: skip
    cores.together()
    if worker.size == 1:
        ends, values = cores.result(ends), cores.result(values)
    else:
        with traffic.phase("rows"):
            ends, values = worker.gather(ends), worker.gather(values)
    values = _similarity(method, offsets, ends, values, np.diff(into.offsets).astype(np.float64))
    return offsets.astype(np.uint64), ends, values, traffic.total()


def _share(worker: Worker, graph: Graph) -> tuple[int, int]:
    """The rows of this worker: each has its share of all pairs of adjacent edges."""
    offsets, neighbours = graph.into
    length = np.diff(graph.out.offsets).astype(np.float64)[neighbours]
    sums = np.concatenate([[0.0], np.cumsum(length)])[offsets.astype(np.int64)]
    cuts = np.searchsorted(sums, np.array(worker.shares.cuts(1 << 30)) / (1 << 30) * sums[-1])
    cuts[0], cuts[-1] = 0, graph.vertices
    return int(cuts[worker.rank]), int(cuts[worker.rank + 1])


def _similarity(method: str, offsets: Array, ends: Array, values: Array, degrees: Array) -> Array:
    """The sums in the form of the method: unchanged, or as shares of degrees."""
    if method in ("count", "product", "newman"):
        return values
    one, other = degrees[np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))], degrees[ends]
    return np.asarray(values / (one + other - values if method == "jaccard" else np.minimum(one, other)))
