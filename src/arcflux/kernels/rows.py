"""The packed rows of a graph: ranks, space, and the launches of the kernels in triangles.py."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config, trace
from arcflux.graph import Graph
from arcflux.spmd.memory import empty, frozen, zeros
from arcflux.spmd.pool import run

__all__ = ["Rows", "ranked"]

Array = NDArray[Any]

# Vertices are ranked by degree where the mean of the squared degrees is so many times the square of their mean. Else
# their numbers are as good a rank, and need no work.
_SKEWED = 2.0
_MOST = 65535


class Rows:
    """The rows of a graph, packed as kernels/triangles.py says; directions are kept in `both` alone.

    `seconds` is what ranking, packing and counting took so far, `compile_seconds` what compiling took.

    Examples
    --------
    >>> import arcflux as af
    >>> rows = Rows(af.load("complete:4"), threads=1)
    >>> rows.count(), rows.corners()[0].tolist()
    (4, [3, 3, 3, 3])
    """

    def __init__(self, graph: Graph, threads: int | None = None) -> None:
        begun = time.perf_counter()
        self.graph = graph
        self.threads = config.threads(threads)
        self.compile_seconds = 0.0
        self.order, self.rank = ranked(graph)
        self._pack(int(_degrees(graph).max(initial=0)))
        self.seconds = time.perf_counter() - begun - self.compile_seconds

    def _pack(self, most: int) -> None:
        from arcflux.kernels.triangles import CORE, SLAB, SPARSEST, pack

        graph, n = self.graph, self.graph.vertices
        words = -(-n // 64)
        # An edge fills at most a word; slabs leave up to an eighth unused. Pages that stay empty cost nothing.
        edges = graph.arcs if graph.directed else graph.arcs // 2
        room = edges + min((SPARSEST - 1) * edges, CORE**2 // 128 + CORE)
        room += room // 7 + 1 + (self.threads + 1) * SLAB
        self.span, self.place, self.word = empty(2 * n, np.uint64), empty(room, np.uint32), empty(room, np.uint64)
        self.both = empty(room, np.uint64) if graph.directed else None
        self.bitmaps = self._each(words, np.uint64)
        self.back_maps = self._each(words, np.uint64) if graph.directed else None
        into = graph.into if graph.directed else (None, None)
        self._launch(
            "pack rows", pack, *graph.out, *into, self.order, self.rank, self.bitmaps, self.back_maps,
            self._each(words, np.uint32), np.zeros(1, np.uint64), self.span, self.place, self.word, self.both,
        )  # fmt: skip
        longest = int((self.span[1::2] - (self.span[::2] >> np.uint64(1))).max(initial=0))
        self.members = self._each(min(most, 64 * longest), graph.out.neighbours.dtype)
        self.packed = frozen(self.span), frozen(self.place), frozen(self.word)

    def turn(self, turn: int, turns: int) -> Array | None:
        """One share of all rows, as `taken`: every one of so many chunks."""
        from arcflux.kernels.triangles import CHUNK

        return None if turns == 1 else np.arange(self.graph.vertices) // CHUNK % turns == turn

    def between(self, first: int, last: int) -> Array:
        """The rows of the vertices from `first` to before `last`, as `taken`."""
        vertices = np.arange(self.graph.vertices) if self.order is None else self.order
        chosen: Array = (vertices >= first) & (vertices < last)
        return chosen

    def count(self, taken: Array | None = None) -> int:
        """How many triangles there are; or those of a share of the rows, by flags of their ranks.

        A triangle is one of the row of its corner of highest rank, so that shares add up to the whole.
        """
        from arcflux.kernels.triangles import count

        totals = np.zeros((self.threads, 8), np.uint64)
        flags = None if taken is None else frozen(taken)
        self._timed("count triangles", count, flags, *self.packed, self.bitmaps, self.members, totals)
        return int(totals[:, 0].sum())

    def corners(self, taken: Array | None = None, *, degrees: bool = False) -> tuple[Array, Array | None]:
        """Triangles through each vertex, or edges among its neighbours if directed; and how many neighbours it has.

        With `taken`, only what a share of the rows gives to them, as for :meth:`count`.
        """
        from arcflux.kernels.triangles import corners

        n = self.graph.vertices
        found = zeros(n, np.int64)
        counted = zeros(n, np.int64) if degrees else None
        both = None if self.both is None else frozen(self.both)
        self._timed(
            "count triangles", corners, None if taken is None else frozen(taken), *self.packed, both, self.bitmaps,
            self.back_maps, self.members, self._each(n, np.uint32), found, counted,
        )  # fmt: skip
        if self.rank is not None:
            found = found[self.rank]
            counted = None if counted is None else counted[self.rank]
        return found, counted

    def _each(self, size: int, dtype: Any) -> Array:
        """An array of zeros for each worker."""
        return zeros(self.threads * size, dtype).reshape(self.threads, size)

    def _timed(self, purpose: str, kernel: Any, *arguments: Any) -> None:
        begun, compiled = time.perf_counter(), self.compile_seconds
        self._launch(purpose, kernel, *arguments)
        self.seconds += time.perf_counter() - begun - (self.compile_seconds - compiled)

    def _launch(self, purpose: str, kernel: Any, *arguments: Any) -> None:
        from arcflux.kernels.triangles import CHUNK

        begun = time.perf_counter()
        kernel.ready(0, self.threads, np.zeros(16, np.int64), *arguments)
        self.compile_seconds += time.perf_counter() - begun
        with trace.task(purpose, total=self.graph.vertices, unit="vertices") as task:
            run(kernel, -(-self.graph.vertices // CHUNK), *arguments, threads=self.threads, task=task)


def _degrees(graph: Graph) -> Array:
    found: Array = graph.out_degrees + graph.in_degrees if graph.directed else graph.out_degrees
    return found


def ranked(graph: Graph) -> tuple[Array | None, Array | None]:
    """The vertices in the order of their ranks, highest degree first, and their ranks; None where numbers do as well.

    Degrees of 16 bits are sorted by counting; above, a rank need not be exact.
    """
    degrees, dtype = _degrees(graph), graph.out.neighbours.dtype
    sizes = degrees.astype(np.float64)
    if len(sizes) * float(sizes @ sizes) <= _SKEWED * float(sizes.sum()) ** 2:
        return None, None
    keys = np.uint16(_MOST) - np.minimum(degrees, np.uint64(_MOST)).astype(np.uint16)
    order = np.argsort(keys, kind="stable").astype(dtype)
    rank = np.empty(len(order), dtype)
    rank[order] = np.arange(len(order), dtype=dtype)
    return frozen(order), frozen(rank)
