"""Kernels independent of programs: scan the degrees of a frontier, load messages, add up residuals in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.gpu.kit import FULL, cuda, kernel

__all__ = ["WIDTH", "added", "chunk_sums", "degrees", "differing_values", "differing_vectors", "load_values",
           "load_vectors", "put_values", "put_vectors", "scan_sums"]  # fmt: skip

# The most senders of a block in `degrees`: its threads.
WIDTH = 1024


@kernel
def degrees(queue: Any, size: Any, rows: Any, scan: Any, sums: Any) -> None:
    """The offset of each sender's edges within its block, and the number of edges of each block.

    A block has as many senders as threads; block b writes ``sums[b]``.
    """
    before = cuda.shared.array(33, np.uint64)
    one, zero = np.uint64(1), np.uint64(0)
    lane, warp = cuda.laneid, cuda.threadIdx.x >> 5
    k = np.uint64(cuda.grid(1))
    degree = np.int64(0)
    if k < np.uint64(size):
        u = np.uint64(queue[k])
        degree = np.int64(rows[u + one]) - np.int64(rows[u])
    up_to = degree
    for level in range(5):
        distance = 1 << level
        lower = cuda.shfl_up_sync(FULL, up_to, distance)
        if lane >= distance:
            up_to += lower
    if lane == 31:
        before[warp] = np.uint64(up_to)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = zero
        for w in range(cuda.blockDim.x >> 5):
            count = before[w]
            before[w] = total
            total += count
        sums[cuda.blockIdx.x] = total
    cuda.syncthreads()
    if k < np.uint64(size):
        scan[k] = before[warp] + np.uint64(up_to - degree)


@kernel
def scan_sums(sums: Any, blocks: Any, scan: Any, size: Any) -> None:
    """A single block: the prefix sums of all blocks; and after the last sender, the number of edges."""
    part = cuda.shared.array(32, np.int64)
    lane, warp = cuda.laneid, cuda.threadIdx.x >> 5
    carried = np.int64(0)
    for begin in range(0, blocks, cuda.blockDim.x):
        k = begin + cuda.threadIdx.x
        count = np.int64(sums[k]) if k < blocks else np.int64(0)
        up_to = count
        for level in range(5):
            distance = 1 << level
            lower = cuda.shfl_up_sync(FULL, up_to, distance)
            if lane >= distance:
                up_to += lower
        if lane == 31:
            part[warp] = up_to
        cuda.syncthreads()
        together = np.int64(0)
        for w in range(cuda.blockDim.x >> 5):
            if w < warp:
                up_to += part[w]
            together += part[w]
        if k < blocks:
            sums[k] = np.uint64(carried + up_to - count)
        carried += together
        cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        scan[size] = np.uint64(carried)


@kernel
def added(scan: Any, size: Any, sums: Any) -> None:
    """Add the prefix sum of its block to every sender's offset; launched like `degrees`."""
    k = cuda.grid(1)
    if k < size:
        scan[k] = scan[k] + sums[cuda.blockIdx.x]


@kernel
def load_values(places: Any, size: Any, there: Any, here: Any) -> None:
    """``here[p] = there[p]`` for the listed positions: load what a part reads into the device's memory."""
    k = cuda.grid(1)
    while k < size:
        p = np.uint64(places[k])
        here[p] = there[p]
        k += cuda.gridsize(1)


@kernel
def load_vectors(places: Any, size: Any, there: Any, here: Any, length: Any) -> None:
    """The same for rows of `length` elements; neighbouring threads read neighbouring elements."""
    for k in range(cuda.grid(1), size * length, cuda.gridsize(1)):
        p = np.uint64(places[k // length])
        here[p, k % length] = there[p, k % length]


@kernel
def put_values(places: Any, size: Any, came: Any, here: Any) -> None:
    """``here[places[k]] = came[k]``: scatter received values to their positions."""
    k = cuda.grid(1)
    while k < size:
        here[np.uint64(places[k])] = came[k]
        k += cuda.gridsize(1)


@kernel
def put_vectors(places: Any, size: Any, came: Any, here: Any, length: Any) -> None:
    """The same for rows of `length` elements."""
    for k in range(cuda.grid(1), size * length, cuda.gridsize(1)):
        here[np.uint64(places[k // length]), k % length] = came[k // length, k % length]


@kernel
def differing_values(places: Any, size: Any, message: Any, n: Any, flags: Any) -> None:
    """Flag the listed positions whose next message (second half) differs from the current one (first half)."""
    for k in range(cuda.grid(1), size, cuda.gridsize(1)):
        p = np.uint64(places[k])
        if message[p] != message[p + np.uint64(n)]:
            flags[k] = 1


@kernel
def differing_vectors(places: Any, size: Any, message: Any, n: Any, flags: Any) -> None:
    """The same for rows: one differing element is enough."""
    for k in range(cuda.grid(1), size, cuda.gridsize(1)):
        p = np.uint64(places[k])
        for j in range(message.shape[1]):
            if message[p, j] != message[p + np.uint64(n), j]:
                flags[k] = 1


@kernel
def chunk_sums(residuals: Any, chunk: Any, sums: Any) -> None:
    """A thread adds up each chunk in order, as one process does."""
    for c in range(cuda.grid(1), sums.size, cuda.gridsize(1)):
        total = 0.0
        for v in range(c * chunk, min((c + 1) * chunk, residuals.size)):
            total += residuals[v]
        sums[c] = total
