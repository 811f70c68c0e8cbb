"""Breadth-first search in NetworkX's order, as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.integrations.networkx.kernels import call, levels_in_order

__all__ = ["Search", "Searcher", "depth_of"]

Array = NDArray[Any]


class Search(NamedTuple):
    """The vertices that were met, in this order; `level` and `parent` are of all vertices, where they were met."""

    order: Array
    level: Array
    parent: Array

    @property
    def levels(self) -> Array:
        """The level of each vertex that was met."""
        found: Array = self.level[self.order]
        return found

    @property
    def parents(self) -> Array:
        """The parent of each vertex that was met; that of a source is itself."""
        found: Array = self.parent[self.order]
        return found


class Searcher:
    """Searches one graph again and again with the same arrays: a search is valid until the next one."""

    def __init__(self, graph: Graph) -> None:
        n = graph.vertices
        self.graph = graph
        self._order, self._parent = np.empty(n, np.int64), np.empty(n, np.int64)
        self._level = np.full(n, -1, np.int64)
        self._met = 0

    def search(self, sources: Sequence[int], limit: int | None = None) -> Search:
        """What the sources reach within `limit` edges."""
        self._level[self._order[: self._met]] = -1
        size = np.array([len(sources)])
        begun = np.array(sources, np.int64)
        self._order[: len(sources)], self._level[begun], self._parent[begun] = begun, 0, begun
        most = np.int64(self.graph.vertices if limit is None else limit)
        call(levels_in_order, *self.graph.out, most, self._order, self._level, self._parent, size)
        self._met = int(size[0])
        return Search(self._order[: self._met], self._level, self._parent)


def depth_of(cutoff: float | None) -> int | None:
    """To which level a search goes that begins the next one while `cutoff` is above the last."""
    return None if cutoff is None or cutoff == math.inf else max(0, math.ceil(cutoff))
