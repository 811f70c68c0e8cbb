"""Push-relabel in rounds, on cores.

N. Baumstark, G. Blelloch, J. Shun, "Efficient implementation of a synchronous parallel push-relabel algorithm", 2015.
In a round every active vertex (one with excess) discharges, by the labels from before the round. Where both ends of an
arc are active the higher one may use it, of equal ones that with the smaller number; the other does not read its
residual capacity, and rises at most to one above. So no two vertices write the same arc, labels stay valid, sums are of
integers, and the flow does not depend on the number or the order of workers.

``mark[v]`` is twice the label of v, plus 1 while it is active: one read gives both. A label of n means that the sink is
out of reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import compare_and_swap, fetch_add, take

__all__ = ["BOARD", "FOUND", "SENT", "WORK", "discharge"]

# Cells of the board, each on its own cache line.
FOUND, WORK, SENT = (8 * k for k in range(3))
BOARD = 24
# Vertices that a worker claims at a time.
_CHUNK = 32
# The fixed cost of a relabel besides the arcs that it reads.
_RELABEL = 12


@inner
def _push(
    a: Any, amount: Any, heads: Any, reverse: Any, left: Any, mark: Any, added: Any, listed: Any, found: Any,
    board: Any, outbox: Any,
) -> None:  # fmt: skip
    """Push an amount along arc a; its end is enqueued once. The outbox gets the reverse arc, and the amount."""
    w = heads[a]
    at = fetch_add(board, np.uint64(SENT), 1)
    outbox[at, 0], outbox[at, 1] = reverse[a], amount
    left[a] -= amount
    left[reverse[a]] += amount
    fetch_add(added, np.uint64(w), amount)
    if mark[w] & 1 == 0 and listed[w] == 0 and compare_and_swap(listed, np.uint64(w), 0, 1) == 0:
        found[fetch_add(board, np.uint64(FOUND), 1)] = w


@inner
def _discharge(
    v: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any, mark: Any, raised: Any, excess: Any, added: Any,
    listed: Any, found: Any, board: Any, outbox: Any,
) -> Any:  # fmt: skip
    """Discharge v: push its excess, and raise it, as far as a round allows; returns the work."""
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
                    _push(a, amount, heads, reverse, left, mark, added, listed, found, board, outbox)
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
    fetch_add(added, v, rest - excess[v])
    return work


@kernel
def discharge(
    worker: Any, workers: Any, control: Any, board: Any, n: Any, offsets: Any, heads: Any, reverse: Any, left: Any,
    mark: Any, raised: Any, excess: Any, added: Any, listed: Any, found: Any, active: Any, outbox: Any,
) -> None:  # fmt: skip
    """The first half of a round: every push also goes to the outbox, int64[arcs, 2]."""
    work = np.int64(0)
    while True:
        begin, end = take(control, np.uint64(active.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            work += _discharge(np.uint64(active[k]), n, offsets, heads, reverse, left, mark, raised, excess, added,
                               listed, found, board, outbox)  # fmt: skip
    fetch_add(board, np.uint64(WORK), work)
