"""Slow plain versions of what arcflux.partition computes, from a list of arcs and the words of the papers."""

from __future__ import annotations

from math import isqrt


def arcs_of(graph):
    """Every arc as (source, target, place in graph.into), in the order of graph.into."""
    offsets, neighbours = (array.tolist() for array in graph.into)
    return [(neighbours[i], v, i) for v in range(graph.vertices) for i in range(offsets[v], offsets[v + 1])]


def range_of(v, n, ranges):
    """In which of some equal ranges of n vertices v is."""
    return next(i for i in range(ranges) if i * n // ranges <= v < (i + 1) * n // ranges)


def grid_shape(k):
    """Two factors of k that are as near as can be; the smallest that cover it with isqrt(k) rows when k is prime."""
    factors = [(p, k // p) for p in range(1, k + 1) if k % p == 0 and p <= k // p]
    rows, columns = factors[-1]
    return (rows, columns) if rows > 1 or k < 4 else (isqrt(k), -(-k // isqrt(k)))


def threshold_of(graph):
    """Above how many out-arcs a vertex is high, if nobody says."""
    return 8 * graph.arcs // graph.vertices


def place(parts, threshold=None):
    """A function of source and target that says at which part an arc is, for parts by any partitioner."""
    owner = parts.owner.tolist()
    if parts.placement == "target":
        return lambda u, v: owner[v]
    if parts.placement == "source":
        return lambda u, v: owner[u]
    n, k = parts.graph.vertices, parts.k
    if parts.how == "grid":
        rows, columns = grid_shape(k)
        cells = rows * columns
        return lambda u, v: (range_of(v, n, columns) * rows + range_of(u, n, rows)) * k // cells
    degrees = parts.graph.out_degrees.tolist()
    threshold = threshold_of(parts.graph) if threshold is None else threshold

    def by_degree(u, v):
        if degrees[u] <= threshold:
            return owner[u]
        if degrees[v] <= threshold:
            return owner[v]
        return owner[min((degrees[u], u), (degrees[v], v))[1]]

    return by_degree


def ends_of(parts, threshold=None):
    """INS and ONS of every part, as sets: the sources and the targets of its arcs."""
    where = place(parts, threshold)
    sources, targets = ([set() for _ in range(parts.k)] for _ in range(2))
    for u, v, _ in arcs_of(parts.graph):
        sources[where(u, v)].add(u)
        targets[where(u, v)].add(v)
    return sources, targets


def needs_of(parts, nodes, ends, threshold=None):
    """For every node, the vertices that its parts have to do with and that parts of other nodes own, as a set."""
    sources, targets = ends_of(parts, threshold)
    chosen = {"sources": sources, "targets": targets, "both": [a | b for a, b in zip(sources, targets, strict=True)]}
    owner = parts.owner.tolist()
    return [
        {v for i, node in enumerate(nodes) if node == j for v in chosen[ends][i] if nodes[owner[v]] != j}
        for j in range(max(nodes) + 1)
    ]
