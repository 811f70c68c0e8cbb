"""Kernels as one would write them by hand for one algorithm: what the generated ones are measured against.

All are for symmetric graphs and run all supersteps in one launch, as the generated ones do. Three blocks of counters
take turns, so the block of the next superstep can be cleared before the barrier without anybody still using it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import arcflux as af
from arcflux.spmd.barrier import wait
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import compare_and_swap, fetch_add
from arcflux.spmd.memory import empty, zeros
from arcflux.spmd.pool import run
from arcflux.spmd.reduce import into_min, into_or

CHUNK = 1024
# A block of counters, each on a cache line: two to claim from, the tail of the next queue, its edges.
BLOCK, SECOND, TAIL, EDGES = 32, 8, 16, 24


@kernel
def _pagerank(worker, workers, control, barrier, board, slots, offsets, neighbours, rank, sent, constants, steps):
    """Pull. `sent` has 2n shares, the halves in turn; `constants`: 0, damping, what everybody gets, tolerance."""
    one = np.uint64(1)
    n = np.uint64(offsets.size) - one
    nothing, damping, least, tolerance = constants[0], constants[1], constants[2], constants[3]
    for step in range(steps):
        base = n if step & 1 else np.uint64(0)
        other = n - base
        block = step % 3 * BLOCK
        changed = 0
        while True:
            begin = np.uint64(fetch_add(board, block, CHUNK))
            if begin >= n:
                break
            for v in range(begin, min(begin + np.uint64(CHUNK), n)):
                total = nothing
                for i in range(offsets[v], offsets[v + one]):
                    total += sent[base + np.uint64(neighbours[i])]
                fresh = least + damping * total
                changed += abs(fresh - rank[v]) > tolerance
                rank[v] = fresh
                sent[other + v] = fresh / np.int64(offsets[v + one] - offsets[v])
        slots[worker, step & 1] = changed
        if worker == 0:
            board[(step + 1) % 3 * BLOCK] = 0
        wait(barrier, workers)
        total_changed = 0
        for w in range(workers):
            total_changed += slots[w, step & 1]
        if total_changed == 0:
            break


@inner
def _flush(board, tail, buffer, held, queue, offset):
    place = np.uint64(fetch_add(board, tail, held)) + offset
    for k in range(held):
        queue[place + np.uint64(k)] = buffer[k]
    return 0


@kernel
def _bfs(worker, workers, control, barrier, board, offsets, neighbours, level, parent, queues, bits, buffers, edges):
    """Push or pull by Beamer's rule; a vertex belongs to who first writes its parent."""
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    n = np.uint64(offsets.size) - one
    vertices, unexplored = np.int64(n), np.int64(neighbours.size)
    words = (n + mask) >> six
    mine = words * np.uint64(worker) // np.uint64(workers)
    next_mine = words * np.uint64(worker + 1) // np.uint64(workers)
    buffer = buffers[worker]
    size, step, pull = 1, 0, False
    while size:
        block = step % 3 * BLOCK
        base = n if step & 1 else np.uint64(0)
        there = n - base
        held, fresh = 0, 0
        pull = size > vertices // 18 if pull else edges > unexplored // 15
        if pull:
            for k in range(mine, next_mine):
                bits[k] = 0
            wait(barrier, workers)
            while True:
                begin = np.uint64(fetch_add(board, block + SECOND, 4096))
                if begin >= np.uint64(size):
                    break
                for k in range(begin, min(begin + np.uint64(4096), np.uint64(size))):
                    u = np.uint64(queues[base + k])
                    into_or(bits, u >> six, one << (u & mask))
            wait(barrier, workers)
            while True:
                begin = np.uint64(fetch_add(board, block, CHUNK))
                if begin >= n:
                    break
                for v in range(begin, min(begin + np.uint64(CHUNK), n)):
                    if parent[v] >= 0:
                        continue
                    for i in range(offsets[v], offsets[v + one]):
                        u = np.uint64(neighbours[i])
                        if (bits[u >> six] >> (u & mask)) & one:
                            parent[v] = np.int64(u)
                            level[v] = step + 1
                            fresh += np.int64(offsets[v + one] - offsets[v])
                            buffer[held] = v
                            held += 1
                            if held == buffer.size:
                                held = _flush(board, block + TAIL, buffer, held, queues, there)
                            break
        else:
            while True:
                begin = np.uint64(fetch_add(board, block, 64))
                if begin >= np.uint64(size):
                    break
                for k in range(begin, min(begin + np.uint64(64), np.uint64(size))):
                    u = np.uint64(queues[base + k])
                    for i in range(offsets[u], offsets[u + one]):
                        v = np.uint64(neighbours[i])
                        if parent[v] < 0 and compare_and_swap(parent, v, np.int64(-1), np.int64(u)) == -1:
                            level[v] = step + 1
                            fresh += np.int64(offsets[v + one] - offsets[v])
                            buffer[held] = v
                            held += 1
                            if held == buffer.size:
                                held = _flush(board, block + TAIL, buffer, held, queues, there)
        held = _flush(board, block + TAIL, buffer, held, queues, there)
        fetch_add(board, block + EDGES, fresh)
        if worker == 0:
            for k in range(BLOCK):
                board[(step + 1) % 3 * BLOCK + k] = 0
        wait(barrier, workers)
        unexplored -= edges
        size, edges = board[block + TAIL], board[block + EDGES]
        step += 1


@kernel
def _labels(worker, workers, control, barrier, board, offsets, neighbours, label, fresh, stamp, queues, buffers):
    """Smallest labels: every vertex pulls while many changed, who changed pushes afterwards. `fresh` are the next."""
    one = np.uint64(1)
    n = np.uint64(offsets.size) - one
    arcs = np.int64(neighbours.size)
    buffer = buffers[worker]
    size, edges, step = np.int64(n), arcs, 0
    while size:
        block = step % 3 * BLOCK
        base = n if step & 1 else np.uint64(0)
        there = n - base
        held, sent = 0, 0
        mark = np.int32(step + 1)
        if 3 * edges > arcs:
            while True:
                begin = np.uint64(fetch_add(board, block, CHUNK))
                if begin >= n:
                    break
                for v in range(begin, min(begin + np.uint64(CHUNK), n)):
                    least = label[v]
                    for i in range(offsets[v], offsets[v + one]):
                        least = min(least, label[neighbours[i]])
                    if least < label[v]:
                        fresh[v] = least
                        buffer[held] = v
                        held += 1
                        if held == buffer.size:
                            held = _flush(board, block + TAIL, buffer, held, queues, there)
        else:
            while True:
                begin = np.uint64(fetch_add(board, block, 64))
                if begin >= np.uint64(size):
                    break
                for k in range(begin, min(begin + np.uint64(64), np.uint64(size))):
                    u = np.uint64(queues[base + k])
                    mine = label[u]
                    for i in range(offsets[u], offsets[u + one]):
                        v = np.uint64(neighbours[i])
                        if into_min(fresh, v, mine):
                            before = stamp[v]
                            if before != mark and compare_and_swap(stamp, v, before, mark) == before:
                                buffer[held] = v
                                held += 1
                                if held == buffer.size:
                                    held = _flush(board, block + TAIL, buffer, held, queues, there)
        held = _flush(board, block + TAIL, buffer, held, queues, there)
        wait(barrier, workers)
        size = board[block + TAIL]
        while True:
            begin = np.uint64(fetch_add(board, block + SECOND, 256))
            if begin >= np.uint64(size):
                break
            for k in range(begin, min(begin + np.uint64(256), np.uint64(size))):
                v = np.uint64(queues[there + k])
                label[v] = fresh[v]
                sent += np.int64(offsets[v + one] - offsets[v])
        fetch_add(board, block + EDGES, sent)
        if worker == 0:
            for k in range(BLOCK):
                board[(step + 1) % 3 * BLOCK + k] = 0
        wait(barrier, workers)
        edges = board[block + EDGES]
        step += 1


def _launched(kernel: Any, threads: int, *arguments: Any) -> float:
    """The seconds of a launch, without compiling."""
    kernel.ready(0, threads, np.zeros(16, np.int64), *arguments)
    begun = time.perf_counter()
    run(kernel, threads, *arguments, threads=threads)
    return time.perf_counter() - begun


def _ground() -> tuple[Any, Any]:
    """A barrier, and the counters."""
    return np.zeros(16, np.int64), np.zeros(3 * BLOCK, np.int64)


def pagerank(graph: af.Graph, dtype: Any, steps: int, threads: int) -> tuple[float, Any]:
    """Seconds, and the ranks after so many steps."""
    n = graph.vertices
    constants = np.array([0, 0.85, 0.15 / n, 0], dtype)
    rank, sent = empty(n, dtype), empty(2 * n, dtype)
    rank[:] = 1 / n
    sent[:n] = rank / np.maximum(graph.out_degrees, 1)
    slots = np.zeros((threads, 8), np.int64)
    return _launched(_pagerank, threads, *_ground(), slots, *graph.out, rank, sent, constants, steps), rank


def bfs(graph: af.Graph, source: int, threads: int) -> tuple[float, Any]:
    """Seconds, and the levels."""
    n = graph.vertices
    level, parent, queues = empty(n, np.int32), empty(n, np.int64), empty(2 * n, np.uint32)
    level[:], parent[:] = -1, -1
    level[source], parent[source], queues[0] = 0, source, source
    bits, buffers = zeros(n // 64 + 1, np.uint64), np.zeros((threads, CHUNK), np.uint32)
    edges = int(graph.out_degrees[source])
    return _launched(_bfs, threads, *_ground(), *graph.out, level, parent, queues, bits, buffers, edges), level


def components(graph: af.Graph, threads: int) -> tuple[float, Any]:
    """Seconds, and the smallest vertex number of each component."""
    n = graph.vertices
    label, fresh, queues = empty(n, np.uint32), empty(n, np.uint32), empty(2 * n, np.uint32)
    label[:] = fresh[:] = np.arange(n)
    stamp, buffers = zeros(n, np.int32), np.zeros((threads, CHUNK), np.uint32)
    return _launched(_labels, threads, *_ground(), *graph.out, label, fresh, stamp, queues, buffers), label
