"""Rows of a projection on cores: which vertices share a neighbour with u, and their weight.

Each worker has a dense row of sums (a sparse accumulator: Gilbert, Moler, Schreiber 1992), which comes out sorted: a
row with many entries is scanned, for others a bitmap has the positions of the sums, with a bitmap of its words above,
so that clearing it costs only its contents. Rows are computed whole: writing the mirror image of half of them costs
more than the other half of the additions, which stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import count_ones, take, trailing_zeros

__all__ = ["CHUNK", "count", "fill"]

CHUNK = 16
# A row with one in this many vertices is scanned whole; one with one in this many uses only the bitmap.
_DENSE = 16
_MARKED = 256


@kernel
def count(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, in_offsets: Any, in_neighbours: Any, offsets: Any,
    neighbours: Any, wanted: Any, stamps: Any, counts: Any,
) -> None:  # fmt: skip
    """counts[u - first]: how many vertices share a neighbour with u. stamps: [workers, n], zero before."""
    one, stamp = np.uint64(1), stamps[worker]
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(first + begin, first + end):
            found = np.int64(0)
            if in_offsets[u] < in_offsets[u + one] and (wanted is None or wanted[u]):
                own = u + one
                for i in range(in_offsets[u], in_offsets[u + one]):
                    w = np.uint64(in_neighbours[i])
                    for j in range(offsets[w], offsets[w + one]):
                        t = np.uint64(neighbours[j])
                        if wanted is None or wanted[t]:
                            found += np.int64(stamp[t] != own)
                            stamp[t] = own
                found -= 1  # u itself
            counts[u - first] = found


@inner
def _add_row(
    u: Any, in_offsets: Any, in_neighbours: Any, in_weights: Any, offsets: Any, neighbours: Any, weights: Any,
    share: Any, wanted: Any, sums: Any,
) -> None:  # fmt: skip
    """Add the shared neighbours of u with each vertex to the sums."""
    one = np.uint64(1)
    for i in range(in_offsets[u], in_offsets[u + one]):
        w = np.uint64(in_neighbours[i])
        part = one if share is None else share[w]
        if in_weights is not None:
            part *= in_weights[i]
        for j in range(offsets[w], offsets[w + one]):
            t = np.uint64(neighbours[j])
            if wanted is None or wanted[t]:
                sums[t] += part if weights is None else part * weights[j]


@inner
def _take_all(sums: Any, ends: Any, values: Any, place: Any, last: Any) -> None:
    """Collect the non-zero sums, as many as there is room for; then all are 0."""
    at, into, behind = np.uint64(0), np.uint64(place), np.uint64(last)
    while into < behind:  # writes a zero where the next entry goes
        ends[into], values[into] = at, sums[at]
        into += np.uint64(sums[at] != 0)
        at += np.uint64(1)
    sums[:] = 0


@inner
def _add_and_mark(
    u: Any, in_offsets: Any, in_neighbours: Any, in_weights: Any, offsets: Any, neighbours: Any, weights: Any,
    share: Any, wanted: Any, sums: Any, bits: Any, words: Any,
) -> Any:  # fmt: skip
    """The same, with marks in two bitmaps; returns the first used word of the second, and that behind the last."""
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    low, high = np.uint64(bits.size), np.uint64(0)
    for i in range(in_offsets[u], in_offsets[u + one]):
        w = np.uint64(in_neighbours[i])
        part = one if share is None else share[w]
        if in_weights is not None:
            part *= in_weights[i]
        for j in range(offsets[w], offsets[w + one]):
            t = np.uint64(neighbours[j])
            if wanted is None or wanted[t]:
                sums[t] += part if weights is None else part * weights[j]
                here = bits[t >> six]
                if words is not None and here == 0:
                    word = t >> np.uint64(12)
                    words[word] |= one << ((t >> six) & mask)
                    low, high = min(low, word), max(high, word + one)
                bits[t >> six] = here | one << (t & mask)
    bits[u >> six] &= ~(one << (u & mask))
    return low, high


@inner
def _write_out(word: Any, base: Any, ends: Any, place: Any, last: Any) -> Any:
    """Write the numbers of the bits of a word, from `place` on; returns the position behind them.

    Four are written whether they exist or not, as far as the row goes: a branch for each would be mispredicted.
    """
    one, behind = np.uint64(1), place + count_ones(word)
    if place + np.uint64(4) <= last:
        for k in range(4):
            ends[place + np.uint64(k)] = base + trailing_zeros(word)
            word &= word - one
        place += np.uint64(4)
    while place < behind:
        ends[place] = base + trailing_zeros(word)
        word &= word - one
        place += one
    return behind


@inner
def _take_marked(
    low: Any, high: Any, bits: Any, words: Any, sums: Any, ends: Any, values: Any, first: Any, last: Any
) -> None:  # fmt: skip
    """Collect the marked sums; then all of them and the marks are 0."""
    six, place = np.uint64(6), np.uint64(first)
    if words is None:
        for at in range(np.uint64(bits.size)):
            place = _write_out(bits[at], at << six, ends, place, np.uint64(last))
            bits[at] = 0
    else:
        for block in range(low, high):
            rest = words[block]
            words[block] = 0
            while rest != 0:
                at = (block << six) + trailing_zeros(rest)
                rest &= rest - np.uint64(1)
                place = _write_out(bits[at], at << six, ends, place, np.uint64(last))
                bits[at] = 0
    for k in range(np.uint64(first), np.uint64(last)):
        t = np.uint64(ends[k])
        values[k] = sums[t]
        sums[t] = 0


@kernel
def fill(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, in_offsets: Any, in_neighbours: Any,
    in_weights: Any, offsets: Any, neighbours: Any, weights: Any, share: Any, wanted: Any, sums: Any, bitmaps: Any,
    summaries: Any, starts: Any, ends: Any, values: Any,
) -> None:  # fmt: skip
    """The rows: ends and values from starts[u - first] to before starts[u - first + 1].

    What a common neighbour w counts: share[w] (None: 1), times both weights (None: 1). sums: [workers, n], bitmaps:
    uint64[workers, n / 64 + 1], summaries: uint64[workers, n / 4096 + 1] are zero, and zero again after.
    """
    row_sums, bits, words = sums[worker], bitmaps[worker], summaries[worker]
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(first + begin, first + end):
            place, behind = starts[u - first], starts[u - first + np.uint64(1)]
            if place == behind:
                continue
            given = in_offsets, in_neighbours, in_weights, offsets, neighbours, weights, share, wanted, row_sums
            if weights is None and (behind - place) * _DENSE >= row_sums.size:
                _add_row(u, *given)
                row_sums[u] = 0
                _take_all(row_sums, ends, values, place, behind)
            elif (behind - place) * _MARKED >= row_sums.size:
                low, high = _add_and_mark(u, *given, bits, None)
                row_sums[u] = 0
                _take_marked(low, high, bits, None, row_sums, ends, values, place, behind)
            else:
                low, high = _add_and_mark(u, *given, bits, words)
                row_sums[u] = 0
                _take_marked(low, high, bits, words, row_sums, ends, values, place, behind)
