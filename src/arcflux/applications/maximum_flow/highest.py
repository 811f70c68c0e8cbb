"""Push-relabel on one core, highest label first.

A. Goldberg, R. Tarjan, "A new approach to the maximum-flow problem", 1988; B. Cherkassky, A. Goldberg, "On implementing
the push-relabel method for the maximum flow problem", 1997. Of the active vertices (those with excess) one of the
highest label discharges, from its current arc on. Labels are recomputed by a search from the sink after enough work; if
no vertex has some label any more, none above it can reach the sink (the gap).

A label of n means that the sink is out of reach. ``first[0, l]`` and ``first[1, l]`` are a stack of the active vertices
of label l, and a doubly linked list of the others; ``link[0, v]`` is the vertex behind v there, ``link[1, v]`` that
before it, and n stands for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.pool import STOP

__all__ = ["push_relabel"]

# The fixed cost of a relabel besides the arcs that it reads.
_RELABEL = 12
_ACTIVE, _IDLE = 0, 1


@inner
def _activate(v: Any, label: Any, first: Any, link: Any) -> None:
    link[0, v] = first[_ACTIVE, label]
    first[_ACTIVE, label] = v


@inner
def _idle(v: Any, label: Any, n: Any, first: Any, link: Any) -> None:
    behind = first[_IDLE, label]
    link[0, v], link[1, v] = behind, n
    if behind != n:
        link[1, behind] = v
    first[_IDLE, label] = v


@inner
def _wake(v: Any, label: Any, n: Any, first: Any, link: Any) -> None:
    """An idle vertex becomes active."""
    behind, before = link[0, v], link[1, v]
    if before == n:
        first[_IDLE, label] = behind
    else:
        link[0, before] = behind
    if behind != n:
        link[1, behind] = before
    _activate(v, label, first, link)


@inner
def _labels_anew(
    n: Any, offsets: Any, heads: Any, reverse: Any, left: Any, excess: Any, ends: Any, label: Any, current: Any,
    first: Any, link: Any, queue: Any,
) -> Any:  # fmt: skip
    """Recompute all labels: the distance to the sink, ends[1]; ends[0] gets none.

    Returns the highest label of active vertices, and of all.
    """
    one = np.uint64(1)
    for k in range(n):
        label[k] = n
        first[_ACTIVE, k] = first[_IDLE, k] = n
    sink, without = np.uint64(ends[1]), np.uint64(ends[0])
    label[sink] = 0
    queue[0] = sink
    head, tail, top = 0, 1, 0
    while head < tail:
        v = np.uint64(queue[head])
        head += 1
        above = label[v] + 1
        for a in range(offsets[v], offsets[v + one]):
            u = np.uint64(heads[a])
            if label[u] == n and left[reverse[a]] > 0 and u != without:
                label[u] = above
                current[u] = offsets[u]
                queue[tail] = u
                tail += 1
                if excess[u] > 0:
                    _activate(u, above, first, link)
                    top = above
                else:
                    _idle(u, above, n, first, link)
    return top, label[queue[tail - 1]]


@inner
def _raise_label(v: Any, n: Any, offsets: Any, heads: Any, left: Any, label: Any, current: Any) -> Any:
    """The new label of v: one above the lowest that it can push to."""
    least = n
    for a in range(offsets[v], offsets[v + np.uint64(1)]):
        if left[a] > 0 and label[heads[a]] + 1 < least:
            least = label[heads[a]] + 1
            current[v] = a
    label[v] = least
    return least


@inner
def _close_gap(above: Any, highest: Any, n: Any, label: Any, first: Any, link: Any) -> None:
    """No vertex with a label from `above` on can reach the sink any more; none of them is active."""
    for empty in range(above, highest + 1):
        v = first[_IDLE, empty]
        while v != n:
            label[v] = n
            v = link[0, v]
        first[_IDLE, empty] = n


@inner
def _push_from(
    v: Any, n: Any, rest: Any, offsets: Any, heads: Any, reverse: Any, left: Any, label: Any, excess: Any, arrived: Any,
    sink: Any, current: Any, first: Any, link: Any,
) -> Any:  # fmt: skip
    """Push along admissible arcs of v from its current one on; returns the remaining excess."""
    below = label[v] - 1
    for a in range(current[v], offsets[v + np.uint64(1)]):
        if left[a] <= 0:
            continue
        w = np.uint64(heads[a])
        if label[w] != below:
            continue
        amount = min(rest, left[a])
        left[a] -= amount
        left[reverse[a]] += amount
        if w == sink:
            arrived[w] += amount
        else:
            if excess[w] == 0:
                _wake(w, below, n, first, link)
            excess[w] += amount
        rest -= amount
        if rest == 0:
            current[v] = a
            return rest
    return rest


@kernel
def push_relabel(
    worker: Any, workers: Any, control: Any, enough: Any, offsets: Any, heads: Any, reverse: Any, left: Any,
    excess: Any, arrived: Any, ends: Any, label: Any, current: Any, first: Any, link: Any, queue: Any, count: Any,
) -> None:  # fmt: skip
    """Push all excess that can reach the sink, ends[1]; ends[0] is left out. Labels are exact at the end.

    left: int64[arcs] is what is left of each arc; reverse: its arc back; excess, arrived: int64[n], what reached the
    sink is arrived[sink]. label: int[n]; current: uint64[n], first, link: int[2, n] and queue: uint[n] are scratch.
    Labels are set anew after more than `enough` work. count[0]: how often vertices discharged.
    """
    if worker != 0:
        return
    n, sink = label.dtype.type(label.size), np.uint64(ends[1])
    net = offsets, heads, reverse, left
    lists = current, first, link, queue
    top, highest = _labels_anew(n, *net, excess, ends, label, *lists)
    work = np.int64(0)
    while top > 0:
        if first[_ACTIVE, top] == n:
            top -= 1
            continue
        v = np.uint64(first[_ACTIVE, top])
        first[_ACTIVE, top] = link[0, v]
        count[0] += 1
        rest = excess[v]
        while True:
            rest = _push_from(
                v, n, rest, offsets, heads, reverse, left, label, excess, arrived, sink, current, first, link
            )
            if rest == 0:
                _idle(v, label[v], n, first, link)
                break
            old = label[v]
            if first[_ACTIVE, old] == n and first[_IDLE, old] == n:
                label[v] = n
                _close_gap(old + 1, highest, n, label, first, link)
                highest = old - 1
                break
            work += np.int64(offsets[v + np.uint64(1)] - offsets[v]) + _RELABEL
            if _raise_label(v, n, offsets, heads, left, label, current) == n:
                break
            top = max(top, label[v])  # what it wakes before it ends, maybe without a label, has to be discharged
        excess[v] = rest
        if label[v] < n:
            highest = max(highest, label[v])
        if control[STOP] != 0:
            return
        if work > enough:
            top, highest = _labels_anew(n, *net, excess, ends, label, *lists)
            work = np.int64(0)
    _labels_anew(n, *net, excess, ends, label, *lists)
