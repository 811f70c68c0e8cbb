"""The triad census: how many triples of vertices of a directed graph are joined in each of the 16 possible ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.graph.subgraphs import simple_view

__all__ = ["TRIADS", "triad_census", "triad_of"]

Array = NDArray[Any]
TRIADS = ("003", "012", "102", "021D", "021U", "021C", "111D", "111U", "030T", "030C", "201", "120D", "120U", "120C",
          "210", "300")  # fmt: skip


@graph_call()
def triad_census(graph: Graph, **where: Any) -> dict[str, int]:
    """How many triples of vertices are joined in each way, by the names of Holland and Leinhardt (1970).

    A name counts mutual, asymmetric and missing pairs; the letter says how asymmetric ones point (down, up, in a cycle,
    transitively). Parallel edges count once, self-loops not at all, weights make no difference. Only pairs that are
    joined are looked at, with the neighbours of both (Batagelj, Mrvar 2001); workers take a share of the vertices.

    Raises
    ------
    GraphError
        When the graph is undirected.

    Examples
    --------
    >>> import arcflux as af
    >>> census = af.triad_census(af.Graph.from_edges([0, 1, 2], [1, 2, 0], vertices=4))
    >>> {name: count for name, count in census.items() if count}
    {'012': 3, '030C': 1}
    """
    if not graph.directed:
        raise GraphError("the graph is undirected", expected="a directed graph")
    counts = launch(graph, where, _count).answer
    n = graph.vertices
    census = dict.fromkeys(TRIADS, 0)
    for code, count in enumerate(counts.tolist()):
        census[triad_of(code)] += count
    census["003"] = n * (n - 1) * (n - 2) // 6 - (sum(census.values()) - census["003"])
    return census


def triad_of(code: int) -> str:
    """The name of a triple: bits 0 and 1 are edges u -> v and v -> u, 2 and 3 u -> w and back, 4 and 5 v -> w and back.

    Examples
    --------
    >>> triad_of(0b111111), triad_of(0b000101)
    ('300', '021D')
    """
    pairs = [(0, 1, code & 3), (0, 2, code >> 2 & 3), (1, 2, code >> 4 & 3)]
    mutual = [(a, b) for a, b, bits in pairs if bits == 3]
    edges = [(a, b) if bits == 1 else (b, a) for a, b, bits in pairs if bits in (1, 2)]
    name = f"{len(mutual)}{len(edges)}{3 - len(mutual) - len(edges)}"
    if name == "111":
        return name + ("D" if edges[0][1] in mutual[0] else "U")
    if name == "030":
        return name + ("C" if len({a for a, _ in edges}) == 3 else "T")
    if name in ("021", "120"):
        if edges[0][0] == edges[1][0]:
            return name + "D"
        return name + ("U" if edges[0][1] == edges[1][1] else "C")
    return name


def _count(worker: Worker) -> Array:
    """How many triples have each code of 64, those with a joined pair."""
    rows = simple_view(worker.graph)
    sources, targets, _ = worker.graph.edge_numbers()
    n = np.uint64(max(1, worker.graph.vertices))
    there = np.unique(sources.astype(np.uint64) * n + targets)
    tails = np.repeat(np.arange(rows.vertices, dtype=np.uint64), rows.out_degrees.astype(np.int64))
    heads = rows.out.neighbours.astype(np.uint64)
    along, back = np.isin(tails * n + heads, there), np.isin(heads * n + tails, there)
    codes = along.astype(np.uint8) + 2 * back.astype(np.uint8)
    own = worker.kernels(__name__).census(worker, rows, codes)
    return worker.sum(own)
