"""SuiteSparse:GraphBLAS by python-graphblas, in the usual formulations (Kepner and Gilbert, Graph Algorithms in the
Language of Linear Algebra; for components Zhang, Azad and Hu, FastSV). Matrices are symmetric: rows serve as columns.
"""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, select, semiring, unary

from peers import Array, Arrays, Kernel, levels_of_parents


def kernels(graph: Arrays, threads: int) -> dict[str, Kernel]:
    gb.ss.config["nthreads"] = threads
    n = graph.vertices
    # The matrices take the arrays over, so each has its own.
    offsets, neighbours = graph.offsets.astype(np.uint64), graph.neighbours.astype(np.uint64)
    pattern = Matrix.from_csr(offsets, neighbours, 1.0, ncols=n, dtype=np.float32)
    weighted = Matrix.from_csr(offsets, neighbours, graph.weight.astype(np.float32), ncols=n)
    degrees = Vector.from_dense(graph.degrees.astype(np.float32), missing_value=0.0)

    def triangles(source: int) -> int:
        return count_triangles(pattern, graph.degrees)

    return {
        "bfs": (lambda source: parents(pattern, source), lambda p: levels_of_parents(p.to_dense(fill_value=-1))),
        "sssp": (lambda source: distances(weighted, source), lambda d: d.to_dense(fill_value=np.inf)),
        "pr": (lambda source: ranks(pattern, degrees), lambda r: r.to_dense(fill_value=0.0)),
        "cc": (lambda source: components(pattern), lambda f: f.to_dense(fill_value=0)),
        "bc": (lambda source: dependencies(pattern, source), lambda d: d.to_dense(fill_value=0.0)),
        "tc": (triangles, int),
    }


def parents(matrix: Matrix, source: int) -> Vector:
    """Breadth-first search: push along the frontier's rows, or pull by unreached rows when the frontier is large."""
    n = matrix.nrows
    found = Vector.from_coo([source], [source], size=n, dtype=np.int64)
    front = found.dup()
    while front.nvals:
        if front.nvals > n // 20:
            front(~found.S, replace=True) << semiring.ss.any_secondi(matrix @ front)
        else:
            front(~found.S, replace=True) << semiring.ss.any_secondi(front @ matrix)
        found(front.S) << front
    return found


def distances(matrix: Matrix, source: int) -> Vector:
    """Bellman-Ford from the vertices that came closer."""
    nearest = Vector.from_scalar(np.inf, matrix.nrows, dtype=np.float32)
    nearest[source] = 0
    front = Vector.from_coo([source], [0.0], size=matrix.nrows, dtype=np.float32)
    while front.nvals:
        offer = semiring.min_plus(front @ matrix).new()
        closer = binary.lt(offer & nearest).new()
        front(closer.V, replace=True) << offer
        nearest(front.S) << front
    return nearest


def ranks(matrix: Matrix, degrees: Vector) -> Vector:
    """PageRank until the ranks move by less than 1e-4 together, 100 times at most."""
    n = matrix.nrows
    rank = Vector.from_scalar(1 / n, n, dtype=np.float32)
    share = binary.truediv(degrees, 0.85).new(dtype=np.float32)
    for _ in range(100):
        sent = binary.truediv(rank & share).new()
        after = Vector.from_scalar(0.15 / n, n, dtype=np.float32)
        after(binary.plus) << semiring.plus_second(matrix @ sent)
        moved = unary.abs(binary.minus(rank & after)).new().reduce(monoid.plus).new().value
        rank = after
        if moved < 1e-4:
            break
    return rank


def components(matrix: Matrix) -> Vector:
    """FastSV: hook trees onto the smallest grandparent next door, shortcut, until no grandparent changes."""
    n = matrix.nrows
    parent = Vector.from_dense(np.arange(n, dtype=np.uint32))
    grand, least = parent.dup(), parent.dup()
    while True:
        least(binary.min) << semiring.min_second(matrix @ grand)
        where, what = parent.to_dense(), least.to_dense()
        hooked = Vector.from_coo(where, what, size=n, dup_op=binary.min)
        parent(binary.min) << hooked
        parent(binary.min) << least
        parent(binary.min) << grand
        above = parent.to_dense()
        after = Vector.from_dense(above[above])
        if after.isequal(grand):
            return parent
        grand = after


def dependencies(matrix: Matrix, source: int) -> Vector:
    """Brandes: count shortest paths level by level, then hand dependencies back."""
    n = matrix.nrows
    front = Vector.from_coo([source], [1.0], size=n, dtype=np.float32)
    paths, levels = front.dup(), []
    while front.nvals:
        levels.append(front)
        front = front.dup()
        front(~paths.S, replace=True) << semiring.plus_first(front @ matrix)
        paths(front.S) << front
    score = Vector.from_scalar(1.0, n, dtype=np.float32)
    for depth in range(len(levels) - 1, 0, -1):
        share = Vector(np.float32, n)
        share(levels[depth].S) << binary.truediv(score & paths)
        back = Vector(np.float32, n)
        back(levels[depth - 1].S) << semiring.plus_first(share @ matrix)
        score(binary.plus) << binary.times(back & paths)
    return binary.minus(score, 1.0).new()


def count_triangles(matrix: Matrix, degrees: Array) -> Any:
    """Masked products of the upper triangle, vertices in the order of their degrees where degrees are skewed."""
    if degrees.mean() > 10 and degrees.mean() > 1.3 * np.median(degrees):
        order = np.argsort(degrees, kind="stable")
        matrix = matrix[order, order].new()
    upper = select.triu(matrix, 1).new()
    count = Matrix(np.int64, *upper.shape)
    count(upper.S) << semiring.plus_pair(upper @ upper.T)
    return count.reduce_scalar(monoid.plus).new().value or 0
