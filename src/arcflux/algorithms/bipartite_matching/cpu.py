"""Sides by breadth-first search, and matchings grown along all shortest augmenting paths of a phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["augment", "find_sides"]


@kernel
def find_sides(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, side: Any, queue: Any
) -> None:  # fmt: skip
    """``side[v]``, -1 at first: 0 or 1, other than that of the search's parent."""
    one = np.uint64(1)
    for root in range(side.size):
        if side[root] >= 0:
            continue
        side[root] = 0
        queue[0] = root
        first, last = 0, 1
        while first < last:
            u = np.uint64(queue[first])
            first += 1
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if side[v] < 0:
                    side[v] = 1 - side[u]
                    queue[last] = np.int64(v)
                    last += 1


@kernel
def augment(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, side: Any, mate: Any, level: Any,
    place: Any, path: Any, queue: Any,
) -> None:  # fmt: skip
    """``mate[v]``, -1 at first: a largest matching. Only vertices of side 0 have levels, positions and are on paths."""
    one = np.uint64(1)
    n = side.size
    v: Any
    while True:
        first, last = 0, 0
        for v in range(n):
            level[v] = -1
            place[v] = np.int64(offsets[v])
            if side[v] == 0 and mate[v] < 0:
                level[v] = 0
                queue[last] = v
                last += 1
        free = False
        while first < last:  # levels of side 0, by one free and one matched edge each
            u = np.uint64(queue[first])
            first += 1
            for i in range(offsets[u], offsets[u + one]):
                w = mate[neighbours[i]]
                if w < 0:
                    free = True
                elif level[w] < 0:
                    level[w] = level[u] + 1
                    queue[last] = w
                    last += 1
        if not free:
            break
        for root in range(n):
            if side[root] != 0 or mate[root] >= 0 or level[root] != 0:
                continue
            path[0] = root
            depth = 1
            while depth > 0:
                u = np.uint64(path[depth - 1])
                moved = False
                while place[u] < np.int64(offsets[u + one]):
                    v = np.uint64(neighbours[place[u]])
                    place[u] += 1
                    w = mate[v]
                    if w < 0:  # flip the path: its vertices are matched by their last edges
                        for k in range(depth - 1, -1, -1):
                            u = np.uint64(path[k])
                            taken = np.int64(neighbours[place[u] - 1])
                            mate[taken] = np.int64(u)
                            mate[u] = taken
                        depth = 0
                        moved = True
                        break
                    if level[w] == level[u] + 1:
                        path[depth] = w
                        depth += 1
                        moved = True
                        break
                if not moved:
                    level[u] = -1
                    depth -= 1
