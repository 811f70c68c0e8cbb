"""Personalised PageRank around a seed on cores, and the sweep over it: work in proportion to the cluster.

Every core has its own arrays, as long as the number of vertices, and a list of the touched entries, by which they are
cleared: so a seed costs what it touches, and cores process many seeds in parallel. In `push` mass moves from residuals
to scores, a vertex at a time (Andersen, Chung, Lang, "Local graph partitioning using PageRank vectors", 2006; Shun and
others, "Parallel local graph clustering", 2016). In `fista` the same scores minimise a convex function with an l1 term
(Fountoulakis and others, "Variational perspective on local graph clustering", 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take

__all__ = ["ROUNDING", "cluster", "fista_rows"]

_ONE = np.uint64(1)
# The rounding error of sums, as a share of all weight: less on one side of a cut counts as nothing.
ROUNDING = 1e-12
# Arrays of a core: scores, residuals or gradients, and FISTA's extrapolation.
SCORE, REST, AHEAD, SUM = range(4)


@inner
def _touch(v: Any, known: Any, touched: Any, count: Any) -> Any:
    if not known[v]:
        known[v] = True
        touched[count] = v
        return count + 1
    return count


@inner
def _weight(weights: Any, i: Any) -> Any:
    return 1.0 if weights is None else np.float64(weights[i])


@inner
def _push(
    offsets: Any, neighbours: Any, weights: Any, strength: Any, seed: Any, alpha: Any, rho: Any, limit: Any,
    values: Any, known: Any, touched: Any, queued: Any, queue: Any,
) -> Any:  # fmt: skip
    """Scores and residuals of one seed; how many vertices were touched, how many pushes there were, what is left."""
    score, rest, size = values[SCORE], values[REST], queue.size
    keeps, gives = 2.0 * alpha / (1.0 + alpha), (1.0 - alpha) / (1.0 + alpha)
    count = _touch(seed, known, touched, 0)
    rest[seed] = 1.0
    head, waiting, pushes = 0, 0, 0
    if rest[seed] >= rho * strength[seed]:
        queue[0], waiting, queued[seed] = seed, 1, True
    while waiting > 0 and pushes < limit:
        v = np.uint64(queue[head])
        head = head + 1 if head + 1 < size else 0
        waiting, queued[v] = waiting - 1, False
        mass = rest[v]
        rest[v] = 0.0
        pushes += 1
        if not strength[v] > 0.0:
            score[v] += mass  # no neighbours
            continue
        score[v] += keeps * mass
        share = gives * mass / strength[v]
        for i in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(neighbours[i])
            count = _touch(u, known, touched, count)
            rest[u] += share * _weight(weights, i)
            if not queued[u] and rest[u] >= rho * strength[u]:
                place = head + waiting
                queue[place if place < size else place - size] = u
                waiting, queued[u] = waiting + 1, True
    worst = 0.0
    for k in range(count):
        v = touched[k]
        if strength[v] > 0.0:
            worst = max(worst, rest[v] / strength[v])
        queued[v] = False
    return count, pushes, worst


@inner
def _soft(x: Any, by: Any) -> Any:
    return x - by if x > by else x + by if x < -by else 0.0


@inner
def _gradient(y: Any, total: Any, degree: Any, at_seed: Any, alpha: Any) -> Any:
    root = np.sqrt(degree)
    return (1.0 + alpha) / 2.0 * y - (1.0 - alpha) / 2.0 * total / root - (alpha / root if at_seed else 0.0)


@inner
def _sums(
    offsets: Any, neighbours: Any, weights: Any, strength: Any, ahead: Any, sums: Any, known: Any, touched: Any,
    count: Any,
) -> Any:  # fmt: skip
    """sums[u]: what neighbours have, divided by the roots of their degrees; how many vertices are touched by then."""
    for k in range(count):
        sums[touched[k]] = 0.0
    for k in range(count):
        v = np.uint64(touched[k])
        if ahead[v] != 0.0:
            share = ahead[v] / np.sqrt(strength[v])
            for i in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(neighbours[i])
                if not known[u]:
                    sums[u] = 0.0
                count = _touch(u, known, touched, count)
                sums[u] += share * _weight(weights, i)
    return count


@inner
def _fista(
    offsets: Any, neighbours: Any, weights: Any, strength: Any, seed: Any, alpha: Any, rho: Any, tol: Any, limit: Any,
    values: Any, known: Any, touched: Any,
) -> Any:  # fmt: skip
    """Scores of one seed; how many vertices were touched, how many steps there were, and the KKT residual."""
    q, ahead, sums = values[SCORE], values[AHEAD], values[SUM]
    beta = (1.0 - np.sqrt(alpha)) / (1.0 + np.sqrt(alpha))
    count = _touch(seed, known, touched, 0)
    if not strength[seed] > 0.0:
        q[seed] = 1.0
        return count, 0, 0.0
    worst, steps, exact = np.inf, 0, False
    while steps < limit:
        count = _sums(offsets, neighbours, weights, strength, ahead, sums, known, touched, count)
        worst = 0.0
        for k in range(count):
            v = touched[k]
            slope = _gradient(ahead[v], sums[v], strength[v], v == seed, alpha)
            moved = _soft(ahead[v] - slope, rho * alpha * np.sqrt(strength[v]))
            worst = max(worst, abs(moved - ahead[v]))
            values[REST, v] = moved
        if exact and worst <= tol:  # ahead is q itself, so this is its residual
            break
        exact = worst <= tol
        for k in range(count):
            v = touched[k]
            moved = values[REST, v]
            ahead[v] = moved if exact else moved + beta * (moved - q[v])
            q[v] = moved
        steps += 1
    for k in range(count):
        v = touched[k]
        q[v] *= np.sqrt(strength[v])
    return count, steps, worst


@inner
def _sift(order: Any, keys: Any, begin: Any, end: Any) -> None:
    """Sift an entry down a heap whose root is the last in order: the lowest key, of equals the highest number."""
    at = begin
    while 2 * at + 1 < end:
        child = 2 * at + 1
        if child + 1 < end and _behind(order[child + 1], order[child], keys):
            child += 1
        if not _behind(order[child], order[at], keys):
            break
        order[at], order[child] = order[child], order[at]
        at = child


@inner
def _behind(a: Any, b: Any, keys: Any) -> Any:
    return keys[a] < keys[b] or (keys[a] == keys[b] and a > b)


@inner
def _sort(order: Any, keys: Any, count: Any) -> None:
    """Order by key, the highest first: heap sort, which needs no memory."""
    # The heap's root is the last entry in order; it goes to the end.
    for k in range(count // 2):
        _sift(order, keys, count // 2 - 1 - k, count)
    for k in range(count - 1):
        end = count - 1 - k
        order[0], order[end] = order[end], order[0]
        _sift(order, keys, 0, end)


@inner
def _sweep(
    offsets: Any, neighbours: Any, weights: Any, strength: Any, whole: Any, order: Any, count: Any, inside: Any
) -> Any:  # fmt: skip
    """Of the prefixes of an order the one of the least conductance, the shortest of equals, and its conductance."""
    volume, cut, best, least = 0.0, 0.0, 0, np.inf
    for k in range(count):
        v = np.uint64(order[k])
        inside[v] = True
        volume += strength[v]
        for i in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(neighbours[i])
            if u != v:
                cut += -_weight(weights, i) if inside[u] else _weight(weights, i)
        smaller = min(volume, whole - volume)
        conductance = max(cut, 0.0) / smaller if smaller > ROUNDING * whole else np.inf
        if conductance < least:
            best, least = k + 1, conductance
    for k in range(count):
        inside[order[k]] = False
    return best, least


@kernel
def cluster(
    worker: Any, workers: Any, control: Any, seeds: Any, offsets: Any, neighbours: Any, weights: Any, strength: Any,
    whole: Any, alpha: Any, rho: Any, tol: Any, limit: Any, pushes: Any, values: Any, flags: Any, lists: Any,
    members: Any, scores: Any, facts: Any,
) -> None:  # fmt: skip
    """members[k], scores[k]: the vertices around seed k by score over degree; facts[k]: see below."""
    mine, known, marked = values[worker], flags[worker, 0], flags[worker, 1]
    touched, queue = lists[worker, 0], lists[worker, 1]
    while True:
        begin, end = take(control, np.uint64(seeds.size), _ONE)
        if begin == end:
            break
        seed = seeds[begin]
        where = offsets, neighbours, weights, strength
        if pushes:
            count, steps, worst = _push(*where, seed, alpha, rho, limit, mine, known, touched, marked, queue)
        else:
            count, steps, worst = _fista(*where, seed, alpha, rho, tol, limit, mine, known, touched)
        found, left = 0, 0.0
        for k in range(count):
            v = touched[k]
            left += mine[REST, v] if pushes else 0.0
            if mine[SCORE, v] > 0.0:
                queue[found] = v
                found += 1
                mine[AHEAD, v] = mine[SCORE, v] / strength[v] if strength[v] > 0.0 else mine[SCORE, v]
        _sort(queue, mine[AHEAD], found)
        best, least = _sweep(*where, whole, queue, found, marked)
        for k in range(found):
            members[begin, k], scores[begin, k] = queue[k], mine[SCORE, queue[k]]
        facts[begin, 0], facts[begin, 1], facts[begin, 2] = found, best, least
        facts[begin, 3], facts[begin, 4], facts[begin, 5] = steps, worst, left
        for k in range(count):
            v = touched[k]
            known[v] = False
            for kind in range(4):
                mine[kind, v] = 0.0


@kernel
def fista_rows(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, seed: Any, offsets: Any, neighbours: Any,
    weights: Any, strength: Any, alpha: Any, rho: Any, ahead: Any, moved: Any,
) -> None:  # fmt: skip
    """moved[v - first]: the result of one step from `ahead`, for the rows of a worker."""
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            total = 0.0
            for i in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(neighbours[i])
                if ahead[u] != 0.0:
                    total += _weight(weights, i) * ahead[u] / np.sqrt(strength[u])
            moved[v - first] = 0.0
            if strength[v] > 0.0:
                slope = _gradient(ahead[v], total, strength[v], v == seed, alpha)
                moved[v - first] = _soft(ahead[v] - slope, rho * alpha * np.sqrt(strength[v]))
