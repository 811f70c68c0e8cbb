"""Projections, checked by another algorithm: products of scipy's sparse matrices, and sums that have to come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, maybe, shown, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["projection"]


@takes_graph
@checked(projected=arguments.graph, onto=text, method=text, weight=maybe(text))
def projection(
    graph: Graph,
    projected: Graph,
    onto: str = "targets",
    method: str = "count",
    *,
    vertices: Any = None,
    weight: str | None = "weight",
) -> Report:
    """Check a projection by a product of sparse matrices; the arguments are those of :func:`arcflux.project`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("ratings:30x20,per=4")
    >>> bool(af.validate.projection(g, af.project(g).projection))
    True
    """
    from scipy.sparse import csr_array

    n = graph.vertices
    if projected.vertices != n:
        raise UsageError(f"projected has {projected.vertices:,} vertices", expected=f"{n:,}, as the graph")
    offsets, neighbours = graph.out
    rows = np.repeat(np.arange(n), np.diff(offsets).astype(np.int64))
    column = graph.columns.get(weight) if method == "product" and weight is not None else None
    ones = np.ones(graph.arcs) if column is None else column.astype(np.float64)
    matrix = csr_array((ones, (rows, neighbours)), (n, n))
    matrix.sum_duplicates()
    if method != "product":
        matrix.data[:] = 1.0  # parallel edges count once
    matrix = matrix.T.tocsr() if onto == "sources" else matrix
    degree = np.diff(matrix.tocsc().indptr).astype(np.float64)
    shares = 1.0 / np.maximum(np.diff(matrix.indptr) - 1.0, 1.0) if method == "newman" else np.ones(n)
    pattern = matrix.copy()
    pattern.data[:] = 1.0
    structure = (pattern.T @ pattern).tocoo()
    product = (matrix.T @ (matrix * shares[:, None])).tocoo()
    keep = product.row != product.col
    chosen = np.ones(n, bool)
    if vertices is not None:
        if not np.iterable(vertices):
            raise UsageError(f"vertices is {shown(vertices)}", expected="a list of ids")
        chosen[:] = False
        chosen[graph.ids.to_numbers(list(array("vertices", vertices)))] = True
    keep &= chosen[product.row] & chosen[product.col]
    expected = ((structure.row != structure.col) & chosen[structure.row] & chosen[structure.col]).sum()
    row, column, value = product.row[keep], product.col[keep], product.data[keep]
    if method == "jaccard":
        value = value / (degree[row] + degree[column] - value)
    elif method == "overlap":
        value = value / np.minimum(degree[row], degree[column])
    own_offsets, own = projected.out
    own_rows = np.repeat(np.arange(n), np.diff(own_offsets).astype(np.int64))
    difference = (
        csr_array((value, (row, column)), (n, n))
        - csr_array((projected.columns["weight"].astype(np.float64), (own_rows, own)), (n, n))
    ).tocoo()  # fmt: skip
    wrong = np.flatnonzero(np.abs(difference.data) > 1e-9 * max(1.0, float(np.abs(value).max(initial=0.0))))
    pairs = Rule.checked(
        "weights", "every pair has the weight that a product of matrices gives it", wrong,
        lambda k: Offence(arguments.user_id(graph, difference.row[k]), f"off by {difference.data[k]:g}", "0"),
        unit="edges",
    )  # fmt: skip
    extra = Rule.overall(
        "pairs", "there are as many pairs as the product has", f"{projected.arcs:,} arcs", projected.arcs != expected
    )
    return Report(f"projection on {onto} by {method}", (extra, pairs))
