"""A node's share of a graph: vertex table, edge table, and the mapping of vertices to out-edges (GX-Plug, II-B).

The vertices of a node are its own and the ends of its edges, sorted by number; everything here uses their positions,
*local* numbers. Out-edges of a vertex are contiguous, so the mapping is an array of offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.partition.parts import Parts

__all__ = ["Tables"]

Array = NDArray[Any]


@dataclass
class Tables:
    """The tables of one node; L vertices, E edges.

    Attributes
    ----------
    numbers: int64[L]
        The number of each vertex in the graph, ascending.
    owned: bool[L]
        Which of them this node owns: it applies messages to these.
    offsets: int64[L + 1], targets: int64[E], columns: name -> [E]
        Out-edges of vertex i are those from offsets[i] to offsets[i + 1]; targets are local numbers.
    in_degrees, out_degrees: int64[L]
        Degrees in the whole graph.
    values: name -> [L]
        The fields of vertices.
    """

    numbers: Array
    owned: Array
    offsets: Array
    targets: Array
    columns: dict[str, Array]
    in_degrees: Array
    out_degrees: Array
    values: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def of_edges(
        cls, sources: Array, targets: Array, columns: Mapping[str, Array], *, own: Array, degrees: tuple[Array, Array]
    ) -> Tables:
        """The tables of edges ``sources[i] -> targets[i]``, with ends by their numbers in the graph.

        own: the numbers of vertices that this node owns; degrees: in- and out-degrees of all vertices of the graph.
        """
        if not len(sources) == len(targets):
            raise UsageError(f"{len(sources):,} sources and {len(targets):,} targets", expected="as many of each")
        sources, targets, own = (np.asarray(one).astype(np.int64) for one in (sources, targets, own))
        numbers = np.unique(np.concatenate([sources, targets, own]))
        local = np.searchsorted(numbers, sources)
        order = np.argsort(local, kind="stable")
        counts = np.bincount(local, minlength=len(numbers))
        return cls(
            numbers,
            np.isin(numbers, own),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.searchsorted(numbers, targets)[order],
            {name: np.ascontiguousarray(np.asarray(column)[order]) for name, column in columns.items()},
            *(np.asarray(one)[numbers].astype(np.int64) for one in degrees),
        )

    @classmethod
    def of_part(cls, parts: Parts, number: int, columns: list[str]) -> Tables:
        """The tables of one part of a graph."""
        graph: Graph = parts.graph
        part = parts.part(number)
        offsets, neighbours = part.into
        first, last = int(offsets[0]), int(offsets[-1])
        targets = np.repeat(part.targets, (offsets[1:] - offsets[:-1]).astype(np.int64))
        taken = {name: part.in_columns[name][first:last] for name in columns}
        degrees = (graph.in_degrees, graph.out_degrees)
        return cls.of_edges(neighbours[first:last], targets, taken, own=part.owned, degrees=degrees)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def edges(self) -> int:
        """How many edges the node has."""
        return len(self.targets)

    def local(self, numbers: Array) -> Array:
        """Local numbers of vertices of this node, by their numbers in the graph."""
        return np.searchsorted(self.numbers, numbers)

    def here(self, numbers: Array) -> Array:
        """Which of these vertices, by their numbers in the graph, this node has."""
        places = np.minimum(np.searchsorted(self.numbers, numbers), max(len(self) - 1, 0))
        found: Array = self.numbers[places] == numbers if len(self) else np.zeros(len(numbers), np.bool_)
        return found

    def senders(self, which: Array) -> Array:
        """Those of these vertices that have out-edges here."""
        found: Array = which[self.offsets[which + 1] > self.offsets[which]]
        return found
