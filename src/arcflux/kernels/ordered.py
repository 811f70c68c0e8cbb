"""Rows that kernels can walk in order: parallel edges stand next to each other, and two rows can be merged."""

from __future__ import annotations

from arcflux.graph import Graph
from arcflux.graph.core import Adjacency

__all__ = ["sorted_rows"]


def sorted_rows(graph: Graph, threads: int | None = None) -> tuple[Adjacency, Adjacency]:
    """Out-edges and in-edges with the neighbours of each row in order; the graph's own unless it was made unsorted.

    Examples
    --------
    >>> unsorted = Graph.from_edges([0, 0], [2, 1], sort=False)
    >>> sorted_rows(unsorted)[0].neighbours.tolist()
    [1, 2]
    """
    if graph.sorted:
        return graph.out, graph.into
    source, target, _ = graph.edge_numbers()
    again = Graph.from_edges(source, target, vertices=graph.vertices, directed=graph.directed, threads=threads)
    return again.out, again.into
