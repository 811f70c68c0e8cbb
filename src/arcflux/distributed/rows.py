"""The rows of a rank's own vertices: all neighbours of each, in order, as slices of the graph's own arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.partition.parts import Parts
from arcflux.spmd.memory import frozen

__all__ = ["Rows", "own_rows"]

Array = NDArray[Any]


class Rows(NamedTuple):
    """The neighbours of ``vertices[r]`` are ``neighbours[begins[r]:ends[r]]``, sorted; parallel edges are together."""

    vertices: Array
    begins: Array
    ends: Array
    neighbours: Array

    @property
    def lengths(self) -> Array:
        """How long each row is."""
        found: Array = self.ends - self.begins
        return found


def own_rows(parts: Parts, rank: int, *, out: bool) -> Rows:
    """The out-neighbours, or the in-neighbours, of the vertices that a part owns.

    Examples
    --------
    >>> import arcflux as af
    >>> rows = own_rows(af.partition("path:6", 2), 1, out=True)
    >>> rows.vertices.tolist(), rows.lengths.tolist(), rows.neighbours[int(rows.begins[0]):].tolist()
    ([3, 4, 5], [2, 2, 1], [2, 4, 3, 5, 4])
    """
    graph, owned = parts.graph, frozen(parts.owned(rank))
    offsets, neighbours = graph.out if out else graph.into
    places = owned.astype(np.int64)
    rows = Rows(owned, frozen(offsets[places]), frozen(offsets[places + 1]), neighbours)
    return rows if graph.sorted else _ordered(rows)


def _ordered(rows: Rows) -> Rows:
    """A copy of the rows, each in order."""
    lengths = rows.lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    row = np.repeat(np.arange(len(lengths)), lengths)
    found = rows.neighbours[np.arange(int(lengths.sum())) + (rows.begins.astype(np.int64) - begins)[row]]
    found = found[np.lexsort((found, row))]
    return Rows(rows.vertices, frozen(begins.astype(np.uint64)), frozen(ends.astype(np.uint64)), frozen(found))
