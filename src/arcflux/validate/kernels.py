"""The loops over all edges that the checks need, each as plain as its speed allows.

They share no code with the algorithms they check. A loop over rows takes ``bounds: uint64[slices + 1]``, vertices that
cut the rows into slices of about equal numbers of arcs, then ``offsets: uint64[vertices + 1]`` and ``neighbours:
uint32|uint64[arcs]``. Arcs that break a rule are counted in ``tally[slice, rule]``, and the places of the first ones
are in ``first[slice, rule, :]``, so the first of all are found without a flag per arc, in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim

__all__ = [
    "FAR", "FLAT", "UNREACHED", "brandes", "differ", "join_sorted", "peel", "pull", "relax", "search_in_depth",
    "tight_paths", "triangles", "unite", "walk_chains",
]  # fmt: skip

FAR, UNREACHED, FLAT = 0, 1, 2


@inner
def _record(tally: Any, first: Any, part: Any, rule: Any, place: Any) -> None:
    if tally[part, rule] < first.shape[2]:
        first[part, rule, tally[part, rule]] = place
    tally[part, rule] += 1


@inner
def _length(weight: Any, place: Any) -> Any:
    if weight is None:
        return 1.0
    return np.float64(weight[place])


@kernel
def relax(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, weight: Any, distance: Any,
    parent: Any, tolerance: Any, tight: Any, joined: Any, tally: Any, first: Any,
) -> None:  # fmt: skip
    """Check every arc u -> v against the distances of its ends, and against the parent of v.

    ``tight[v]``: some arc from another vertex explains the distance of v. ``joined[v]``: 0 without an arc from the
    parent of v, 1 with one, 2 with one that explains the distance of v. Rules: FAR, v is farther than the arc allows;
    UNREACHED, u is reached and v is not; FLAT, not an offence: a tight arc along which the distance does not grow.
    """
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            here = distance[u]
            for i in range(offsets[u], offsets[u + np.uint64(1)]):
                v = neighbours[i]
                # Only the row of the parent writes joined[v], so no two workers write it.
                ours = parent[v] == np.int64(u)
                if ours:
                    joined[v] = max(joined[v], np.uint8(1))
                if here == np.inf:
                    continue
                there = distance[v]
                reach = here + _length(weight, i)
                slack = tolerance * reach
                if there == np.inf:
                    _record(tally, first, part, UNREACHED, i)
                elif there > reach + slack:
                    _record(tally, first, part, FAR, i)
                elif there >= reach - slack and np.uint64(v) != u:
                    if not tight[v]:
                        tight[v] = True
                    if ours:
                        joined[v] = np.uint8(2)
                    if there <= here:
                        tally[part, FLAT] += 1


@kernel
def tight_paths(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weight: Any, distance: Any, tolerance: Any,
    queue: Any, size: Any, reached: Any,
) -> None:  # fmt: skip
    """Mark the vertices that tight arcs reach from the first `size` vertices of the queue: one worker, one sweep.

    queue: int64[vertices]. Where weights are 0, two wrong distances can explain each other; a path from a source
    cannot.
    """
    if claim(control) != 0:
        return
    head = 0
    while head < size:
        u = queue[head]
        head += 1
        for i in range(offsets[u], offsets[u + 1]):
            v = neighbours[i]
            reach = distance[u] + _length(weight, i)
            if not reached[v] and abs(distance[v] - reach) <= tolerance * reach:
                reached[v] = True
                queue[size] = v
                size += 1


@kernel
def differ(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, label: Any, once: Any,
    tally: Any, first: Any,
) -> None:  # fmt: skip
    """Count the arcs with different labels at their ends; with `once`, only from lower to higher numbers."""
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            for i in range(offsets[u], offsets[u + np.uint64(1)]):
                v = neighbours[i]
                if label[u] != label[v] and not (once and np.uint64(v) < u):
                    _record(tally, first, part, 0, i)


@inner
def _root(above: Any, v: Any) -> Any:
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@kernel
def unite(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, above: Any) -> None:
    """Union-find with path halving (Tarjan, van Leeuwen, 1984); above: int64[vertices] ends as smallest members."""
    if claim(control) != 0:
        return
    for u in range(above.size):
        for i in range(offsets[u], offsets[u + 1]):
            a = _root(above, u)
            b = _root(above, np.int64(neighbours[i]))
            above[max(a, b)] = min(a, b)
    for v in range(above.size):
        above[v] = _root(above, v)


@kernel
def pull(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, value: Any, total: Any
) -> None:
    """``total[v]``: the sum of the values of the vertices with an arc to v; the arcs are grouped by target."""
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for v in range(bounds[part], bounds[part + 1]):
            gathered = 0.0
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                gathered += value[neighbours[i]]
            total[v] = gathered


@kernel
def triangles(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, stamp: Any, corners: Any
) -> None:
    """Count the triangles through each vertex; all arcs go up, and rows have no repeats.

    ``corners[worker, v]`` is summed by the caller. stamp: uint64[workers, vertices], zero at first, marks the
    neighbours of the current lowest corner.
    """
    one = np.uint64(1)
    mark, count = stamp[worker], corners[worker]
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            now = np.uint64(u) + one
            for i in range(offsets[u], offsets[now]):
                mark[neighbours[i]] = now
            for i in range(offsets[u], offsets[now]):
                v = np.uint64(neighbours[i])
                found = 0
                for j in range(offsets[v], offsets[v + one]):
                    w = neighbours[j]
                    if mark[w] == now:
                        count[w] += 1
                        found += 1
                count[u] += found
                count[v] += found


@inner
def _repeats(offsets: Any, neighbours: Any, u: Any, i: Any) -> Any:
    return i > offsets[u] and neighbours[i] == neighbours[i - np.uint64(1)]


@kernel
def brandes(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, sources: Any, whole: Any, real: Any,
    shares: Any,
) -> None:  # fmt: skip
    """Brandes' accumulation (2001), one source after another.

    Each worker has its own whole: int64[workers, 2, vertices] and real: float64[workers, 3, vertices] to work in, and
    leaves its share of the centralities in ``real[worker, 0]``, which starts as 0. Rows are sorted, and of parallel
    arcs only the first counts; with ``shares: float64[workers, arcs]``, where a worker adds up the centralities of
    arcs, rows are in any order and each arc counts. Self-loops lie on no shortest path.
    """
    level, queue = whole[worker, 0], whole[worker, 1]
    score, paths, credit = real[worker, 0], real[worker, 1], real[worker, 2]
    while True:
        turn = claim(control)
        if turn >= sources.size:
            break
        level[:] = -1
        paths[:] = 0.0
        source = sources[turn]
        level[source] = 0
        paths[source] = 1.0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for i in range(offsets[u], offsets[u + 1]):
                v = neighbours[i]
                if shares is None and _repeats(offsets, neighbours, u, i):
                    continue
                if level[v] < 0:
                    level[v] = level[u] + 1
                    queue[tail] = v
                    tail += 1
                if level[v] == level[u] + 1:
                    paths[v] += paths[u]
        for place in range(tail - 1, -1, -1):
            u = queue[place]
            credit[u] = 0.0
            for i in range(offsets[u], offsets[u + 1]):
                v = neighbours[i]
                if level[v] != level[u] + 1:
                    continue
                share = paths[u] / paths[v] * (1.0 + credit[v])
                if shares is not None:
                    shares[worker, i] += share
                elif _repeats(offsets, neighbours, u, i):
                    continue
                credit[u] += share
            if u != source:
                score[u] += credit[u]


@kernel
def search_in_depth(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, order: Any, met: Any, parent: Any,
    tree: Any, place: Any,
) -> None:  # fmt: skip
    """Search depth-first from every vertex: the order of discovery, its inverse, parents, and the arcs to them."""
    one = np.uint64(1)
    clock = 0
    for root in range(met.size):
        if met[root] >= 0:
            continue
        v: Any = root
        met[v] = clock
        order[clock] = v
        clock += 1
        place[v] = np.int64(offsets[v])
        while v >= 0:
            if place[v] == np.int64(offsets[np.uint64(v) + one]):
                v = parent[v]
                continue
            w = np.int64(neighbours[place[v]])
            place[v] += 1
            if met[w] < 0:
                parent[w] = v
                tree[w] = place[v] - 1
                met[w] = clock
                order[clock] = w
                clock += 1
                place[w] = np.int64(offsets[w])
                v = w


@kernel
def walk_chains(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, order: Any, met: Any, parent: Any,
    tree: Any, root: Any, first: Any, visited: Any, covered: Any, cyclic: Any,
) -> None:  # fmt: skip
    """``covered[v]``: the tree edge to v is on a chain; ``cyclic[v]``: a cycle but the tree's first begins at v."""
    one = np.uint64(1)
    for v in order:
        for i in range(offsets[v], offsets[np.uint64(v) + one]):
            w = np.int64(neighbours[i])
            if met[w] <= met[v] or np.int64(i) == tree[w]:
                continue
            visited[v] = True
            x = w
            while not visited[x]:
                visited[x] = True
                covered[x] = True
                x = parent[x]
            if x == v:
                if first[root[v]]:
                    first[root[v]] = False
                else:
                    cyclic[v] = True
            elif first[root[v]]:
                first[root[v]] = False


@kernel
def join_sorted(
    worker: Any, workers: Any, control: Any, sources: Any, targets: Any, root: Any, joined: Any
) -> None:  # fmt: skip
    """``joined[k]``: the k-th edge joins two trees that the edges before it leave separate."""
    for k in range(sources.size):
        one, other = np.int64(sources[k]), np.int64(targets[k])
        while root[one] != one:
            root[one] = root[root[one]]
            one = root[one]
        while root[other] != other:
            root[other] = root[root[other]]
            other = root[other]
        joined[k] = one != other
        root[max(one, other)] = min(one, other)


@kernel
def peel(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, degree: Any, order: Any, place: Any,
    start: Any,
) -> None:  # fmt: skip
    """Turn degrees into core numbers, vertex by vertex in an order kept sorted (Batagelj, Zaversnik 2003).

    order: int64[vertices], by degree; place: its inverse; start: int64[largest degree + 1], where each degree begins.
    """
    for k in range(order.size):
        v = np.uint64(order[k])
        for i in range(offsets[v], offsets[v + np.uint64(1)]):
            u = np.int64(neighbours[i])
            if degree[u] > degree[v]:
                first = start[degree[u]]
                other = order[first]
                order[first], order[place[u]] = u, other
                place[other], place[u] = place[u], first
                start[degree[u]] += 1
                degree[u] -= 1
