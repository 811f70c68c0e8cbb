"""NetworKit: C++ with OpenMP."""

from __future__ import annotations

import networkit
import numpy as np

from peers import Array, Arrays, Kernel


def kernels(graph: Arrays, threads: int) -> dict[str, Kernel]:
    networkit.setNumberOfThreads(threads)
    n = graph.vertices
    *both, weight = graph.edges()
    first, second = (ends.astype(np.uint64) for ends in both)
    weighted = networkit.GraphFromCoo((weight.astype(np.float64), (first, second)), n, weighted=True)
    plain = networkit.GraphFromCoo((first, second), n, edgesIndexed=True)

    def pagerank(source: int) -> object:
        run = networkit.centrality.PageRank(plain, 0.85, 1e-4)
        run.norm = networkit.centrality.Norm.L1_NORM
        return run.run()

    def levels(run: object) -> Array:
        return _distances(run, n, -1)

    def distances(run: object) -> Array:
        return _distances(run, n, np.inf)

    return {
        "bfs": (lambda source: networkit.distance.BFS(plain, source, False).run(), levels),
        "sssp": (lambda source: networkit.distance.Dijkstra(weighted, source, False).run(), distances),
        "pr": (pagerank, lambda run: np.array(run.scores())),
        "cc": (lambda source: networkit.components.ParallelConnectedComponents(plain, False).run(),
               lambda run: np.array(run.getPartition().getVector())),
        # One source, which NetworKit picks itself: its answer cannot be compared.
        "bc": (lambda source: networkit.centrality.EstimateBetweenness(plain, 1).run(), None),
        "tc": (lambda source: networkit.sparsification.TriangleEdgeScore(plain).run(),
               lambda run: round(sum(run.scores()) / 3)),
    }  # fmt: skip


def _distances(run: object, vertices: int, far: float) -> Array:
    found = np.array(run.getDistances())  # type: ignore[attr-defined]
    # Unreached vertices have the largest number that there is.
    return np.where(found > 1e300, far, found)
