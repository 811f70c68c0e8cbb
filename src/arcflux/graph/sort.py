"""Kernels that turn a list of edges into adjacency: a stable counting sort, one bucket of vertices at a time.

The trick: a plain counting sort scatters over the whole graph and misses the cache at every edge. Here *place* first
deals the edges into some hundred buckets of neighbouring vertices (each a sequential stream), and *settle* then sorts
one bucket inside the cache. Every slice of the input knows where its edges go in each bucket, so any number of workers
writes the same bytes. Sorting by target and then, in that order, by source leaves every neighbour list sorted without
comparing anything.

Arrays, as everywhere in this folder: ``offsets: uint64[vertices + 1]``, ``values: uint32|uint64[arcs]`` (the other end
of each arc), ``origin: uint32|uint64[arcs]`` or None (which input edge an arc came from), ``low: uint16[arcs]`` (the
vertex within its bucket).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim, prefetch, take

__all__ = [
    "CHUNK",
    "combine",
    "count_loops",
    "count_pairs",
    "count_rows",
    "count_unique",
    "gather",
    "mark",
    "place_pairs",
    "place_rows",
    "renumber",
    "settle",
    "squeeze",
]

FIRST, SUM, MIN, MAX = 0, 1, 2, 3
CHUNK = 1 << 16


@kernel
def count_pairs(
    worker: Any, workers: Any, control: Any, keys: Any, others: Any, starts: Any, counts: Any, shift: Any,
    both: Any, drop_loops: Any, tally: Any, loops: Any, looped: Any,
) -> None:  # fmt: skip
    """``tally[slice, bucket]``: arcs of each slice of pairs that belong to each bucket; ``loops[slice]``: self-loops.

    Vertices whose self-loops will be dropped are marked in `looped`, since the file named them all the same.
    """
    while True:
        part = claim(control)
        if part >= starts.size:
            break
        row = tally[part]
        found = 0
        for i in range(starts[part], starts[part] + counts[part]):
            key = keys[i]
            other = others[i]
            if key == other:
                found += 1
                if drop_loops:
                    looped[key] = True
                    continue
                row[key >> shift] += np.uint64(1)
                continue
            row[key >> shift] += np.uint64(1)
            if both:
                row[other >> shift] += np.uint64(1)
        loops[part] = found


@kernel
def place_pairs(
    worker: Any, workers: Any, control: Any, keys: Any, others: Any, starts: Any, counts: Any, shift: Any,
    both: Any, drop_loops: Any, position: Any, low: Any, values: Any, origin: Any,
) -> None:  # fmt: skip
    """Deal the pairs of each slice into the buckets; ``position[slice, bucket]`` says where the next one goes."""
    mask = (np.uint64(1) << shift) - np.uint64(1)
    ahead = np.uint64(24)
    while True:
        part = claim(control)
        if part >= starts.size:
            break
        row = position[part]
        for i in range(starts[part], starts[part] + counts[part]):
            key = np.uint64(keys[i])
            other = np.uint64(others[i])
            if drop_loops and key == other:
                continue
            p = row[key >> shift]
            row[key >> shift] = p + np.uint64(1)
            low[p] = key & mask
            values[p] = other
            prefetch(values, p + ahead)
            prefetch(low, p + ahead)
            if origin is not None:
                origin[p] = i
            if both and key != other:
                p = row[other >> shift]
                row[other >> shift] = p + np.uint64(1)
                low[p] = other & mask
                values[p] = key
                prefetch(values, p + ahead)
                prefetch(low, p + ahead)
                if origin is not None:
                    origin[p] = i


@kernel
def count_rows(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, bounds: Any, shift: Any, tally: Any
) -> None:
    """As :func:`count_pairs`, for arcs that are adjacency already; slice s is the rows bounds[s] to bounds[s + 1]."""
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        row = tally[part]
        for i in range(offsets[bounds[part]], offsets[bounds[part + 1]]):
            row[neighbours[i] >> shift] += np.uint64(1)


@kernel
def place_rows(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, came: Any, bounds: Any, shift: Any,
    position: Any, low: Any, values: Any, origin: Any,
) -> None:  # fmt: skip
    """Deal adjacency into buckets by neighbour. An arc's origin is ``came[arc]``, or its own place without `came`."""
    mask = (np.uint64(1) << shift) - np.uint64(1)
    ahead = np.uint64(24)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        row = position[part]
        for v in range(bounds[part], bounds[part + 1]):
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                key = np.uint64(neighbours[i])
                p = row[key >> shift]
                row[key >> shift] = p + np.uint64(1)
                low[p] = key & mask
                values[p] = v
                prefetch(values, p + ahead)
                prefetch(low, p + ahead)
                if origin is not None:
                    if came is not None:
                        origin[p] = came[i]
                    else:
                        origin[p] = i


@kernel
def settle(
    worker: Any, workers: Any, control: Any, base: Any, shift: Any, low: Any, values: Any, origin: Any, offsets: Any,
    cursors: Any, spares: Any, spare_origins: Any,
) -> None:  # fmt: skip
    """Sort each bucket by vertex, in place and stably, and write its vertices' offsets.

    Scratch, a row for each worker: cursors uint64[workers, 2**shift]; spares, spare_origins[workers, largest bucket].
    """
    one = np.uint64(1)
    size = one << shift
    vertices = np.uint64(offsets.size - 1)
    cursor, spare, spare_origin = cursors[worker], spares[worker], spare_origins[worker]
    while True:
        bucket = np.uint64(claim(control))
        if bucket >= np.uint64(base.size - 1):
            break
        begin, end = base[bucket], base[bucket + one]
        first = bucket << shift
        here = min(vertices - first, size)
        cursor[:] = 0
        for i in range(begin, end):
            cursor[low[i]] += one
            spare[i - begin] = values[i]
            if origin is not None:
                spare_origin[i - begin] = origin[i]
        place = begin
        for k in range(here):
            count = cursor[k]
            offsets[first + k] = place
            cursor[k] = place
            place += count
        for i in range(begin, end):
            p = cursor[low[i]]
            cursor[low[i]] = p + one
            values[p] = spare[i - begin]
            if origin is not None:
                origin[p] = spare_origin[i - begin]


@kernel
def count_unique(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, kept: Any
) -> None:
    """``kept[v + 1]``: how many different neighbours the sorted row of v has."""
    one = np.uint64(1)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for v in range(bounds[part], bounds[part + 1]):
            begin, end = offsets[v], offsets[v + one]
            count = np.uint64(0)
            if begin < end:
                count = one
                for i in range(begin + one, end):
                    count += np.uint64(neighbours[i] != neighbours[i - one])
            kept[v + one] = count


@kernel
def squeeze(worker: Any, workers: Any, control: Any, offsets: Any, kept: Any, neighbours: Any) -> None:
    """Move the first of equal neighbours in each sorted row to the front, in place: one worker, one sweep."""
    if claim(control) != 0:
        return
    one = np.uint64(1)
    write = np.uint64(0)
    for v in range(np.uint64(offsets.size - 1)):
        begin, end = offsets[v], offsets[v + one]
        if end - begin == kept[v + one] - kept[v]:
            for i in range(begin, end):
                neighbours[write] = neighbours[i]
                write += one
            continue
        last = neighbours[begin]
        neighbours[write] = last
        write += one
        for i in range(begin + one, end):
            if neighbours[i] != last:
                last = neighbours[i]
                neighbours[write] = last
                write += one


@kernel
def count_loops(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, found: Any) -> None:
    """``found[0]``: arcs that end where they start."""
    if claim(control) != 0:
        return
    one = np.uint64(1)
    for v in range(np.uint64(offsets.size - 1)):
        for i in range(offsets[v], offsets[v + one]):
            if np.uint64(neighbours[i]) == v:
                found[0] += 1


@kernel
def gather(worker: Any, workers: Any, control: Any, column: Any, origin: Any, out: Any) -> None:
    """``out = column[origin]``."""
    while True:
        begin, end = take(control, np.uint64(out.size), np.uint64(CHUNK))
        if begin == end:
            break
        for i in range(begin, end):
            out[i] = column[origin[i]]


@kernel
def combine(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, column: Any, merged: Any,
    how: Any, limits: Any, out: Any, overflowed: Any,
) -> None:  # fmt: skip
    """Reduce a column over equal neighbours of each sorted row; ``merged`` are the offsets after merging.

    ``overflowed[0]``: a sum would have left the column's limits, lowest and highest. A NaN outweighs numbers.
    """
    one = np.uint64(1)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for v in range(bounds[part], bounds[part + 1]):
            write = merged[v]
            begin = offsets[v]
            for i in range(begin, offsets[v + one]):
                value = column[i]
                if i == begin or neighbours[i] != neighbours[i - one]:
                    if i != begin:
                        write += one
                    out[write] = value
                elif how == SUM:
                    if out[write] > limits[1] - value if value > 0 else out[write] < limits[0] - value:
                        overflowed[0] = True
                    out[write] += value
                elif (
                    (how == MIN and value < out[write])
                    or (how == MAX and value > out[write])
                    or (how != FIRST and value != value)
                ):
                    out[write] = value


@kernel
def mark(worker: Any, workers: Any, control: Any, neighbours: Any, seen: Any) -> None:
    """``seen[v] = True`` for every v among the neighbours; workers write the same value, so they need not agree."""
    while True:
        begin, end = take(control, np.uint64(neighbours.size), np.uint64(CHUNK))
        if begin == end:
            break
        for i in range(begin, end):
            if not seen[neighbours[i]]:
                seen[neighbours[i]] = True


@kernel
def renumber(worker: Any, workers: Any, control: Any, rank: Any, neighbours: Any) -> None:
    """``neighbours = rank[neighbours]``, in place."""
    while True:
        begin, end = take(control, np.uint64(neighbours.size), np.uint64(CHUNK))
        if begin == end:
            break
        for i in range(begin, end):
            neighbours[i] = rank[neighbours[i]]
