"""FastRP: vectors of vertices by random projection of their neighbourhoods (Chen, Sultan, Tian, Chen, Skiena 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.algorithms.katz import unconverged_if_infinite
from arcflux.checks import array, real, unwelcome, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["FastRP", "fast_random_projection"]


@af.program
class FastRP:
    """Every superstep averages the vectors of those that lead to a vertex, and adds the average, scaled to length 1."""

    k: int = 64
    strength: float = 0.0
    iterations: int = 3
    weights: af.f64[16] = (0.0,) * 16
    seed: int = 0
    embedding: af.f64[k]
    near: af.f64[k]

    def start(v, p):
        scale = max(1.0, 1.0 * v.in_degree) ** p.strength * math.sqrt(3.0)
        for j in range(p.k):
            draw = af.random(v, 0, k=j, seed=p.seed)
            v.near[j] = scale if draw < 1.0 / 6.0 else -scale if draw < 1.0 / 3.0 else 0.0
        return True

    def init(v):
        v.near = 0.0

    def compute(v, u):
        v.near += u.near

    def update(v, p, step):
        square = 0.0
        for j in range(p.k):
            square += v.near[j] * v.near[j]
        if square > 0.0:
            v.embedding = v.embedding + v.near * (p.weights[step % 16] / math.sqrt(square))
        v.near = v.near / max(1.0, 1.0 * v.in_degree)
        return step + 1 < p.iterations


@graph_call(dimension=wholes(1), iteration_weights=None, normalization_strength=real, seed=any_seed, given=unwelcome)
def fast_random_projection(
    graph: Graph, dimension: int = 64, iteration_weights: Sequence[float] = (0.0, 1.0, 1.0),
    normalization_strength: float = 0.0, seed: int = 0, **options: Any,
) -> af.Result:  # fmt: skip
    """A vector for every vertex, alike for those that have the same vertices near: `embedding`, `dimension` numbers.

    Every vertex begins with a sparse random vector, by `seed`, times its degree to the power `normalization_strength`
    (below 0, hubs count less). In iteration i it takes the mean of the vectors that lead to it, and adds that, scaled
    to length 1, times ``iteration_weights[i]``. Edges are followed in their direction; parallel ones count as often as
    they are there; weights make no difference. A vertex to which nobody leads has zeros. The same seed gives the same
    vectors wherever it runs, but for the rounding of sums.

    Examples
    --------
    >>> import arcflux as af
    >>> af.fast_random_projection("cycle:9", 8)["embedding"].shape
    (9, 8)
    """
    weights = np.atleast_1d(np.asarray(array("iteration_weights", iteration_weights)))
    weights = weights.astype(np.float64) if weights.dtype.kind in "iuf" else np.array([np.nan])
    if weights.ndim != 1 or not 1 <= len(weights) <= 16 or not np.isfinite(weights).all():
        raise UsageError(f"iteration_weights is {iteration_weights!r}", expected="1 to 16 finite numbers")
    if dimension > 256:
        raise UsageError(f"dimension is {dimension}", expected="at most 256")
    padded = tuple(np.concatenate([weights, np.zeros(16 - len(weights))]).tolist())
    given = {"strength": normalization_strength, "iterations": len(weights), "weights": padded, "seed": seed}
    made = af.run(FastRP, graph, k=dimension, **given, **options)
    result = replace(made, name="fast_random_projection", values={"embedding": made.values["embedding"]})
    result = unconverged_if_infinite(result)
    return result.checked_by(
        lambda found: af.validate.fast_random_projection(
            graph, found["embedding"], weights.tolist(), normalization_strength, seed
        )
    )
