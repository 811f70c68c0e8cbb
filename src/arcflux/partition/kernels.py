"""The loops of partitioning. Most go over the arcs of some vertices and ask :func:`part_of_arc` at which part each is.

Arguments, as everywhere in this file: ``arcs`` an :class:`~arcflux.graph.core.Adjacency`, ``rows`` the vertices to look
at, and ``rule`` the :class:`~arcflux.partition.rule.Tables` of a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take, trailing_zeros
from arcflux.spmd.random import bits

__all__ = [
    "CHUNK",
    "LIST",
    "MODES",
    "copy_arcs",
    "count_arcs",
    "count_bits",
    "list_bits",
    "mark",
    "mark_sources",
    "mark_targets",
    "masks",
    "parts_of_arcs",
    "scatter",
    "survey",
    "tally",
]

MODES = ("target", "source", "grid", "degree")
_TARGET, _SOURCE, _GRID, _DEGREE = range(4)
CHUNK = 256
LIST = 4096


@inner
def part_of_arc(rule: Any, u: Any, v: Any) -> Any:
    """The part at which the arc from u to v is, by the tables of a rule."""
    mode, first, second, out, limit = rule.mode, rule.first, rule.second, rule.out, rule.limit
    if mode == _TARGET:
        return np.int64(second[v])
    if mode == _SOURCE:
        return np.int64(first[u])
    if mode == _GRID:
        return np.int64(rule.fold[np.int64(first[u]) + np.int64(second[v])])
    one = np.uint64(1)
    leaving = out[u + one] - out[u]
    if leaving <= limit:
        return np.int64(first[u])
    beyond = out[v + one] - out[v]
    if beyond > limit and (leaving < beyond or (leaving == beyond and u < v)):
        return np.int64(first[u])
    return np.int64(second[v])


@inner
def is_wanted(wanted: Any, rule: Any, u: Any, v: Any) -> Any:
    """Whether the arc from u to v is at a part with ``wanted[part]``; degrees are looked up only if it can be."""
    if rule.mode == _DEGREE and not (wanted[rule.first[u]] or wanted[rule.second[v]]):
        return False
    return wanted[part_of_arc(rule, u, v)]


@inner
def take_arcs(arcs: Any, v: Any, wanted: Any, rule: Any, at: Any, sources: Any, origin: Any) -> Any:
    """Go through the in-arcs of v that are at a part with ``wanted[part]``; the place after the last, from `at` on.

    Their sources are written from `at` on, and where each of them was, unless these are None.
    """
    for i in range(arcs.offsets[v], arcs.offsets[v + np.uint64(1)]):
        u = arcs.neighbours[i]
        if is_wanted(wanted, rule, np.uint64(u), v):
            if sources is not None:
                sources[at] = u
            if origin is not None:
                origin[at] = i
            at += np.uint64(1)
    return at


@inner
def scatter_bits(mask: Any, places: Any, lists: Any, vertex: Any) -> None:
    """For every bit of a mask, write the vertex at its place in `lists`, unless that is None, and move the place on."""
    while mask != 0:
        bit = trailing_zeros(mask)
        if lists is not None:
            lists[places[bit]] = vertex
        places[bit] += np.uint64(1)
        mask &= mask - np.uint64(1)


@kernel
def count_arcs(
    worker: Any, workers: Any, control: Any, arcs: Any, rows: Any, wanted: Any, rule: Any, counts: Any
) -> None:
    """``counts[r]``: how many in-arcs of the vertex ``rows[r]`` are at a part with ``wanted[part]``."""
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            counts[r] = take_arcs(arcs, np.uint64(rows[r]), wanted, rule, np.uint64(0), None, None)


@kernel
def copy_arcs(
    worker: Any, workers: Any, control: Any, arcs: Any, rows: Any, wanted: Any, rule: Any, starts: Any,
    sources: Any, origin: Any,
) -> None:  # fmt: skip
    """Write the sources of the arcs that :func:`count_arcs` counted, and with `origin` where each of them was."""
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            take_arcs(arcs, np.uint64(rows[r]), wanted, rule, starts[r], sources, origin)


@kernel
def mark(worker: Any, workers: Any, control: Any, vertices: Any, seen: Any) -> None:
    """Set ``seen[v]`` for all these vertices; looking first, as in :func:`mark_sources`."""
    while True:
        begin, end = take(control, np.uint64(vertices.size), np.uint64(LIST))
        if begin == end:
            break
        for k in range(begin, end):
            v = np.uint64(vertices[k])
            if not seen[v]:
                seen[v] = True


@kernel
def mark_sources(
    worker: Any, workers: Any, control: Any, arcs: Any, rows: Any, wanted: Any, rule: Any, seen: Any
) -> None:
    """Set ``seen[u]`` for the source u of every in-arc of `rows` that is at a part with ``wanted[part]``.

    Where all in-arcs of a vertex are at one part, that is asked once. Workers may set the same byte at once: they write
    the same. Looking first leaves the line with the other cores.
    """
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(rows[r])
            whole = rule.mode == _TARGET
            if whole and not wanted[rule.second[v]]:
                continue
            for i in range(arcs.offsets[v], arcs.offsets[v + np.uint64(1)]):
                u = np.uint64(arcs.neighbours[i])
                if not seen[u] and (whole or is_wanted(wanted, rule, u, v)):
                    seen[u] = True


@kernel
def mark_targets(
    worker: Any, workers: Any, control: Any, arcs: Any, rows: Any, wanted: Any, rule: Any, seen: Any
) -> None:
    """Set ``seen[v]`` for every vertex of `rows` that has an in-arc at a part with ``wanted[part]``."""
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(rows[r])
            for i in range(arcs.offsets[v], arcs.offsets[v + np.uint64(1)]):
                if is_wanted(wanted, rule, np.uint64(arcs.neighbours[i]), v):
                    seen[v] = True
                    break


@kernel
def masks(
    worker: Any, workers: Any, control: Any, arcs: Any, rows: Any, leaving: Any, bits: Any, full: Any, rule: Any,
    found: Any,
) -> None:  # fmt: skip
    """``found[r]`` is or-ed with ``bits[part]`` of every arc of ``rows[r]``: out-arcs when `leaving`, else in-arcs.

    A vertex is done as soon as its mask is `full`, which hubs are after a few of their arcs.
    """
    while True:
        begin, end = take(control, np.uint64(rows.size), np.uint64(CHUNK))
        if begin == end:
            break
        for r in range(begin, end):
            v = np.uint64(rows[r])
            mask = found[r]
            for i in range(arcs.offsets[v], arcs.offsets[v + np.uint64(1)]):
                if mask == full:
                    break
                w = np.uint64(arcs.neighbours[i])
                if leaving:
                    mask |= bits[part_of_arc(rule, v, w)]
                else:
                    mask |= bits[part_of_arc(rule, w, v)]
            found[r] = mask


@kernel
def count_bits(worker: Any, workers: Any, control: Any, found: Any, counts: Any) -> None:
    """``counts[chunk, bit]``: in how many masks of a chunk of ``LIST`` each bit is set; counts are zero before."""
    while True:
        begin, end = take(control, np.uint64(found.size), np.uint64(LIST))
        if begin == end:
            break
        row = counts[begin // np.uint64(LIST)]
        for r in range(begin, end):
            scatter_bits(found[r], row, None, np.uint64(0))


@kernel
def list_bits(worker: Any, workers: Any, control: Any, found: Any, rows: Any, places: Any, lists: Any) -> None:
    """Write ``rows[r]`` to the list of every bit of ``found[r]``; ``places[chunk, bit]`` is where a chunk begins."""
    while True:
        begin, end = take(control, np.uint64(found.size), np.uint64(LIST))
        if begin == end:
            break
        row = places[begin // np.uint64(LIST)]
        for r in range(begin, end):
            scatter_bits(found[r], row, lists, rows[r])


@kernel
def parts_of_arcs(worker: Any, workers: Any, control: Any, sources: Any, targets: Any, rule: Any, found: Any) -> None:
    """``found[i]``: the part at which the arc from ``sources[i]`` to ``targets[i]`` is."""
    while True:
        begin, end = take(control, np.uint64(found.size), np.uint64(LIST))
        if begin == end:
            break
        for i in range(begin, end):
            found[i] = part_of_arc(rule, np.uint64(sources[i]), np.uint64(targets[i]))


@kernel
def survey(worker: Any, workers: Any, control: Any, arcs: Any, owner: Any, rule: Any, counts: Any, cut: Any) -> None:
    """Count arcs in ``counts[worker, part]`` and, in ``cut[worker]``, the arcs whose ends have different owners."""
    row, crossing = counts[worker], 0
    while True:
        begin, end = take(control, np.uint64(owner.size), np.uint64(CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            for i in range(arcs.offsets[v], arcs.offsets[v + np.uint64(1)]):
                u = np.uint64(arcs.neighbours[i])
                row[part_of_arc(rule, u, v)] += 1
                crossing += owner[u] != owner[v]
    cut[worker] = crossing


@kernel
def tally(
    worker: Any, workers: Any, control: Any, sources: Any, targets: Any, owner: Any, base: Any, counts: Any
) -> None:
    """Over the masks of 64 parts from `base` on: ``counts[worker, what, part]`` of vertices, by what they are there.

    0: sources; 1: targets; 2: sources that another part owns; 3: held, as source, target or owned.
    """
    while True:
        begin, end = take(control, np.uint64(owner.size), np.uint64(LIST))
        if begin == end:
            break
        row = counts[worker]
        for v in range(begin, end):
            own = np.uint64(owner[v]) - base
            mine = np.uint64(1) << own if own < np.uint64(64) else np.uint64(0)
            rest = sources[v] | targets[v] | mine
            while rest != 0:
                bit = trailing_zeros(rest)
                one = np.uint64(1) << bit
                row[0, bit] += (sources[v] & one) != 0
                row[1, bit] += (targets[v] & one) != 0
                row[2, bit] += (sources[v] & one & ~mine) != 0
                row[3, bit] += 1
                rest &= rest - np.uint64(1)


@kernel
def scatter(worker: Any, workers: Any, control: Any, key: Any, k: Any, owner: Any) -> None:
    """A random owner below k for each vertex: 32 random bits as a fraction of k."""
    while True:
        begin, end = take(control, np.uint64(owner.size), np.uint64(1 << 14))
        if begin == end:
            break
        for v in range(begin, end):
            owner[v] = ((bits(key, v) >> np.uint64(32)) * k) >> np.uint64(32)
