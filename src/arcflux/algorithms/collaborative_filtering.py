"""Collaborative filtering: hidden factors of users and items, learned from the ratings that are known."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.bfs import bfs
from arcflux.checks import array, checked, instance, maybe, reals, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph

__all__ = ["CollaborativeFiltering", "collaborative_filtering", "predict", "recommend"]

_RESULT = instance("result", "Result", "what af.collaborative_filtering gives")


@af.program
class CollaborativeFiltering:
    """Gradient descent on equation 2 of the Lux paper (section 3.4, figure 6), by its equations 3 to 5."""

    k: int = 8
    rate: float = 0.001
    regularisation: float = 0.01
    iterations: int = 50
    seed: int = 1
    centre: float = 0.5
    spread: float = 0.25
    factors: af.f32[k]
    error: af.f64

    def start(v, p):
        for k in range(p.k):  # a hash of the seed, the vertex and the element: the same on any number of workers
            x = (p.seed * 668265263 + v.number * p.k + k) & 4294967295
            for _ in range(2):
                x = ((x ^ (x >> 16)) * 2146121005) & 4294967295
                x = ((x ^ (x >> 15)) * 739982445) & 4294967295
            v.factors[k] = p.centre + p.spread * ((x ^ (x >> 16)) / 2147483648.0 - 1.0)  # type: ignore[index]
        return True

    def init(v):
        v.factors = 0.0
        v.error = 0.0

    def compute(v, u, old, edge):
        error = edge.weight - af.dot(u.factors, old.factors)
        v.factors += error * u.factors
        v.error += error * error

    def update(v, old, p, step):
        v.factors = old.factors + p.rate * (v.factors - p.regularisation * old.factors)
        return step + 1 < p.iterations

    def residual(v, g):
        return v.error / g.arcs


@graph_call(
    factors=wholes(1), rate=maybe(reals(0)), regularisation=reals(0), iterations=wholes(0), seed=any_seed, weight=text
)
def collaborative_filtering(
    graph: Graph,
    factors: int = 8,
    rate: float | None = None,
    regularisation: float = 0.01,
    iterations: int = 50,
    seed: int = 1,
    weight: str = "weight",
    **options: Any,
) -> af.Result:
    """The `factors` of every vertex, whose dot products come close to the ratings: the edges' column `weight`.

    The graph is undirected and bipartite: an edge says how a user rated an item, and both ends learn from it. Parallel
    edges are several ratings of the same item, and the error of each counts. A vertex without ratings has nothing to
    learn from: its factors shrink from where they began. The residual of a superstep is the root of the mean squared
    error (RMSE) of the factors with which the superstep began, so ``[s.residual for s in result.history]`` shows
    whether it falls.

    Parameters
    ----------
    graph
        Ratings, for example of :func:`arcflux.generate.ratings`.
    factors
        How many numbers describe a vertex.
    rate
        How far a superstep goes along the gradient. Without it, half of what is safe for the vertex with most ratings.
    regularisation
        How strongly large factors are drawn back (lambda in the paper).
    iterations
        How many supersteps to run.
    seed
        Where the factors begin: around the root of the mean rating, spread by the ratings' own deviation.
    weight
        The edge column with the ratings.
    options
        Of :func:`arcflux.run`.

    Examples
    --------
    >>> import arcflux as af
    >>> ratings = af.load("ratings:60x20,per=10")
    >>> result = af.algorithms.collaborative_filtering(ratings, factors=4, iterations=100)
    >>> result["factors"].shape, result.history[0].residual > result.residual
    ((80, 4), True)
    """
    given = _ratings(graph, weight)
    values = given.columns["weight"]
    mean, deviation = (float(values.mean()), float(values.std())) if len(values) else (0.0, 0.0)
    if rate is None:
        rate = 0.5 / (int(given.out_degrees.max(initial=1)) * max(abs(mean) + deviation, 1e-6))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*NaN$")  # refused below, with a remedy
        result = af.run(
            CollaborativeFiltering, given, k=factors, rate=rate, regularisation=regularisation, iterations=iterations,
            seed=seed % (1 << 32), centre=math.sqrt(max(mean, 0.0) / factors),
            spread=math.sqrt(max(deviation, 1e-3) / factors), **options,
        )  # fmt: skip
    if not np.isfinite(result["factors"]).all():
        raise UsageError(
            f"the factors grew without end at rate={rate}", expected="a rate at which the error falls",
            remedy="a smaller rate, or none: then one is chosen",
        )  # fmt: skip
    history = [replace(step, residual=math.sqrt(step.residual)) for step in result.history]
    made = replace(result, graph=graph, values={"factors": result["factors"]}, history=history)
    return made.checked_by(
        lambda found: af.validate.collaborative_filtering(
            graph, found["factors"], rate, regularisation, len(found.history), seed % (1 << 32), weight=weight
        )
    )


def _ratings(graph: Graph, weight: str) -> Graph:
    """The graph with its ratings as the column that the program reads."""
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="load it with directed=False")
    if weight not in graph.columns:
        known = ", ".join(graph.columns) or "none"
        raise GraphError(f"the graph has no edge column {weight!r}", expected=f"one of its columns: {known}")
    if weight == "weight":
        return graph
    return Graph(graph.out, directed=False, columns={"weight": graph.columns[weight]}, ids=graph.ids)


@checked(result=_RESULT, users=array, items=array)
def predict(result: af.Result, users: Any, items: Any) -> Any:
    """The rating that the factors predict for a user and an item, or for arrays of them, pair by pair.

    Examples
    --------
    >>> import arcflux as af
    >>> ratings = af.load("ratings:60x20,per=10")
    >>> result = af.algorithms.collaborative_filtering(ratings, factors=4, iterations=100)
    >>> 1 < af.algorithms.predict(result, 0, 70) < 5
    True
    """
    single = np.ndim(users) == 0 and np.ndim(items) == 0
    left, right = np.broadcast_arrays(np.atleast_1d(users), np.atleast_1d(items))
    ids, factors = result.graph.ids, result["factors"]
    found = _dots(factors[ids.to_numbers(left)], factors[ids.to_numbers(right)])
    return float(found[0]) if single else found


@checked(result=_RESULT, vertex=array, count=wholes(0))
def recommend(result: af.Result, vertex: Any, count: int = 10, **options: Any) -> list[tuple[Any, float]]:
    """The `count` items that `vertex` has not rated with the highest predicted ratings, best first: (id, rating).

    Items are the vertices an odd number of edges away. Those that no chain of ratings links with `vertex` are left
    out: nothing says what their factors mean for it. For an item it is the users who would rate it highest. `options`
    are those of :func:`arcflux.run`, for the search of those items.

    Examples
    --------
    >>> import arcflux as af
    >>> ratings = af.load("ratings:60x20,per=10")
    >>> result = af.algorithms.collaborative_filtering(ratings, factors=4, iterations=100)
    >>> [item >= 60 for item, rating in af.algorithms.recommend(result, 0, 3)]
    [True, True, True]
    """
    graph, factors = result.graph, result["factors"]
    level = bfs(graph, vertex, **options)["level"]
    others = np.flatnonzero((level > 1) & (level % 2 == 1))
    ratings = _dots(factors[others], factors[graph.ids.to_numbers([vertex])])
    best = np.argsort(-ratings, kind="stable")[:count]
    return list(zip(graph.ids.to_ids(others[best]).tolist(), ratings[best].tolist(), strict=True))


def _dots(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """The dot product of each pair of rows."""
    return np.asarray((a.astype(np.float64) * b.astype(np.float64)).sum(axis=1))
