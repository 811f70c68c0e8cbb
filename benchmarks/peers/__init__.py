"""The libraries that gap.py compares with, one file each: how each runs the kernels that it has, in its own idiom.

A file has one function, ``kernels(graph, threads)``, which gives a pair for each kernel: what is timed, from a source,
and what makes an array of the answer afterwards (None where an answer cannot be compared). Library and graph are set up
before, outside the time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kernel = tuple[Callable[[int], Any], Callable[[Any], Any] | None]


class Arrays(NamedTuple):
    """An undirected graph as plain arrays: both directions of each edge."""

    offsets: Array  # int64[vertices + 1]
    neighbours: Array  # int32[arcs], sorted in each row
    weight: Array  # int32[arcs]

    @property
    def vertices(self) -> int:
        """How many vertices."""
        return len(self.offsets) - 1

    @property
    def degrees(self) -> Array:
        """Neighbours of each vertex."""
        return np.diff(self.offsets)

    def edges(self) -> tuple[Array, Array, Array]:
        """Each edge once: its ends and its weight."""
        ends = np.repeat(np.arange(self.vertices, dtype=np.int32), self.degrees)
        once = ends < self.neighbours
        return ends[once], self.neighbours[once], self.weight[once]

    def save(self, folder: Path) -> None:
        """Write the arrays where :func:`opened` finds them."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in self._asdict().items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)


def opened(folder: Path) -> Arrays:
    """The arrays in a folder."""
    return Arrays(*(np.load(folder / f"{name}.npy", allow_pickle=False) for name in Arrays._fields))


def levels_of_parents(parents: Array) -> Array:
    """Levels from a tree of parents: the root is its own parent, unreached vertices have -1. By pointer jumping."""
    reached = parents >= 0
    above = np.where(reached, parents, np.arange(len(parents)))
    steps = (above != np.arange(len(parents))).astype(np.int64)
    while True:
        further = steps + steps[above]
        if np.array_equal(further, steps):
            return np.where(reached, steps, -1)
        steps, above = further, above[above]


def levels_of_layers(order: Array, starts: Array, vertices: int) -> Array:
    """Levels from the order of a search, cut into layers."""
    levels = np.full(vertices, -1)
    levels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return levels
