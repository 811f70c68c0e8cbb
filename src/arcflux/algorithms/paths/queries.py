"""Queries for one path, on one core: from both ends, with estimates, and for several paths."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.one_core import walk
from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.graph.arcs import in_places
from arcflux.spmd.memory import frozen

__all__ = ["Query"]

Array = NDArray[Any]


class Query:
    """Searches of a worker's graph; `lengths` of arcs in the order of `graph.columns`, None when each counts 1."""

    def __init__(self, worker: Worker, lengths: Array | None) -> None:
        self.worker, self.graph = worker, worker.graph
        self.lengths = None if lengths is None else frozen(lengths.astype(np.float64))

    def from_both_ends(self, source: int, target: int) -> tuple[float, list[int]]:
        """The length of a shortest path and its vertices: inf and none when there is no path."""
        from arcflux.algorithms.paths.cpu import meet_in_between

        n, room = self.graph.vertices, self.graph.arcs + 2
        back = None if self.lengths is None else frozen(_against(self.graph, self.lengths))
        states = [(np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.bool_)) for _ in range(2)]
        heaps = [(np.empty(room), np.empty(room, np.int64)) for _ in range(2)]
        best, meeting = np.full(1, np.inf), np.full(1, -1, np.int64)
        walk(
            self.worker, meet_in_between, *self.graph.out, self.lengths, *self.graph.into, back, np.int64(source),
            np.int64(target), *states[0], *states[1], *heaps[0], *heaps[1], best, meeting,
        )  # fmt: skip
        if meeting[0] < 0:
            return float("inf"), []
        path = _chain(states[0][1], int(meeting[0]))[::-1] + _chain(states[1][1], int(meeting[0]))[1:]
        return float(best[0]), path

    def along(
        self, source: int, target: int, estimate: Array | None = None, blocked: Array | None = None,
        avoided: Array | None = None,
    ) -> tuple[float, list[int]]:  # fmt: skip
        """The same from the source only, with estimates; never to `blocked` vertices, nor first to `avoided` ones."""
        from arcflux.algorithms.paths.cpu import settle

        n, room = self.graph.vertices, self.graph.arcs + 2
        estimate = np.zeros(n) if estimate is None else estimate
        none = np.zeros(n, np.bool_)
        distance, before, settled = np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.bool_)
        items = np.zeros(room, np.int64)
        walk(
            self.worker, settle, *self.graph.out, self.lengths, frozen(estimate), none if blocked is None else blocked,
            none if avoided is None else avoided, np.int64(source), np.int64(target), distance, before, settled,
            np.empty(room), items,
        )  # fmt: skip
        if items[0] < 0:
            return self.along(source, target, None, blocked, avoided)
        if distance[target] == np.inf:
            return float("inf"), []
        return float(distance[target]), _chain(before, target)[::-1]

    def several(self, source: int, target: int, k: int) -> list[list[int]]:
        """The k shortest paths: each new one branches off an earlier one at some vertex, and never returns to it."""
        first = self.along(source, target) if k > 0 else (np.inf, [])
        waiting, seen = [first] if first[1] else [], {tuple(first[1])}
        found: list[list[int]] = []
        while waiting and len(found) < k:
            _, path = heapq.heappop(waiting)
            found.append(path)
            for new in self._detours(path, found, target) if len(found) < k else ():
                if tuple(new[1]) not in seen:
                    seen.add(tuple(new[1]))
                    heapq.heappush(waiting, new)
        return found

    def _detours(self, path: list[int], found: list[list[int]], target: int) -> list[tuple[float, list[int]]]:
        n, detours = self.graph.vertices, []
        blocked = np.zeros(n, np.bool_)
        for place, spur in enumerate(path[:-1]):
            avoided = np.zeros(n, np.bool_)
            for other in found:
                if other[: place + 1] == path[: place + 1] and len(other) > place + 1:
                    avoided[other[place + 1]] = True
            length, rest = self.along(spur, target, None, blocked, avoided)
            if rest:
                whole = path[:place] + rest
                detours.append((self._length(path[: place + 1]) + length, whole))
            blocked[spur] = True
        return detours

    def _length(self, path: list[int]) -> float:
        total, (offsets, neighbours) = 0.0, self.graph.out
        for u, v in pairwise(path):
            if self.lengths is None:
                total += 1.0
                continue
            row = slice(int(offsets[u]), int(offsets[u + 1]))
            total += float(self.lengths[row][neighbours[row] == v].min())
        return total


def _against(graph: Graph, values: Array) -> Array:
    """Values of arcs in the order of `into`."""
    turned = np.empty_like(values)
    if graph.arcs:
        turned[in_places(graph)] = values
    return turned


def _chain(before: Array, vertex: int) -> list[int]:
    """A vertex, its predecessor, and so on."""
    chain = [vertex]
    while before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return chain
