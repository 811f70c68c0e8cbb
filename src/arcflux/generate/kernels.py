"""Kernels that write edges, or values of finished arcs: each value a function of the seed and of what it is for.

All that write edges fill ``source, target: uint32|uint64[edges]``, and share their `items` (edges, or vertices) out in
chunks. Counts and vertices are uint64 throughout: of a signed and an unsigned number, Numba would make a float. Each
purpose of random numbers is a stream of the seed, so that no two see the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, take
from arcflux.spmd.random import below, bits, key, permute, uniform

__all__ = [
    "CHUNK", "bipartite", "chain", "complete", "flat", "grid", "join", "rate", "recursive", "ring", "weigh",
]  # fmt: skip

CHUNK = 1 << 14
EDGES, LABELS, WEIGHTS, REWIRE, AIM, JOIN, LAND, TASTE, NOISE = range(9)

_CHUNK, _ONE, _TWO = np.uint64(CHUNK), np.uint64(1), np.uint64(2)


@inner
def bell(word: Any) -> Any:
    """A nearly normal number of mean 0 and deviation 1: the sum of the four quarters of 64 random bits."""
    quarter = np.uint64(0xFFFF)
    total = word & quarter
    for shift in (16, 32, 48):
        total += (word >> np.uint64(shift)) & quarter
    return (np.float64(total) - 131070.0) * (math.sqrt(3.0) / 65536.0)


# --- regular graphs -------------------------------------------------------------------------------------------------


@kernel
def chain(
    worker: Any, workers: Any, control: Any, items: Any, stride: Any, vertices: Any, source: Any, target: Any
) -> None:
    """Edge i goes from vertex i * stride to vertex i + 1, and the one past the last is vertex 0."""
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            source[i] = i * stride
            target[i] = i + _ONE if i + _ONE < vertices else np.uint64(0)


@kernel
def complete(worker: Any, workers: Any, control: Any, items: Any, source: Any, target: Any) -> None:
    """All pairs u < v, by v: edge ``v * (v - 1) / 2 + u``."""
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        v = np.uint64(0.5 + math.sqrt(2.0 * np.float64(begin)))  # the root is at most a rounding away
        while v * (v - _ONE) // _TWO > begin:
            v -= _ONE
        while v * (v + _ONE) // _TWO <= begin:
            v += _ONE
        u = begin - v * (v - _ONE) // _TWO
        for i in range(begin, end):
            source[i] = u
            target[i] = v
            u += _ONE
            if u == v:
                u, v = np.uint64(0), v + _ONE


@kernel
def grid(worker: Any, workers: Any, control: Any, items: Any, columns: Any, source: Any, target: Any) -> None:
    """Each vertex with the one to its right and the one below it: first all edges along rows, then all down columns."""
    across = items - items // columns
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for v in range(begin, end):
            row = v // columns
            if v - row * columns + _ONE < columns:
                source[v - row] = v
                target[v - row] = v + _ONE
            if v + columns < items:
                source[across + v] = v
                target[across + v] = v + columns


# --- random graphs --------------------------------------------------------------------------------------------------


@inner
def pick(table: Any, word: Any, levels: Any) -> Any:
    """An outcome of `levels` quadrant choices: see :func:`arcflux.generate.recursive.alias_table`."""
    column = word & ((_ONE << (levels + levels)) - _ONE)
    entry = table[column]
    return column if (word >> np.uint64(24)) < (entry >> np.uint64(16)) else entry & np.uint64(0xFFFF)


@kernel
def recursive(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, scale: Any, levels: Any, table: Any,
    rest_table: Any, shuffle: Any, source: Any, target: Any,
) -> None:  # fmt: skip
    """R-MAT edges among 2**scale vertices: `levels` quadrant choices by each random word, the rest by one more."""
    edges, labels = key(seed, EDGES), key(seed, LABELS)
    turns, rest = scale // levels, scale % levels
    mask, rest_mask = (_ONE << levels) - _ONE, (_ONE << rest) - _ONE
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            counter = i * (turns + _ONE)
            u, v = np.uint64(0), np.uint64(0)
            for _ in range(turns):
                chosen = pick(table, bits(edges, counter), levels)
                u, v = (u << levels) | (chosen >> levels), (v << levels) | (chosen & mask)
                counter += _ONE
            if rest:
                chosen = pick(rest_table, bits(edges, counter), rest)
                u, v = (u << rest) | (chosen >> rest), (v << rest) | (chosen & rest_mask)
            source[i] = permute(labels, u, scale) if shuffle else u
            target[i] = permute(labels, v, scale) if shuffle else v


@kernel
def flat(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, vertices: Any, source: Any, target: Any
) -> None:
    """Both ends of each edge anywhere."""
    edges = key(seed, EDGES)
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            source[i] = below(bits(edges, _TWO * i), vertices)
            target[i] = below(bits(edges, _TWO * i + _ONE), vertices)


@kernel
def ring(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, size: Any, reach: Any, p: Any, source: Any,
    target: Any,
) -> None:  # fmt: skip
    """Rings of `size` vertices: each with the `reach` after it, or with probability `p` with any other of the ring."""
    rewire, aim = key(seed, REWIRE), key(seed, AIM)
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            u = i // reach % size
            v = (u + i % reach + _ONE) % size
            if uniform(rewire, i) < p:
                v = below(bits(aim, i), size - _ONE)
                v += np.uint64(v >= u)
            source[i] = u
            target[i] = v


@kernel
def join(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, size: Any, worlds: Any, rewire: Any, source: Any,
    target: Any,
) -> None:  # fmt: skip
    """Move the edges of each world, all from 0 to `size`, to its vertices; some then end in another world."""
    moved, aim = key(seed, JOIN), key(seed, LAND)
    each = items // worlds
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            first = i // each * size
            source[i] = np.uint64(source[i]) + first
            v = np.uint64(target[i]) + first
            if uniform(moved, i) < rewire:
                v = below(bits(aim, i), (worlds - _ONE) * size)
                v += size if v >= first else np.uint64(0)
            target[i] = v


@kernel
def bipartite(
    worker: Any, workers: Any, control: Any, items: Any, seed: Any, users: Any, wares: Any, width: Any, source: Any,
    target: Any,
) -> None:  # fmt: skip
    """Users in turn, each with a ware whose popularity falls as the 2/3rd power of its rank; ranks are dealt at random.

    Ranks are permuted among 2**width numbers, again and again until the number is a ware: a permutation of the wares.
    """
    edges, labels = key(seed, EDGES), key(seed, LABELS)
    while True:
        begin, end = take(control, items, _CHUNK)
        if begin >= end:
            break
        for i in range(begin, end):
            chance = uniform(edges, i)
            ware = np.uint64(np.float64(wares) * (chance * chance * chance))
            ware = permute(labels, min(ware, wares - _ONE), width)
            while ware >= wares:
                ware = permute(labels, ware, width)
            source[i] = i % users
            target[i] = users + ware


# --- values of finished arcs ----------------------------------------------------------------------------------------


@kernel
def weigh(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, directed: Any, seed: Any,
    low: Any, span: Any, whole: Any, out: Any,
) -> None:  # fmt: skip
    """``out[arc]``: `low` plus a random part of `span`, by the ends of the arc; `whole` rounds it down.

    Parallel arcs are counted, so that the second of them has a weight of its own, the same in both rows.
    """
    stream = key(seed, WEIGHTS)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            again = np.uint64(0)
            for arc in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(neighbours[arc])
                parallel = arc > offsets[u] and neighbours[arc] == neighbours[arc - _ONE]
                again = again + _ONE if parallel else np.uint64(0)
                a, b = (u, v) if directed or u < v else (v, u)
                value = span * uniform(bits(stream, a) + again, b)
                out[arc] = low + (np.floor(value) if whole else value)


@kernel
def rate(
    worker: Any, workers: Any, control: Any, bounds: Any, offsets: Any, neighbours: Any, seed: Any, rank: Any,
    low: Any, high: Any, noise: Any, out: Any,
) -> None:  # fmt: skip
    """``out[arc]``: the middle of low and high, plus how well the hidden tastes of both ends agree, plus noise."""
    taste, chance = key(seed, TASTE), key(seed, NOISE)
    middle, spread = 0.5 * (low + high), 0.25 * (high - low) / math.sqrt(rank)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            for arc in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(neighbours[arc])
                agreement = 0.0
                for k in range(np.uint64(rank)):
                    agreement += bell(bits(taste, u * rank + k)) * bell(bits(taste, v * rank + k))
                extra = noise * bell(bits(bits(chance, min(u, v)), max(u, v)))
                out[arc] = min(high, max(low, middle + spread * agreement + extra))
