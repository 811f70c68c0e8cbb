"""The launches of the kernel in betweenness.py: its arrays, and to how many lanes sources are dealt."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.graph import Graph
from arcflux.kernels.ordered import sorted_rows
from arcflux.spmd.memory import borrow, frozen, give_back, recycled
from arcflux.spmd.pool import run

__all__ = ["Accumulation", "dealt"]

Array = NDArray[Any]

# From so many sources on, and up to so many vertices, workers take sources of their own. Neither asks how many workers
# there are: the sums are the same for any number.
_MANY_SOURCES = 16
_FEW_VERTICES = 1 << 18
_LANES = 64


def dealt(graph: Graph, sources: int) -> tuple[int, bool]:
    """To how many lanes so many sources are dealt, and whether each is a worker's own.

    Examples
    --------
    >>> import arcflux as af
    >>> dealt(af.load("path:5"), 100), dealt(af.load("path:5"), 4)
    ((64, True), (1, False))
    """
    apart = sources >= _MANY_SOURCES and graph.vertices <= _FEW_VERTICES
    return min(_LANES, sources) if apart else 1, apart


class Accumulation:
    """What shortest paths of a graph give to each vertex; `compile_seconds` is what compiling took so far.

    Examples
    --------
    >>> import arcflux as af
    >>> Accumulation(af.load("path:4"), threads=1).run(np.array([0]), 1, False, False)[0].tolist()
    [0.0, 2.0, 1.0, 0.0]
    """

    def __init__(self, graph: Graph, threads: int | None = None) -> None:
        self.graph, self.threads = graph, config.threads(threads)
        self.out, self.into = sorted_rows(graph, threads)
        self.compile_seconds = 0.0

    def run(
        self, sources: Array, lanes: int, apart: bool, endpoints: bool, glance: Callable[[int], None] | None = None
    ) -> Array:  # fmt: skip
        """``scores[lane]``: the sums over the sources of each lane, which has every one of so many.

        `apart`: workers take lanes of their own. `glance` is called now and then with how many sources are done.
        """
        from arcflux.kernels import betweenness as kernels
        from arcflux.spmd.barrier import WORDS

        n, kind = self.graph.vertices, self.graph.out.neighbours.dtype
        workers = min(self.threads, lanes) if apart else self.threads
        teams = workers if apart else 1
        scores = recycled(lanes * n, np.float64).reshape(lanes, n)
        sizes: list[tuple[int, Any]] = [
            (n, kind), (n + 2, np.int64), (n, np.float64), (2 * n, np.float64), (n // 64 + 1, np.uint64), (n, np.int32),
        ]  # fmt: skip
        scratch = [borrow(teams * size, dtype) for size, dtype in sizes]
        queues, starts, paths, fronts, visits, powers = [array.reshape(teams, -1) for array in scratch]
        fronts.fill(0)
        visits.fill(0)
        marks = [np.zeros((teams, WORDS), np.int64), np.zeros((teams, kernels.BOARD), np.int64)]
        arguments = [
            *self.out, *self.into, frozen(sources.astype(np.int64)), apart, float(endpoints), kernels.MANY, queues,
            starts, paths, fronts.reshape(teams, 2, n), visits, powers, *marks,
            np.empty((workers, kernels.BUFFER), kind), scores,
        ]  # fmt: skip
        begun = time.perf_counter()
        kernels.accumulate.ready(0, workers, np.zeros(16, np.int64), *arguments)
        self.compile_seconds += time.perf_counter() - begun
        told = glance or (lambda done: None)
        run(kernels.accumulate, workers, *arguments, threads=workers, glance=lambda control: told(int(control[2])))
        give_back(scratch)
        return scores
