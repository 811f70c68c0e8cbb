"""Kernels of graphs that are drawn row by row, or with a structure to be found again: blocks, cliques, frames, points.

Kernels of rows run twice: without `source` they write how many edges each row has, then the edges from ``starts[u]``
on. A row has a stream of its own, so that both times, and on any number of workers, it comes out the same. Pairs that
are no edge are skipped by one number (Batagelj, Brandes, "Efficient generation of large random networks", 2005).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, take
from arcflux.spmd.random import below, bits, key, permute, uniform

__all__ = ["blocks", "capacities", "cliques", "correlated", "draw_points", "draw_power_law", "frames", "near", "stubs"]

BLOCKS, KEPT, NEW, DEGREES, INNER, OUTER, LINKS, CAPACITY, POINTS = range(20, 29)
_FAR = 4.0e18
_CHUNK, _FEW = np.uint64(1 << 14), np.uint64(256)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@inner
def _skip(stream: Any, counter: Any, p: Any) -> Any:
    """How many pairs are no edge before the next one that is, each being one with probability `p`."""
    if p >= 1.0:
        return np.uint64(0)
    if p <= 0.0:
        return np.uint64(_FAR)
    return np.uint64(math.floor(min(math.log1p(-uniform(stream, counter)) / math.log1p(-p), _FAR)))


@kernel
def blocks(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, block_of: Any, firsts: Any, ends: Any, chances: Any,
    starts: Any, source: Any, target: Any,
) -> None:  # fmt: skip
    """Row u of block b meets the vertices behind it run by run: up to ends[k] with chances[k], firsts[b] <= k."""
    rows = key(seed, BLOCKS)
    while True:
        begin, end = take(control, items, _FEW)
        if begin >= end:
            break
        for u in range(begin, end):
            stream, counter, count = bits(rows, u), np.uint64(0), np.int64(0)
            v = u + _ONE
            b = block_of[u]
            for k in range(firsts[b], firsts[b + 1]):
                while v < ends[k]:
                    v += _skip(stream, counter, chances[k])
                    counter += _ONE
                    if v < ends[k]:
                        if source is not None:
                            source[starts[u] + count], target[starts[u] + count] = u, v
                        count += 1
                        v += _ONE
                v = max(np.uint64(ends[k]), u + _ONE)
            if source is None:
                starts[u] = count


@kernel
def correlated(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, p: Any, kept: Any, fresh: Any, copied: Any,
    starts: Any, source: Any, target: Any,
) -> None:  # fmt: skip
    """Pairs with probability p; or a copy that keeps each with probability `kept`, and has others with `fresh`."""
    rows, keeping, others = key(seed, BLOCKS), key(seed, KEPT), key(seed, NEW)
    while True:
        begin, end = take(control, items, _FEW)
        if begin >= end:
            break
        for u in range(begin, end):
            first, second, keeper = bits(rows, u), bits(others, u), bits(keeping, u)
            i, j, count = np.uint64(0), np.uint64(0), np.int64(0)
            v = u + _ONE + _skip(first, i, p)
            w = u + _ONE + _skip(second, j, fresh) if copied else items
            while v < items or w < items:
                here = min(v, w)
                edge = not copied or (uniform(keeper, v) < kept if v == here else True)
                if edge:
                    if source is not None:
                        source[starts[u] + count], target[starts[u] + count] = u, here
                    count += 1
                if v == here:
                    i += _ONE
                    v += _ONE + _skip(first, i, p)
                if w == here:
                    j += _ONE
                    w += _ONE + _skip(second, j, fresh)
            if source is None:
                starts[u] = count


@kernel
def cliques(worker: Any, workers: Any, control: Any, items: Any, size: Any, source: Any, target: Any) -> None:
    """Cliques of `size` vertices, and an edge from the second vertex of each to the first one of the next."""
    each = size * (size - _ONE) // _TWO + _ONE
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for v in range(begin, end):
            clique, i = v // size, v % size
            first = clique * each
            for j in range(i):
                at = first + i * (i - _ONE) // _TWO + j
                source[at], target[at] = clique * size + j, v
            if i == _ONE:
                at = first + each - _ONE
                source[at], target[at] = v, (clique + _ONE) * size % items


# --- communities with degrees ---------------------------------------------------------------------------------------


@kernel
def draw_power_law(
    worker: Any, workers: Any, control: Any, seed: Any, stream: Any, low: Any, high: Any, exponent: Any, out: Any
) -> None:
    """out[i]: a whole number from low to high, k in proportion to k ** -exponent, nearly."""
    chances, power = key(seed, stream), 1.0 - exponent
    a, b = low**power, (high + 1.0) ** power
    while True:
        begin, end = take(control, np.uint64(out.size), _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            chance = uniform(chances, i)
            drawn = low * ((high + 1.0) / low) ** chance if power == 0.0 else (a + chance * (b - a)) ** (1.0 / power)
            out[i] = min(max(math.floor(drawn), low), high)


@inner
def _holder(sums: Any, begin: Any, end: Any, stub: Any) -> Any:
    """Which vertex from begin to before end has the stub: sums[v] <= stub < sums[v + 1]."""
    low, high = begin, end
    while high - low > 1:
        middle = (low + high) // 2
        if sums[middle] <= stub:
            low = middle
        else:
            high = middle
    return low


@kernel
def stubs(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, within: Any, bounds: Any, block_of: Any,
    inner_sums: Any, outer_sums: Any, source: Any, target: Any,
) -> None:  # fmt: skip
    """Edges between stubs: the first within[-1] inside blocks, edge i in that with within[k] <= i < within[k + 1].

    The others join stubs of different blocks; what meets its own block again and again stays, as a loop to be dropped.
    """
    inside, outside = key(seed, INNER), key(seed, OUTER)
    last = within.size - 1
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            if i < within[last]:
                k = _holder(within, 0, last, np.int64(i))
                low, high = bounds[k], bounds[k + 1]
                first, span = inner_sums[low], np.uint64(inner_sums[high] - inner_sums[low])
                a = first + np.int64(below(bits(inside, _TWO * i), span))
                b = first + np.int64(below(bits(inside, _TWO * i + _ONE), span))
                source[i], target[i] = _holder(inner_sums, low, high, a), _holder(inner_sums, low, high, b)
                continue
            n, many = block_of.size, np.uint64(outer_sums[block_of.size])
            stream = bits(outside, i)
            u = _holder(outer_sums, 0, n, np.int64(below(bits(stream, 0), many)))
            v = u
            for attempt in range(1, 65):
                v = _holder(outer_sums, 0, n, np.int64(below(bits(stream, attempt), many)))
                if block_of[v] != block_of[u]:
                    break
            source[i], target[i] = u, (v if block_of[v] != block_of[u] else u)


# --- flow networks --------------------------------------------------------------------------------------------------


@kernel
def frames(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, side: Any, count: Any, width: Any, source: Any,
    target: Any,
) -> None:  # fmt: skip
    """Frames of side x side vertices, neighbours in a frame both ways, each vertex with one of the next frame."""
    area, row = side * side, side - _ONE
    inside = np.uint64(4) * side * row
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for v in range(begin, end):
            frame, place = v // area, v % area
            y, x = place // side, place % side
            if x < row:
                at = frame * inside + _TWO * (y * row + x)
                source[at], target[at], source[at + _ONE], target[at + _ONE] = v, v + _ONE, v + _ONE, v
            if y < row:
                at = frame * inside + _TWO * (side * row + y * side + x)
                source[at], target[at], source[at + _ONE], target[at + _ONE] = v, v + side, v + side, v
            if frame + _ONE < count:
                stream = bits(key(seed, LINKS), frame)
                there = permute(stream, place, width)
                while there >= area:
                    there = permute(stream, there, width)
                at = count * inside + v
                source[at], target[at] = v, (frame + _ONE) * area + there


@kernel
def capacities(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, seed: Any, area: Any, low: Any,
    span: Any, within: Any, out: Any,
) -> None:  # fmt: skip
    """out[arc]: `within` in a frame, else from `low` on one of `span` numbers."""
    stream = key(seed, CAPACITY)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            for arc in range(offsets[u], offsets[u + _ONE]):
                same = u // area == np.uint64(neighbours[arc]) // area
                out[arc] = within if same else low + np.int64(below(bits(stream, u), span))


# --- points ---------------------------------------------------------------------------------------------------------


@kernel
def draw_points(worker: Any, workers: Any, control: Any, seed: Any, sphere: Any, out: Any) -> None:
    """out[v]: a uniform point of the unit square, with 0 behind it; or of the unit sphere."""
    stream = key(seed, POINTS)
    while True:
        begin, end = take(control, np.uint64(out.shape[0]), _CHUNK)
        if begin >= end:
            break
        for v in range(begin, end):
            a, b = uniform(stream, _TWO * v), uniform(stream, _TWO * v + _ONE)
            out[v, 0], out[v, 1], out[v, 2] = a, b, 0.0
            if sphere:
                z, angle = 2.0 * a - 1.0, 2.0 * math.pi * b
                wide = math.sqrt(max(0.0, 1.0 - z * z))
                out[v, 0], out[v, 1], out[v, 2] = wide * math.cos(angle), wide * math.sin(angle), z


@kernel
def near(
    worker: Any, workers: Any, control: Any, items: Any, points: Any, order: Any, cells: Any, across: Any, layers: Any,
    reach: Any, starts: Any, source: Any, target: Any,
) -> None:  # fmt: skip
    """Pairs of points at most `reach` apart. cells[k]: the cell of point order[k], sorted.

    The cell at x, y, z is (z * across + y) * across + x. Row k is that of point order[k]; it writes the pairs with the
    points behind it in that order.
    """
    n = np.int64(items)
    while True:
        begin, end = take(control, items, _FEW)
        if begin >= end:
            break
        for k in range(begin, end):
            u, cell, count = order[k], cells[k], np.int64(0)
            x, y, z = cell % across, cell // across % across, cell // (across * across)
            for layer in range(max(z - 1, 0), min(z + 2, layers)):
                for row in range(max(y - 1, 0), min(y + 2, across)):
                    line = (layer * across + row) * across
                    at, last = np.int64(k) + 1, line + min(x + 1, across - 1)
                    low, high = at, n
                    while low < high:
                        middle = (low + high) // 2
                        if cells[middle] < line + max(x - 1, 0):
                            low = middle + 1
                        else:
                            high = middle
                    at = low
                    while at < n and cells[at] <= last:
                        v, squares = order[at], 0.0
                        for c in range(3):
                            squares += (points[u, c] - points[v, c]) ** 2
                        if squares <= reach * reach:
                            if source is not None:
                                source[starts[k] + count], target[starts[k] + count] = u, v
                            count += 1
                        at += 1
            if source is None:
                starts[k] = count
