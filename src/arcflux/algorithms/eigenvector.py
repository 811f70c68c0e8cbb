"""Eigenvector centrality: a vertex is as central as the vertices that lead to it (Bonacich 1972)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.algorithms.katz import start_values
from arcflux.algorithms.surfer import weighed
from arcflux.checks import reals, unwelcome, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.front import warn_unless_converged
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["Eigenvector", "WeightedEigenvector", "eigenvector_centrality"]


@af.program
class Eigenvector:
    """The power iteration of A^T + I, which has the eigenvectors of A^T and does not alternate on bipartite graphs."""

    tolerance: float = 1e-6
    most: int = 100
    centrality: af.f64
    gathered: af.f64
    squares: af.total(af.f64)
    moved: af.total(af.f64)

    @af.phase
    class gather:
        """The sum of a vertex's value and those of its in-neighbours."""

        def init(v, old):
            v.gathered = old.centrality

        def compute(v, u):
            v.gathered += u.centrality

        def update(v, g):
            g.squares += v.gathered * v.gathered
            return True

    @af.phase(edges=None)
    class scale:
        """Scale to length 1."""

        def update(v, g):
            fresh = v.gathered / math.sqrt(g.squares) if g.squares > 0.0 else v.gathered
            g.moved += abs(fresh - v.centrality)
            v.centrality = fresh
            return True

    def iteration(run, g, p):
        run.gather()
        run.scale()
        return g.moved >= p.tolerance and run.iterations < p.most


@af.program
class WeightedEigenvector(Eigenvector):
    """The same, with weights."""

    @af.phase
    class gather:
        """The sum of a vertex's value and those of its in-neighbours, times the weight of the edge."""

        def init(v, old):
            v.gathered = old.centrality

        def compute(v, u, edge):
            v.gathered += u.centrality * edge.weight

        def update(v, g):
            g.squares += v.gathered * v.gathered
            return True


@graph_call(max_iter=wholes(1), tol=reals(0), nstart=None, given=unwelcome)
def eigenvector_centrality(
    graph: Graph,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | Any = None,
    weight: str | None = None,
    **options: Any,
) -> af.Result:
    """The leading eigenvector, of length 1; the arguments are NetworkX's.

    The power iteration begins with `nstart`, a number for each id or for every vertex in order (without it all alike),
    and ends when one more moves all values by less than ``vertices * tol`` together; after `max_iter` of them the
    result is marked as not converged, with a warning.
    Edges count in their direction, parallel edges and self-loops as often as they are there. `weight` is the edge
    column to multiply with. Without strong connectivity there may be several such vectors: which one is found depends
    on the first.

    Examples
    --------
    >>> import arcflux as af
    >>> af.eigenvector_centrality(af.load("star:5"), tol=1e-9)["centrality"].round(3).tolist()
    [0.707, 0.354, 0.354, 0.354, 0.354]
    """
    first = start_values(graph, "nstart", nstart, 1.0)
    first = first / max(1.0, float(np.abs(first).max(initial=0.0)))  # or the sum may be infinite
    if graph.vertices and not first.sum():
        raise UsageError("the values of nstart sum to 0", expected="numbers that do not")
    first = first / first.sum() if graph.vertices else first
    choosing, least = weighed(graph, weight), graph.vertices * tol
    program = Eigenvector if choosing is None else WeightedEigenvector
    made = af.run(program, choosing or graph, given={"centrality": first}, tolerance=least, most=max_iter, **options)
    values = {"centrality": made.values["centrality"]}
    moved = made.totals.get("moved", 0.0)
    result = replace(made, graph=graph, values=values, converged=made.converged and (moved < least or not len(first)))
    if made.converged:
        warn_unless_converged(result)
    named, reached = None if choosing is None else weight, max(10 * max(least, moved), 1e-9)
    return result.checked_by(
        lambda found: af.validate.eigenvector(graph, found["centrality"], weight=named, tolerance=reached)
    )
