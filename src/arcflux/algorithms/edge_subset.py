"""The result of an algorithm that chooses edges: which, in what order, and the graph of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.edge_values import EdgeValues
from arcflux.graph import Graph
from arcflux.graph.arcs import reverse_places

__all__ = ["EdgeSubset", "edge_values", "flags_of"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class EdgeSubset(af.Result):
    """A result with chosen edges: `places` are their positions in ``graph.columns``, each edge once, in order.

    ``result.edges["chosen"]`` has a flag for each arc.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"], columns={"weight": [3, 1, 2]}, directed=False)
    >>> found = af.minimum_spanning_tree(g)
    >>> [ends.tolist() for ends in found.pairs()], found.subgraph().edges
    ([['b', 'a'], ['c', 'c']], 2)
    """

    places: Array = field(default_factory=lambda: np.empty(0, np.int64))

    def pairs(self) -> tuple[Array, Array]:
        """The ids of the ends of the chosen edges, in their order."""
        offsets, neighbours = self.graph.out
        sources = np.searchsorted(offsets, self.places.astype(np.uint64), side="right") - 1
        return self.graph.ids.to_ids(sources), self.graph.ids.to_ids(neighbours[self.places])

    def subgraph(self) -> Graph:
        """The graph of all vertices and the chosen edges."""
        return self.graph.edge_subgraph(self.edges["chosen"])


def flags_of(graph: Graph, places: Array) -> Array:
    """A flag for each arc, in the order of `graph.columns`: both arcs of an undirected edge at one of the positions."""
    flags = np.zeros(graph.arcs, np.bool_)
    flags[places] = True
    if not graph.directed and len(places):
        flags[reverse_places(graph)[places]] = True
    return flags


def edge_values(graph: Graph, **by_arc: Array | Callable[[], Array]) -> EdgeValues:
    """Values of arcs in the order of `graph.columns` as the edges of a result; a function computes them on demand."""
    return EdgeValues(graph, {}, by_arc)
