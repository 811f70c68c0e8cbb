"""Local moves on cores, for Louvain and Leiden.

Weights are integers (fixed point), so that every sum is the same in any order. A vertex adds up the weight to each
community in a dense table of its worker, whose keys are listed and cleared again (Sahu, "GVE-Louvain", 2023), and moves
where it gains most. The result is the same on any number of workers, in one of two ways:

- Levels of few arcs: one vertex after the other moves, on one core (:func:`moves_in_order`).
- Others: a hash assigns vertices to classes. The vertices of a class choose at once, by the state before, and then
  move at once; one class after the other. Of two lone vertices of a class only that with the larger label moves to
  the other, so that they cannot swap.

A vertex that has considered its neighbours rests until one of them moves (Ozaki, Tezuka, Inaba, "A simple acceleration
method for the Louvain algorithm", 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.pool import STOP
from arcflux.spmd.random import bits, key

__all__ = ["CHUNK", "GAIN", "adopt", "choose", "draw", "find_movable", "local_moves", "moves_in_order"]

# Vertices that a worker claims at a time.
CHUNK = np.uint64(64)
# Gains are added up as integers, with this many parts per unit of weight.
GAIN = 1024.0
# Counters of a turn, each on its own cache line; three blocks alternate, so that no reader sees the reset.
_CHOOSE, _MOVE, _WAKE, _STOP = (8 * k for k in range(4))
_CELLS = 32


@inner
def _next(board: Any, place: Any, begin: Any, end: Any) -> Any:
    """Claim the next vertices of begin:end; equal if none are left."""
    first = min(begin + np.uint64(fetch_add(board, place, 1)) * CHUNK, end)
    return first, min(first + CHUNK, end)


@inner
def _tally(offsets: Any, neighbours: Any, weights: Any, v: Any, community: Any, table: Any, keys: Any) -> Any:
    """How much weight leads from v to each community, v's loops left out; returns how many keys there are."""
    found = np.uint64(0)
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        weight = np.int64(1) if weights is None else weights[i]
        if u != v and weight > 0:
            name = np.uint64(community[u])
            before = table[name]
            keys[found] = name  # the position behind all keys is free: no branch to predict
            found += np.uint64(before == 0)
            table[name] = before + weight
    return found


@inner
def _best_move(
    v: Any, community: Any, mass: Any, total: Any, size: Any, rate: Any, drawn: Any, table: Any, keys: Any, found: Any
) -> Any:  # fmt: skip
    """Where v gains most, of several the smallest label, and how much; empties the table. No gain: its own, 0.

    Where nothing is drawn, it may be best for v to be alone: then it is the number of labels.
    """
    own, heavy = np.uint64(community[v]), mass[v]
    priced = rate * heavy
    stay = table[own] - priced * (total[own] - heavy)
    best, most = own, -np.inf
    for k in range(found):
        name = np.uint64(keys[k])
        weight = table[name]
        table[name] = 0
        if name == own:
            continue
        if drawn is not None:  # noqa: SIM102 - Numba compiles no branch of an argument that is None
            if name > own and size[own] == 1 and size[name] == 1 and drawn[name] == drawn[v]:
                continue
        value = weight - priced * total[name]
        if value > most or (value == most and name < best):
            best, most = name, value
    if drawn is None and most < 0.0:
        best, most = np.uint64(community.size), 0.0
    return (best, most - stay) if most > stay else (own, 0.0)


@inner
def _choose(
    offsets: Any, neighbours: Any, weights: Any, v: Any, community: Any, mass: Any, total: Any, size: Any, rate: Any,
    drawn: Any, table: Any, keys: Any,
) -> Any:  # fmt: skip
    """The best community for v, and its gain."""
    found = _tally(offsets, neighbours, weights, v, community, table, keys)
    return _best_move(v, community, mass, total, size, rate, drawn, table, keys, found)


@inner
def _wake(offsets: Any, neighbours: Any, v: Any, community: Any, awake: Any) -> None:
    """Wake the neighbours of v in other communities."""
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        if community[u] != community[v] and not awake[u]:
            awake[u] = True


@inner
def _unused(v: Any, members: Any, first: Any) -> Any:
    """A label that no vertex has: v if it is one, else the first from `first` on, behind which come those before."""
    if members[v] == 0:
        return v
    while members[first] != 0:
        first = (first + np.uint64(1)) % np.uint64(members.size)
    return first


@kernel
def moves_in_order(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any,
    block: Any, stride: Any, community: Any, total: Any, members: Any, awake: Any, touched: Any, tables: Any, keys: Any,
    enough: Any, history: Any,
) -> None:  # fmt: skip
    """Rounds of moves, one vertex after the other, until one gains no more than `enough`; one worker does it.

    Vertices move block by block, `block` of them next to each other; the k-th block is k * stride modulo their number,
    which it has no divisor with. members: int64[n], how many vertices have each label; touched: bool[n], labels that
    somebody took or gave up.
    history: float64[rounds at most] is the gain of each.
    """
    if worker != 0:
        return
    table, used, size = tables[0], keys[0], np.uint64(community.size)
    blocks, at = (size + block - np.uint64(1)) // block, np.uint64(0)
    spare = np.uint64(0)
    for turn in range(history.size):
        gained = 0.0
        for _ in range(blocks):
            if control[STOP] != 0:
                return
            for v in range(at * block, min(at * block + block, size)):
                if not awake[v]:
                    continue
                awake[v] = False
                goal, gain = _choose(
                    offsets, neighbours, weights, v, community, mass, total, None, rate, None, table, used
                )
                if gain > 0.0:
                    gained += gain
                    if goal == size:
                        goal = spare = _unused(v, members, spare)
                    own = np.uint64(community[v])
                    total[own] -= mass[v]
                    total[goal] += mass[v]
                    members[own] -= 1
                    members[goal] += 1
                    touched[own] = touched[goal] = True
                    community[v] = goal
                    for i in range(offsets[v], offsets[v + np.uint64(1)]):
                        u = np.uint64(neighbours[i])
                        awake[u] = awake[u] | (community[u] != goal)  # no other worker writes: no branch to predict
            at = (at + stride) % blocks
        history[turn] = gained
        if gained <= enough:
            return


@inner
def _sees(offsets: Any, neighbours: Any, v: Any, community: Any, touched: Any) -> Any:
    """Whether the community of v or of a neighbour is touched."""
    if touched[community[v]]:
        return True
    for i in range(offsets[v], offsets[v + np.uint64(1)]):  # noqa: SIM110 - Numba has no generators
        if touched[community[neighbours[i]]]:
            return True
    return False


@kernel
def find_movable(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any,
    community: Any, total: Any, touched: Any, tables: Any, keys: Any, awake: Any, count: Any,
) -> None:  # fmt: skip
    """awake[v]: whether v alone would gain by a move; count[0]: how many would.

    Only those that are awake or see a touched community are asked; all without `touched`.
    """
    found = 0
    while True:
        begin, end = take(control, np.uint64(community.size), np.uint64(256))
        if begin == end:
            break
        for v in range(begin, end):
            if touched is not None:  # noqa: SIM102 - Numba compiles no branch of an argument that is None
                if not awake[v] and not _sees(offsets, neighbours, v, community, touched):
                    continue
            _, gain = _choose(
                offsets, neighbours, weights, v, community, mass, total, None, rate, None, tables[worker], keys[worker]
            )
            awake[v] = gain > 0.0
            found += gain > 0.0
    fetch_add(count, np.uint64(0), found)


@kernel
def draw(worker: Any, workers: Any, control: Any, seed: Any, level: Any, classes: Any, drawn: Any) -> None:
    """drawn[v]: the class of each vertex, by a hash of the seed."""
    stream = key(seed, level)
    while True:
        begin, end = take(control, np.uint64(drawn.size), np.uint64(4096))
        if begin == end:
            break
        for v in range(begin, end):
            drawn[v] = bits(stream, v) % np.uint64(classes)


@inner
def _move(v: Any, goal: Any, community: Any, mass: Any, total: Any, size: Any) -> None:
    own = np.int64(community[v])
    community[v] = goal
    fetch_add(total, own, -mass[v])
    fetch_add(total, goal, mass[v])
    fetch_add(size, own, -1)
    fetch_add(size, goal, 1)


@inner
def _goals(
    begin: Any, end: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any, order: Any, community: Any,
    total: Any, size: Any, awake: Any, drawn: Any, goals: Any, table: Any, keys: Any,
) -> Any:  # fmt: skip
    """goals[at]: where the vertices order[begin:end] want to be, or the number of vertices; returns the gain."""
    gained = np.int64(0)
    for at in range(begin, end):
        v = np.uint64(order[at])
        goals[at] = community.size
        if awake[v]:
            awake[v] = False
            goal, gain = _choose(
                offsets, neighbours, weights, v, community, mass, total, size, rate, drawn, table, keys
            )  # fmt: skip
            if gain > 0.0:
                goals[at] = goal
                gained += np.int64(gain * GAIN)
    return gained


@kernel
def local_moves(
    worker: Any, workers: Any, control: Any, barrier: Any, board: Any, offsets: Any, neighbours: Any, weights: Any,
    mass: Any, rate: Any, order: Any, bounds: Any, community: Any, total: Any, size: Any, awake: Any, drawn: Any,
    goals: Any, tables: Any, keys: Any, enough: Any, history: Any,
) -> None:  # fmt: skip
    """Rounds of moves by classes, as many as history has room for, until one gains no more than `enough`.

    order: the vertices class by class, class k from bounds[k] on. total, size: int64[n] are the mass and the number of
    vertices of each community. goals: uint32[n] is scratch. history[round] = gain, zero before.
    """
    nobody = community.size
    turn = 0
    for cell in range(history.size):
        for k in range(bounds.size - 1):
            first, last = bounds[k], bounds[k + 1]
            block = turn % 3 * _CELLS
            gained = np.int64(0)
            while True:
                begin, end = _next(board, block + _CHOOSE, first, last)
                if begin == end:
                    break
                gained += _goals(
                    begin, end, offsets, neighbours, weights, mass, rate, order, community, total, size, awake, drawn,
                    goals, tables[worker], keys[worker],
                )  # fmt: skip
            fetch_add(history, np.uint64(cell), gained)
            if worker == 0:
                for j in range(_CELLS):
                    board[(turn + 1) % 3 * _CELLS + j] = 0
                board[block + _STOP] = control[STOP]
            if not all_here(barrier, worker, workers):
                return
            while True:
                begin, end = _next(board, block + _MOVE, first, last)
                if begin == end:
                    break
                for at in range(begin, end):
                    if goals[at] != nobody:
                        _move(np.uint64(order[at]), np.int64(goals[at]), community, mass, total, size)
            if not all_here(barrier, worker, workers):
                return
            while True:
                begin, end = _next(board, block + _WAKE, first, last)
                if begin == end:
                    break
                for at in range(begin, end):
                    if goals[at] != nobody:
                        _wake(offsets, neighbours, np.uint64(order[at]), community, awake)
            if not all_here(barrier, worker, workers):
                return
            if board[block + _STOP]:
                return
            turn += 1
        if history[cell] <= enough:
            return


@kernel
def choose(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any,
    order: Any, first: Any, last: Any, community: Any, total: Any, size: Any, awake: Any, drawn: Any, goals: Any,
    tables: Any, keys: Any, tally: Any,
) -> None:  # fmt: skip
    """One turn of some vertices of a class, order[first:last], without the moves: goals, and tally[0] = the gain."""
    while True:
        begin, end = take(control, last - first, CHUNK)
        if begin == end:
            break
        gained = _goals(
            first + begin, first + end, offsets, neighbours, weights, mass, rate, order, community, total, size, awake,
            drawn, goals, tables[worker], keys[worker],
        )  # fmt: skip
        fetch_add(tally, np.uint64(0), gained)


@kernel
def adopt(
    worker: Any, workers: Any, control: Any, barrier: Any, board: Any, offsets: Any, neighbours: Any, mass: Any,
    order: Any, first: Any, last: Any, movers: Any, goals: Any, community: Any, total: Any, size: Any, awake: Any,
) -> None:  # fmt: skip
    """The moves of a class, order[first:last], wherever its vertices chose: movers[k] goes to goals[k]."""
    everyone = np.uint64(movers.size)
    while True:
        begin, end = _next(board, _CHOOSE, first, last)
        if begin == end:
            break
        for at in range(begin, end):
            awake[order[at]] = False
    while True:
        begin, end = _next(board, _MOVE, np.uint64(0), everyone)
        if begin == end:
            break
        for k in range(begin, end):
            _move(np.uint64(movers[k]), np.int64(goals[k]), community, mass, total, size)
    if not all_here(barrier, worker, workers):
        return
    while True:
        begin, end = _next(board, _WAKE, np.uint64(0), everyone)
        if begin == end:
            break
        for k in range(begin, end):
            _wake(offsets, neighbours, np.uint64(movers[k]), community, awake)
