"""Synchronous label propagation: every vertex counts the labels around it in a small hash table of its worker's.

The table is as large as the vertex needs, so it stays in the cache, and is emptied slot by slot. In the first round all
labels differ, so there is nothing to count. Later, once few vertices change, they mark their neighbours, and only those
that are marked count again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import ticks, wait
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add
from arcflux.spmd.pool import STOP

__all__ = ["BOARD", "BUFFER", "propagate", "slots"]

# Counters of a round, each on a cache line of its own; three blocks take turns, so that the reset meets nobody.
_WORK, _TAKE, _CHANGED, _ARCS, _SEEN, _STOP = (8 * k for k in range(6))
_BLOCK = 48
BOARD = 3 * _BLOCK
BUFFER = 1024
_CHUNK = np.uint64(256)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def slots(voters: int) -> int:
    """How large a table has to be for so many voters: a power of two, at most half of it filled.

    Examples
    --------
    >>> slots(0), slots(8), slots(9)
    (2, 16, 32)
    """
    return 2 << max(0, voters - 1).bit_length()


@inner
def _bits(voters: Any) -> Any:
    """The logarithm of ``slots(voters)``."""
    bits = np.uint64(1)
    while (np.uint64(1) << bits) < np.uint64(2) * voters:
        bits += np.uint64(1)
    return bits


@inner
def _count(
    offsets: Any, neighbours: Any, v: Any, label: Any, table: Any, used: Any, shift: Any, found: Any
) -> Any:  # fmt: skip
    """Count the labels of a row in table[slot] = label, count; returns how many slots are in use."""
    one = np.uint64(1)
    mask = (one << (np.uint64(64) - shift)) - one
    previous = v
    for i in range(offsets[v], offsets[v + one]):
        u = np.uint64(neighbours[i])
        if u == previous:
            continue
        previous = u
        if u == v:
            continue
        name = np.uint64(label[u])
        slot = (name * _GOLDEN) >> shift
        while table[slot, 1] != 0 and table[slot, 0] != name:
            slot = (slot + one) & mask
        if table[slot, 1] == 0:
            table[slot, 0] = name
            used[found] = slot
            found += one
        table[slot, 1] += 1
    return found


@inner
def _leading(table: Any, used: Any, found: Any, none: Any) -> Any:
    """The label that was counted most, of several the smallest; empties the table.

    Only now: asking after every vote who leads is a branch that no processor foresees.
    """
    best, most = none, np.uint64(0)
    for k in range(found):
        slot = used[k]
        name, count = np.uint64(table[slot, 0]), np.uint64(table[slot, 1])
        table[slot, 1] = 0
        if count > most or (count == most and name < best):
            best, most = name, count
    return best


@inner
def _first(offsets: Any, neighbours: Any, v: Any, none: Any) -> Any:
    """The first neighbour of v other than itself, in a sorted row."""
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        if np.uint64(neighbours[i]) != v:
            return np.uint64(neighbours[i])
    return none


@inner
def _distinct(out_offsets: Any, out_neighbours: Any, in_offsets: Any, in_neighbours: Any, v: Any, none: Any) -> Any:
    """The label that leads while all differ: the first neighbour that is one both ways, else the first of all."""
    one = np.uint64(1)
    best = _first(out_offsets, out_neighbours, v, none)
    if in_offsets is None:
        return best
    i, j = out_offsets[v], in_offsets[v]
    while i < out_offsets[v + one] and j < in_offsets[v + one]:
        a, b = np.uint64(out_neighbours[i]), np.uint64(in_neighbours[j])
        if a == b and a != v:
            return a
        if a <= b:
            i += one
        if b <= a:
            j += one
    return min(best, _first(in_offsets, in_neighbours, v, none))


@inner
def _mark(offsets: Any, neighbours: Any, v: Any, marked: Any) -> None:
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        if not marked[neighbours[i]]:
            marked[neighbours[i]] = True


@inner
def _flush(board: Any, place: Any, buffer: Any, held: Any, changed: Any) -> Any:
    """Append a worker's buffer to the list of changes; the buffer then holds 0."""
    at = np.uint64(fetch_add(board, place, held))
    for k in range(held):
        changed[at + np.uint64(k)] = buffer[k]
    return 0


@kernel
def propagate(
    worker: Any, workers: Any, control: Any, out_offsets: Any, out_neighbours: Any, in_offsets: Any,
    in_neighbours: Any, rounds: Any, barrier: Any, board: Any, label: Any, after: Any, marked: Any, changed: Any,
    buffers: Any, tables: Any, places: Any, history: Any,
) -> None:  # fmt: skip
    """Up to so many rounds on label: uint[n], which starts as the vertices' numbers; ends early when nothing changes.

    in_offsets is None for an undirected graph. tables: uint[workers, slots, 2], zero, and places: uint[workers, slots]
    are the workers' own; after, changed: uint[n] and marked: bool[n], zero, are shared. history[round] = vertices
    counted, vertices changed, ticks of the clock.
    """
    one = np.uint64(1)
    n = np.uint64(label.size)
    arcs = np.int64(out_neighbours.size) * (1 if in_offsets is None else 2)
    buffer, table, used = buffers[worker], tables[worker], places[worker]
    everywhere = True
    for turn in range(rounds):
        begun = ticks()
        block = turn % 3 * _BLOCK
        held, moved, seen = 0, np.int64(0), 0
        while True:
            begin = min(np.uint64(fetch_add(board, block + _WORK, 1)) * _CHUNK, n)
            end = min(begin + _CHUNK, n)
            if begin == end:
                break
            for v in range(begin, end):
                if not everywhere and not marked[v]:
                    continue
                marked[v] = False
                voters = out_offsets[v + one] - out_offsets[v]
                if in_offsets is not None:
                    voters += in_offsets[v + one] - in_offsets[v]
                if voters == 0:
                    continue
                seen += 1
                best = n
                if turn == 0:
                    best = _distinct(out_offsets, out_neighbours, in_offsets, in_neighbours, v, n)
                else:
                    shift = np.uint64(64) - _bits(min(voters, n))
                    found = _count(out_offsets, out_neighbours, v, label, table, used, shift, np.uint64(0))
                    if in_offsets is not None:
                        found = _count(in_offsets, in_neighbours, v, label, table, used, shift, found)
                    best = _leading(table, used, found, n)
                if best != n and best != label[v]:
                    after[v] = best
                    moved += np.int64(voters)
                    buffer[held] = v
                    held += 1
                    if held == BUFFER:
                        held = _flush(board, block + _CHANGED, buffer, held, changed)
        held = _flush(board, block + _CHANGED, buffer, held, changed)
        fetch_add(board, block + _ARCS, moved)
        fetch_add(board, block + _SEEN, seen)
        if worker == 0:
            for k in range(_BLOCK):
                board[(turn + 1) % 3 * _BLOCK + k] = 0
            board[block + _STOP] = control[STOP]
        wait(barrier, workers)
        size = np.uint64(board[block + _CHANGED])
        # Marking walks the rows of all that changed; when they are many, hardly anybody is left unmarked.
        everywhere = 4 * board[block + _ARCS] > arcs
        while True:
            begin = min(np.uint64(fetch_add(board, block + _TAKE, 1)) * _CHUNK, size)
            end = min(begin + _CHUNK, size)
            if begin == end:
                break
            for k in range(begin, end):
                u = np.uint64(changed[k])
                label[u] = after[u]
                if not everywhere:
                    _mark(out_offsets, out_neighbours, u, marked)
                    if in_offsets is not None:
                        _mark(in_offsets, in_neighbours, u, marked)
        wait(barrier, workers)
        if worker == 0:
            history[turn, 0] = board[block + _SEEN]
            history[turn, 1] = np.int64(size)
            history[turn, 2] = np.int64(ticks() - begun)
            control[2] = turn + 1
        if size == 0 or board[block + _STOP]:
            break
