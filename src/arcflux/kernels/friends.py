"""The launches of the kernel in two_hop.py, for some vertices of a graph."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.graph import Graph
from arcflux.spmd.memory import empty, frozen, zeros
from arcflux.spmd.pool import run

__all__ = ["Friends"]

Array = NDArray[Any]


class Friends:
    """The vertices two edges away from each of some vertices; `compile_seconds` is what compiling took so far.

    Examples
    --------
    >>> import arcflux as af
    >>> Friends(af.load("path:5"), np.array([0, 2]), threads=1).counts().tolist()
    [1, 2]
    """

    def __init__(self, graph: Graph, chosen: Array, threads: int | None = None) -> None:
        from arcflux.kernels.two_hop import CHUNK

        n, ends = graph.vertices, graph.out.offsets
        self.size, self.compile_seconds = len(chosen), 0.0
        self.chunks = max(1, -(-self.size // CHUNK))
        self.workers = min(config.threads(threads), self.chunks)
        bitmaps = zeros(self.workers * (n // 64 + 1), np.uint64).reshape(self.workers, -1)
        summaries = zeros(self.workers * (n // 4096 + 1), np.uint64).reshape(self.workers, -1)
        rows = frozen(ends[:-1]), frozen(ends[1:]), graph.out.neighbours
        self.shared = *rows, frozen(chosen), bitmaps, summaries, empty(self.size, np.int64)

    def counts(self, **watch: Any) -> Array:
        """How many there are for each vertex; `watch` is for :func:`arcflux.spmd.pool.run`: `task`, or `glance`."""
        self._run(None, None, watch)
        counted: Array = self.shared[-1]
        return counted

    def lists(self, offsets: Array, room: Callable[[int], Array], **watch: Any) -> Array:
        """All of them, the k-th vertex's from ``offsets[k]`` on, in an array that `room` gives for so many."""
        friends = room(int(offsets[-1]))
        self._run(offsets, friends, watch)
        return friends

    def _run(self, offsets: Array | None, friends: Array | None, watch: dict[str, Any]) -> None:
        from arcflux.kernels.two_hop import two_hop

        begun = time.perf_counter()
        two_hop.ready(0, self.workers, np.zeros(16, np.int64), *self.shared, offsets, friends)
        self.compile_seconds += time.perf_counter() - begun
        run(two_hop, self.chunks, *self.shared, offsets, friends, threads=self.workers, **watch)
