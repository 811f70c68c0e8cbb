"""Closeness, eccentricity and hops, which follow from distances in edges; by plain searches, or edge by edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, flag, wholes
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["closeness", "eccentricity", "harmonic", "k_hop"]

Array = NDArray[Any]

# The number of vertices whose searches are compared, and of searches at once.
_SAMPLE, _BLOCK = 256, 16


@takes_graph
@checked(centrality=None, wf_improved=flag)
def closeness(graph: Graph, centrality: Any, wf_improved: bool = True, *, vertices: Any = None) -> Report:
    """Check closeness centrality by scipy's search against the edges from each of some vertices.

    `vertices`: the ids of the vertices to check; by default all, or 256 drawn with a fixed seed.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.closeness("path:3", [2 / 3, 1, 2 / 3])), bool(af.validate.closeness("path:3", [1, 1, 1]))
    (True, False)
    """
    others = max(1, graph.vertices - 1)

    def value(near: Array) -> float:
        total = float(near.sum())
        return len(near) / total * (len(near) / others if wf_improved else 1.0) if total else 0.0

    return _compared("closeness", graph, centrality, vertices, value, against=True)


@takes_graph
@checked(centrality=None)
def harmonic(graph: Graph, centrality: Any, *, vertices: Any = None) -> Report:
    """Check harmonic centrality as :func:`closeness` is.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.harmonic("path:3", [1.5, 2, 1.5])), bool(af.validate.harmonic("path:3", [1, 2, 1.5]))
    (True, False)
    """
    return _compared("harmonic", graph, centrality, vertices, lambda near: float((1 / near).sum()), against=True)


@takes_graph
@checked(eccentricity=None)
def eccentricity(graph: Graph, eccentricity: Any, *, vertices: Any = None) -> Report:
    """Check eccentricities as :func:`closeness` does, by searches along edges; inf unless all vertices are reached.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.eccentricity("path:3", [2, 1, 2])), bool(af.validate.eccentricity("path:3", [2, 1, 1]))
    (True, False)
    """
    others = graph.vertices - 1

    def value(near: Array) -> float:
        return float(near.max(initial=0)) if len(near) == others else np.inf

    return _compared("eccentricity", graph, eccentricity, vertices, value, against=False)


def _compared(name: str, graph: Graph, given: Any, vertices: Any, value: Any, against: bool) -> Report:
    """Compare values with `value(distances from 1 on)` of a search from each of some vertices."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    values, n = arguments.reals(name, given, graph.vertices), graph.vertices
    if vertices is not None:
        chosen = arguments.numbers_of(graph, vertices)
    elif n <= _SAMPLE:
        chosen = np.arange(n)
    else:
        chosen = np.sort(np.random.default_rng(1).choice(n, _SAMPLE, replace=False))
    matrix = csr_array((np.ones(graph.arcs), *arguments.rows_for_searches(graph)), (n, n))
    matrix = matrix.T.tocsr() if against else matrix
    expected = np.empty(len(chosen))
    for first in range(0, len(chosen), _BLOCK):
        block = dijkstra(matrix, indices=chosen[first : first + _BLOCK], unweighted=True)
        for k, row in enumerate(block, first):
            expected[k] = value(row[np.isfinite(row) & (row > 0)])
    chosen_values = values[chosen]
    wrong = np.flatnonzero(~np.isclose(chosen_values, expected, rtol=1e-9, atol=0.0))
    rule = Rule.checked(
        "values", f"{len(chosen):,} vertices have what a search from each gives", wrong,
        lambda k: Offence(arguments.user_id(graph, chosen[k]), repr(float(chosen_values[k])), repr(float(expected[k]))),
    )  # fmt: skip
    return Report(name, (rule,))


@takes_graph
@checked(sources=array, hops=None, k=wholes(0))
def k_hop(graph: Graph, sources: Any, hops: Any, k: int = 2) -> Report:
    """Check each vertex's distance in edges to the nearest source, up to `k`; -1 beyond.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.k_hop("path:4", 0, [0, 1, 2, -1])), bool(af.validate.k_hop("path:4", 0, [0, 1, -1, -1]))
    (True, False)
    """
    given = arguments.wholes("hops", hops, graph.vertices)
    roots = np.zeros(graph.vertices, np.bool_)
    roots[arguments.numbers_of(graph, np.atleast_1d(np.asarray(sources)))] = True
    offsets, neighbours = graph.out
    source = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
    beyond = max(1, k) + graph.vertices
    far = np.where(given < 0, beyond, given)
    reach = far[source] + 1
    near = np.zeros(graph.vertices, np.bool_)
    near[neighbours[reach == far[neighbours]]] = True
    skipped = np.flatnonzero((given[source] >= 0) & (reach <= k) & (far[neighbours] > reach))

    def tell(v: int) -> Offence:
        return Offence(arguments.user_id(graph, v), f"{given[v]} hops", "0 of sources alone, else 1 to k, or -1")

    def tell_edge(place: int) -> Offence:
        u, v = (arguments.user_id(graph, end[place]) for end in (source, neighbours))
        return Offence(v, f"{given[neighbours[place]]} hops", f"at most {reach[place]}: edge {u} -> {v}")

    return Report("k_hop", (
        Rule.checked("range", "sources have 0, and others -1 or 1 to k", np.flatnonzero(
            (roots != (given == 0)) | (given < -1) | (given > k)), tell),
        Rule.checked("in-edge", "an edge leads to every other from one hop before", np.flatnonzero(
            (given > 0) & ~near), lambda v: Offence(arguments.user_id(graph, v), f"{given[v]} hops", "such an edge")),
        Rule.checked("edges", "no edge skips a hop", skipped, tell_edge, unit="edges"),
    ))  # fmt: skip
