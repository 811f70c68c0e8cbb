"""Rows of a projection on cores: who shares a neighbour with u, and how much.

Each worker has a dense row of sums (a sparse accumulator: Gilbert, Moler, Schreiber 1992) and a bitmap of what is in
use, with a bitmap of its words above: so a row comes out sorted, and emptying it costs what is in it. Only vertices
behind u are looked at; the other half is its mirror image, written by ranges of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take, trailing_zeros

__all__ = ["CHUNK", "count", "fill", "mirror"]

CHUNK = 16


@inner
def _behind(neighbours: Any, begin: Any, end: Any, u: Any) -> Any:
    """Where the neighbours above u begin in a sorted row."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if np.uint64(neighbours[middle]) <= u:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def count(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, in_offsets: Any, in_neighbours: Any, offsets: Any,
    neighbours: Any, wanted: Any, stamps: Any, behind: Any, before: Any,
) -> None:  # fmt: skip
    """behind[u]: how many vertices above u share a neighbour with it; before[t]: how many below t, added up.

    stamps: int64[workers, n] hold no number of a row from `first` on.
    """
    one, stamp = np.uint64(1), stamps[worker]
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(first + begin, first + end):
            found = np.int64(0)
            if wanted is None or wanted[u]:
                for i in range(in_offsets[u], in_offsets[u + one]):
                    w = np.uint64(in_neighbours[i])
                    row = offsets[w + one]
                    for j in range(_behind(neighbours, offsets[w], row, u), row):
                        t = neighbours[j]
                        if stamp[t] != np.int64(u) and (wanted is None or wanted[t]):
                            stamp[t] = u
                            found += 1
                            fetch_add(before, np.uint64(t), 1)
            behind[u] = found


@kernel
def fill(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, in_offsets: Any, in_neighbours: Any,
    in_weights: Any, offsets: Any, neighbours: Any, weights: Any, share: Any, wanted: Any, sums: Any, bitmaps: Any,
    summaries: Any, starts: Any, ends: Any, values: Any,
) -> None:  # fmt: skip
    """The rows: ends and values from starts[u - first] on.

    What a common neighbour w counts: share[w] (None: 1), times both weights (None: 1). sums: float64[workers, n],
    bitmaps: uint64[workers, n / 64 + 1], summaries: uint64[workers, n / 4096 + 1] are zero, and zero again after.
    """
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    row_sums, bits, words = sums[worker], bitmaps[worker], summaries[worker]
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(first + begin, first + end):
            if wanted is not None and not wanted[u]:
                continue
            low, high = np.uint64(words.size), np.uint64(0)
            for i in range(in_offsets[u], in_offsets[u + one]):
                w = np.uint64(in_neighbours[i])
                part = 1.0 if share is None else share[w]
                if in_weights is not None:
                    part *= in_weights[i]
                row = offsets[w + one]
                for j in range(_behind(neighbours, offsets[w], row, u), row):
                    t = np.uint64(neighbours[j])
                    if wanted is not None and not wanted[t]:
                        continue
                    row_sums[t] += part if weights is None else part * weights[j]
                    if bits[t >> six] == 0:
                        word = t >> np.uint64(12)
                        words[word] |= one << ((t >> six) & mask)
                        low, high = min(low, word), max(high, word + one)
                    bits[t >> six] |= one << (t & mask)
            place = np.int64(starts[u - first])
            for block in range(low, high):
                rest = words[block]
                words[block] = 0
                while rest != 0:
                    at = (block << six) + trailing_zeros(rest)
                    rest &= rest - one
                    here = bits[at]
                    bits[at] = 0
                    while here != 0:
                        other = (at << six) + trailing_zeros(here)
                        here &= here - one
                        ends[place] = other
                        values[place] = row_sums[other]
                        row_sums[other] = 0.0
                        place = place + np.int64(1)


@kernel
def mirror(
    worker: Any, workers: Any, control: Any, width: Any, half_offsets: Any, half_ends: Any, half_values: Any,
    offsets: Any, cursor: Any, neighbours: Any, values: Any,
) -> None:  # fmt: skip
    """Whole rows of the halves above the diagonal: each range of `width` rows is one worker's, and stays sorted.

    cursor: int64[n] are the offsets, to begin with.
    """
    n = np.int64(half_offsets.size) - 1
    while True:
        begin, end = take(control, np.uint64(n), np.uint64(width))
        if begin == end:
            break
        for u in range(np.int64(0), np.int64(end)):
            low, high = half_offsets[u], half_offsets[u + 1]
            if u >= np.int64(begin):
                into = offsets[u + 1] - (high - low)
                for k in range(low, high):
                    neighbours[into + k - low], values[into + k - low] = half_ends[k], half_values[k]
            last = high
            while low < last:
                middle = (low + last) // 2
                if np.uint64(half_ends[middle]) < begin:
                    low = middle + 1
                else:
                    last = middle
            while low < high and np.uint64(half_ends[low]) < end:
                t = half_ends[low]
                neighbours[cursor[t]], values[cursor[t]] = u, half_values[low]
                cursor[t] += 1
                low += 1
