"""One part: what one worker has of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from arcflux.graph.core import Adjacency, Graph
from arcflux.partition.arcs import Inward, Outward

__all__ = ["Part"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Part:
    """What one worker has: the vertices it owns, and its arcs. All numbers are those of the whole graph.

    Arcs by target and arcs by source are each made when they are first asked for, the latter from the former where
    nothing better is known. Offsets need not begin at 0, and arrays may be longer than what offsets name: where the
    arcs stand together in the graph, these are views of its arrays. `kept` has what was derived from the part, for the
    next run.
    """

    number: int
    graph: Graph
    owned: Array = field(repr=False)
    make_inward: Callable[[], Inward] = field(repr=False)
    make_outward: Callable[[], Outward] | None = field(default=None, repr=False)
    duplicated: bool = False
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def arcs(self) -> int:
        """How many arcs are here."""
        offsets = (self.into if self.make_outward is None else self.out).offsets
        return int(offsets[-1]) - int(offsets[0])

    @property
    def targets(self) -> Array:
        """The vertices that `into` has a row for, ascending: those that have an arc here.

        When every arc is at its target's owner, these are the owned vertices, also those without arcs.
        """
        return self._inward.targets

    @property
    def into(self) -> Adjacency:
        """Arcs by target: ``neighbours[offsets[r]:offsets[r + 1]]`` are the sources of the arcs to ``targets[r]``.

        They are in the order of ``graph.into``.
        """
        return self._inward.into

    @property
    def in_columns(self) -> dict[str, Array]:
        """Edge columns in the order of `into`."""
        return self._inward.columns

    @property
    def out(self) -> Adjacency:
        """The same arcs by source, a row for each vertex of the graph: offsets uint64[vertices + 1], targets rising."""
        return self._outward.out

    @property
    def out_columns(self) -> dict[str, Array]:
        """Edge columns in the order of `out`."""
        return self._outward.columns

    def to_graph(self) -> Graph:
        """The arcs of this part alone, as a directed graph with all vertices, ids and edge columns.

        Each arc of the graph is in that of one part, also both arcs of an undirected edge. Saved, they are files with a
        line for each arc: for other systems, one for each of their devices.

        Examples
        --------
        >>> import arcflux as af
        >>> part = af.partition(af.load("path:4"), 4, "grid").part(2)  # from the first half to the second
        >>> [ends.tolist() for ends in part.to_graph().edge_numbers()[:2]]
        [[1], [2]]
        """
        offsets, neighbours = self.out
        begin, end = int(offsets[0]), int(offsets[-1])
        rows = Adjacency(offsets - offsets[0], neighbours[begin:end])
        columns = {name: column[begin:end] for name, column in self.out_columns.items()}
        whole = self.graph
        return Graph(rows, directed=True, columns=columns, ids=whole.ids, sorted=whole.sorted)

    @cached_property
    def _inward(self) -> Inward:
        return self.make_inward()

    @cached_property
    def _outward(self) -> Outward:
        if self.make_outward is not None:
            return self.make_outward()
        if self.arcs == self.graph.arcs and self.graph.sorted and self.graph.whole:
            return Outward(self.graph.out, dict(self.graph.columns))
        from arcflux.partition.cut import outward

        return outward(self._inward, self.graph.vertices)
