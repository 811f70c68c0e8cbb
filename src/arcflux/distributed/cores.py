"""What cores do of the work that they share with GPUs: the same calls as in gpu/algorithms, for the same shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run

__all__ = ["Cores", "predecessors"]

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
