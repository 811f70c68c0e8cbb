"""Edge betweenness: how many of all shortest paths lead along an edge (Girvan, Newman 2002; Brandes 2008)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.edge_subset import edge_values
from arcflux.checks import flag, maybe, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.graph.arcs import reverse_places

__all__ = ["arc_dependencies", "edge_betweenness_centrality"]

Array = NDArray[Any]


@graph_call(k=maybe(wholes(1)), normalized=flag, seed=any_seed)
def edge_betweenness_centrality(
    graph: Graph, k: int | None = None, normalized: bool = True, seed: int = 0, **where: Any
) -> af.Result:  # fmt: skip
    """The share of shortest paths between all vertices that lead along each edge: ``result.edges["centrality"]``.

    `centrality` of a vertex is the largest of its out-edges'. `k`: from this many sources, drawn by `seed`, scaled to
    all. `normalized` divides by the number of pairs of vertices. Paths are measured in edges, and followed in their
    direction. Each of parallel edges has a path of its own; a self-loop has 0; weights make no difference. Both arcs of
    an undirected edge have its value. Workers take a share of the sources: O(V E), floats agree to rounding.

    Examples
    --------
    >>> import arcflux as af
    >>> af.edge_betweenness_centrality("path:3", normalized=False).edges["centrality"].tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    n = graph.vertices
    chosen = np.arange(n)
    if k is not None and k < n:
        chosen = np.sort(np.random.Generator(np.random.Philox(seed % (1 << 64))).permutation(n)[:k])
    done = launch(graph, where, lambda worker: arc_dependencies(worker, chosen))
    values = done.answer * (n / max(1, len(chosen)))
    if not graph.directed and graph.arcs:
        values = (values + values[reverse_places(graph)]) / 2
    if normalized and n > 1:
        values = values * ((1 if graph.directed else 2) / (n * (n - 1)))
    most = np.zeros(n)
    there = np.flatnonzero(graph.out_degrees > 0)
    if len(there):
        most[there] = np.maximum.reduceat(values, graph.out.offsets[:-1][there].astype(np.int64))
    result = af.Result(
        "edge_betweenness_centrality", graph, {"centrality": most}, [], True, done.seconds, done.compile_seconds,
        edges=edge_values(graph, centrality=values),
    )  # fmt: skip
    return done.finish(result).checked_by(
        lambda made: af.validate.edge_betweenness(
            graph, made.edges["centrality"], graph.ids.to_ids(chosen), normalized=normalized
        )
    )


def arc_dependencies(worker: Worker, sources: Array) -> Array:
    """For each arc, the sum over sources of the shares of shortest paths from there that go along it."""
    first, last = worker.share(len(sources))
    own = worker.kernels(__name__).dependencies(worker, sources[first:last])
    return worker.sum(own)
