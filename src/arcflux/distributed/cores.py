"""What cores do of the work that they share with GPUs: the same calls as in gpu/algorithms, for the same shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.kernels.accumulation import Accumulation
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run

__all__ = ["Cores", "Dependencies", "predecessors"]

Array = NDArray[Any]


class Cores:
    """So many cores, beside other devices; `compiled` are the seconds that compiling took.

    `check` is called while they work, and throws when the work is to end.
    """

    def __init__(self, threads: int, check: Callable[[], None]) -> None:
        self.threads, self.check, self.compiled = threads, check, 0.0

    def launch(self, kernel: Any, chunks: int, *arguments: Any) -> None:
        """Run a kernel whose workers take so many chunks."""
        workers = max(1, min(self.threads, chunks))
        begun = time.perf_counter()
        kernel.ready(0, workers, np.zeros(16, np.int64), *arguments)
        self.compiled += time.perf_counter() - begun
        run(kernel, max(2, chunks), *arguments, threads=workers, glance=self.glance)

    def glance(self, control: Any) -> None:
        """What :func:`arcflux.spmd.pool.run` calls now and then."""
        self.check()

    @contextmanager
    def compiling(self, made: Any) -> Iterator[None]:
        """Whatever something takes to compile inside counts as compiling."""
        before = made.compile_seconds
        yield
        self.compiled += made.compile_seconds - before


class Dependencies:
    """What shortest paths give to each vertex, on cores; `apart`: each works on sources of its own."""

    def __init__(self, cores: Cores, graph: Graph, apart: bool) -> None:
        self.cores, self.apart, self.size = cores, apart, graph.vertices
        self.made = Accumulation(graph, cores.threads)

    def run(self, sources: Array, lanes: int, mine: range, endpoints: float, done: Callable[[int], None]) -> Array:
        """The rows of the lanes in `mine`; lane l has the sources l, l + lanes, and so on. `done(k)` after k more."""
        found = np.zeros((len(mine), self.size))
        if self.apart and len(mine):
            own = np.concatenate([sources[first + mine.start : min(first + mine.stop, first + lanes)]
                                  for first in range(0, len(sources), lanes)])  # fmt: skip
            found[:] = self._run(own, len(mine), endpoints)
            done(len(own))
            return found
        for row, lane in zip(found, mine, strict=True):
            row[:] = self._run(sources[lane::lanes], 1, endpoints)[0]
            done(len(sources[lane::lanes]))
        return found

    def _run(self, sources: Array, lanes: int, endpoints: float) -> Array:
        with self.cores.compiling(self.made):
            return self.made.run(sources, lanes, self.apart, bool(endpoints), lambda done: self.cores.check())


def predecessors(
    cores: Cores, offsets: Array, neighbours: Array, weights: Array, distance: Array, far: float, predecessor: Array,
    first: int, last: int,
) -> tuple[Array, int]:  # fmt: skip
    """The predecessors of the vertices from `first` to before `last`, and how many lack one."""
    from arcflux.kernels import predecessors as kernels

    lacking, found = np.zeros(1, np.int64), predecessor.copy()
    share = np.uint64(first), np.uint64(last)
    given = offsets, neighbours, weights, frozen(distance), distance.dtype.type(far), *share, found, lacking
    cores.launch(kernels.predecessors, -(-(last - first) // kernels.CHUNK), *given)
    return found[first:last], int(lacking[0])
