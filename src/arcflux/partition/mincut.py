"""Few arcs between parts, by METIS: a small cut, found slowly (Lux, 4.2: in more time than many an algorithm takes).

METIS wants each edge both ways and once, without self-loops, so that is what it gets. A vertex weighs one more than its
in-arcs, so parts have about as many arcs.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import GraphError, MissingExtraError
from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts
from arcflux.partition.ranges import bounds
from arcflux.partition.rule import smallest

__all__ = ["split"]

_MOST = (1 << 31) - 1


def split(graph: Graph, k: int, *, seed: int = 0) -> Parts:
    """Let METIS choose the owners; arcs are at their target's owner."""
    try:
        import pymetis
    except ImportError as error:
        raise MissingExtraError("pymetis", "partition", "the partitioner mincut") from error

    if k == 1 or k >= graph.vertices or not graph.arcs:
        note = "METIS was not asked: there is nothing to choose"
        return Parts(graph, k, "mincut", bounds=bounds(graph.into.offsets, k), notes=[note])
    offsets, neighbours = _plain(graph)
    weights = np.diff(graph.into.offsets).astype(np.int64) + 1
    if max(len(neighbours), int(weights.sum())) > _MOST:
        raise GraphError(
            f"METIS may count with 32 bits, and {graph.arcs:,} arcs and {graph.vertices:,} vertices are more",
            remedy="another partitioner: ranges and random take graphs of any size",
        )
    with trace.task(f"METIS, {k} parts"):
        adjacency = pymetis.CSRAdjacency(offsets.astype(np.int64), neighbours.astype(np.int64))
        options = pymetis.Options(seed=operator.index(seed) % _MOST)
        found = pymetis.part_graph(k, adjacency, vweights=weights, options=options)
    return Parts(graph, k, "mincut", owner=np.array(found.vertex_part, smallest(k)))


def _plain(graph: Graph) -> tuple[NDArray[Any], NDArray[Any]]:
    """Adjacency of the graph with every edge both ways and once, and no self-loops."""
    sources, targets, _ = graph.edge_numbers()
    plain = Graph.from_edges(
        sources, targets, vertices=graph.vertices, directed=False, deduplicate="first", drop_self_loops=True
    )
    return plain.out.offsets, plain.out.neighbours
