"""Scan statistics: how many edges the neighbourhood of each vertex has, and where there are most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.triangles import corners
from arcflux.applications.traffic import Traffic, told
from arcflux.checks import text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["ScanStatistics", "scan_statistics"]

Array = NDArray[Any]
_METHODS = ("intersection", "wedges")
# Wedges that a worker lists at a time.
_BATCH = 1 << 20


@dataclass(frozen=True, repr=False)
class ScanStatistics(af.Result):
    """The result of :func:`scan_statistics`: the fields `statistic`, `triangles`, `degree`.

    maximum, vertex: the largest statistic, and the id of the first vertex that has it (None without vertices).
    """

    maximum: int = 0
    vertex: Any = None
    traffic: Mapping[str, int] = field(default_factory=dict)

    def highlights(self) -> list[tuple[str, str]]:
        """The maximum, and where it is."""
        triangles = int(self.values["triangles"].sum()) // 3
        where = f"{self.maximum:,} edges around vertex {self.vertex}"
        return [("maximum", where), ("in all", f"{triangles:,} triangles"), *told(self.traffic)]


@graph_call(method=text)
def scan_statistics(graph: Graph, *, method: str = "intersection", **where: Any) -> ScanStatistics:
    """The number of edges in the neighbourhood of every vertex of an undirected graph: triangles plus degree.

    The neighbourhood of a vertex is itself and its neighbours; R's igraph calls the count ``local_scan(graph, k=1)``
    (Priebe, Conroy, Marchette, Park, "Scan statistics on Enron graphs", 2005). Parallel edges count once, self-loops
    not at all. Of several vertices with the maximum the one with the smallest number is named.

    Parameters
    ----------
    method
        "intersection": every worker sees the whole graph, intersects the rows of its share, and counts are added up.
        "wedges": a worker knows its own rows; it sends every pair of neighbours of a vertex, in the order of degree and
        number, to the worker that can tell whether they are joined. Results are the same.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    Raises
    ------
    GraphError
        When the graph is directed.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.scan_statistics(af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False))
    >>> found["statistic"].tolist(), found.maximum, found.vertex
    ([3, 3, 4, 1], 4, 2)
    """
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="load it with directed=False")
    if method not in _METHODS:
        raise arguments.unknown_choice("method", method, _METHODS)
    done = launch(graph, where, lambda worker: _work(worker, method))
    triangles, degree, traffic = done.answer
    statistic = triangles + degree
    most = int(np.argmax(statistic)) if len(statistic) else None
    result = ScanStatistics(
        "scan statistics", graph, {"statistic": statistic, "triangles": triangles, "degree": degree}, [], True,
        done.seconds, done.compile_seconds, maximum=0 if most is None else int(statistic[most]),
        vertex=None if most is None else graph.ids.to_ids([most]).tolist()[0], traffic=traffic,
    )  # fmt: skip
    return replace(done.finish(result), validator=lambda made: af.validate.scan_statistics(graph, made["statistic"]))


def _work(worker: Worker, method: str) -> tuple[Array, Array, Mapping[str, int]]:
    traffic = Traffic(worker)
    with traffic.phase("degrees"):
        degree = _degrees(worker)
    if method == "intersection":
        with traffic.phase("counts"):
            triangles = corners(worker)[0]
    else:
        triangles = _Wedges(worker, degree, traffic).closed()
    return triangles.astype(np.int64), degree, traffic.total()


def _degrees(worker: Worker) -> Array:
    """How many neighbours each vertex has, counted by the owner of its row."""
    first, last = worker.share_of_rows()
    degrees = worker.cores.host(last - first, np.int64)
    kernel = worker.kernels(__name__).count_neighbours
    worker.cores.launch(kernel, last - first, *worker.rows[0], np.uint64(first), np.uint64(last), degrees)
    worker.cores.together()
    return worker.gather(degrees.copy())


class _Wedges:
    """The wedges at a worker's own vertices, batch by batch."""

    def __init__(self, worker: Worker, degrees: Array, traffic: Traffic) -> None:
        self.worker, self.degrees, self.traffic = worker, degrees, traffic
        self.kernels, self.first, self.last = worker.kernels(__name__), *worker.share_of_rows()
        self.word = worker.graph.out.neighbours.dtype

    def closed(self) -> Array:
        """Triangles through each vertex."""
        worker, cores = self.worker, self.worker.cores
        found = cores.small(worker.graph.vertices)
        sizes = self._sizes()
        self.room = cores.host(3 * int(np.diff(self.places[sizes]).max(initial=0)), self.word)
        batches = int(worker.gather(np.array([len(sizes) - 1])).max())
        with worker.task("wedges", batches, "batches") as task:
            for batch in range(batches):
                cut = slice(sizes[min(batch, len(sizes) - 1)], sizes[min(batch + 1, len(sizes) - 1)])
                with self.traffic.phase("wedges"):
                    came = np.concatenate(worker.swap(self._listed(cut.start, cut.stop)))
                cores.launch(
                    self.kernels.check_wedges, 1 + len(came) // 3072, *worker.rows[0], came.reshape(-1, 3), found
                )
                task.at(batch + 1)
        cores.together()
        with self.traffic.phase("counts"):
            return worker.sum(found.copy())

    def _sizes(self) -> Array:
        """Where batches of own vertices begin, and where the last one ends; a row is never split."""
        own, cores = self.last - self.first, self.worker.cores
        counts = cores.host(own, np.int64)
        where = np.uint64(self.first), np.uint64(self.last)
        cores.launch(self.kernels.count_wedges, own, *self.worker.rows[0], self.degrees, *where, counts)
        cores.together()
        self.places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        cuts = np.searchsorted(self.places, np.arange(0, self.places[-1] + _BATCH, _BATCH))
        return np.unique(np.append(np.minimum(cuts, own), [0, own]))

    def _listed(self, begin: int, end: int) -> list[Array]:
        """The wedges at own vertices from `begin` to before `end`, by the owner of their first corner."""
        base, count = self.places[begin], int(self.places[end] - self.places[begin])
        wedges = self.room[: 3 * count].reshape(-1, 3)
        where = np.uint64(self.first + begin), np.uint64(self.first + end)
        places = (self.places[begin:end] - base).astype(np.int64)
        self.worker.cores.launch(
            self.kernels.list_wedges, 1 + count // 1024, *self.worker.rows[0], self.degrees, *where, places, wedges
        )
        self.worker.cores.together()
        owner = np.searchsorted(self.worker.row_cuts, wedges[:, 0], side="right") - 1
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=self.worker.size))[:-1]
        return [piece.reshape(-1) for piece in np.split(wedges[order], ends)]
