"""A team of workers that run kernels together: here threads of this process; ranks of a node have the same interface.

A kernel only gets its worker's number, how many there are, and arrays. So it runs on any workers that can share these
arrays: threads share all memory, processes what was allocated as shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux import config
from arcflux.spmd.layout import CROWDED, watched_words
from arcflux.spmd.memory import borrow, empty, give_back, recycled
from arcflux.spmd.pool import run
from arcflux.spmd.turns import current_turns
from arcflux.trace import Task

__all__ = ["Team"]

Array = NDArray[Any]


def _charge(nbytes: int) -> None:
    """Charge memory to this run."""
    if (turns := current_turns()) is not None:
        turns.charge(nbytes)


class Team:
    """Threads of this process. `leads`: whether this process does what must be done once for all.

    Caches of a team are keyed by its `kind`: all ranks must have an entry or none, whatever each has computed alone.
    """

    leads = True
    kind = "threads"

    def __init__(self, threads: int | None = None) -> None:
        self.workers = config.threads(threads)
        self._lent: list[Array] = []

    def kept(self, size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
        """An array that outlives the run: zeros, or undefined."""
        _charge(size * np.dtype(dtype).itemsize)
        return recycled(size, dtype, zero=zero)

    def lent(self, size: int, dtype: DTypeLike) -> Array:
        """An array for the duration of the run, contents undefined."""
        _charge(size * np.dtype(dtype).itemsize)
        self._lent.append(borrow(size, dtype))
        return self._lent[-1]

    def small(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Array:
        """A few zeros that all workers see: counters, slots, results of a kernel."""
        return np.zeros(shape, dtype)

    def lasting(self, size: int, dtype: DTypeLike) -> Array:
        """An array of zeros that belongs to the graph: built once, for many runs."""
        array = empty(size, dtype, huge=False)
        if size * array.itemsize < 1 << 20:
            array.fill(0)
        return array

    def barrier(self) -> Array:
        """A watched barrier for the kernels of the team."""
        words = self.small(watched_words(self.workers))
        words[CROWDED] = self.workers > config.cores()
        return words

    def at(self, superstep: int) -> None:
        """Record the current superstep (-1: before the first), which an error names if a process is lost."""

    def launch(
        self,
        kernel: Any,
        chunks: int,
        *args: Any,
        task: Task | None = None,
        glance: Callable[[NDArray[np.int64]], None] | None = None,
        ends: bool = False,
        brief: int = 0,
        shrinks: bool = False,
    ) -> None:
        """Run a kernel on all workers, or on as many as there are chunks; see :func:`arcflux.spmd.pool.run`."""
        run(
            kernel, chunks, *args, threads=self.workers, task=task, glance=glance, ends=ends, brief=brief,
            shrinks=shrinks,
        )  # fmt: skip

    def together(self) -> None:
        """Wait until every process of the team has arrived."""

    def agreed(self, yes: bool) -> bool:
        """Whether the answer is yes in any process of the team."""
        return yes

    def result(self, array: Array) -> Array:
        """An array that outlives the run, for its caller."""
        return array

    def end(self) -> None:
        """End the run: lent arrays are reused by the next one."""
        _charge(-sum(array.nbytes for array in self._lent))
        give_back(self._lent)
        self._lent = []
