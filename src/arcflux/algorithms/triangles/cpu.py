"""Triangles on a team of cores: rows packed as bits and intersected (packed.py), or merged directly (merged.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.triangles import degrees_of, order_by_degree
from arcflux.algorithms.triangles.merged import CHUNK as MERGED
from arcflux.algorithms.triangles.merged import merge_corners, merge_count, merging_pays
from arcflux.algorithms.triangles.packed import CHUNK, CORE, SLAB, SPARSEST, corners, count, pack
from arcflux.engine.worker import Worker
from arcflux.spmd.memory import frozen, zeros

__all__ = ["Rows", "Triangles"]

Array = NDArray[Any]


class Triangles:
    """A worker's counts; a triangle is found from the row of its corner of highest rank.

    Beside GPUs a worker takes a range of vertices, beside other teams of cores every k-th chunk of rows.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker, self.mixed = worker, "cuda" in worker.peers

    def count(self) -> int:
        """The number of triangles of own rows."""
        if self._merges():
            totals = self.worker.cores.small((self.worker.cores.workers, 8), np.uint64)
            self._merge(merge_count, totals)
            return int(totals[:, 0].sum())
        rows = Rows(self.worker)
        return rows.count(self._share(rows))

    def corners(self, degrees: bool) -> tuple[Array, Array]:
        """Contributions of own rows to vertices: triangles, or edges among neighbours; and, if asked, neighbours.

        A GPU beside them counts the neighbours of each vertex.
        """
        if self._merges() and not degrees:
            found = self.worker.cores.kept(self.worker.graph.vertices, np.int64)
            self._merge(merge_corners, found)
            return self.worker.cores.result(found), np.empty(0, np.int64)
        rows = Rows(self.worker)
        found, counted = rows.corners(self._share(rows), degrees=degrees and not self.mixed)
        return found, zeros(len(found) if degrees else 0, np.int64) if counted is None else counted

    def _share(self, rows: Rows) -> Array | None:
        if self.mixed:
            return rows.between(*self.worker.share_of_rows())
        return rows.turn(self.worker)

    def _merges(self) -> bool:
        return self.worker.size == 1 and merging_pays(self.worker.graph, self.worker.cores)

    def _merge(self, kernel: Any, into: Array) -> None:
        graph = self.worker.graph
        with self.worker.task("count triangles", graph.vertices, "vertices") as task:
            self.worker.cores.launch(kernel, -(-graph.vertices // MERGED), *graph.out, into, task=task)


class Rows:
    """The rows of a graph, packed as in packed.py; only `both` keeps directions.

    Examples
    --------
    >>> import arcflux as af
    >>> from arcflux.engine.worker import Cores
    >>> from arcflux.spmd.team import Team
    >>> rows = Rows(Worker(af.load("complete:4"), Cores(Team(1))))
    >>> rows.count(), rows.corners()[0].tolist()
    (4, [3, 3, 3, 3])
    """

    def __init__(self, worker: Worker) -> None:
        self.worker, self.cores, self.graph = worker, worker.cores, worker.graph
        self.order, self.rank = order_by_degree(self.graph)
        self._pack(int(degrees_of(self.graph).max(initial=0)))

    def _pack(self, most: int) -> None:
        graph, n, cores = self.graph, self.graph.vertices, self.cores
        words = -(-n // 64)
        # An edge needs at most a word; slabs leave up to an eighth unused. Untouched pages cost nothing.
        edges = graph.arcs if graph.directed else graph.arcs // 2
        room = edges + min((SPARSEST - 1) * edges, CORE**2 // 128 + CORE)
        room += room // 7 + 1 + (cores.workers + 1) * SLAB
        self.span, self.place = cores.host(2 * n, np.uint64), cores.host(room, np.uint32)
        self.word, self.both = cores.host(room, np.uint64), cores.host(room, np.uint64) if graph.directed else None
        self.bitmaps = self._each(words, np.uint64)
        self.back_maps = self._each(words, np.uint64) if graph.directed else None
        into = graph.into if graph.directed else (None, None)
        self._launch(
            "pack rows", pack, *graph.out, *into, self.order, self.rank, self.bitmaps, self.back_maps,
            self._each(words, np.uint32), cores.small(1, np.uint64), self.span, self.place, self.word, self.both,
        )  # fmt: skip
        longest = int((self.span[1::2] - (self.span[::2] >> np.uint64(1))).max(initial=0))
        self.members = self._each(min(most, 64 * longest), graph.out.neighbours.dtype)
        self.packed = frozen(self.span), frozen(self.place), frozen(self.word)

    def turn(self, worker: Worker) -> Array | None:
        """The rows of a worker among teams of cores, as `taken`: every k-th chunks, by its weight."""
        if worker.size == 1:
            return None
        first, last = worker.share(round(worker.shares.total))
        turns: Array = np.arange(self.graph.vertices) // CHUNK % round(worker.shares.total)
        return (turns >= first) & (turns < last)

    def between(self, first: int, last: int) -> Array:
        """The rows of the vertices from `first` to before `last`, as `taken`."""
        vertices = np.arange(self.graph.vertices) if self.order is None else self.order
        chosen: Array = (vertices >= first) & (vertices < last)
        return chosen

    def count(self, taken: Array | None = None) -> int:
        """How many triangles there are; or those of a share of the rows, by flags of their ranks.

        A triangle belongs to the row of its corner of highest rank, so that shares add up to the whole.
        """
        totals = self.cores.small((self.cores.workers, 8), np.uint64)
        flags = None if taken is None else frozen(taken)
        self._launch("count triangles", count, flags, *self.packed, self.bitmaps, self.members, totals)
        return int(totals[:, 0].sum())

    def corners(self, taken: Array | None = None, *, degrees: bool = False) -> tuple[Array, Array | None]:
        """Triangles through each vertex, or edges among its neighbours if directed; and how many neighbours it has.

        With `taken`, only the contributions of a share of the rows, as for :meth:`count`.
        """
        n = self.graph.vertices
        found = self.cores.kept(n, np.int64)
        counted = self.cores.kept(n, np.int64) if degrees else None
        both = None if self.both is None else frozen(self.both)
        self._launch(
            "count triangles", corners, None if taken is None else frozen(taken), *self.packed, both, self.bitmaps,
            self.back_maps, self.members, self._each(n, np.uint32), found, counted,
        )  # fmt: skip
        return self._by_vertex(found), None if counted is None else self._by_vertex(counted)

    def _by_vertex(self, values: Array) -> Array:
        """Counts by rank, reordered by vertex."""
        if self.rank is None:
            return self.cores.result(values)
        by_vertex: Array = values[self.rank]
        return by_vertex

    def _each(self, size: int, dtype: Any) -> Array:
        """An array of zeros for each core."""
        return zeros(self.cores.workers * size, dtype).reshape(self.cores.workers, size)

    def _launch(self, purpose: str, kernel: Any, *arguments: Any) -> None:
        n = self.graph.vertices
        with self.worker.task(purpose, n, "vertices") as task:
            self.cores.launch(kernel, -(-n // CHUNK), *arguments, task=task)
