"""The least squares that separate the speed of devices from the work of vertices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "Found", "Round", "fitted"]

Array = NDArray[Any]

# Standard deviations of the prior, in logarithms: of rates; of the weight of vertices one part's width apart; of the
# cost of a vertex from its initial guess. Cells narrower than a 50th of a part differ as if they were that wide.
_UNEQUAL, _UNEVEN, _COST, _NARROW = 0.6, 0.7, 2.5, 0.02
# A weak prior for scales and the mean of all factors, which the times do not determine.
_LOOSE = 1e-3
# A part that took no time counts as one that took a thousandth of the mean, with low confidence.
LEAST = 1e-3
# Newton's steps, the largest change of a logarithm in one step, and the change that ends the iteration.
_STEPS, _STRIDE, _SMALL = 8, 2.0, 3e-2


@dataclass(frozen=True)
class Round:
    """Supersteps with the same bounds: each part's share of all seconds, and the error of these shares.

    `error` is that of a part with an average share. Smaller shares are less certain: a disturbance takes as long for a
    part with little work.
    """

    bounds: Array
    shares: Array
    error: float

    @property
    def sure(self) -> Array:
        """The weight of each part's logarithm: one over the square of its error."""
        return np.asarray(np.minimum(1.0, len(self.shares) * self.shares) / self.error**2)


@dataclass(frozen=True)
class Found:
    """The estimate: logarithms of rates, of each cell's factor, and of the cost of a vertex in edges.

    A cell lies between two neighbouring knots. Its factor says how much heavier it is than its edges and vertices.
    """

    rates: Array
    knots: Array
    factors: Array
    per_vertex: float

    def at(self, knots: Array) -> Array:
        """The factors of other cells, each that of the cell in which it begins."""
        places = np.searchsorted(self.knots, knots[:-1], side="right") - 1
        return np.asarray(self.factors[places])


def fitted(rounds: list[Round], in_offsets: Array, per_vertex: float, near: Found | None = None) -> Found:
    """Fit rates, factors and the cost of a vertex to all rounds, starting from `near`.

    Gauss-Newton; the scale of each round is another unknown. Factors of neighbours differ as in a random walk, by their
    distance: a sliver between the bounds of two rounds gets the weight of its neighbours, and cannot absorb the whole
    disagreement of the two rounds.
    """
    parts = len(rounds[0].shares)
    knots = np.unique(np.concatenate([a.bounds for a in rounds]))
    edges, vertices = np.diff(in_offsets[knots].astype(np.float64)), np.diff(knots).astype(np.float64)
    whole = edges.sum() + per_vertex * vertices.sum()
    edges, vertices = edges / whole, vertices / whole  # so that scales are near 1
    cost = parts + len(edges)
    inside, others, logs, sure = _measured(rounds, knots, parts)
    pull = _pull(parts * (edges + per_vertex * vertices), len(rounds), parts)
    usual = np.zeros(len(pull))
    usual[cost] = math.log(per_vertex)
    estimate = usual.copy()
    if near is not None:
        estimate[:parts], estimate[parts:cost], estimate[cost] = near.rates, near.at(knots), near.per_vertex
    slopes = others.copy()
    for _ in range(_STEPS):
        factors = np.exp(estimate[parts:cost])
        by_vertex = vertices * math.exp(estimate[cost]) * factors
        heavy = inside * (edges * factors + by_vertex)
        whole = heavy.sum(axis=1)
        slopes[:, parts:cost] = heavy / whole[:, None]
        slopes[:, cost] = inside.dot(by_vertex) / whole
        off = logs - others.dot(estimate) - np.log(whole)
        weighted = slopes.T * sure
        step = np.linalg.solve(pull + weighted.dot(slopes), weighted.dot(off) - pull.dot(estimate - usual))
        largest = float(np.abs(step).max())
        estimate += step * (_STRIDE / max(largest, _STRIDE))
        if largest < _SMALL:
            break
    return Found(estimate[:parts], knots, estimate[parts:cost], float(estimate[cost]))


def _measured(rounds: list[Round], knots: Array, parts: int) -> tuple[Array, Array, Array, Array]:
    """A row for each part with vertices, of each round: its cells, the other unknowns of its time, the logarithm of its
    share, and the confidence in it.
    """
    begins, ends = (np.concatenate([a.bounds[side] for a in rounds]) for side in (slice(None, -1), slice(1, None)))
    some = np.flatnonzero(ends > begins)
    inside = (knots[:-1] >= begins[some, None]) & (knots[:-1] < ends[some, None])
    others = np.zeros((len(some), parts + len(knots) + len(rounds)))
    rows = np.arange(len(some))
    others[rows, some % parts] = others[rows, parts + len(knots) + some // parts] = 1.0
    shares = np.concatenate([a.shares for a in rounds])[some]
    sure = np.concatenate([a.sure for a in rounds])[some]
    sure[shares < LEAST / parts] = 1.0
    return inside.astype(np.float64), others, np.log(np.maximum(shares, LEAST / parts)), sure


def _pull(work: Array, rounds: int, parts: int) -> Array:
    """The prior: the matrix of a quadratic form whose minimum is the initial guess.

    `work` is that of each cell, in units of one part.
    """
    pull = np.diag(np.full(parts + len(work) + 1 + rounds, _LOOSE))
    unequal = np.arange(parts)
    pull[unequal, unequal] = 1 / _UNEQUAL**2
    pull[parts + len(work), parts + len(work)] = 1 / _COST**2
    width = np.maximum((work[:-1] + work[1:]) / 2, _NARROW)
    cells = np.arange(parts, parts + len(width))
    walk = 1 / (_UNEVEN**2 * width)
    pull[cells, cells] += walk
    pull[cells + 1, cells + 1] += walk
    pull[cells, cells + 1] -= walk
    pull[cells + 1, cells] -= walk
    return pull
