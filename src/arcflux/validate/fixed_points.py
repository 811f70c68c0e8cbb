"""Hubs, Katz and eigenvector centrality, checked as ranks are: one more iteration changes next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, flag, maybe, real, text
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["eigenvector", "hits", "katz"]

Array = NDArray[Any]


@takes_graph
@checked(hub=None, authority=None, tolerance=real)
def hits(graph: Graph, hub: Any, authority: Any, tolerance: float = 1e-6) -> Report:
    """Check hubs and authorities: each is the sum of the others along edges, as shares of 1, give or take `tolerance`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1], [2, 2])
    >>> bool(af.validate.hits(g, [0.5, 0.5, 0], [0, 0, 1])), bool(af.validate.hits(g, [0.5, 0.5, 0], [0.5, 0, 0.5]))
    (True, False)
    """
    arguments.checked_tolerance(tolerance)
    hubs = arguments.reals("hub", hub, graph.vertices)
    authorities = arguments.reals("authority", authority, graph.vertices)
    matrix = _matrix(graph, None)
    return Report("hits", (
        *_steady(graph, "authority", _shares(authorities), lambda: _shares(matrix.T @ _shares(hubs)), tolerance),
        *_steady(graph, "hub", _shares(hubs), lambda: _shares(matrix @ _shares(authorities)), tolerance),
    ))  # fmt: skip


@takes_graph
@checked(centrality=None, alpha=real, beta=array, normalized=flag, weight=maybe(text), tolerance=real)
def katz(
    graph: Graph, centrality: Any, alpha: float = 0.1, beta: Any = 1.0, *, normalized: bool = True,
    weight: str | None = None, tolerance: float = 1e-4,
) -> Report:  # fmt: skip
    """Check Katz centrality: each is beta plus alpha times the sum over in-neighbours, up to `tolerance`.

    `beta` is a number, or one for each vertex; `normalized`: the sum of squares is 1. The change of one more iteration
    (the L1 norm), before normalization, is compared with `tolerance`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1], [2, 2])
    >>> bool(af.validate.katz(g, [1, 1, 1.2], normalized=False)), bool(af.validate.katz(g, [1, 1, 1], normalized=False))
    (True, False)
    """
    arguments.checked_tolerance(tolerance)
    given = arguments.reals("centrality", centrality, graph.vertices)
    own = np.asarray(beta)
    own = arguments.reals("beta", np.full(given.shape, own) if own.ndim == 0 else own, graph.vertices)
    matrix = _matrix(graph, arguments.weights(graph, weight)).T
    rules, length = [], 1.0
    if normalized:
        square = float(given @ given)
        rules.append(Rule.overall("length", "the squares sum to 1", found=f"{square:.9g}",
                                  broken=bool(own.any()) and not abs(square - 1) <= 1e-9))  # fmt: skip
        offset = given - alpha * (matrix @ given)  # beta over the length before normalization
        length = float(own @ own) / float(own @ offset) if own @ offset else 1.0
    values = given * length
    rules += _steady(graph, "centrality", values, lambda: alpha * (matrix @ values) + own, tolerance)
    return Report("katz", tuple(rules))


@takes_graph
@checked(centrality=None, weight=maybe(text), tolerance=real)
def eigenvector(graph: Graph, centrality: Any, *, weight: str | None = None, tolerance: float = 1e-4) -> Report:
    """Check eigenvector centrality: its length is 1, and one more iteration changes it by at most `tolerance` in all.

    Examples
    --------
    >>> import arcflux as af
    >>> half = 0.5**0.5
    >>> bool(af.validate.eigenvector("path:2", [half, half])), bool(af.validate.eigenvector("path:2", [0.6, 0.8]))
    (True, False)
    """
    arguments.checked_tolerance(tolerance)
    given = arguments.reals("centrality", centrality, graph.vertices)
    matrix, square = _matrix(graph, arguments.weights(graph, weight)).T, float(given @ given)

    def again() -> Array:
        moved = matrix @ given + given
        return np.asarray(moved / max(float(np.linalg.norm(moved)), np.finfo(np.float64).tiny))

    length = Rule.overall("length", "the squares sum to 1", found=f"{square:.9g}",
                          broken=graph.vertices > 0 and not abs(square - 1) <= 1e-9)  # fmt: skip
    return Report("eigenvector", (length, *_steady(graph, "centrality", given, again, tolerance)))


def _matrix(graph: Graph, column: Array | None) -> Any:
    """The adjacency as a scipy sparse matrix, parallel edges added up."""
    from scipy.sparse import csr_array

    offsets, neighbours = graph.out
    values = np.ones(graph.arcs) if column is None else column.astype(np.float64)
    shape = graph.vertices, graph.vertices
    return csr_array((values, neighbours.astype(np.int64), offsets.astype(np.int64)), shape)


def _shares(values: Array) -> Array:
    total = float(values.sum())
    return values / total if total > 0 else values


def _steady(graph: Graph, name: str, values: Array, again: Any, tolerance: float) -> tuple[Rule, Rule]:
    """Whether values are finite numbers from 0 on, and one more iteration changes at most `tolerance` in all."""
    sane = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):  # for values that are not numbers; the first rule reports them
        moved = np.abs(again() - values)
    restless = np.empty(0, np.int64)
    if not float(moved.sum()) <= tolerance:
        restless = np.flatnonzero(~(moved <= tolerance / max(1, graph.vertices)))
        restless = restless[np.argsort(-moved[restless], kind="stable")]
    return (
        Rule.checked(f"{name}-range", f"every {name} is a finite number", np.flatnonzero(~sane),
                     lambda v: Offence(arguments.user_id(graph, v), f"{values[v]}", "a finite number")),
        Rule.checked(f"{name}-iteration", f"one more iteration moves them by at most {tolerance:.3g} in all", restless,
                     lambda v: Offence(arguments.user_id(graph, v), f"{values[v]:.9g}",
                                       f"one that moves less than by {moved[v]:.3g}")),
    )  # fmt: skip
