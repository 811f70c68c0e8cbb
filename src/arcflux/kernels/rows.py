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

__all__ = ["Rows"]

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
        degrees = graph.out_degrees + graph.in_degrees if graph.directed else graph.out_degrees
        self.order, self.rank = _ranked(degrees, graph.out.neighbours.dtype)
        self._pack(int(degrees.max(initial=0)))
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

    def count(self, *, turn: int = 0, turns: int = 1) -> int:
        """How many triangles there are; or those of one share of all rows, when there are more `turns`."""
        from arcflux.kernels.triangles import count

        totals = np.zeros((self.threads, 8), np.uint64)
        self._timed(
            "count triangles",
            count,
            np.uint64(turn),
            np.uint64(turns),
            *self.packed,
            self.bitmaps,
            self.members,
            totals,
        )
        return int(totals[:, 0].sum())

    def corners(self, *, degrees: bool = False, turn: int = 0, turns: int = 1) -> tuple[Array, Array | None]:
        """Triangles through each vertex, or edges among its neighbours if directed; and how many neighbours it has.

        With more than one of `turns`, only what one share of all rows gives to them: all turns add up to the whole.
        """
        from arcflux.kernels.triangles import corners

        n = self.graph.vertices
        found = zeros(n, np.int64)
        counted = zeros(n, np.int64) if degrees else None
        both = None if self.both is None else frozen(self.both)
        self._timed(
            "count triangles", corners, np.uint64(turn), np.uint64(turns), *self.packed, both, self.bitmaps,
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


def _ranked(degrees: Array, dtype: Any) -> tuple[Array | None, Array | None]:
    """The vertices in the order of their ranks, highest degree first, and their ranks; None where numbers do as well.

    Degrees of 16 bits are sorted by counting; above, a rank need not be exact.
    """
    sizes = degrees.astype(np.float64)
    if len(sizes) * float(sizes @ sizes) <= _SKEWED * float(sizes.sum()) ** 2:
        return None, None
    keys = np.uint16(_MOST) - np.minimum(degrees, np.uint64(_MOST)).astype(np.uint16)
    order = np.argsort(keys, kind="stable").astype(dtype)
    rank = np.empty(len(order), dtype)
    rank[order] = np.arange(len(order), dtype=dtype)
    return frozen(order), frozen(rank)
