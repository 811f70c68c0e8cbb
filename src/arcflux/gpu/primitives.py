"""Kernels for every program: fill, gather, scatter, bits to a list and back, OR, popcount, scan, reduction.

Arrays are on the GPU, or mapped there; counts and scans are written there, too, so that nothing waits for the host.
Threads of a block communicate by warp shuffles and one word of shared memory for each warp, blocks by one atomic each,
and no kernel needs a grid-wide barrier. A library of such kernels (cuda-cccl) is not used: it cannot run in the
simulator, so that nothing on top of it could be checked without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arcflux.errors import UsageError
from arcflux.gpu import api
from arcflux.gpu.kit import FULL, cuda, inner, kernel

__all__ = [
    "KERNELS", "THREADS", "TILE", "bits_of", "fill", "gather", "list_of", "merge", "ones", "partials", "reduced",
    "scan", "scatter", "tiles",
]  # fmt: skip

THREADS = 128
# Values that a block scans at a time: 8 for each thread.
TILE = 8 * THREADS
_WARPS = THREADS // 32
_SCRATCH = _WARPS + 2
# Threads that process one row of an array of vectors together: a sector of memory, if elements have 4 bytes.
_LANES = 8
# The most blocks of a launch: enough to fill the largest GPU, few in the simulator, so that kernels loop there, too.
_MOST_BLOCKS = 2048
_FEW_BLOCKS = 3


# --- collective operations of a block


@inner
def before(value, scratch):  # type: ignore[no-untyped-def]
    """The sum of the values of all threads before this one; the total is in scratch[_WARPS]. All threads call it."""
    lane, warp = cuda.laneid, cuda.threadIdx.x >> 5
    total = value
    for k in range(5):
        other = cuda.shfl_up_sync(FULL, total, 1 << k)
        if lane >= 1 << k:
            total += other
    if lane == 31:
        scratch[warp] = total
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        running = scratch[0] - scratch[0]
        for each in range(_WARPS):
            sum_of_warp = scratch[each]
            scratch[each] = running
            running += sum_of_warp
        scratch[_WARPS] = running
    cuda.syncthreads()
    return scratch[warp] + total - value


@inner
def block_sum(value, scratch):  # type: ignore[no-untyped-def]
    """The sum of the values of all threads, for the first of them. All threads call it."""
    for k in range(5):
        value += cuda.shfl_down_sync(FULL, value, 16 >> k)
    if cuda.laneid == 0:
        scratch[cuda.threadIdx.x >> 5] = value
    cuda.syncthreads()
    total = scratch[0]
    for each in range(1, _WARPS):
        total += scratch[each]
    return total


@inner
def first_item():  # type: ignore[no-untyped-def]
    """The first item of this thread in a grid-stride loop."""
    return np.uint64(cuda.blockIdx.x) * np.uint64(THREADS) + np.uint64(cuda.threadIdx.x)


@inner
def stride():  # type: ignore[no-untyped-def]
    """The distance to its next item."""
    return np.uint64(cuda.gridDim.x) * np.uint64(THREADS)


# --- kernels


@kernel
def _fill(array, value):  # type: ignore[no-untyped-def]
    size, step = np.uint64(array.shape[0]), stride()
    at = first_item()
    while at < size:
        array[at] = value
        at += step


@kernel
def _gather(values, index, out):  # type: ignore[no-untyped-def]
    size, step = np.uint64(index.shape[0]), stride()
    at = first_item()
    while at < size:
        out[at] = values[np.uint64(index[at])]
        at += step


@kernel
def _gather_rows(values, index, out):  # type: ignore[no-untyped-def]
    size, width, step = np.uint64(index.shape[0]), np.uint64(out.shape[1]), stride() // np.uint64(_LANES)
    row, first = first_item() // np.uint64(_LANES), np.uint64(cuda.threadIdx.x & (_LANES - 1))
    while row < size:
        source = np.uint64(index[row])
        column = first
        while column < width:
            out[row, column] = values[source, column]
            column += np.uint64(_LANES)
        row += step


@kernel
def _scatter(values, index, out):  # type: ignore[no-untyped-def]
    size, step = np.uint64(index.shape[0]), stride()
    at = first_item()
    while at < size:
        out[np.uint64(index[at])] = values[at]
        at += step


@kernel
def _scatter_rows(values, index, out):  # type: ignore[no-untyped-def]
    size, width, step = np.uint64(index.shape[0]), np.uint64(out.shape[1]), stride() // np.uint64(_LANES)
    row, first = first_item() // np.uint64(_LANES), np.uint64(cuda.threadIdx.x & (_LANES - 1))
    while row < size:
        target = np.uint64(index[row])
        column = first
        while column < width:
            out[target, column] = values[row, column]
            column += np.uint64(_LANES)
        row += step


@kernel
def _bits_of(items, size, words):  # type: ignore[no-untyped-def]
    step = stride()
    at = first_item()
    while at < size:
        item = np.uint64(items[at])
        cuda.atomic.or_(words, item >> np.uint64(6), np.uint64(1) << (item & np.uint64(63)))
        at += step


@kernel
def _list_of(words, items, count):  # type: ignore[no-untyped-def]
    scratch = cuda.shared.array(_SCRATCH, np.int64)
    size, step = np.uint64(words.shape[0]), stride()
    at, one = first_item(), np.uint64(1)
    while at - np.uint64(cuda.threadIdx.x) < size:  # the same for all threads of a block
        word = np.uint64(0)
        if at < size:
            word = words[at]
        place = before(np.int64(cuda.popc(word)), scratch)
        if cuda.threadIdx.x == 0 and scratch[_WARPS] > 0:
            scratch[_WARPS + 1] = cuda.atomic.add(count, 0, scratch[_WARPS])
        cuda.syncthreads()
        place += scratch[_WARPS + 1]
        while word != np.uint64(0):
            rest = word & (word - one)
            items[np.uint64(place)] = (at << np.uint64(6)) + np.uint64(cuda.popc((word ^ rest) - one))
            place += np.int64(1)
            word = rest
        cuda.syncthreads()
        at += step


@kernel
def _merge(into, more):  # type: ignore[no-untyped-def]
    size, step = np.uint64(into.shape[0]), stride()
    at = first_item()
    while at < size:
        into[at] |= more[at]
        at += step


@kernel
def _ones(words, count):  # type: ignore[no-untyped-def]
    scratch = cuda.shared.array(_WARPS, np.int64)
    size, step = np.uint64(words.shape[0]), stride()
    at, mine = first_item(), np.int64(0)
    while at < size:
        mine += np.int64(cuda.popc(words[at]))
        at += step
    total = block_sum(mine, scratch)
    if cuda.threadIdx.x == 0 and total > 0:
        cuda.atomic.add(count, 0, total)


@kernel
def _tile_sums(values, sums):  # type: ignore[no-untyped-def]
    scratch = cuda.shared.array(_WARPS, np.int64)
    size = np.uint64(values.shape[0])
    tile = np.uint64(cuda.blockIdx.x)
    while tile * np.uint64(TILE) < size:
        at, end = tile * np.uint64(TILE) + np.uint64(cuda.threadIdx.x), (tile + np.uint64(1)) * np.uint64(TILE)
        mine = np.int64(0)
        while at < end and at < size:
            mine += np.int64(values[at])
            at += np.uint64(THREADS)
        total = block_sum(mine, scratch)
        if cuda.threadIdx.x == 0:
            sums[tile] = total
        cuda.syncthreads()
        tile += np.uint64(cuda.gridDim.x)


@kernel
def _scan_sums(sums, count):  # type: ignore[no-untyped-def]
    """A single block; the total goes behind the last element."""
    scratch = cuda.shared.array(_SCRATCH, np.int64)
    begin, carry = np.uint64(0), np.int64(0)
    while begin < count:
        at = begin + np.uint64(cuda.threadIdx.x)
        value = np.int64(0)
        if at < count:
            value = sums[at]
        place = before(value, scratch)
        if at < count:
            sums[at] = carry + place
        carry += scratch[_WARPS]
        cuda.syncthreads()
        begin += np.uint64(THREADS)
    if cuda.threadIdx.x == 0:
        sums[count] = carry


@kernel
def _scan_tiles(values, sums, out):  # type: ignore[no-untyped-def]
    scratch = cuda.shared.array(_SCRATCH, np.int64)
    size = np.uint64(values.shape[0])
    tile = np.uint64(cuda.blockIdx.x)
    while tile * np.uint64(TILE) < size:
        begin, carry = tile * np.uint64(TILE), sums[tile]
        end = begin + np.uint64(TILE)
        while begin < end and begin < size:
            at = begin + np.uint64(cuda.threadIdx.x)
            value = np.int64(0)
            if at < size:
                value = np.int64(values[at])
            place = before(value, scratch)
            if at < size:
                out[at] = carry + place
            carry += scratch[_WARPS]
            cuda.syncthreads()
            begin += np.uint64(THREADS)
        tile += np.uint64(cuda.gridDim.x)


def _reduction(better: int) -> Any:
    """A kernel that reduces to one value for each block: 0 adds, 1 takes the smaller, 2 the larger."""

    @kernel
    def reduce(values, neutral, partial):  # type: ignore[no-untyped-def]
        scratch = cuda.shared.array(_WARPS, partial.dtype)
        size, step = np.uint64(values.shape[0]), stride()
        at, mine = first_item(), neutral
        while at < size:
            value = values[at]
            if better == 0:
                mine += value
            elif (better == 1 and value < mine) or (better == 2 and value > mine):
                mine = value
            at += step
        for k in range(5):
            value = cuda.shfl_down_sync(FULL, mine, 16 >> k)
            if better == 0:
                mine += value
            elif (better == 1 and value < mine) or (better == 2 and value > mine):
                mine = value
        if cuda.laneid == 0:
            scratch[cuda.threadIdx.x >> 5] = mine
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            for each in range(1, _WARPS):
                value = scratch[each]
                if better == 0:
                    mine += value
                elif (better == 1 and value < mine) or (better == 2 and value > mine):
                    mine = value
            partial[cuda.blockIdx.x] = mine

    return reduce


_REDUCTIONS = {"sum": _reduction(0), "min": _reduction(1), "max": _reduction(2)}

KERNELS: dict[str, Any] = {
    "fill": _fill, "gather": _gather, "gather_rows": _gather_rows, "scatter": _scatter, "scatter_rows": _scatter_rows,
    "bits_of": _bits_of, "list_of": _list_of, "merge": _merge, "ones": _ones, "tile_sums": _tile_sums,
    "scan_sums": _scan_sums, "scan_tiles": _scan_tiles,
    **{f"reduce_{name}": made for name, made in _REDUCTIONS.items()},
}  # fmt: skip


# --- calls


def _blocks(threads: int) -> int:
    """Blocks for this many threads; kernels loop over the rest."""
    return min(-(-threads // THREADS), _FEW_BLOCKS if api.simulated() else _MOST_BLOCKS)


def _run(made: Any, threads: int, *arguments: Any, on: Any) -> None:
    if threads:
        api.launch(made, _blocks(threads), THREADS, *arguments, on=on)


def fill(array: Any, value: Any, *, on: Any = 0) -> None:
    """Set all elements of an array to one value. `on`, here and below: the stream."""
    _run(_fill, len(array), array, value, on=on)


def gather(values: Any, index: Any, out: Any, *, on: Any = 0) -> None:
    """``out[i] = values[index[i]]``, of values or of rows: contiguous copies of what a part reads of others."""
    rows = len(values.shape) == 2
    _run(_gather_rows if rows else _gather, len(index) * (_LANES if rows else 1), values, index, out, on=on)


def scatter(values: Any, index: Any, out: Any, *, on: Any = 0) -> None:
    """``out[index[i]] = values[i]``, of values or of rows; each index once."""
    rows = len(values.shape) == 2
    _run(_scatter_rows if rows else _scatter, len(index) * (_LANES if rows else 1), values, index, out, on=on)


def bits_of(items: Any, size: int, words: Any, *, on: Any = 0) -> None:
    """Set the bits of the first `size` items of a list, in words of 64 bits."""
    _run(_bits_of, size, items, np.uint64(size), words, on=on)


def list_of(words: Any, items: Any, count: Any, *, on: Any = 0) -> None:
    """Append the numbers of all set bits to a list that has count[0] items, and update that count.

    They ascend within the words of a block; the order of blocks is not certain.
    """
    _run(_list_of, len(words), words, items, count, on=on)


def merge(into: Any, more: Any, *, on: Any = 0) -> None:
    """``into |= more``, word by word."""
    _run(_merge, len(into), into, more, on=on)


def ones(words: Any, count: Any, *, on: Any = 0) -> None:
    """Add to count[0] how many bits are set."""
    _run(_ones, len(words), words, count, on=on)


def tiles(size: int) -> int:
    """How many int64 a scan of this many values needs for `sums`."""
    return -(-size // TILE) + 1


def scan(values: Any, sums: Any, out: Any, *, on: Any = 0) -> None:
    """``out[i]`` is the sum of all values before i, int64; the sum of all is the last of ``tiles(len(values))`` `sums`.

    First the sums of tiles, which one block then scans, then each tile: values are read twice, written once.
    """
    count = tiles(len(values)) - 1
    _run(_tile_sums, count * THREADS, values, sums, on=on)
    api.launch(_scan_sums, 1, THREADS, sums, np.uint64(count), on=on)
    _run(_scan_tiles, count * THREADS, values, sums, out, on=on)


def partials(size: int) -> int:
    """How many values a reduction of this many needs for `partial`: one for each block."""
    return max(1, _blocks(size))


def reduced(operation: str, values: Any, neutral: Any, partial: Any, *, on: Any = 0) -> None:
    """Reduce values by "sum", "min" or "max"; the result is ``partial[0]``.

    `neutral`: the identity of the operation, of the values' type; `partial`: ``partials(len(values))`` of them. On the
    same GPU, floats have the same bits every time. NaN gives no defined result.
    """
    made: Callable[..., Any] | None = _REDUCTIONS.get(operation)
    if made is None:
        raise UsageError(f"operation is {operation!r}", expected="'sum', 'min' or 'max'")
    blocks = partials(len(values))
    api.launch(made, blocks, THREADS, values, neutral, partial, on=on)
    if blocks > 1:
        api.launch(made, 1, THREADS, partial, neutral, partial, on=on)
