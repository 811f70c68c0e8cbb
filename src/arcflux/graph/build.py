"""From a list of edges to sorted adjacency, on all cores, in little more memory than the result.

Two grouping passes (sort.py): by target, then by source in that order. Input that belongs to the builder is given back
slice by slice while the output grows, so the peak stays near the larger of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config, trace
from arcflux.errors import GraphError
from arcflux.graph import sort
from arcflux.graph.edges import Edges, Options, bytes_to_build
from arcflux.spmd.memory import empty, frozen, release, zeros
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford

__all__ = ["Built", "build", "drop_unnamed", "gather", "regroup", "reverse", "row_bounds"]

Array = NDArray[Any]

# A bucket of about this many arcs sorts inside a core's cache; more buckets than MOST are streams too many.
_BUCKET_ARCS = 1 << 17
_MOST_BUCKETS = 1 << 10
_ROUNDS = 8


@dataclass
class Built:
    """Adjacency, the columns in its order, and what was changed on the way."""

    offsets: Array
    neighbours: Array
    columns: dict[str, Array]
    loops: int = 0
    dropped_loops: int = 0
    merged: int = 0
    looped: Array | None = field(default=None, repr=False)


@dataclass
class _Buckets:
    """How vertices are dealt into buckets of 2**shift neighbours, and where each bucket's arcs are."""

    shift: np.uint64
    base: Array
    position: Array

    @classmethod
    def counted(cls, shift: int, tally: Array) -> _Buckets:
        """From ``tally[slice, bucket]``: where each bucket begins, and where each slice writes in it."""
        base = np.concatenate([np.zeros(1, np.uint64), np.cumsum(tally.sum(axis=0), dtype=np.uint64)])
        position = base[:-1] + np.cumsum(tally, axis=0, dtype=np.uint64) - tally
        return cls(np.uint64(shift), base, np.ascontiguousarray(position))

    @property
    def arcs(self) -> int:
        return int(self.base[-1])

    @property
    def largest(self) -> int:
        return int(np.diff(self.base).max(initial=0))


def _shift(vertices: int, arcs: int) -> int:
    """The logarithm of a bucket's vertices: buckets that fit a cache, not too many, and numbered by 16 bits inside."""
    wanted = min(_MOST_BUCKETS, max(1, arcs // _BUCKET_ARCS))
    bits = max(1, vertices - 1).bit_length()
    return max(0, min(16, bits - (wanted - 1).bit_length()))


def build(edges: Edges, vertices: int, options: Options) -> Built:
    """Adjacency of `vertices` vertices from `edges`, whose ends are below `vertices`."""
    arcs = len(edges) * (1 if options.directed else 2)
    returned = len(edges) * 2 * edges.source.itemsize if edges.ours else 0  # while the arcs are sorted
    needed = bytes_to_build(vertices, arcs, edges.source.itemsize) - min(returned, arcs * edges.source.itemsize)
    afford(needed, f"a graph of {vertices:,} vertices and {len(edges):,} edges")
    with trace.task("build", total=4 * _ROUNDS, unit="steps") as task:
        carry = bool(edges.columns)
        built, origin = _group_pairs(edges, vertices, options, carry, task)
        if options.sort:
            grouped = built.offsets, built.neighbours, origin
            grouped = _group_rows(*grouped, vertices, carry, options.threads, consume=True, task=task)
            built.offsets, built.neighbours, origin = grouped
        for name, column in edges.columns.items():
            assert origin is not None
            built.columns[name] = gather(column, origin, options.threads)
        if options.deduplicate:
            _merge(built, options)
        if options.deduplicate and built.loops:
            built.loops = _count_loops(built.offsets, built.neighbours)
        return built


def drop_unnamed(built: Built, options: Options) -> Array | None:
    """Squeeze out the vertices that no edge named; returns the numbers that stay, or None when all do."""
    seen = np.diff(built.offsets) > 0
    if built.looped is not None:
        seen |= built.looped
    if seen.all():
        return None
    chunks = -(-len(built.neighbours) // sort.CHUNK)
    if options.directed:
        run(sort.mark, chunks, frozen(built.neighbours), seen, threads=options.threads)
    if seen.all():
        return None
    rank = np.cumsum(seen, dtype=built.neighbours.dtype) - built.neighbours.dtype.type(1)
    run(sort.renumber, chunks, frozen(rank), built.neighbours, threads=options.threads)
    built.offsets = np.append(built.offsets[:-1][seen], built.offsets[-1])
    return np.flatnonzero(seen)


def reverse(
    offsets: Array, neighbours: Array, carry: bool, threads: int | None = None
) -> tuple[Array, Array, Array | None]:
    """The same arcs grouped by their other end: offsets, neighbours, and with `carry` each arc's place before."""
    return regroup(offsets, neighbours, len(offsets) - 1, carry, threads)


def regroup(
    offsets: Array, neighbours: Array, vertices: int, carry: bool, threads: int | None = None
) -> tuple[Array, Array, Array | None]:
    """As :func:`reverse`, for any number of rows whose neighbours are below `vertices`; the rows are counted from 0."""
    return _group_rows(offsets, neighbours, None, vertices, carry, threads)


def gather(column: Array, origin: Array, threads: int | None = None) -> Array:
    """``column[origin]`` on all cores."""
    out = empty(len(origin), column.dtype)
    chunks = -(-len(origin) // sort.CHUNK)
    run(sort.gather, chunks, frozen(column), frozen(origin), out, threads=threads)
    return out


def _group_pairs(
    edges: Edges, vertices: int, options: Options, carry: bool, task: trace.Task
) -> tuple[Built, Array | None]:
    """First pass: arcs grouped by target when a second pass will sort them, else by source."""
    both, drop, threads = not options.directed, options.drop_self_loops, options.threads
    keys, others = (edges.target, edges.source) if options.sort else (edges.source, edges.target)
    keys, others = frozen(keys), frozen(others)
    arcs = len(edges) * (2 if both else 1)
    shift = _shift(vertices, arcs)
    slices = len(edges.starts)
    tally = _tally(slices, vertices, shift)
    loops = np.zeros(slices, np.int64)
    looped = zeros(vertices if drop else 0, np.bool_)
    run(
        sort.count_pairs, slices, keys, others, edges.starts, edges.counts, np.uint64(shift), both, drop, tally, loops,
        looped, threads=threads,
    )  # fmt: skip
    buckets = _Buckets.counted(shift, tally)
    low, values = empty(buckets.arcs, np.uint16), empty(buckets.arcs, edges.source.dtype)
    origin = empty(buckets.arcs, _index_type(len(keys))) if carry else None
    rounds = np.linspace(0, slices, _ROUNDS + 1).astype(np.int64)
    for begin, end in pairwise(rounds.tolist()):
        run(
            sort.place_pairs, int(end - begin), keys, others, edges.starts[begin:end], edges.counts[begin:end],
            buckets.shift, both, drop, buckets.position[begin:end], low, values, origin, threads=threads,
        )  # fmt: skip
        if end > begin:
            edges.give_back(int(edges.starts[begin]), int(edges.starts[end - 1] + edges.counts[end - 1]))
        task.advance(1)
    offsets = _settled(buckets, low, values, origin, vertices, threads)
    task.advance(_ROUNDS)
    found = int(loops.sum())
    built = Built(offsets, values, {}, 0 if drop else found, found if drop else 0, looped=looped if drop else None)
    return built, origin


def _group_rows(
    offsets: Array,
    neighbours: Array,
    came: Array | None,
    vertices: int,
    carry: bool,
    threads: int | None,
    consume: bool = False,
    task: trace.Task | None = None,
) -> tuple[Array, Array, Array | None]:
    """Second pass: adjacency regrouped by neighbour, each row in the order of the old rows; may consume its input."""
    arcs = len(neighbours)
    shift = _shift(vertices, arcs)
    slices = 8 * _ROUNDS
    bounds = row_bounds(offsets, slices)
    tally = _tally(slices, vertices, shift)
    rows = frozen(offsets), frozen(neighbours)
    run(sort.count_rows, slices, *rows, bounds, np.uint64(shift), tally, threads=threads)
    buckets = _Buckets.counted(shift, tally)
    low, values = empty(arcs, np.uint16), empty(arcs, neighbours.dtype)
    origin = empty(arcs, came.dtype if came is not None else _index_type(arcs)) if carry else None
    before = None if came is None else frozen(came)
    for begin in range(0, slices, slices // _ROUNDS):
        end = begin + slices // _ROUNDS
        run(
            sort.place_rows, end - begin, *rows, before, bounds[begin : end + 1], buckets.shift,
            buckets.position[begin:end], low, values, origin, threads=threads,
        )  # fmt: skip
        if consume:
            span = int(offsets[bounds[begin]]), int(offsets[bounds[end]])
            release(neighbours, *span)
            if came is not None:
                release(came, *span)
        if task:
            task.advance(1)
    settled = _settled(buckets, low, values, origin, vertices, threads)
    if task:
        task.advance(_ROUNDS)
    return settled, values, origin


def _tally(slices: int, vertices: int, shift: int) -> Array:
    buckets = ((vertices - 1) >> shift) + 1 if vertices else 1
    return zeros(slices * buckets, np.uint64).reshape(slices, buckets)


def _settled(
    buckets: _Buckets, low: Array, values: Array, origin: Array | None, vertices: int, threads: int | None
) -> Array:
    offsets = zeros(vertices + 1, np.uint64)
    workers = config.threads(threads)
    cursors = np.empty((workers, 1 << int(buckets.shift)), np.uint64)
    spares = empty(workers * buckets.largest, values.dtype).reshape(workers, -1)
    spare_origins = (
        empty(workers * buckets.largest, origin.dtype).reshape(workers, -1) if origin is not None else spares
    )
    run(
        sort.settle, len(buckets.base) - 1, buckets.base, buckets.shift, low, values, origin, offsets, cursors, spares,
        spare_origins, threads=threads,
    )  # fmt: skip
    offsets[vertices] = buckets.arcs
    return offsets


def _merge(built: Built, options: Options) -> None:
    """One arc for parallel ones. Columns keep the value of the first, or are reduced as the options say."""
    offsets, neighbours, threads = built.offsets, built.neighbours, options.threads
    slices = 64
    bounds = row_bounds(offsets, slices)
    kept = zeros(len(offsets), np.uint64)
    run(sort.count_unique, slices, bounds, frozen(offsets), frozen(neighbours), kept, threads=threads)
    np.cumsum(kept, out=kept)
    arcs = int(kept[-1])
    built.merged = len(neighbours) - arcs
    if not built.merged:
        return
    for name, column in built.columns.items():
        reduced, overflowed = empty(arcs, column.dtype), np.zeros(1, np.bool_)
        run(
            sort.combine, slices, bounds, frozen(offsets), frozen(neighbours), frozen(column), frozen(kept),
            _reduction(options, column), _limits(column.dtype), reduced, overflowed, threads=threads,
        )  # fmt: skip
        if overflowed[0]:
            raise GraphError(
                f"the sum over parallel edges does not fit the {column.dtype} of edge column {name!r}",
                remedy="pass the column as int64 or float64, or deduplicate with 'first', 'min' or 'max'",
            )
        built.columns[name] = reduced
    run(sort.squeeze, 1, frozen(offsets), frozen(kept), neighbours, threads=1)
    release(neighbours, arcs, len(neighbours))
    built.offsets, built.neighbours = kept, neighbours[:arcs]


def _reduction(options: Options, column: Array) -> int:
    """What the kernel does to a column; the sum of booleans is their "or", as in NumPy."""
    if options.deduplicate == "sum":
        return sort.MAX if column.dtype == np.bool_ else sort.SUM
    return {"first": sort.FIRST, "min": sort.MIN, "max": sort.MAX}[options.deduplicate or "first"]


def _limits(kind: np.dtype[Any]) -> Array:
    """The lowest and the highest value of a column's type."""
    if kind.kind in "iu":
        return np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind)
    return np.array([-np.inf, np.inf], kind)


def row_bounds(offsets: Array, slices: int) -> Array:
    """Vertices that cut the rows into `slices` runs of about as many arcs: uint64[slices + 1]."""
    vertices = len(offsets) - 1
    marks = np.linspace(0, int(offsets[-1]), slices + 1).astype(np.uint64)
    bounds = np.searchsorted(offsets[:-1], marks).astype(np.uint64)
    bounds[0], bounds[-1] = 0, vertices
    return bounds


def _count_loops(offsets: Array, neighbours: Array) -> int:
    found = np.zeros(1, np.int64)
    run(sort.count_loops, 1, frozen(offsets), frozen(neighbours), found, threads=1)
    return int(found[0])


def _index_type(size: int) -> type[np.unsignedinteger[Any]]:
    return np.uint32 if size <= 1 << 32 else np.uint64
