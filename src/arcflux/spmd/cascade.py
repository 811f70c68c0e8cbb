"""Worklists in rounds within one launch, where items add items: peeling, trimming, greedy orders, reachability.

A worker that pops an item may push others. It pushes them on its own stack and continues with these, so that long
chains cost no barrier ("vertical granularity control", Wang and others, "Parallel strong connectivity based on faster
reachability", SIGMOD 2023). Items that do not fit, or that an idle worker could process, go into the list of the next
round, from which all workers claim chunks after a barrier.

Round r claims from list r % 2 and fills the other one. Its counters are in slot r % 3 of the board; the slot of the
round before is cleared meanwhile, so that a round needs only one barrier.

    board  int64[BOARD]            zero at first
    lists  integer[2 * most items of a round]
    stacks integer[workers * STACK]
"""

from __future__ import annotations

from typing import Any

from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner
from arcflux.spmd.machine import fetch_add
from arcflux.spmd.pool import STOP

__all__ = ["BOARD", "STACK", "chunk", "flush", "items", "meet", "push", "shares"]

# Items of a worker's stack, items that are claimed at a time, and how many are worth a barrier if a worker is idle.
STACK = 1 << 12
_CHUNK = 32
_WORTH_SHARING = 256
# Words of a slot, a cache line each: items of the list, claimed items, idle workers, end.
_SIZE, _CLAIMED, _IDLE, _END, _SLOT = 0, 8, 16, 24, 32
BOARD = 3 * _SLOT


@inner
def items(board: Any, turn: Any) -> Any:
    """The number of items in the list of a round."""
    return board[(turn % 3) * _SLOT + _SIZE]


@inner
def chunk(board: Any, turn: Any, limit: Any) -> Any:
    """The next items of this round's list: begin and end, equal if none are left; the worker then counts as idle."""
    slot = (turn % 3) * _SLOT
    begin = fetch_add(board, slot + _CLAIMED, _CHUNK)
    if begin >= limit:
        fetch_add(board, slot + _IDLE, 1)
        return limit, limit
    return begin, min(begin + _CHUNK, limit)


@inner
def flush(board: Any, lists: Any, stacks: Any, worker: Any, turn: Any, top: Any) -> Any:
    """Move a worker's stack into the list of the next round; returns its new height."""
    begin = fetch_add(board, ((turn + 1) % 3) * _SLOT + _SIZE, top)
    there = ((turn + 1) % 2) * (lists.size // 2) + begin
    for k in range(top):
        lists[there + k] = stacks[worker * STACK + k]
    return 0


@inner
def push(board: Any, lists: Any, stacks: Any, worker: Any, turn: Any, top: Any, item: Any) -> Any:
    """Push an item on a worker's stack, after moving a full stack into the list; returns the new height."""
    if top == STACK:
        top = flush(board, lists, stacks, worker, turn, top)
    stacks[worker * STACK + top] = item
    return top + 1


@inner
def shares(board: Any, turn: Any, top: Any) -> Any:
    """Whether a stack is worth sharing with an idle worker."""
    return top > _WORTH_SHARING and board[(turn % 3) * _SLOT + _IDLE] != 0


@inner
def meet(board: Any, barrier: Any, control: Any, worker: Any, workers: Any, turn: Any) -> Any:
    """End a round; False if the launch was stopped, or a process was lost: leave the kernel."""
    slot = (turn % 3) * _SLOT
    if worker == 0:
        before = ((turn + 2) % 3) * _SLOT
        board[before + _SIZE] = 0
        board[before + _CLAIMED] = 0
        board[before + _IDLE] = 0
        board[slot + _END] = control[STOP]
    return all_here(barrier, worker, workers) and board[slot + _END] == 0
