"""A depth-first search with low-links of subtrees; iterative, because recursion depth is limited."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["find_blocks"]


@kernel
def find_blocks(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, met: Any, block: Any, tops: Any,
    points: Any, size: Any, low: Any, place: Any, path: Any, waiting: Any,
) -> None:  # fmt: skip
    """The discovery time of each vertex, the component of the tree edge into it, and the articulation points.

    All arrays but size are signed integers, [n]: met and block -1 at first, tops 0. ``tops[v]``: of how many components
    v is the first discovered vertex. ``size``: the number of components and of points.
    """
    one = np.uint64(1)
    clock, found, marked = 0, 0, 0
    for root in range(met.size):
        if met[root] >= 0:
            continue
        path[0], depth, waits = root, 1, 0
        met[root] = clock
        low[root] = clock
        clock += 1
        place[root] = offsets[root]
        while depth > 0:
            v = np.uint64(path[depth - 1])
            above = np.uint64(path[depth - 2]) if depth > 1 else v
            i, end, least, deeper = np.uint64(place[v]), offsets[v + one], low[v], False
            while i < end:
                w = np.uint64(neighbours[i])
                i += one
                if met[w] < 0:
                    met[w] = clock
                    low[w] = clock
                    clock += 1
                    place[w] = offsets[w]
                    path[depth] = w
                    depth += 1
                    waiting[waits] = w
                    waits += 1
                    deeper = True
                    break
                if w != above:
                    least = min(least, met[w])
            place[v] = i
            low[v] = least
            if deeper:
                continue
            depth -= 1
            if depth == 0:
                break
            if least < met[above]:
                low[above] = min(low[above], least)
                continue
            while True:  # the vertices discovered below v belong together
                waits -= 1
                block[waiting[waits]] = found
                if np.uint64(waiting[waits]) == v:
                    break
            found += 1
            tops[above] += 1
            if depth > 1 and tops[above] == 1:
                points[marked] = above
                marked += 1
        if tops[root] > 1:
            points[marked] = root
            marked += 1
    size[0], size[1] = found, marked
