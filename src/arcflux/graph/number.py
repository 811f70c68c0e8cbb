"""Numbering: from edges between ids to edges between vertex numbers.

The vertices are the ids that appear, plus those the caller lists; nothing else. Integers that span little more than
their count are numbered by their distance from the smallest, which costs nothing, and the numbers that turn out never
to appear are squeezed out after the build. Scattered integers go through a hash table; text through Arrow.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import is_integer
from arcflux.errors import IdError
from arcflux.graph.edges import Edges
from arcflux.graph.ids import Ids, IntegerIds, RangeIds, TextIds, as_ids, is_text
from arcflux.spmd.memory import empty, frozen
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford

__all__ = ["different", "integer_ids", "number", "renumbered", "vertex_type"]

Array = NDArray[Any]


def vertex_type(vertices: int) -> type[np.unsignedinteger[Any]]:
    """The type of vertex numbers: 32 bits while they are enough.

    Examples
    --------
    >>> vertex_type(10).__name__, vertex_type(2**33).__name__
    ('uint32', 'uint64')
    """
    return np.uint32 if vertices <= 1 << 32 else np.uint64


def number(edges: Edges, vertices: int | range | Array | None, threads: int | None) -> tuple[Ids, bool]:
    """Replace the ids in `edges` by vertex numbers; returns the map, and whether every number is sure to be wanted.

    When it is not sure, numbers that no edge names are to be squeezed out.
    """
    text = is_text(edges.source) or is_text(edges.target)
    if isinstance(vertices, range) and vertices.step == 1 and not text:
        return _by_range(edges, vertices.start, max(vertices.start, vertices.stop)), True
    if vertices is not None and not is_integer(vertices):
        if isinstance(vertices, range):
            afford(16 * len(vertices), f"a list of {len(vertices):,} vertices")
        listed = as_ids(vertices)
        if is_text(listed):
            return _by_list(edges, TextIds.of(listed)), True
        return _by_list(edges, integer_ids(different(listed.astype(np.int64)))), True
    if text:
        return _by_text(edges, vertices), True
    if vertices is not None:
        return _by_range(edges, 0, int(cast(int, vertices))), True
    low, high = _extent(edges)
    if low > high:
        edges.source, edges.target = np.empty(0, np.uint32), np.empty(0, np.uint32)
        return RangeIds(0), True
    if high - max(low, 0) < 2 * len(edges) + (1 << 16):
        # Small positive integers stay as they are; a far-off or negative start is subtracted.
        base = 0 if low >= 0 and high < 2 * len(edges) + (1 << 16) else low
        if high - base < 2 * len(edges) + (1 << 16):
            _shift_down(edges, base, high - base + 1)
            return RangeIds(high - base + 1, base), False
    return _by_hash(edges, low, threads), True


def _extent(edges: Edges) -> tuple[int, int]:
    """The smallest and largest id of integer edges; (0, -1) without edges."""
    low, high = [], []
    for start, count in zip(edges.starts.tolist(), edges.counts.tolist(), strict=True):
        for ends in (edges.source, edges.target):
            if count:
                part = ends[start : start + count]
                low.append(int(part.min()))
                high.append(int(part.max()))
    return (min(low), max(high)) if low else (0, -1)


def _shift_down(edges: Edges, base: int, vertices: int) -> None:
    """Subtract `base` and narrow to the vertex type, copying only when something changes."""
    kind = vertex_type(vertices)
    for name in ("source", "target"):
        ends = getattr(edges, name)
        if ends.dtype == kind and not base:
            continue
        narrow = empty(len(ends), kind)
        step = 1 << 20
        for begin in range(0, len(ends), step):
            part = ends[begin : begin + step]
            if part.dtype.kind == "u" and not base:
                narrow[begin : begin + step] = part
            else:
                narrow[begin : begin + step] = part.astype(np.int64) - base
        setattr(edges, name, narrow)


def _by_range(edges: Edges, start: int, stop: int) -> Ids:
    """Ids that have to be within a run of integers."""
    count = stop - start
    if not (0 <= count < 1 << 63 and start >= -(1 << 63) and stop <= 1 << 63):
        raise IdError(
            f"{count} vertices from id {start} on were given",
            expected="a count from 0 to 2^63 - 1, and ids below 2^63",
        )
    low, high = _extent(edges)
    if low <= high and not (start <= low and high < stop):
        raise IdError(
            f"{count} vertices were given, and an edge names vertex {high if start <= low else low}",
            expected=f"ids from {start} to {stop - 1}",
            remedy="pass vertices= as the list of all ids, or leave it out",
        )
    _shift_down(edges, start, count)
    return RangeIds(count, start)


def integer_ids(values: Array) -> Ids:
    """The cheapest map for sorted, different int64s."""
    if not len(values):
        return RangeIds(0)
    low, high = int(values[0]), int(values[-1])
    if high - low + 1 == len(values):
        return RangeIds(len(values), low)
    for kind in (np.uint32, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return IntegerIds(values.astype(kind))
    return IntegerIds(values)


def different(values: Array) -> Array:
    """The different values, sorted: np.unique by sorting alone, since its hashing takes a hundred times as long."""
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def _by_list(edges: Edges, ids: Ids) -> Ids:
    """Ids that have to be among those listed."""
    kind = vertex_type(len(ids))
    for name in ("source", "target"):
        given = getattr(edges, name)
        numbers = empty(len(given), kind)
        for start, count in zip(edges.starts.tolist(), edges.counts.tolist(), strict=True):
            part = given[start : start + count]
            found = ids.find(part)
            if count and found.min() < 0:
                missing = part[found < 0][:1].tolist()[0]
                raise IdError(
                    f"an edge names vertex {missing!r}, which is not in the list of vertices",
                    expected=f"one of the {len(ids):,} listed ids",
                    remedy="add it to the list, or leave the list out",
                )
            numbers[start : start + count] = found
        setattr(edges, name, numbers)
    return ids


def _by_text(edges: Edges, vertices: Any) -> Ids:
    if vertices is not None:
        raise IdError(
            f"vertices={vertices} counts integer ids, and the edges name vertices by text",
            remedy="pass vertices= as the list of all names",
        )
    for name in ("source", "target"):
        setattr(edges, name, as_ids(getattr(edges, name)))
    if is_text(edges.source) != is_text(edges.target):
        raise IdError("sources and targets are of two kinds", expected="text on both sides, or integers on both")
    place = edges.places()
    ids = TextIds.of(np.concatenate([edges.source[place], edges.target[place]]))
    return _by_list(edges, ids)


def _by_hash(edges: Edges, smallest: int, threads: int | None) -> Ids:
    """Scattered integers: collect the different ones in a table, sort them, and look every end up."""
    from arcflux.graph import table

    ends = [frozen(e if e.dtype == np.int64 else e.astype(np.int64)) for e in (edges.source, edges.target)]
    keys = _collected(ends, edges, threads)
    values = keys[keys != table.EMPTY]
    if smallest == table.EMPTY:
        values = np.append(values, table.EMPTY)
    values.sort()
    numbers = empty(len(keys), vertex_type(len(values)))
    run(table.rank, -(-len(values) // table.CHUNK), frozen(values), frozen(keys), numbers, threads=threads)
    whole = frozen(keys), frozen(numbers)
    for name, end in zip(("source", "target"), ends, strict=True):
        found = empty(len(end), numbers.dtype)
        run(table.look_up, len(edges.starts), end, edges.starts, edges.counts, *whole, found, threads=threads)
        setattr(edges, name, found)
    return integer_ids(values)


def _collected(ends: list[Array], edges: Edges, threads: int | None) -> Array:
    """A hash table of the different ids, at most half full: int64[a power of two]."""
    from arcflux.graph import table

    def insert(ids: Array, reached: Array, stops: Array) -> bool:
        run(table.insert, len(stops), frozen(ids), reached, stops, keys, inside, threads=threads)
        return int(inside[0]) < len(keys) // 2

    keys = _free(table.SMALLEST)
    inside = np.zeros(1, np.int64)
    for end in ends:
        reached = edges.starts.copy()
        while not insert(end, reached, edges.starts + edges.counts):
            old, keys, inside[0] = keys, _free(2 * len(keys)), 0
            bounds = np.arange(0, len(old) + 1, table.CHUNK, dtype=np.uint64)
            insert(old, bounds[:-1].copy(), bounds[1:])
    return keys


def _free(size: int) -> Array:
    """A table of `size` free places."""
    from arcflux.graph import table

    keys = empty(size, np.int64)
    keys.fill(table.EMPTY)
    return keys


def renumbered(ids: Ids, kept: Array) -> Ids:
    """The map after all numbers but the sorted `kept` were squeezed out."""
    return integer_ids(ids.to_ids(kept))
