"""igraph: C, one thread; answers are Python lists."""

from __future__ import annotations

import igraph
import numpy as np

from peers import Arrays, Kernel, levels_of_layers


def kernels(graph: Arrays, threads: int) -> dict[str, Kernel]:
    n = graph.vertices
    first, second, weight = graph.edges()
    made = igraph.Graph(n, np.column_stack([first, second]))
    pairs = graph.degrees * (graph.degrees - 1) / 2
    lengths = weight.astype(np.float64)
    return {
        "bfs": (made.bfs, lambda found: levels_of_layers(np.array(found[0]), np.array(found[1]), n)),
        "sssp": (lambda source: made.distances(source, weights=lengths)[0], np.array),
        # PRPACK decides itself when it has converged.
        "pr": (lambda source: made.pagerank(), np.array),
        "cc": (lambda source: made.connected_components().membership, np.array),
        "bc": (lambda source: made.betweenness(sources=[source]), np.array),
        # A list of them all is too long; this counts them at each vertex, as a share of its pairs of neighbours.
        "tc": (
            lambda source: made.transitivity_local_undirected(mode="zero"),
            lambda shares: round(np.dot(shares, pairs) / 3),
        ),
    }
