"""From a level to the next one, on cores: refinement of communities, contraction, and connected pieces.

Each worker's results here depend on one community only, or on sums of integers: so they are the same on any number of
workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.forest import compress, link
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take

__all__ = ["contract", "flatten", "join_within", "masses_of", "refine", "sort_by_label", "weight_within"]

_CHUNK = np.uint64(1024)


@kernel
def masses_of(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, strength: Any, loops: Any
) -> None:  # fmt: skip
    """strength, loops [v]: the weight at v, a loop counting twice, and that of its loops alone, twice."""
    while True:
        begin, end = take(control, np.uint64(strength.size), _CHUNK)
        if begin == end:
            break
        for v in range(begin, end):
            there, looped = np.int64(0), np.int64(0)
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                weight = np.int64(1) if weights is None else weights[i]
                there += weight
                if np.uint64(neighbours[i]) == v:
                    looped += weight
            strength[v], loops[v] = there + looped, 2 * looped


@kernel
def weight_within(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, labels: Any, within: Any
) -> None:  # fmt: skip
    """within[0]: the weight of all arcs between two vertices of the same label, loops left out; 0 before."""
    found = np.int64(0)
    while True:
        begin, end = take(control, np.uint64(labels.size), _CHUNK)
        if begin == end:
            break
        for v in range(begin, end):
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                u = np.uint64(neighbours[i])
                if labels[u] == labels[v] and u != v:
                    found += np.int64(1) if weights is None else weights[i]
    fetch_add(within, np.uint64(0), found)


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
def _best_piece(
    v: Any, offsets: Any, neighbours: Any, weights: Any, mass: Any, rate: Any, part: Any, rest: Any, piece: Any,
    total: Any, table: Any, keys: Any,
) -> Any:  # fmt: skip
    """The piece of v's part that v gains most by joining, of several the smallest; v itself if none is worth it.

    Only where v is well connected to the other vertices of the part, whose mass is `rest`.
    """
    found, inside, own = np.uint64(0), np.int64(0), part[v]
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        if part[u] != own or u == v:
            continue
        weight = np.int64(1) if weights is None else weights[i]
        if weight > 0:
            name = np.uint64(piece[u])
            before = table[name]
            keys[found] = name
            found += np.uint64(before == 0)
            table[name] = before + weight
            inside += weight
    priced = rate * mass[v]
    best, most, well = v, 0.0, inside >= priced * rest
    for k in range(found):
        name = np.uint64(keys[k])
        value = table[name] - priced * total[name]
        table[name] = 0
        if well and (value > most or (value == most and best != v and name < best)):
            best, most = name, value
    return best


@kernel
def refine(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, weights: Any,
    mass: Any, rate: Any, part: Any, order: Any, bounds: Any, piece: Any, total: Any, tables: Any, keys: Any,
) -> None:  # fmt: skip
    """The parts from `first` to before `last` are divided into connected pieces: piece[v], total[piece] is the mass.

    The vertices of a part are processed one after the other; one that is alone may join a piece, and stays.
    """
    while True:
        begin, end = take(control, last - first, np.uint64(4))
        if begin == end:
            break
        for k in range(first + begin, first + end):
            whole = np.int64(0)
            for at in range(bounds[k], bounds[k + np.uint64(1)]):
                v = np.uint64(order[at])
                piece[v], total[v] = v, mass[v]
                whole += mass[v]
            for at in range(bounds[k], bounds[k + np.uint64(1)]):
                v = np.uint64(order[at])
                if total[v] != mass[v]:  # another vertex has joined it
                    continue
                best = _best_piece(
                    v, offsets, neighbours, weights, mass, rate, part, whole - mass[v], piece, total, tables[worker],
                    keys[worker],
                )  # fmt: skip
                if best != v:
                    piece[v] = best
                    total[best] += mass[v]


@inner
def _cut(ends: Any, first: Any, last: Any, share: Any) -> Any:
    """The first of the labels from `first` to before `last` whose arcs begin at or behind `share`."""
    while first < last:
        middle = (first + last) // np.uint64(2)
        if ends[middle] < share:
            first = middle + np.uint64(1)
        else:
            last = middle
    return first


@kernel
def contract(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, weights: Any,
    mass: Any, loops: Any, labels: Any, order: Any, bounds: Any, begins: Any, tables: Any, keys: Any, lengths: Any,
    ends: Any, sums: Any, masses: Any, insides: Any, starts: Any,
) -> None:  # fmt: skip
    """The labels from `first` to before `last` as vertices; each worker processes those of its share of the arcs.

    begins[k]: how many arcs the labels before k have. A worker writes its rows one behind the other from
    begins[its first label] - begins[first] on: starts[worker] is that, and starts[workers + worker] where they end.
    lengths, masses, insides [k - first]: of the row, of its vertices, and twice the weight of the edges within it.
    """
    table, used, one = tables[worker], keys[worker], np.uint64(1)
    arcs = begins[last] - begins[first]
    low = _cut(begins, first, last, begins[first] + arcs * np.uint64(worker) // np.uint64(workers))
    high = last
    if worker + 1 < workers:
        high = _cut(begins, first, last, begins[first] + arcs * np.uint64(worker + 1) // np.uint64(workers))
    into = begins[low] - begins[first]
    starts[worker] = into
    for k in range(low, high):
        found, inside, heavy = np.uint64(0), np.int64(0), np.int64(0)
        for at in range(bounds[k], bounds[k + one]):
            v = np.uint64(order[at])
            heavy += mass[v]
            inside += loops[v]
            for i in range(offsets[v], offsets[v + one]):
                u = np.uint64(neighbours[i])
                weight = np.int64(1) if weights is None else weights[i]
                if u == v or weight == 0:
                    continue
                name = np.uint64(labels[u])
                before = table[name]
                used[found] = name
                found += np.uint64(before == 0)
                table[name] = before + weight
        begin = into
        for j in range(found):
            name = np.uint64(used[j])
            weight = table[name]
            table[name] = 0
            if name == k:
                inside += weight
                continue
            ends[into], sums[into] = name, weight
            into += one
        lengths[k - first], masses[k - first], insides[k - first] = into - begin, heavy, inside
    starts[workers + worker] = into


@kernel
def join_within(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, part: Any, above: Any
) -> None:  # fmt: skip
    """Link vertices of the same part that are neighbours; above[v] = v before."""
    while True:
        begin, end = take(control, np.uint64(part.size), _CHUNK)
        if begin == end:
            break
        for v in range(begin, end):
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                u = np.uint64(neighbours[i])
                if u < v and part[u] == part[v]:
                    link(above, u, v)


@kernel
def flatten(worker: Any, workers: Any, control: Any, above: Any) -> None:
    """Point vertices directly to their roots, the smallest of their piece."""
    while True:
        begin, end = take(control, np.uint64(above.size), _CHUNK)
        if begin == end:
            break
        compress(above, begin, end)
