"""Katz centrality: the number of walks that lead to a vertex, with a factor alpha per step (Katz 1953)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.algorithms.surfer import weighed
from arcflux.checks import finite, flag, real_array, reals, shown, unwelcome, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.front import warn_unless_converged
from arcflux.errors import ArcfluxError, UsageError
from arcflux.graph import Graph
from arcflux.graph.ids import by_id

__all__ = ["Katz", "WeightedKatz", "katz_centrality", "start_values"]


@af.program
class Katz:
    """x = alpha A^T x + beta, repeatedly, until the changes of x are below the tolerance in total."""

    alpha: float = 0.1
    tolerance: float = 1e-6
    centrality: af.f64
    beta: af.f64

    def start(v):
        return True

    def init(v):
        v.centrality = 0.0

    def compute(v, u):
        v.centrality += u.centrality

    def update(v, old, p):
        v.centrality = p.alpha * v.centrality + v.beta
        return v.centrality != old.centrality

    def residual(v, old):
        return abs(v.centrality - old.centrality)


@af.program
class WeightedKatz(Katz):
    """The same; a walk counts with the product of its weights."""

    def compute(v, u, edge):  # type: ignore[override]
        v.centrality += u.centrality * edge.weight


@graph_call(alpha=finite, beta=None, max_iter=wholes(0), tol=reals(0), nstart=None, normalized=flag, given=unwelcome)
def katz_centrality(
    graph: Graph,
    alpha: float = 0.1,
    beta: float | Mapping[Any, float] | Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | Any = None,
    normalized: bool = True,
    weight: str | None = None,
    **options: Any,
) -> af.Result:
    """The Katz centrality of every vertex; the arguments are NetworkX's.

    `alpha` has to be below one over the largest eigenvalue, or the sums grow for ever and the result is marked as not
    converged. `beta`, what a vertex has by itself, and `nstart` are a number for each id, or for every vertex in order;
    `beta` may be one number for all. It stops when centralities move by less than ``vertices * tol`` in all, or after
    `max_iter` supersteps. `normalized`: the sum of their squares is 1.
    Edges count in their direction, parallel edges and self-loops as often as they are there. `weight` is the edge
    column whose values a walk multiplies.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1], [2, 2])
    >>> af.katz_centrality(g, normalized=False)["centrality"].round(3).tolist()
    [1.0, 1.0, 1.2]
    """
    n = graph.vertices
    given = {
        "beta": start_values(graph, "beta", beta, 1.0), "centrality": start_values(graph, "nstart", nstart, 0.0),
    }  # fmt: skip
    choosing = weighed(graph, weight)
    program = Katz if choosing is None else WeightedKatz
    result = af.run(
        program, choosing or graph, given=given, alpha=alpha, tolerance=n * tol,
        **{"max_supersteps": max_iter, **options},
    )  # fmt: skip
    found = result.values["centrality"]
    length = float(np.linalg.norm(found)) if normalized else 1.0
    if 0 < length < np.inf:  # overflowed sums stay as they are: the result has not converged
        found = found / length
    made = unconverged_if_infinite(replace(result, graph=graph, values={"centrality": found}))
    reached = max(10 * max(n * tol, result.residual), 1e-9 * float(np.abs(found).sum() * length))
    return made.checked_by(
        lambda one: af.validate.katz(
            graph, one["centrality"], alpha, given["beta"], normalized=normalized,
            weight=None if choosing is None else weight, tolerance=reached,
        )
    )  # fmt: skip


def unconverged_if_infinite(result: af.Result) -> af.Result:
    """Mark a result with infinite values as not converged, with a warning."""
    if not result.converged or all(np.isfinite(values).all() for values in result.values.values()):
        return result
    made = replace(result, converged=False)
    warn_unless_converged(made)
    return made


def start_values(graph: Graph, name: str, values: Any, otherwise: float) -> Any:
    """A number for each vertex: from a mapping by id, with 0 for others; from an array in order; or one for all."""
    known = by_id(otherwise if values is None else values)
    found = np.zeros(graph.vertices)
    expected = f"a number for each id, such as {{7: 1.0}}, or {graph.vertices:,} numbers"
    try:
        if isinstance(known, Mapping):
            numbers = real_array(name, list(known.values()), expected)
            if numbers.ndim != 1:
                raise ValueError
            if known:
                found[graph.ids.to_numbers(list(known))] = numbers
        else:
            found[:] = np.broadcast_to(real_array(name, known, expected), (graph.vertices,))
    except ValueError as error:
        if isinstance(error, ArcfluxError):
            raise
        raise UsageError(f"{name} is {shown(values)}", expected=expected) from None
    if not np.isfinite(found).all():
        raise UsageError(f"{name} has a number that is none, or infinite", expected="finite numbers")
    return found
