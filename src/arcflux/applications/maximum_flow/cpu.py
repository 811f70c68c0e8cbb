"""Push-relabel in rounds, on cores.

N. Baumstark, G. Blelloch, J. Shun, "Efficient implementation of a synchronous parallel push-relabel algorithm", 2015.
In a round every active vertex (one with excess) discharges, by the labels that held before the round. Where both ends
of an arc are active the higher one may use it, of equal ones that with the smaller number; the other does not read what
is left of the arc, and rises at most to one above. So no two write the same arc, labels stay valid, sums are of whole
numbers, and the flow does not depend on how many workers there are, or in which order they come.

``mark[v]`` is twice the label of v, and 1 more while it is active: one look at a neighbour tells both. A label of n
means that the sink is out of reach. Labels are set anew by a search from the sink when enough work was done. While few
vertices are active, one worker goes on alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import compare_and_swap, fetch_add, take
from arcflux.spmd.pool import STOP

__all__ = ["BOARD", "COUNT", "FOUND", "ROUNDS", "SENT", "WORK", "discharge", "push_relabel"]

# Cells of the board, each on a cache line of its own.
_CLAIM, _CLAIM_OWN, _CLAIM_NEW, NEXT, FOUND, WORK, COUNT, PARITY, _TAIL, _HEAD, _LEVEL, _MODE, _DONE, ROUNDS, SENT = (
    8 * k for k in range(15)
)
BOARD = 128
# What comes next.
_ROUND, _RELABELS, _ENDS = range(3)
# Vertices that a worker takes at a time; active ones below which one worker goes on alone.
_CHUNK = 32
_ALONE = 256
# What a relabel counts beside the arcs that it looks at.
_RELABEL = 12


@inner
def _next(board: Any, place: Any, count: Any, width: Any) -> Any:
    """The next of `count` items that nobody has; equal when none are left."""
    first = min(fetch_add(board, np.uint64(place), 1) * width, count)
    return first, min(first + width, count)


@inner
def _append(items: Any, board: Any, place: Any, item: Any, alone: Any) -> None:
    if alone:
        items[board[place]] = item
        board[place] += 1
    else:
        items[fetch_add(board, np.uint64(place), 1)] = item


@inner
def _push(
    v: Any, a: Any, amount: Any, heads: Any, reverse: Any, left: Any, mark: Any, added: Any, listed: Any, found: Any,
    board: Any, alone: Any, outbox: Any,
) -> None:  # fmt: skip
    """Move an amount along arc a; who was not active is listed once. An outbox gets the arc back, and the amount."""
    w = heads[a]
    if outbox is not None:
        at = fetch_add(board, np.uint64(SENT), 1)
        outbox[at, 0], outbox[at, 1] = reverse[a], amount
    left[a] -= amount
    left[reverse[a]] += amount
    if alone:
        added[w] += amount
        fresh = mark[w] & 1 == 0 and listed[w] == 0
        if fresh:
            listed[w] = 1
    else:
        fetch_add(added, np.uint64(w), amount)
        fresh = mark[w] & 1 == 0 and listed[w] == 0 and compare_and_swap(listed, np.uint64(w), 0, 1) == 0
    if fresh:
        _append(found, board, FOUND, w, alone)


@inner
def _discharge(
    v: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any, mark: Any, raised: Any, excess: Any, added: Any,
    listed: Any, found: Any, board: Any, alone: Any, outbox: Any,
) -> Any:  # fmt: skip
    """Push what v has in excess, and raise it, as far as a round allows; returns the work."""
    begin, end = offsets[v], offsets[v + np.uint64(1)]
    before = np.int64(mark[v]) >> 1
    label, rest, work = before, excess[v], np.int64(0)
    while True:
        least, blocked = n, False
        for a in range(begin, end):
            other = np.int64(mark[heads[a]])
            theirs = other >> 1
            if other & 1 and (theirs > before or (theirs == before and np.uint64(heads[a]) < v)):
                if theirs + 1 == label:
                    blocked = True
                elif theirs >= label:
                    least = min(least, theirs + 1)
                continue
            if left[a] > 0:
                if theirs + 1 == label:
                    amount = min(rest, left[a])
                    _push(v, a, amount, heads, reverse, left, mark, added, listed, found, board, alone, outbox)
                    rest -= amount
                    if rest == 0:
                        break
                elif theirs >= label:
                    least = min(least, theirs + 1)
        if rest == 0 or blocked:
            break
        label = least
        work += np.int64(end - begin) + _RELABEL
        if label >= n:
            break
    raised[v] = label
    if alone:
        added[v] += rest - excess[v]
    else:
        fetch_add(added, v, rest - excess[v])
    return work


@inner
def _settle_own(
    v: Any, n: Any, mark: Any, raised: Any, excess: Any, added: Any, into: Any, board: Any, alone: Any
) -> None:  # fmt: skip
    """A vertex that was active: its new label and excess, and whether it is active again."""
    excess[v] += added[v]
    added[v] = 0
    again = excess[v] > 0 and raised[v] < n
    mark[v] = 2 * raised[v] + again
    if again:
        _append(into, board, NEXT, v, alone)


@inner
def _settle_new(
    v: Any, mark: Any, excess: Any, added: Any, listed: Any, ends: Any, into: Any, board: Any, alone: Any
) -> None:  # fmt: skip
    """A vertex that was pushed to and was not active: it is now, unless it is one of the two ends."""
    listed[v] = 0
    if v == ends[0] or v == ends[1]:
        return
    excess[v] += added[v]
    added[v] = 0
    mark[v] += 1
    _append(into, board, NEXT, v, alone)


@inner
def _reach(
    v: Any, level: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any, mark: Any, ends: Any, queue: Any,
    board: Any, alone: Any,
) -> None:  # fmt: skip
    """Label what can push to v, and has no label yet."""
    for a in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(heads[a])
        if mark[u] == 2 * n and u != ends[0] and left[reverse[a]] > 0:
            if alone:
                mark[u] = 2 * level
                _append(queue, board, _TAIL, u, alone)
            elif compare_and_swap(mark, u, 2 * n, 2 * level) == 2 * n:
                _append(queue, board, _TAIL, u, alone)


@inner
def _relabel(
    worker: Any, workers: Any, barrier: Any, board: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any,
    mark: Any, ends: Any, queue: Any, lists: Any,
) -> Any:  # fmt: skip
    """All labels anew: how far it is to the sink, ends[1]; ends[0] gets none. Who is active is listed again."""
    if worker == 0:
        board[_CLAIM] = board[_CLAIM_OWN] = board[NEXT] = board[_HEAD] = board[WORK] = 0
        board[_TAIL] = board[_LEVEL] = 1
    if not all_here(barrier, worker, workers):
        return False
    while True:
        begin, end = _next(board, _CLAIM, n, 4096)
        if begin == end:
            break
        for v in range(begin, end):
            mark[v] = 2 * n
    if not all_here(barrier, worker, workers):
        return False
    if worker == 0:
        mark[ends[1]] = 0
        queue[0] = ends[1]
        board[_CLAIM] = 0
    while True:
        alone = False
        if worker == 0:
            board[_DONE], board[_CLAIM] = board[_TAIL], 0
            alone = board[_TAIL] - board[_HEAD] > 0 and (workers == 1 or board[_TAIL] - board[_HEAD] < _ALONE)
        if not alone and not all_here(barrier, worker, workers):
            return False
        head, last, level = board[_HEAD], board[_DONE], board[_LEVEL]
        if head == last:
            break
        while True:
            begin, end = _next(board, _CLAIM, last - head, _CHUNK)
            if begin == end:
                break
            for k in range(head + begin, head + end):
                _reach(np.uint64(queue[k]), level, n, offsets, heads, reverse, left, mark, ends, queue, board, alone)
        if not alone and not all_here(barrier, worker, workers):
            return False
        if worker == 0:
            board[_HEAD] = last
            board[_LEVEL] += 1
    count, parity = board[COUNT], board[PARITY]
    while True:
        begin, end = _next(board, _CLAIM_OWN, count, 1024)
        if begin == end:
            break
        for k in range(begin, end):
            v = lists[parity, k]
            if mark[v] < 2 * n:
                mark[v] += 1
                _append(lists[1 - parity], board, NEXT, v, workers == 1)
    if not all_here(barrier, worker, workers):
        return False
    if worker == 0:
        board[COUNT], board[PARITY] = board[NEXT], 1 - parity
    return all_here(barrier, worker, workers)


@kernel
def push_relabel(
    worker: Any, workers: Any, control: Any, barrier: Any, board: Any, n: Any, enough: Any, offsets: Any, heads: Any,
    reverse: Any, left: Any, mark: Any, raised: Any, excess: Any, added: Any, listed: Any, found: Any, lists: Any,
    queue: Any, ends: Any,
) -> None:  # fmt: skip
    """Rounds until nothing in excess can reach the sink. ends: int64[2] are the vertex without label, and the sink.

    board: int64[BOARD], of which COUNT are the active vertices in lists[PARITY] to begin with, and WORK is more than
    enough. left: int64[arcs] is what is left of each arc; reverse: its arc back. excess, added: int64[n]; what reached
    the sink is added[sink]. raised, mark: int32 or int64[n]; listed: int32[n] is zero, found, queue: uint[n] and
    lists: uint[2, n] are scratch.
    """
    ended = False
    while True:
        alone = False
        if worker == 0:
            board[_MODE] = _RELABELS if board[WORK] > enough else _ENDS if board[COUNT] == 0 else _ROUND
            if control[STOP]:
                board[_MODE] = _ENDS
            alone = board[_MODE] == _ROUND and (workers == 1 or board[COUNT] < _ALONE)
            board[_CLAIM] = board[_CLAIM_OWN] = board[_CLAIM_NEW] = board[NEXT] = board[FOUND] = 0
        if not alone and not all_here(barrier, worker, workers):
            return
        mode, count, parity = board[_MODE], board[COUNT], board[PARITY]
        if mode != _ROUND:
            if ended:
                return
            if not all_here(barrier, worker, workers) or not _relabel(
                worker, workers, barrier, board, n, offsets, heads, reverse, left, mark, ends, queue, lists
            ):
                return
            ended = mode == _ENDS
            continue
        work = np.int64(0)
        while True:
            begin, end = _next(board, _CLAIM, count, _CHUNK)
            if begin == end:
                break
            for k in range(begin, end):
                work += _discharge(np.uint64(lists[parity, k]), n, offsets, heads, reverse, left, mark, raised, excess,
                                   added, listed, found, board, alone, None)  # fmt: skip
        fetch_add(board, np.uint64(WORK), work)
        if not alone and not all_here(barrier, worker, workers):
            return
        fresh, into = board[FOUND], lists[1 - parity]
        while True:
            begin, end = _next(board, _CLAIM_OWN, count, 4 * _CHUNK)
            if begin == end:
                break
            for k in range(begin, end):
                _settle_own(lists[parity, k], n, mark, raised, excess, added, into, board, alone)
        while True:
            begin, end = _next(board, _CLAIM_NEW, fresh, 4 * _CHUNK)
            if begin == end:
                break
            for k in range(begin, end):
                _settle_new(found[k], mark, excess, added, listed, ends, into, board, alone)
        if not alone and not all_here(barrier, worker, workers):
            return
        if worker == 0:
            board[COUNT], board[PARITY] = board[NEXT], 1 - parity
            board[ROUNDS] += 1


@kernel
def discharge(
    worker: Any, workers: Any, control: Any, board: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any,
    mark: Any, raised: Any, excess: Any, added: Any, listed: Any, found: Any, active: Any, outbox: Any,
) -> None:  # fmt: skip
    """The first half of a round, for a node of several: every push goes to the outbox, int64[arcs, 2], as well."""
    work = np.int64(0)
    while True:
        begin, end = take(control, np.uint64(active.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            work += _discharge(np.uint64(active[k]), n, offsets, heads, reverse, left, mark, raised, excess, added,
                               listed, found, board, False, outbox)  # fmt: skip
    fetch_add(board, np.uint64(WORK), work)
