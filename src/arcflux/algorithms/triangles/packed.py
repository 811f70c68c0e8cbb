"""Triangles by intersecting rows of bits: 64 possible neighbours in a word.

Vertices have a rank, high degrees first, and the row of a vertex holds its neighbours of lower rank: rows are short,
and a triangle is found once, from its corner of highest rank. Rows are bitmaps over the ranks: *dense* ones hold every
word up to their own rank, the others only the non-zero words, each with its position. Neighbours mostly have the lowest
ranks, so a word holds many of them (docs/decisions/006-triangles.md). Rows are packed through a bitmap: parallel edges
merge, and nothing needs to be sorted.

Arrays: ``span: uint64[2 * vertices]``, twice the position where the row of a rank begins, plus 1 if it is dense, and
where it ends; ``place: uint32[words]``; ``word: uint64[words]``; and for directed graphs ``both: uint64[words]``, the
neighbours with an edge in each direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import count_ones, fetch_add, prefetch_to_read, take, trailing_zeros

__all__ = ["CHUNK", "CORE", "SLAB", "SPARSEST", "corners", "count", "pack"]

# Rows that a worker claims at a time, and words of space that it claims for them.
CHUNK = 256
SLAB = 1 << 14
# Ranks whose rows may be dense, and how many words a dense row may have per non-zero one.
CORE = 1 << 15
SPARSEST = 8


@inner
def _mark(
    rank: Any, neighbours: Any, begin: Any, end: Any, limit: Any, bits: Any, other: Any, touched: Any, size: Any
) -> Any:
    """Set the bits of neighbours of a rank below `limit`, and record the words that were zero in both bitmaps."""
    one = np.uint64(1)
    for i in range(begin, end):
        r = np.uint64(neighbours[i]) if rank is None else np.uint64(rank[neighbours[i]])
        if r < limit:
            p = r >> np.uint64(6)
            before = bits[p]
            if before == 0 and (other is None or other[p] == 0):
                touched[size] = p
                size += one
            bits[p] = before | (one << (r & np.uint64(63)))
    return size


@kernel
def pack(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, in_offsets: Any, in_neighbours: Any,
    order: Any, rank: Any, bitmaps: Any, back_maps: Any, touch: Any, cursor: Any, span: Any, place: Any, word: Any,
    both: Any,
) -> None:  # fmt: skip
    """Pack the rows of all ranks; `order` and `rank` are None when a vertex's number is its rank.

    The second adjacency, `back_maps` and `both` are None unless the graph is directed. The bitmaps,
    uint64[workers, words], are zero before and after; touch: uint32[workers, words]; ``cursor[0]``: words in use.
    """
    one, two, slab = np.uint64(1), np.uint64(2), np.uint64(SLAB)
    bits, touched = bitmaps[worker], touch[worker]
    back = None if back_maps is None else back_maps[worker]
    free, last = np.uint64(0), np.uint64(0)
    while True:
        begin, end = take(control, np.uint64(span.size) // two, np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(r) if order is None else np.uint64(order[r])
            size = _mark(rank, neighbours, offsets[v], offsets[v + one], r, bits, None, touched, np.uint64(0))
            if back is not None:
                size = _mark(rank, in_neighbours, in_offsets[v], in_offsets[v + one], r, back, bits, touched, size)
            width = (r >> np.uint64(6)) + one
            dense = r < np.uint64(CORE) and width <= size * np.uint64(SPARSEST)
            size = width if dense else size
            if free + size <= last or size < slab >> np.uint64(3):
                if free + size > last:
                    free = fetch_add(cursor, 0, slab)
                    last = free + slab
                at = free
                free += size
            else:  # a long row gets its own space, and leaves the slab to others
                at = fetch_add(cursor, 0, size)
            span[two * r] = two * at + np.uint64(dense)
            span[two * r + one] = at + size
            for k in range(size):
                p = k if dense else np.uint64(touched[k])
                place[at + k] = p
                found = bits[p]
                bits[p] = 0
                if back is not None:
                    both[at + k] = found & back[p]
                    found |= back[p]
                    back[p] = 0
                word[at + k] = found


@inner
def _spread(span: Any, place: Any, word: Any, u: Any, bits: Any, member: Any) -> Any:
    """Copy a row into a bitmap and list its ranks; returns how many there are."""
    one = np.uint64(1)
    size = np.uint64(0)
    for k in range(span[u + u] >> one, span[u + u + one]):
        base = np.uint64(place[k]) << np.uint64(6)
        left = word[k]
        bits[place[k]] = left
        while left != 0:
            member[size] = base + trailing_zeros(left)
            size += one
            left &= left - one
    return size


@inner
def _clear(span: Any, place: Any, u: Any, bits: Any) -> None:
    for k in range(span[u + u] >> np.uint64(1), span[u + u + np.uint64(1)]):
        bits[place[k]] = 0


@inner
def _announce(span: Any, place: Any, word: Any, member: Any, i: Any, size: Any) -> None:
    """Prefetch the row of a member that will be read soon: rows are scattered in memory."""
    near, far = i + np.uint64(6), i + np.uint64(12)
    if far < size:
        prefetch_to_read(span, np.uint64(2) * np.uint64(member[far]))
    if near < size:
        first = span[np.uint64(2) * np.uint64(member[near])] >> np.uint64(1)
        prefetch_to_read(place, first)
        prefetch_to_read(word, first)
        prefetch_to_read(word, first + np.uint64(8))


@kernel
def count(
    worker: Any, workers: Any, control: Any, taken: Any, span: Any, place: Any, word: Any, bitmaps: Any, members: Any,
    totals: Any,
) -> None:  # fmt: skip
    """``totals[worker, 0]``: triangles that a worker found. members: uint32|uint64[workers, longest row].

    Only rows of `taken` ranks are processed; all if it is None.
    """
    one, two = np.uint64(1), np.uint64(2)
    bits, member = bitmaps[worker], members[worker]
    total = np.uint64(0)
    while True:
        begin, end = take(control, np.uint64(span.size) // two, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            if taken is not None and not taken[u]:
                continue
            size = _spread(span, place, word, u, bits, member)
            for i in range(size):
                _announce(span, place, word, member, i, size)
                v = np.uint64(member[i])
                first, last = span[v + v], span[v + v + one]
                dense = first & one
                first >>= one
                if dense:
                    for k in range(last - first):
                        total += count_ones(bits[k] & word[first + k])
                else:
                    for k in range(first, last):
                        total += count_ones(bits[place[k]] & word[k])
            _clear(span, place, u, bits)
    totals[worker, 0] = total


@kernel
def corners(
    worker: Any, workers: Any, control: Any, taken: Any, span: Any, place: Any, word: Any, both: Any, bitmaps: Any,
    back_maps: Any, members: Any, counters: Any, found: Any, degrees: Any,
) -> None:  # fmt: skip
    """``found[r]``: triangles through each rank; where there is `both`, edges between its neighbours instead.

    Then an edge in each direction counts twice, so that a triangle adds to a corner the directions of the opposite
    side. counters: uint32[workers, vertices], zero before and after. `degrees`, unless it is None, becomes the distinct
    neighbours of each rank. `taken` as for :func:`count`.
    """
    one, two = np.uint64(1), np.uint64(2)
    bits, member, local = bitmaps[worker], members[worker], counters[worker]
    back = None if back_maps is None else back_maps[worker]
    while True:
        begin, end = take(control, np.uint64(span.size) // two, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            if taken is not None and not taken[u]:
                continue
            size = _spread(span, place, word, u, bits, member)
            own, stop = span[u + u] >> one, span[u + u + one]
            if back is not None:
                for k in range(own, stop):
                    back[place[k]] = both[k]
            highest = np.uint64(0)
            for i in range(size):
                _announce(span, place, word, member, i, size)
                v = np.uint64(member[i])
                side = np.uint32(1)
                if back is not None:
                    side += np.uint32((back[v >> np.uint64(6)] >> (v & np.uint64(63))) & one)
                middle = np.uint64(0)
                first, last = span[v + v] >> one, span[v + v + one]
                # Words of a dense row can be indexed, so the shorter one is walked.
                swap = span[v + v] & one != 0 and stop - own < last - first
                for k in range(own if swap else first, stop if swap else last):
                    p = np.uint64(place[k])
                    at = k
                    hits = word[k]
                    if swap:
                        at = first + p
                        if at >= last:
                            continue
                        hits &= word[at]
                    else:
                        hits &= bits[p]
                    if hits == 0:
                        continue
                    middle += count_ones(hits)
                    highest += count_ones(hits)
                    if back is not None:
                        middle += count_ones(hits & back[p])
                        highest += count_ones(hits & both[at])
                    while hits != 0:
                        local[(p << np.uint64(6)) + trailing_zeros(hits)] += side
                        hits &= hits - one
                if middle != 0:
                    fetch_add(found, v, np.int64(middle))
                if degrees is not None:
                    fetch_add(degrees, v, 1)
            if degrees is not None:
                fetch_add(degrees, u, np.int64(size))
            if highest != 0:
                fetch_add(found, u, np.int64(highest))
                for i in range(size):
                    w = member[i]
                    if local[w] != 0:
                        fetch_add(found, w, np.int64(local[w]))
                        local[w] = 0
            _clear(span, place, u, bits)
            if back is not None:
                _clear(span, place, u, back)
