"""Random walks on cores: many walkers are interleaved on a core, so that the memory that each needs is prefetched.

A step waits for two cache lines: where a vertex's row begins, and the neighbour that is drawn (Sun, Chen, Lu, Zhang,
"ThunderRW: an in-memory graph random walk engine", 2021). A core cycles through its walkers: each prefetches what it
will read, and reads it in the next cycle.

Every random number is a function of seed, walk, step and trial, so that walks are the same on any worker. A step
is *proposed* by weight (an alias table: one number, whatever the degree) and *accepted* or drawn again (Yang and
others, "KnightKing: a fast distributed graph random walk engine", 2019). After as many trials as reading the whole row
would cost the row is read, which gives the same distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import prefetch_to_read, take
from arcflux.spmd.random import key, uniform
from arcflux.spmd.search import lower_bound

__all__ = [
    "ASKS", "DONE", "ENDED", "FIELDS", "RESTARTED", "SCANS", "SETTLED", "SLOTS", "UNASKED", "adjacent", "alias_table",
    "go_on", "scan_by_answers", "walk",
]  # fmt: skip

# Walkers that are interleaved on a core, and the state of each.
SLOTS = 64
_VERTEX, _BEFORE, _STEP, _TRIAL, _WALK, _ARC, _STREAM = range(7)
FIELDS = 7
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_HERE = np.uint64(0xFFFFFFFFFFFFFFFE)
_LOW = np.uint64(0xFFFFFFFF)
_UNIT = np.uint64(32)
_ONE = np.uint64(1)
# Random numbers of a step: two for each trial, and those that are drawn once.
_RESTART = np.uint64(0xFFFFFFFF)
_SCAN = np.uint64(0xFFFFFFFE)
# The results of the kernel of distributed walks for each walker, and its inputs.
DONE, ENDED, ASKS, SCANS, RESTARTED = (np.uint8(k) for k in range(5))
UNASKED, SETTLED = np.uint8(2), np.uint8(3)


@inner
def _counter(step: Any, number: Any) -> Any:
    return (step << _UNIT) | number


@inner
def _limit(degree: Any, second: Any) -> Any:
    """The number of trials after which the row is read."""
    return np.uint64(8) + degree if second else np.uint64(8)


@kernel
def alias_table(
    worker: Any, workers: Any, control: Any, offsets: Any, weights: Any, first: Any, last: Any, table: Any
) -> None:
    """table[arc]: the probability, in 2^-32, that a draw of this arc stays there, and the alternative in the row.

    Rows from `first` to before `last`, each in one sweep with two pointers, to the next light and to the next heavy arc
    (Hübschle-Schneider, Sanders, "Parallel weighted random sampling", 2019). A row without weight has _NONE.
    """
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            _alias_row(weights, offsets[v], offsets[v + _ONE], table)


@inner
def _alias_row(weights: Any, begin: Any, end: Any, table: Any) -> None:
    total = 0.0
    for i in range(begin, end):
        total += weights[i]
        table[i] = (_LOW << _UNIT) | (i - begin)
    if begin == end:
        return
    if not total > 0.0:
        for i in range(begin, end):
            table[i] = _NONE
        return
    mean = total / np.float64(end - begin)
    light, heavy = begin, begin
    while light < end and weights[light] > mean:
        light += _ONE
    while heavy < end and not weights[heavy] > mean:
        heavy += _ONE
    if heavy == end:  # all weigh the same, but for rounding
        return
    rest, most = np.float64(weights[heavy]), heavy
    while True:
        if rest > mean:
            if light == end:
                return
            table[light] = (_share(weights[light], mean) << _UNIT) | (heavy - begin)
            rest = (rest + weights[light]) - mean
            light += _ONE
            while light < end and weights[light] > mean:
                light += _ONE
        else:
            after = heavy + _ONE
            while after < end and not weights[after] > mean:
                after += _ONE
            if after == end:
                most = heavy
                break
            table[heavy] = (_share(rest, mean) << _UNIT) | (after - begin)
            rest = (rest + weights[after]) - mean
            heavy = after
    # Rounding leftovers stay where they are, unless they have no weight at all.
    for i in range(light, end):
        if weights[i] == 0:
            table[i] = most - begin


@inner
def _share(weight: Any, mean: Any) -> Any:
    """A share of the mean in 2^-32."""
    return min(np.uint64(max(0.0, weight / mean) * 4294967296.0), _LOW)


@inner
def _draw(offsets: Any, v: Any, stream: Any, step: Any, trial: Any) -> Any:
    """The arc of v's row that is drawn, and the rest of the number; _NONE if the row is empty."""
    begin = offsets[v]
    degree = offsets[v + _ONE] - begin
    if degree == np.uint64(0):
        return _NONE, 0.0
    place = uniform(stream, _counter(step, trial << _ONE)) * np.float64(degree)
    index = np.uint64(place)
    return begin + index, place - np.float64(index)


@inner
def _resolve(offsets: Any, table: Any, v: Any, arc: Any, rest: Any) -> Any:
    """The proposed arc if `arc` was drawn; _NONE if no arc of the row has weight."""
    entry = table[arc]
    if entry == _NONE:
        return _NONE
    stays = np.uint64(rest * 4294967296.0) < (entry >> _UNIT)
    return arc if stays else offsets[v] + (entry & _LOW)


@inner
def _found(offsets: Any, neighbours: Any, t: Any, x: Any) -> Any:
    """Whether there is an edge from t to x; rows are sorted."""
    end = offsets[t + _ONE]
    place = lower_bound(neighbours, offsets[t], end, x)
    return place < end and np.uint64(neighbours[place]) == x


@inner
def _settled(x: Any, t: Any, coin: Any, back: Any, out: Any) -> Any:
    """Whether a proposal is accepted; 2 if that depends on whether t and x are adjacent.

    `back` and `out` are 1/p and 1/q; `coin`, which is below the largest of them and 1, has to be below the right one.
    """
    if x == t:
        return 1 if coin < back else 0
    if coin < min(1.0, out):
        return 1
    return 0 if coin >= max(1.0, out) else 2


@inner
def _scan(
    offsets: Any, neighbours: Any, weights: Any, near_offsets: Any, near: Any, v: Any, t: Any, back: Any, out: Any,
    types: Any, wanted: Any, stream: Any, step: Any,
) -> Any:  # fmt: skip
    """The arc that is chosen by reading the whole row; _NONE if there is none."""
    aim: Any = 0.0
    chosen: Any = _NONE
    for turn in range(2):
        total = 0.0
        for i in range(offsets[v], offsets[v + _ONE]):
            x = np.uint64(neighbours[i])
            share = 1.0 if weights is None else np.float64(weights[i])
            if types is not None:
                share = share if types[x] == wanted else 0.0
            if near is not None:
                share *= back if x == t else 1.0 if _found(near_offsets, near, t, x) else out
            total += share
            if turn and share > 0.0:
                chosen = i
                if total > aim:
                    return chosen
        if not total > 0.0:
            return _NONE
        aim = uniform(stream, _counter(step, _SCAN)) * total
    return chosen


@inner
def _wanted(metapath: Any, step: Any) -> Any:
    """The type of the vertex that a step leads to."""
    return np.int64(-1) if metapath is None else metapath[(step + _ONE) % np.uint64(metapath.size)]


@inner
def _begin(
    slot: Any, walk_number: Any, starts: Any, first: Any, seed: Any, offsets: Any, out: Any
) -> None:  # fmt: skip
    """A walker at the start of a walk."""
    v = np.uint64(starts[walk_number % np.uint64(starts.size)])
    slot[_VERTEX], slot[_BEFORE], slot[_STEP], slot[_TRIAL] = v, _NONE, np.uint64(0), np.uint64(0)
    slot[_WALK], slot[_STREAM] = walk_number, key(seed, walk_number)
    out[walk_number - first, 0] = v
    prefetch_to_read(offsets, v)


@inner
def _propose(slot: Any, offsets: Any, neighbours: Any, table: Any, restart: Any, rests: Any, g: Any) -> None:
    """Propose the next vertex, and prefetch what the decision reads."""
    stream, step = slot[_STREAM], slot[_STEP]
    if restart > 0.0 and slot[_TRIAL] == 0 and uniform(stream, _counter(step, _RESTART)) < restart:
        slot[_ARC] = _HERE
        return
    arc, rest = _draw(offsets, slot[_VERTEX], stream, step, slot[_TRIAL])
    slot[_ARC], rests[g] = arc, rest
    if arc != _NONE:
        if table is None:
            prefetch_to_read(neighbours, arc)
        else:
            prefetch_to_read(table, arc)


@inner
def _decide(
    slot: Any, starts: Any, offsets: Any, neighbours: Any, weights: Any, near_offsets: Any, near: Any, back: Any,
    out: Any, metapath: Any, types: Any,
) -> Any:  # fmt: skip
    """The next vertex of the walker, _NONE if its walk ends, _HERE if it has to draw again."""
    if slot[_ARC] == _HERE:
        return np.uint64(starts[slot[_WALK] % np.uint64(starts.size)])
    if slot[_ARC] == _NONE:
        return _NONE
    v, t, step, stream = slot[_VERTEX], slot[_BEFORE], slot[_STEP], slot[_STREAM]
    x = np.uint64(neighbours[slot[_ARC]])
    wanted, good = _wanted(metapath, step), True
    if types is not None:
        good = types[x] == wanted
    if near is not None and t != _NONE:
        ceiling = max(1.0, max(back, out))
        coin = uniform(stream, _counter(step, (slot[_TRIAL] << _ONE) | _ONE)) * ceiling
        verdict = _settled(x, t, coin, back, out)
        if verdict == 2:
            verdict = 1 if coin < (1.0 if _found(near_offsets, near, t, x) else out) else 0
        good = verdict == 1
    if good:
        return x
    slot[_TRIAL] += _ONE
    if slot[_TRIAL] < _limit(offsets[v + _ONE] - offsets[v], near is not None):
        return _HERE
    arc = _scan(
        offsets, neighbours, weights, near_offsets, near, v, t, back, out, types, wanted, stream, step
    )  # fmt: skip
    return _NONE if arc == _NONE else np.uint64(neighbours[arc])


@kernel
def walk(
    worker: Any, workers: Any, control: Any, starts: Any, first: Any, last: Any, width: Any, seed: Any, offsets: Any,
    neighbours: Any, table: Any, weights: Any, near_offsets: Any, near: Any, back: Any, out_weight: Any, metapath: Any,
    types: Any, restart: Any, state: Any, rests: Any, out: Any,
) -> None:  # fmt: skip
    """out[walk - first]: the vertices of walks `first` to before `last`, -1 behind the end of one."""
    slots, rest = state[worker], rests[worker]
    length = np.uint64(out.shape[1])
    while True:
        begin, end = take(control, last - first, width)
        if begin == end:
            break
        following, end = first + begin, first + end
        busy: Any = np.uint64(0)
        while busy < np.uint64(SLOTS) and following < end:
            _begin(slots[busy], following, starts, first, seed, offsets, out)
            following += _ONE
            busy += _ONE
        if length == _ONE:
            while following < end:
                _begin(slots[0], following, starts, first, seed, offsets, out)
                following += _ONE
            continue
        while busy > 0:
            for g in range(busy):
                _propose(slots[g], offsets, neighbours, table, restart, rest, g)
            if table is not None:
                for g in range(busy):
                    slot = slots[g]
                    if slot[_ARC] < _HERE:
                        slot[_ARC] = _resolve(offsets, table, slot[_VERTEX], slot[_ARC], rest[g])
                        prefetch_to_read(neighbours, slot[_ARC])
            place: Any = np.uint64(0)
            while place < busy:
                slot = slots[place]
                x = _decide(
                    slot, starts, offsets, neighbours, weights, near_offsets, near, back, out_weight, metapath, types
                )  # fmt: skip
                if x == _HERE:
                    place += _ONE
                    continue
                step, row = slot[_STEP] + _ONE, slot[_WALK] - first
                if x != _NONE:
                    out[row, step] = x
                    slot[_BEFORE] = _NONE if slot[_ARC] == _HERE else slot[_VERTEX]
                    slot[_VERTEX], slot[_STEP], slot[_TRIAL] = x, step, np.uint64(0)
                    prefetch_to_read(offsets, x)
                    if step + _ONE < length:
                        place += _ONE
                        continue
                else:
                    for k in range(step, length):
                        out[row, k] = -1
                if following < end:
                    _begin(slot, following, starts, first, seed, offsets, out)
                    following += _ONE
                    place += _ONE
                else:
                    busy -= _ONE
                    for k in range(FIELDS):
                        slot[k] = slots[busy, k]
                    # The walker moved here from the end has proposed, and still has to decide: it is processed now.


@kernel
def go_on(
    worker: Any, workers: Any, control: Any, count: Any, step: Any, seed: Any, walks: Any, at: Any, before: Any,
    trials: Any, answers: Any, starts: Any, offsets: Any, neighbours: Any, table: Any, weights: Any, second: Any,
    back: Any, out: Any, metapath: Any, types: Any, restart: Any, goals: Any, states: Any,
) -> None:  # fmt: skip
    """Take the walkers at a worker's own vertices one step: goals[i] and states[i].

    A walker that has to know whether its goal and the vertex before are adjacent ASKS, and goes on when answers[i] says
    so (UNASKED where nothing was asked); one that has to read its row SCANS. Those that are not here are SETTLED.
    """
    while True:
        begin, end = take(control, count, np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            if answers[i] != SETTLED:
                goals[i], states[i] = _go(
                    i, step, seed, walks, at, before, trials, answers, starts, offsets, neighbours, table, weights,
                    second, back, out, metapath, types, restart, goals,
                )  # fmt: skip


@inner
def _go(
    i: Any, step: Any, seed: Any, walks: Any, at: Any, before: Any, trials: Any, answers: Any, starts: Any,
    offsets: Any, neighbours: Any, table: Any, weights: Any, second: Any, back: Any, out: Any, metapath: Any,
    types: Any, restart: Any, goals: Any,
) -> Any:  # fmt: skip
    v, t, answer, nowhere = at[i], before[i], answers[i], np.uint64(0)
    stream, wanted = key(seed, walks[i]), _wanted(metapath, step)
    if restart > 0.0 and answer == UNASKED and uniform(stream, _counter(step, _RESTART)) < restart:
        return np.uint64(starts[walks[i] % np.uint64(starts.size)]), RESTARTED
    while True:
        coin = 0.0
        if second:
            ceiling = max(1.0, max(back, out))
            coin = uniform(stream, _counter(step, (trials[i] << _ONE) | _ONE)) * ceiling
        if answer != UNASKED:
            if coin < (1.0 if answer == 1 else out):
                return goals[i], DONE
            answer = UNASKED
        else:
            arc, rest = _draw(offsets, v, stream, step, trials[i])
            if arc != _NONE and table is not None:
                arc = _resolve(offsets, table, v, arc, rest)
            if arc == _NONE:
                return nowhere, ENDED
            x, verdict = np.uint64(neighbours[arc]), 1
            if types is not None and types[x] != wanted:
                verdict = 0
            if second and t != _NONE:
                verdict = _settled(x, t, coin, back, out)
            if verdict == 1:
                return x, DONE
            if verdict == 2:
                return x, ASKS
        trials[i] += _ONE
        if trials[i] < _limit(offsets[v + _ONE] - offsets[v], second):
            continue
        if second:
            return nowhere, SCANS
        arc = _scan(offsets, neighbours, weights, None, None, v, t, back, out, types, wanted, stream, step)
        if arc == _NONE:
            return nowhere, ENDED
        return np.uint64(neighbours[arc]), DONE


@kernel
def scan_by_answers(
    worker: Any, workers: Any, control: Any, chosen: Any, begins: Any, known: Any, step: Any, seed: Any, walks: Any,
    at: Any, before: Any, offsets: Any, neighbours: Any, weights: Any, back: Any, out: Any, goals: Any, states: Any,
) -> None:  # fmt: skip
    """The same by reading rows, where others have said which neighbours are adjacent to the vertex before."""
    while True:
        begin, end = take(control, np.uint64(chosen.size), np.uint64(16))
        if begin == end:
            break
        for k in range(begin, end):
            i = chosen[k]
            v, stream = at[i], key(seed, walks[i])
            aim, goal, state = 0.0, np.uint64(0), ENDED
            for turn in range(2):
                total = 0.0
                for arc in range(offsets[v], offsets[v + _ONE]):
                    x = np.uint64(neighbours[arc])
                    share = 1.0 if weights is None else np.float64(weights[arc])
                    share *= back if x == before[i] else 1.0 if known[begins[k] + (arc - offsets[v])] else out
                    total += share
                    if turn and share > 0.0:
                        goal, state = x, DONE
                        if total > aim:
                            break
                aim = uniform(stream, _counter(step, _SCAN)) * total
                if not total > 0.0:
                    break
            goals[i], states[i] = goal, state


@kernel
def adjacent(
    worker: Any, workers: Any, control: Any, tails: Any, heads: Any, near_offsets: Any, near: Any, found: Any
) -> None:
    """found[i]: whether there is an edge from tails[i] to heads[i]."""
    while True:
        begin, end = take(control, np.uint64(tails.size), np.uint64(1024))
        if begin == end:
            break
        for i in range(begin, end):
            found[i] = _found(near_offsets, near, np.uint64(tails[i]), np.uint64(heads[i]))
