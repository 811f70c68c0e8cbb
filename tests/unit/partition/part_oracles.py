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

    def by_degree(u, v):
        if degrees[u] <= threshold:
            return owner[u]
        if degrees[v] <= threshold:
            return owner[v]
        return owner[min((degrees[u], u), (degrees[v], v))[1]]

    return by_degree
