"""A depth-first search that knows how far up every subtree reaches; iterative, because recursion ends too soon."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["find_blocks"]


@kernel
def find_blocks(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, met: Any, block: Any, points: Any,
    size: Any, low: Any, place: Any, path: Any, waiting: Any, named: Any,
) -> None:  # fmt: skip
    """When each vertex is met, the component of the tree edge into it, and the articulation points.

    met, block: int64[n], -1 at first; points, low, place, path, waiting: int64[n]; named: bool[n], False at first.
    ``size``: how many components and how many points there are.
    """
    one = np.uint64(1)
    clock, found, marked = 0, 0, 0
    for root in range(met.size):
        if met[root] >= 0:
            continue
        path[0], depth, children, waits = root, 1, 0, 0
        met[root] = clock
        low[root] = clock
        clock += 1
        place[root] = np.int64(offsets[root])
        while depth > 0:
            v = np.uint64(path[depth - 1])
            above = np.uint64(path[depth - 2]) if depth > 1 else v
            deeper = False
            while place[v] < np.int64(offsets[v + one]):
                w = np.uint64(neighbours[place[v]])
                place[v] += 1
                if w == above:
                    continue
                if met[w] >= 0:
                    low[v] = min(low[v], met[w])
                    continue
                met[w] = clock
                low[w] = clock
                clock += 1
                place[w] = np.int64(offsets[w])
                path[depth] = w
                depth += 1
                waiting[waits] = w
                waits += 1
                deeper = True
                break
            if deeper:
                continue
            depth -= 1
            if depth == 0:
                break
            if low[v] < met[above]:
                low[above] = min(low[above], low[v])
                continue
            while True:  # what the search met below v belongs together
                waits -= 1
                block[waiting[waits]] = found
                if waiting[waits] == np.int64(v):
                    break
            found += 1
            if depth == 1:
                children += 1
            elif not named[above]:
                named[above] = True
                points[marked] = above
                marked += 1
        if children > 1:
            points[marked] = root
            marked += 1
    size[0], size[1] = found, marked
