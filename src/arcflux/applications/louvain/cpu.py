"""Local moves, refinement and contraction on cores, for Louvain and Leiden.

Weights are whole numbers (fixed point), so that every sum is the same in any order. Vertices are drawn into classes by
a hash. The vertices of a class choose at once, by what held before, and then move at once; classes take turns. So the
result does not depend on how many workers there are, and with many classes it is nearly that of one vertex after the
other. Of two lone vertices of a class only that with the larger label moves to the other, so that they cannot swap.

A vertex that has looked around rests until a neighbour moves (Ozaki, Tezuka, Inaba, "A simple acceleration method for
the Louvain algorithm", 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.pool import STOP
from arcflux.spmd.random import bits, key

__all__ = ["CHUNK", "GAIN", "adopt", "choose", "contract", "draw", "local_moves", "row_lengths", "sort_by_label"]

# Vertices that a worker takes at a time.
CHUNK = np.uint64(64)
# Gains are added up as whole numbers of so many parts of a unit of weight.
GAIN = 1024.0
# Counters of a turn, each on a cache line of its own; three blocks take turns, so that the reset meets nobody.
_CHOOSE, _MOVE, _WAKE, _STOP = (8 * k for k in range(4))
_BLOCK = 32
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def _next(board: Any, place: Any, begin: Any, end: Any) -> Any:
    """The next vertices of begin:end that nobody has; equal when none are left."""
    first = min(begin + np.uint64(fetch_add(board, place, 1)) * CHUNK, end)
    return first, min(first + CHUNK, end)


@inner
def _shift(entries: Any) -> Any:
    """How many bits of a hash are too many for a table of at most so many entries, half of it free."""
    width = np.uint64(1)
    while (np.uint64(1) << width) < np.uint64(2) * entries:
        width += np.uint64(1)
    return np.uint64(64) - width


@inner
def _add(table: Any, used: Any, shift: Any, found: Any, name: Any, weight: Any) -> Any:
    """Add a weight above 0 to a name's in table[slot] = name, weight; returns how many slots are in use."""
    one = np.uint64(1)
    mask = (one << (np.uint64(64) - shift)) - one
    slot = (np.uint64(name) * _GOLDEN) >> shift
    while table[slot, 1] != 0 and table[slot, 0] != name:
        slot = (slot + one) & mask
    if table[slot, 1] == 0:
        table[slot, 0] = name
        used[found] = slot
        found += one
    table[slot, 1] += weight
    return found


@inner
def _tally(offsets: Any, neighbours: Any, weights: Any, v: Any, community: Any, table: Any, used: Any) -> Any:
    """How much weight leads from v to each community, v's loops left out; returns how many slots are in use."""
    begin, end = offsets[v], offsets[v + np.uint64(1)]
    shift = _shift(min(end - begin, np.uint64(community.size)))
    found = np.uint64(0)
    for i in range(begin, end):
        u = np.uint64(neighbours[i])
        weight = np.int64(1) if weights is None else weights[i]
        if u != v and weight > 0:
            found = _add(table, used, shift, found, np.int64(community[u]), weight)
    return found


@inner
def _best_move(
    v: Any, community: Any, mass: Any, total: Any, size: Any, rate: Any, drawn: Any, table: Any, used: Any, found: Any
) -> Any:  # fmt: skip
    """Where v gains most, of several the smallest label, and how much; empties the table. No gain: its own, 0."""
    own, heavy = np.int64(community[v]), mass[v]
    lone = size[own] == 1
    stay = -rate * heavy * (total[own] - heavy)
    best, most = own, -np.inf
    for k in range(found):
        slot = used[k]
        name, weight = table[slot, 0], table[slot, 1]
        table[slot, 1] = 0
        if name == own:
            stay += weight
            continue
        if lone and name > own and size[name] == 1 and drawn[name] == drawn[v]:
            continue
        value = weight - rate * heavy * total[name]
        if value > most or (value == most and name < best):
            best, most = name, value
    return (best, most - stay) if most > stay else (own, 0.0)


@inner
def _best_refinement(
    v: Any, community: Any, mass: Any, total: Any, size: Any, rate: Any, table: Any, used: Any, found: Any, part: Any,
    part_total: Any, drawn: Any,
) -> Any:  # fmt: skip
    """The same within v's part, for a lone vertex that is well connected to the rest of it; empties the table.

    Nobody joins a lone vertex of v's own class, which may be about to leave: so communities stay connected.
    """
    own, heavy = np.int64(community[v]), mass[v]
    inside = np.int64(0)
    best, most = own, 0.0
    for k in range(found):
        slot = used[k]
        name, weight = table[slot, 0], table[slot, 1]
        table[slot, 1] = 0
        if name == own or part[name] != part[v]:
            continue
        inside += weight
        if size[name] == 1 and drawn[name] == drawn[v]:
            continue
        value = weight - rate * heavy * total[name]
        if value > most or (value == most and best != own and name < best):
            best, most = name, value
    if inside < rate * heavy * (part_total[part[v]] - heavy):
        return own, 0.0
    return best, most


@inner
def _choose(
    offsets: Any, neighbours: Any, weights: Any, v: Any, community: Any, mass: Any, total: Any, size: Any, rate: Any,
    awake: Any, part: Any, part_total: Any, drawn: Any, table: Any, used: Any,
) -> Any:  # fmt: skip
    """Where v wants to be, and its gain; it rests now."""
    if not awake[v] or (part is not None and size[community[v]] != 1):
        return np.int64(community[v]), 0.0
    awake[v] = False
    found = _tally(offsets, neighbours, weights, v, community, table, used)
    if part is None:
        return _best_move(v, community, mass, total, size, rate, drawn, table, used, found)
    return _best_refinement(
        v, community, mass, total, size, rate, table, used, found, part, part_total, drawn
    )  # fmt: skip


@inner
def _move(v: Any, goal: Any, community: Any, mass: Any, total: Any, size: Any) -> None:
    own = np.int64(community[v])
    community[v] = goal
    fetch_add(total, own, -mass[v])
    fetch_add(total, goal, mass[v])
    fetch_add(size, own, -1)
    fetch_add(size, goal, 1)


@inner
def _wake(offsets: Any, neighbours: Any, v: Any, community: Any, awake: Any) -> None:
    """Neighbours of v in other communities look around again."""
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        if community[u] != community[v] and not awake[u]:
            awake[u] = True


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


@kernel
def local_moves(
    worker: Any, workers: Any, control: Any, barrier: Any, board: Any, offsets: Any, neighbours: Any, weights: Any,
    mass: Any, rate: Any, order: Any, bounds: Any, community: Any, total: Any, size: Any, awake: Any, part: Any,
    part_total: Any, drawn: Any, goals: Any, tables: Any, places: Any, enough: Any, history: Any,
) -> None:  # fmt: skip
    """Rounds of moves, as many as history has room for, until one gains no more than `enough`.

    order: the vertices class by class, class k from bounds[k] on. total, size: int64[n] are the mass and the number of
    vertices of each community. part is None, or only lone vertices move, within their part. goals: uint32[n] is
    scratch. history[2 * round] = moves, and behind it their gain, zero before.
    """
    table, used, nobody = tables[worker], places[worker], community.size
    turn = 0
    for cell in range(0, history.size, 2):
        for k in range(bounds.size - 1):
            first, last = bounds[k], bounds[k + 1]
            block = turn % 3 * _BLOCK
            moves, gained = np.int64(0), np.int64(0)
            while True:
                begin, end = _next(board, block + _CHOOSE, first, last)
                if begin == end:
                    break
                for at in range(begin, end):
                    goal, gain = _choose(
                        offsets, neighbours, weights, np.uint64(order[at]), community, mass, total, size, rate, awake,
                        part, part_total, drawn, table, used,
                    )  # fmt: skip
                    goals[at] = nobody
                    if gain > 0.0:
                        goals[at] = goal
                        moves += 1
                        gained += np.int64(gain * GAIN)
            fetch_add(history, np.uint64(cell), moves)
            fetch_add(history, np.uint64(cell + 1), gained)
            if worker == 0:
                for j in range(_BLOCK):
                    board[(turn + 1) % 3 * _BLOCK + j] = 0
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
        if history[cell + 1] <= enough:
            return


@kernel
def choose(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any,
    order: Any, first: Any, last: Any, community: Any, total: Any, size: Any, awake: Any, part: Any, part_total: Any,
    drawn: Any, goals: Any, tables: Any, places: Any, tally: Any,
) -> None:  # fmt: skip
    """One turn of some vertices of a class, order[first:last], without the moves: goals, and tally = moves, gain."""
    table, used = tables[worker], places[worker]
    while True:
        begin, end = take(control, last - first, CHUNK)
        if begin == end:
            break
        for at in range(first + begin, first + end):
            goal, gain = _choose(
                offsets, neighbours, weights, np.uint64(order[at]), community, mass, total, size, rate, awake, part,
                part_total, drawn, table, used,
            )  # fmt: skip
            goals[at] = community.size
            if gain > 0.0:
                goals[at] = goal
                fetch_add(tally, np.uint64(0), 1)
                fetch_add(tally, np.uint64(1), np.int64(gain * GAIN))


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


@kernel
def sort_by_label(worker: Any, workers: Any, control: Any, labels: Any, bounds: Any, order: Any) -> None:
    """The vertices label by label, each label's in their order, label k from bounds[k] on; one worker does it.

    bounds: uint64[labels + 2], zero before.
    """
    if worker != 0:
        return
    one, two = np.uint64(1), np.uint64(2)
    for v in range(labels.size):
        bounds[np.uint64(labels[v]) + two] += one
    for k in range(two, np.uint64(bounds.size)):
        bounds[k] += bounds[k - one]
    for v in range(labels.size):
        label = np.uint64(labels[v]) + one
        order[bounds[label]] = v
        bounds[label] += one


@inner
def _tally_members(
    k: Any, offsets: Any, neighbours: Any, weights: Any, labels: Any, order: Any, bounds: Any, table: Any, used: Any
) -> Any:  # fmt: skip
    """How much weight leads from label k to each other one, and within it; loops of vertices are left out."""
    one = np.uint64(1)
    arcs = np.uint64(0)
    for at in range(bounds[k], bounds[k + one]):
        v = np.uint64(order[at])
        arcs += offsets[v + one] - offsets[v]
    shift = _shift(min(arcs, np.uint64(bounds.size) - one))
    found, inside = np.uint64(0), np.int64(0)
    for at in range(bounds[k], bounds[k + one]):
        v = np.uint64(order[at])
        for i in range(offsets[v], offsets[v + one]):
            u = np.uint64(neighbours[i])
            weight = np.int64(1) if weights is None else weights[i]
            if u == v or weight == 0:
                continue
            if labels[u] == k:
                inside += weight
            else:
                found = _add(table, used, shift, found, np.int64(labels[u]), weight)
    return found, inside


@kernel
def row_lengths(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, weights: Any,
    labels: Any, order: Any, bounds: Any, tables: Any, places: Any, lengths: Any,
) -> None:  # fmt: skip
    """lengths[k - first]: to how many others each label from `first` to before `last` has edges."""
    table, used = tables[worker], places[worker]
    while True:
        begin, end = take(control, last - first, CHUNK)
        if begin == end:
            break
        for k in range(first + begin, first + end):
            found, _ = _tally_members(k, offsets, neighbours, weights, labels, order, bounds, table, used)
            lengths[k - first] = found
            for j in range(found):
                table[used[j], 1] = 0


@kernel
def contract(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, weights: Any,
    mass: Any, loops: Any, labels: Any, order: Any, bounds: Any, tables: Any, places: Any, rows: Any, ends: Any,
    sums: Any, masses: Any, insides: Any,
) -> None:  # fmt: skip
    """The rows of these labels as vertices: row k - first has ends and sums from rows[k - first] on.

    masses, insides [k - first]: the mass of its vertices, and twice the weight of the edges within it.
    """
    table, used = tables[worker], places[worker]
    while True:
        begin, end = take(control, last - first, CHUNK)
        if begin == end:
            break
        for k in range(first + begin, first + end):
            found, inside = _tally_members(k, offsets, neighbours, weights, labels, order, bounds, table, used)
            into = rows[k - first]
            for j in range(found):
                slot = used[j]
                ends[into + j], sums[into + j] = table[slot, 0], table[slot, 1]
                table[slot, 1] = 0
            heavy = np.int64(0)
            for at in range(bounds[k], bounds[k + np.uint64(1)]):
                heavy += mass[order[at]]
                inside += loops[order[at]]
            masses[k - first], insides[k - first] = heavy, inside
