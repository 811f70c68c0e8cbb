"""scipy.sparse.csgraph, and for PageRank the power iteration that its matrices are made for. One thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from peers import Array, Arrays, Kernel, levels_of_parents


def kernels(graph: Arrays, threads: int) -> dict[str, Kernel]:
    n = graph.vertices
    shape = {"shape": (n, n), "copy": False}
    # csgraph computes with float64 only, and would copy any other matrix each time.
    matrix = sparse.csr_array(
        (graph.weight.astype(np.float64), graph.neighbours, graph.offsets.astype(np.int32)), **shape
    )
    pattern = sparse.csr_array((np.ones(len(graph.neighbours), np.float32), matrix.indices, matrix.indptr), **shape)
    degrees = np.maximum(graph.degrees, 1).astype(np.float32)

    def pagerank(source: int) -> Array:
        rank = np.full(n, 1 / n, np.float32)
        for _ in range(100):
            before = rank
            rank = np.float32(0.15 / n) + np.float32(0.85) * (pattern @ (rank / degrees))
            if np.abs(rank - before).sum() < 1e-4:
                break
        return rank

    def levels(found: tuple[Array, Array]) -> Array:
        order, before = found
        parents = np.where(before < 0, -1, before)
        parents[order[0]] = order[0]
        return levels_of_parents(parents)

    def search(source: int) -> Any:
        return csgraph.breadth_first_order(matrix, source, directed=True)

    return {
        "bfs": (search, levels),
        "sssp": (lambda source: csgraph.dijkstra(matrix, indices=source), np.asarray),
        "pr": (pagerank, np.asarray),
        "cc": (lambda source: csgraph.connected_components(matrix, directed=False), lambda found: found[1]),
    }
