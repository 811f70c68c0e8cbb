"""Synchronous label propagation: every vertex counts the labels around it in its worker's table (spmd/votes.py).

In the first round all labels differ, so there is nothing to count. Later, once few vertices change, they mark their
neighbours, and only those that are marked count again.

A single worker runs all rounds in one launch (:func:`propagate`). One of several lets its own vertices vote
(:func:`vote`); a row itself shows whether one of its neighbours has changed, so that no message is needed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.result import Superstep
from arcflux.spmd.barrier import all_here, ticks
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.memory import zeros
from arcflux.spmd.pool import STOP
from arcflux.spmd.votes import leading, slots, table_shift
from arcflux.spmd.votes import vote as cast_vote

__all__ = ["Labels"]

Array = NDArray[Any]

# Counters of a round, each on its own cache line; three blocks alternate, so that no reader sees the reset.
_WORK, _TAKE, _CHANGED, _ARCS, _SEEN, _STOP = (8 * k for k in range(6))
_BLOCK = 48
_BOARD = 3 * _BLOCK
_BUFFER = 1024
_CHUNK = np.uint64(256)


@inner
def _count(
    neighbours: Any, begin: Any, end: Any, v: Any, label: Any, table: Any, used: Any, shift: Any, found: Any
) -> Any:  # fmt: skip
    """Count the labels of a row in table[slot] = label, count; returns how many slots are in use."""
    previous = v
    for i in range(begin, end):
        u = np.uint64(neighbours[i])
        if u == previous:
            continue
        previous = u
        if u == v:
            continue
        found = cast_vote(table, used, shift, found, label[u])
    return found


@inner
def _first(neighbours: Any, begin: Any, end: Any, v: Any, none: Any) -> Any:
    """The first neighbour of v other than itself, in a sorted row."""
    for i in range(begin, end):
        if np.uint64(neighbours[i]) != v:
            return np.uint64(neighbours[i])
    return none


@inner
def _distinct(
    out_neighbours: Any, i: Any, out_end: Any, in_neighbours: Any, j: Any, in_end: Any, v: Any, none: Any
) -> Any:  # fmt: skip
    """The leading label while all differ: the first neighbour in both directions, else the first of all.

    The rows of v are out_neighbours[i:out_end] and, unless it is None, in_neighbours[j:in_end].
    """
    one = np.uint64(1)
    best = _first(out_neighbours, i, out_end, v, none)
    if in_neighbours is None:
        return best
    best = min(best, _first(in_neighbours, j, in_end, v, none))
    while i < out_end and j < in_end:
        a, b = np.uint64(out_neighbours[i]), np.uint64(in_neighbours[j])
        if a == b and a != v:
            return a
        if a <= b:
            i += one
        if b <= a:
            j += one
    return best


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
    """Up to this many rounds on label: uint[n], initially the vertices' numbers; ends early if nothing changes.

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
                begin_out, end_out = out_offsets[v], out_offsets[v + one]
                begin_in, end_in = begin_out, begin_out
                if in_offsets is not None:
                    begin_in, end_in = in_offsets[v], in_offsets[v + one]
                voters = end_out - begin_out + (end_in - begin_in)
                if voters == 0:
                    continue
                seen += 1
                best = n
                if turn == 0:
                    best = _distinct(out_neighbours, begin_out, end_out, in_neighbours, begin_in, end_in, v, n)
                else:
                    shift = table_shift(min(voters, n))
                    found = _count(out_neighbours, begin_out, end_out, v, label, table, used, shift, np.uint64(0))
                    if in_offsets is not None:
                        found = _count(in_neighbours, begin_in, end_in, v, label, table, used, shift, found)
                    best = np.uint64(leading(table, used, found)) if found else n
                if best != n and best != label[v]:
                    after[v] = best
                    moved += np.int64(voters)
                    buffer[held] = v
                    held += 1
                    if held == _BUFFER:
                        held = _flush(board, block + _CHANGED, buffer, held, changed)
        held = _flush(board, block + _CHANGED, buffer, held, changed)
        fetch_add(board, block + _ARCS, moved)
        fetch_add(board, block + _SEEN, seen)
        if worker == 0:
            for k in range(_BLOCK):
                board[(turn + 1) % 3 * _BLOCK + k] = 0
            board[block + _STOP] = control[STOP]
        if not all_here(barrier, worker, workers):
            return
        size = np.uint64(board[block + _CHANGED])
        # Marking visits the rows of all changed vertices; if they are many, nearly every vertex is marked.
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
        if not all_here(barrier, worker, workers):
            return
        if worker == 0:
            history[turn, 0] = board[block + _SEEN]
            history[turn, 1] = np.int64(size)
            history[turn, 2] = np.int64(ticks() - begun)
            control[2] = turn + 1
        if size == 0 or board[block + _STOP]:
            break


@inner
def _any(neighbours: Any, begin: Any, end: Any, flags: Any) -> Any:
    """Whether a flag of the row is set."""
    while begin < end and not flags[neighbours[begin]]:
        begin += np.uint64(1)
    return begin < end


@kernel
def vote(
    worker: Any, workers: Any, control: Any, low: Any, high: Any, out_offsets: Any, out_neighbours: Any,
    in_offsets: Any, in_neighbours: Any, first: Any, everywhere: Any, label: Any, moved: Any, tables: Any, places: Any,
    changed: Any, after: Any, tally: Any,
) -> None:  # fmt: skip
    """List the vertices from `low` to before `high` that change, with their labels.

    Unless `everywhere`, only vertices next to one that `moved` count. tally, zero before: how many change, their arcs,
    and how many counted. tables and places as for :func:`propagate`.
    """
    one, n = np.uint64(1), np.uint64(label.size)
    table, used = tables[worker], places[worker]
    seen, arcs = 0, np.uint64(0)
    while True:
        some, rest = take(control, high - low, _CHUNK)
        if some == rest:
            break
        for v in range(low + some, low + rest):
            begin, end = out_offsets[v], out_offsets[v + one]
            begin_in, end_in = begin, begin
            if in_offsets is not None:
                begin_in, end_in = in_offsets[v], in_offsets[v + one]
            voters = end - begin + (end_in - begin_in)
            if voters == 0:
                continue
            near = everywhere or _any(out_neighbours, begin, end, moved)
            if in_neighbours is not None:
                near = near or _any(in_neighbours, begin_in, end_in, moved)
            if not near:
                continue
            seen += 1
            if first:
                best = _distinct(out_neighbours, begin, end, in_neighbours, begin_in, end_in, v, n)
            else:
                shift = table_shift(min(voters, n))
                found = _count(out_neighbours, begin, end, v, label, table, used, shift, np.uint64(0))
                if in_neighbours is not None:
                    found = _count(in_neighbours, begin_in, end_in, v, label, table, used, shift, found)
                best = np.uint64(leading(table, used, found)) if found else n
            if best != n and best != label[v]:
                at = np.uint64(fetch_add(tally, 0, 1))
                changed[at] = v
                after[at] = best
                arcs += voters
    fetch_add(tally, 1, np.int64(arcs))
    fetch_add(tally, 2, seen)


class Labels:
    """The labels that a team of cores shares; the vertices of the worker's share vote."""

    def __init__(self, worker: Worker) -> None:
        graph, cores = worker.graph, worker.cores
        self.worker, self.cores, self.size, self.kind = worker, cores, graph.vertices, graph.out.neighbours.dtype
        out, into = worker.rows
        self.rows = *out, *(into if graph.directed else (None, None))
        self.arcs = graph.arcs * (2 if graph.directed else 1)
        voters = np.diff(out.offsets) + np.diff(into.offsets) if graph.directed else np.diff(out.offsets)
        size, team = slots(min(int(voters.max(initial=0)), self.size)), cores.workers
        self.tables = zeros(team * size * 2, self.kind).reshape(team, size, 2), np.empty((team, size), self.kind)
        self.label, self.flags = cores.kept(self.size, self.kind, zero=False), cores.host(self.size, np.bool_)
        self.lists = cores.host(self.size, self.kind), cores.host(self.size, self.kind)
        cores.publish(np.arange(self.size, dtype=self.kind), self.label)
        cores.publish(False, self.flags)
        self.first, self.moved = True, np.empty(0, np.int64)
        self.tally = cores.small(3)

    def propagate(self, rounds: int) -> list[Superstep]:
        """Up to this many rounds of all vertices, in one launch."""
        cores, compiled = self.cores, self.cores.compiled
        history = cores.small((rounds, 3))
        board, buffers = cores.small(_BOARD), np.empty((cores.workers, _BUFFER), self.kind)
        after, changed = self.lists
        arguments = (
            *self.rows, rounds, cores.barrier(), board, self.label, after, self.flags, changed, buffers, *self.tables,
            history,
        )  # fmt: skip
        begun = time.perf_counter()
        with self.worker.task("label propagation", rounds, "rounds") as task:
            cores.launch(propagate, cores.workers, *arguments, watch=lambda control: task.at(int(control[2])))
        seconds = time.perf_counter() - begun - (cores.compiled - compiled)
        done = history[: np.count_nonzero(history[:, 2])]
        tick = seconds / max(1, done[:, 2].sum())
        return [
            Superstep(turn, "pull", counted, 0.0, ticks * tick, changed)
            for turn, (counted, changed, ticks) in enumerate(done.tolist())
        ]

    def vote(self, everywhere: bool) -> Array:
        """Let own vertices vote, all or neighbours of changed ones: how many change, arcs of these, and voters."""
        low, high = self.worker.share(self.size)
        self.cores.publish(0, self.tally)
        how = self.first, everywhere, self.label, self.flags, *self.tables, *self.lists, self.tally
        chunks = -(-(high - low) // int(_CHUNK))
        self.cores.launch(vote, chunks, np.uint64(low), np.uint64(high), *self.rows, *how)
        self.first = False
        return self.tally.copy()

    def changes(self) -> Array:
        """Own vertices that change, each with its label."""
        changed, after = (some[: int(self.tally[0])] for some in self.lists)
        return np.stack([changed, after], 1)

    def adopt(self, changes: Array, mark: bool) -> None:
        """Assign these labels to these vertices; with `mark`, their neighbours vote in the next round."""
        self.cores.together()
        if self.cores.leads:
            self.flags[self.moved] = False
            self.label[changes[:, 0]] = changes[:, 1]
            self.flags[changes[:, 0]] = mark
        self.moved = changes[:, 0]
        self.cores.together()

    def result(self) -> Array:
        """The label of every vertex, as a result."""
        return self.cores.result(self.label)
