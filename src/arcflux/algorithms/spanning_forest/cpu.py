"""Boruvka's rounds on a team of cores, light edges first.

Edges are ordered by weight, then by position in the graph. The forest of the edges up to some edge in that order is
part of the whole one, and an edge that comes later and has both of its ends in one tree of it is not (Osipov, Sanders,
Singler, "The filter-Kruskal minimum spanning tree algorithm", ALENEX 2009). So a batch of light edges, about twice as
many as vertices, is processed first, and few of the others remain.

A key is 32 bits of the weight, without the bits that a whole batch has in common, and the position of the edge in the
batch; if that is not enough, weights are ranked. In a round every tree takes the edge of least key that leads out of
it, and links itself to the tree there; of two that took the same edge, the larger one does. Each worker processes the
edges that it has selected itself, in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.errors import SpaceError
from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, compare_and_swap, fetch_add
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import STOP

__all__ = ["forest"]

Array = NDArray[Any]
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_LINE = 8
# The types of weights: no column, a sign bit, bits of floats, descending.
_ALIKE, _SIGNED, _FLOAT, _TURNED = 8, 1, 2, 4
# Edges of the first batch, in multiples of the vertices, and the size of the sample that selects them.
_LIGHT = 2
_SAMPLE = 1 << 12


@inner
def _key(weight: Any, kind: Any) -> Any:
    """A word in the order of the weights, as :func:`_keys` computes it for many."""
    key = np.uint64(np.int64(weight))
    if kind & _FLOAT:
        key ^= np.uint64((np.int64(weight) >> 63) & 0x7FFFFFFFFFFFFFFF)
    if kind & _SIGNED:
        key ^= np.uint64(1 << 63)
    return ~key if kind & _TURNED else key


@kernel
def select(
    worker: Any, workers: Any, control: Any, rows: Any, offsets: Any, neighbours: Any, weights: Any, kind: Any,
    above: Any, first_weight: Any, first_place: Any, last_weight: Any, last_place: Any, sources: Any, targets: Any,
    keys: Any, places: Any, some_key: Any, tally: Any,
) -> None:  # fmt: skip
    """The edges of the k-th rows, rows[k] .. rows[k + 1], from the first to before the last one, that join two trees.

    They are written where these rows' arcs begin. ``tally[k]``: their number, the least and the largest of their keys,
    and the bits in which keys differ from `some_key`.
    """
    one = np.uint64(1)
    while True:
        k = claim(control)
        if k >= tally.shape[0]:
            return
        least, most, varying = _NONE, np.uint64(0), np.uint64(0)
        begin, end = np.uint64(rows[k]), np.uint64(rows[k + 1])
        out = offsets[begin]
        for u in range(begin, end):
            own = above[u]
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if v <= u or above[v] == own:
                    continue
                key = np.uint64(0) if kind == _ALIKE else _key(weights[i], kind)
                early = key < first_weight or (key == first_weight and i < first_place)
                if early or key > last_weight or (key == last_weight and i >= last_place):
                    continue
                sources[out] = u
                targets[out] = v
                keys[out] = key
                places[out] = i
                out += one
                least, most, varying = min(least, key), max(most, key), varying | (key - some_key)
        tally[k, 0], tally[k, 1], tally[k, 2], tally[k, 3] = out - offsets[begin], least, most, varying


@inner
def _root(above: Any, v: Any) -> Any:
    """The root of v."""
    while above[v] != v:
        v = above[v]
    return v


@inner
def _offer(best: Any, tree: Any, key: Any, alone: Any) -> None:
    """Offer a tree a key; it keeps the smaller one."""
    known = best[tree]
    if alone:
        best[tree] = min(known, key)
        return
    while key < known:
        found = compare_and_swap(best, tree, known, key)
        if found == known:
            break
        known = found


@kernel
def grow(
    worker: Any, workers: Any, control: Any, barrier: Any, begins: Any, sizes: Any, low: Any, shift: Any, sources: Any,
    targets: Any, keys: Any, above: Any, best: Any, chosen: Any, board: Any,
) -> None:  # fmt: skip
    """``chosen[:board[0]]``: the keys of the forest's edges; above: every vertex under its root, also afterwards.

    begins, sizes: int64[pieces], the pieces of edges, at least one for each worker; keys: of weights, which become
    those of edges, ``(key - low) >> shift`` and the position. best: uint64[n], _NONE at first; board: int64[_LINE * (4
    + 2 * workers)], zero at first.
    """
    n = above.size
    for piece in range(worker, begins.size, workers):
        for k in range(begins[piece], begins[piece] + sizes[piece]):
            keys[k] = ((keys[k] - low) >> shift) << np.uint64(32) | np.uint64(k)
    turn = 0
    while True:
        own = np.int64(0)
        for piece in range(worker, begins.size, workers):
            kept = begins[piece]
            for k in range(kept, kept + sizes[piece]):  # edges between trees stay, renamed to these
                one, other = above[sources[k]], above[targets[k]]
                if one == other:
                    continue
                key = keys[k]
                sources[kept], targets[kept], keys[kept] = one, other, key
                kept += 1
                _offer(best, one, key, workers == 1)
                _offer(best, other, key, workers == 1)
            sizes[piece] = kept - begins[piece]
            own += sizes[piece]
        side = 2 + (turn % 2) * (workers + 1)
        board[(side + worker) * _LINE] = own
        if worker == 0:
            board[(side + workers) * _LINE] = control[STOP]
        if not all_here(barrier, worker, workers):
            return
        left = np.int64(0)
        for some in range(workers):
            left += board[(side + some) * _LINE]
        if left == 0 or board[(side + workers) * _LINE] != 0:
            return
        for piece in range(worker, begins.size, workers):
            for k in range(begins[piece], begins[piece] + sizes[piece]):
                one, other, key = sources[k], targets[k], keys[k]
                up, down = best[one] == key, best[other] == key
                if up or down:
                    chosen[fetch_add(board, 0, 1)] = key
                if up and not (down and one < other):
                    above[one] = other
                if down and not (up and other < one):
                    above[other] = one
        if not all_here(barrier, worker, workers):
            return
        for v in range(n * worker // workers, n * (worker + 1) // workers):
            above[v] = _root(above, above[v])
            best[v] = _NONE
        if not all_here(barrier, worker, workers):
            return
        turn += 1


class Growing:
    """A forest that grows batch by batch on the cores of a worker."""

    def __init__(self, worker: Worker, weights: Array, kind: int) -> None:
        self.graph, self.cores, self.weights, self.kind = worker.graph, worker.cores, weights, kind
        n, arcs, number = self.graph.vertices, self.graph.arcs, self.graph.out.neighbours.dtype
        self.above, self.best = self.cores.kept(n, number, zero=False), self.cores.host(n, np.uint64)
        self.cores.publish(np.arange(n, dtype=number), self.above)
        self.cores.publish(_NONE, self.best)
        self.ends = self.cores.host(arcs, number), self.cores.host(arcs, number)
        self.keys, self.places = self.cores.host(arcs, np.uint64), self.cores.host(arcs, np.uint64)

    def take(self, begin: tuple[int, int], end: tuple[int, int], rows: tuple[int, int]) -> Array:
        """Process the edges of some rows whose (weight, position) is from `begin` to before `end`; returns the
        positions of those that are in the forest, in order.
        """
        cores, offsets = self.cores, self.graph.out.offsets
        arcs = np.linspace(int(offsets[rows[0]]), int(offsets[rows[1]]), cores.workers + 1).astype(np.uint64)
        cuts = np.clip(np.searchsorted(offsets, arcs), *rows)
        cuts[0], cuts[-1] = rows
        tally, limits = cores.small((cores.workers, 4), np.uint64), map(np.uint64, (*begin, *end))
        arrays, some_key = (*self.ends, self.keys, self.places), _keys(self.weights[:1], self.kind).max(initial=0)
        given = frozen(cuts), *self.graph.out, self.weights, np.int64(self.kind), self.above, *limits, *arrays
        cores.launch(select, None, *given, np.uint64(some_key), tally, visits=self.graph.arcs)
        cores.together()
        firsts, counts = offsets[cuts[:-1]].astype(np.int64), tally[:, 0].astype(np.int64)
        _, least, most, varying = tally[counts > 0].T
        if not len(least):
            return self.places[:0]
        low, shift = least.min(), _trailing_zeros(int(np.bitwise_or.reduce(varying)))
        if not int(most.max() - low) >> shift >> 32 and not len(self.places) >> 32:
            return self.places[self.grow((firsts, counts), (low, shift), *self.ends, self.keys)]
        pieces = [slice(first, first + count) for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)]
        sources, targets, keys, places = (np.concatenate([array[piece] for piece in pieces]) for array in arrays)
        return self.join(sources, targets, keys, places)

    def join(self, sources: Array, targets: Array, weights: Array, places: Array) -> Array:
        """Grow by edges in the order of their positions; returns the positions of those that are in the forest."""
        size, cores = len(places), self.cores
        if not size:
            return places
        keys = _narrow(weights)
        batch = [cores.host(size, array.dtype) for array in (sources, targets, keys)]
        for array, values in zip(batch, (sources, targets, keys), strict=True):
            cores.publish(values, array)
        cuts = size * np.arange(cores.workers + 1) // cores.workers
        return places[self.grow((cuts[:-1], np.diff(cuts)), (np.uint64(0), 0), *batch)]

    def grow(
        self, pieces: tuple[Array, Array], scale: tuple[Any, int], sources: Array, targets: Array, keys: Array
    ) -> Array:  # fmt: skip
        """The indices of the forest's edges, in order; `pieces`: their begins and sizes, which change."""
        cores = self.cores
        chosen, board = cores.host(len(self.above), np.uint64), cores.small(_LINE * (4 + 2 * cores.workers))
        given = *pieces, *map(np.uint64, scale), sources, targets, keys, self.above, self.best
        visits = len(self.above) + 4 * int(pieces[1].sum())
        cores.launch(grow, None, cores.barrier(), *given, chosen, board, visits=visits)
        cores.together()
        found: Array = np.sort(chosen[: board[0]]) & np.uint64(0xFFFFFFFF)
        return found


def _trailing_zeros(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else 0


def _narrow(keys: Array) -> Array:
    """Words of 32 bits in the order of these: without common bits, or else ranked."""
    if len(keys) >> 32:
        raise SpaceError(f"a batch of {len(keys):,} edges", expected="fewer than 2^32")
    apart = keys - keys.min()
    bits = int(np.bitwise_or.reduce(apart))
    low = _trailing_zeros(bits)
    if not bits >> low >> 32:
        return apart >> np.uint64(low)
    _, ranks = np.unique(keys, return_inverse=True)
    return ranks.astype(np.uint64)


def _bits(column: Array | None, sign: int) -> tuple[Array, int]:
    """Weights as integers, and their type."""
    turned = _TURNED if sign < 0 else 0
    if column is None:
        return np.empty(0, np.int64), _ALIKE
    if column.dtype.kind == "f":
        return frozen(column.astype(np.float64) + 0.0).view(np.int64), _SIGNED | _FLOAT | turned  # -0.0 is 0.0
    return frozen(column), turned | (_SIGNED if column.dtype.kind == "i" else 0)


def _keys(weights: Array, kind: int) -> Array:
    """Words in the order of the weights."""
    if kind == _ALIKE:
        return np.zeros(len(weights), np.uint64)
    wide = weights.astype(np.int64, copy=False)
    keys = wide.view(np.uint64)
    if kind & _FLOAT:
        keys = keys ^ ((wide >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)).view(np.uint64)
    if kind & _SIGNED:
        keys = keys ^ np.uint64(1 << 63)
    return ~keys if kind & _TURNED else keys


def forest(worker: Worker, column: Array | None, sign: int) -> tuple[Array, Array]:
    """The positions of the forest's edges in order, and a root for every vertex."""
    graph = worker.graph
    weights, kind = _bits(column, sign)
    growing = Growing(worker, weights, kind)
    rows = (0, graph.vertices) if worker.size == 1 else worker.share_of_rows()
    light, whole = _threshold(graph, weights, kind), (1 << 64) - 1
    begin, everything, found = (0, 0), (whole, whole), []
    for limit in (light, everything) if light is not None else (everything,):
        found.append(growing.take(begin, limit, rows))
        begin = limit
    places = np.concatenate(found)
    if worker.size > 1:  # the forest of all is contained in the union of the shares' forests
        places = np.sort(worker.gather(places))
        growing = Growing(worker, weights, kind)
        sources = np.searchsorted(graph.out.offsets, places, side="right") - 1
        keys = _keys(weights[places] if len(weights) else places, kind)
        places = growing.join(sources.astype(growing.above.dtype), graph.out.neighbours[places], keys, places)
    return places.astype(np.int64), growing.above.copy()


def _threshold(graph: Any, weights: Array, kind: int) -> tuple[int, int] | None:
    """The weight and position that limit the first batch to its number of edges; None for all."""
    wanted, edges = _LIGHT * graph.vertices, graph.arcs // 2
    if edges <= 2 * wanted:
        return None
    places = np.random.default_rng(0).integers(graph.arcs, size=_SAMPLE)
    sample = _keys(weights[places] if len(weights) else places, kind)
    k = np.lexsort((places, sample))[_SAMPLE * wanted // edges]
    return int(sample[k]), int(places[k])
