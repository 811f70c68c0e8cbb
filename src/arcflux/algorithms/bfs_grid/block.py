"""One cell of the grid, as a rank processes it: two ranges of vertices, their bitmaps, and the arcs between them.

The cell in row r and column c has the arcs from the sources of row r to the targets of column c. A bitmap over a range
begins at a whole word of the global numbering, so that bitmaps of different ranges are aligned by words.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from arcflux.errors import UsageError
from arcflux.graph.build import gather, regroup
from arcflux.graph.core import Adjacency
from arcflux.partition.parts import Part, Parts
from arcflux.partition.ranges import equal
from arcflux.spmd.memory import Array, frozen

__all__ = ["Block", "Span", "block_of", "whole_grid"]

_lock = threading.Lock()
_known: WeakKeyDictionary[Part, Block] = WeakKeyDictionary()


@dataclass(frozen=True)
class Span:
    """The vertices from `begin` to before `end`, with their positions in a bitmap.

    Examples
    --------
    >>> span = Span(100, 140)
    >>> span.base, span.words
    (64, 2)
    >>> [bin(int(word)).count("1") for word in span.mask]
    [28, 12]
    """

    begin: int
    end: int

    @property
    def base(self) -> int:
        """The vertex of the first bit: `begin`, rounded down to a whole word."""
        return self.begin & ~63

    @property
    def size(self) -> int:
        """The number of local positions: ``end - base``."""
        return self.end - self.base

    @property
    def words(self) -> int:
        """How many words a bitmap has."""
        return -(-self.size // 64)

    @property
    def mask(self) -> Array:
        """A bitmap of all vertices of the range."""
        inside = np.zeros(64 * self.words, np.uint8)
        inside[self.begin - self.base : self.size] = 1
        return np.packbits(inside, bitorder="little").view(np.uint64)

    def bits(self, *vertices: int) -> Array:
        """A bitmap with the bits of those of the vertices that are in the range."""
        made = np.zeros(self.words, np.uint64)
        for v in vertices:
            if self.begin <= v < self.end:
                made[(v - self.base) >> 6] |= np.uint64(1) << np.uint64(v & 63)
        return made

    def words_of(self, begin: int, end: int) -> slice:
        """The words that contain the bits of some vertices of the range."""
        return slice((begin - self.base) >> 6, -(-(end - self.base) // 64))


@dataclass(frozen=True)
class Block:
    """The arcs of a cell by source (`out`: rows are local numbers of `sources`, targets global) and by target.

    `into` has the sources of the targets `rows`, which are `rising` in each row if the graph is sorted. `pieces`: from
    which columns the bits of these sources come: the column, the words there, and the words here.
    """

    row: int
    column: int
    sources: Span
    targets: Span
    out: Adjacency
    rows: Array
    into: Adjacency
    rising: bool
    pieces: tuple[tuple[int, slice, slice], ...]

    @property
    def arcs(self) -> int:
        """How many arcs are here."""
        return len(self.out.neighbours)

    @cached_property
    def by_target(self) -> list[Any]:
        """The kernel arguments for the arcs by target."""
        return [self.rows, *self.into]


def whole_grid(parts: Parts) -> Parts:
    """The same parts, if every cell of their grid is a part of its own."""
    if parts.shape is None or parts.shape[0] * parts.shape[1] != parts.k:
        near = round(parts.k**0.5)
        what = f"{parts.k} parts by {parts.how}" if parts.shape is None else f"a grid of {parts.k} parts"
        raise UsageError(
            f"{what} cannot be searched row by row and column by column",
            expected="a grid with a part for every cell: the square of a number, or a product of two",
            remedy=f"parts={near * near}, partition='grid'",
        )
    return parts


def block_of(parts: Parts, i: int) -> Block:
    """The cell of part `i` of a grid; cached as long as the part."""
    part = parts.part(i)
    with _lock:
        if part not in _known:
            _known[part] = _made(parts, part, *parts.place(i))
        return _known[part]


def _made(parts: Parts, part: Part, row: int, column: int) -> Block:
    assert parts.shape is not None
    rows, columns = parts.shape
    down, across = equal(parts.graph.vertices, rows), equal(parts.graph.vertices, columns)
    sources = Span(int(down[row]), int(down[row + 1]))
    targets = Span(int(across[column]), int(across[column + 1]))
    begin, end = int(part.into.offsets[0]), int(part.into.offsets[-1])
    local = part.into.neighbours[begin:end] - part.into.neighbours.dtype.type(sources.base)
    offsets, places, _ = regroup(part.into.offsets - part.into.offsets[0], local, sources.size, carry=False)
    out = Adjacency(frozen(offsets), frozen(gather(part.targets, places)))
    into = Adjacency(frozen(part.into.offsets), frozen(part.into.neighbours))
    pieces = _pieces(sources, across)
    return Block(row, column, sources, targets, out, frozen(part.targets), into, parts.graph.sorted, pieces)


def _pieces(sources: Span, across: Array) -> tuple[tuple[int, slice, slice], ...]:
    """The pieces; on a square grid a single one, the column on the diagonal, with all its words."""
    found = []
    for column in range(len(across) - 1):
        begin, end = max(sources.begin, int(across[column])), min(sources.end, int(across[column + 1]))
        if begin < end:
            whole = Span(int(across[column]), int(across[column + 1]))
            found.append((column, whole.words_of(begin, end), sources.words_of(begin, end)))
    return tuple(found)
