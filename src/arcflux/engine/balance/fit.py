"""The least squares that tell how fast devices are from how heavy vertices are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "Found", "Round", "fitted"]

Array = NDArray[Any]

# In logarithms: how unequal rates are, how much heavier than edges say vertices may be one part's width further on, and
# how far what a vertex costs may be from what was assumed. Cells narrower than a 50th of a part differ as if they were
# wider.
_UNEQUAL, _UNEVEN, _COST, _NARROW = 0.6, 0.7, 2.5, 0.02
# What holds up scales and the mean of all factors, which times do not tell.
_LOOSE = 1e-3
# A part that took no time at all counts as one that took a thousandth of the mean, and is not sure.
LEAST = 1e-3
# Newton's steps, the largest one of a logarithm, and the one that is small enough.
_STEPS, _STRIDE, _SMALL = 8, 2.0, 3e-2


@dataclass(frozen=True)
class Round:
    """Supersteps with the same bounds: what share of all seconds each part took, and by how much that may be off.

    `error` is that of a part with an average share. Smaller ones are less sure: what disturbs a part does so for a
    while, however little it has to do.
    """

    bounds: Array
    shares: Array
    error: float

    @property
    def sure(self) -> Array:
        """How much each part's logarithm counts: one over the square of its error."""
        return np.asarray(np.minimum(1.0, len(self.shares) * self.shares) / self.error**2)


@dataclass(frozen=True)
class Found:
    """What explains the times: logarithms of rates, of each cell's factor, and of what a vertex costs in edges.

    A cell is what lies between two neighbouring knots. Its factor says how much heavier than its edges and vertices it
    is.
    """

    rates: Array
    knots: Array
    factors: Array
    per_vertex: float

    def at(self, knots: Array) -> Array:
        """The factors of other cells, as those have them in which they begin."""
        places = np.searchsorted(self.knots, knots[:-1], side="right") - 1
        return np.asarray(self.factors[places])


def fitted(rounds: list[Round], in_offsets: Array, per_vertex: float, near: Found | None = None) -> Found:
    """Rates, factors and the cost of a vertex that explain all rounds best, searched from `near` on.

    By Gauss and Newton; unknown besides is the scale of each round. Factors of neighbours differ as a random walk does,
    by the distance: a sliver between the bounds of two rounds then weighs what its neighbours do, and cannot take the
    blame for all that the two disagree about.
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
    found = usual.copy()
    if near is not None:
        found[:parts], found[parts:cost], found[cost] = near.rates, near.at(knots), near.per_vertex
    slopes = others.copy()
    for _ in range(_STEPS):
        factors = np.exp(found[parts:cost])
        by_vertex = vertices * math.exp(found[cost]) * factors
        heavy = inside * (edges * factors + by_vertex)
        whole = heavy.sum(axis=1)
        slopes[:, parts:cost] = heavy / whole[:, None]
        slopes[:, cost] = inside.dot(by_vertex) / whole
        off = logs - others.dot(found) - np.log(whole)
        weighted = slopes.T * sure
        step = np.linalg.solve(pull + weighted.dot(slopes), weighted.dot(off) - pull.dot(found - usual))
        far = float(np.abs(step).max())
        found += step * (_STRIDE / max(far, _STRIDE))
        if far < _SMALL:
            break
    return Found(found[:parts], knots, found[parts:cost], float(found[cost]))


def _measured(rounds: list[Round], knots: Array, parts: int) -> tuple[Array, Array, Array, Array]:
    """A row for each part of each round that has vertices: its cells, what else its time depends on, the logarithm of
    its share, and how sure that is.
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
    """What is likely before anything is measured: the matrix of a square form, with the minimum where all is usual.

    `work` is that of each cell, in parts.
    """
    pull = np.diag(np.full(parts + len(work) + 1 + rounds, _LOOSE))
    unequal = np.arange(parts)
    pull[unequal, unequal] = 1 / _UNEQUAL**2
    pull[parts + len(work), parts + len(work)] = 1 / _COST**2
    width = np.maximum((work[:-1] + work[1:]) / 2, _NARROW)
    left = np.arange(parts, parts + len(width))
    walk = 1 / (_UNEVEN**2 * width)
    pull[left, left] += walk
    pull[left + 1, left + 1] += walk
    pull[left, left + 1] -= walk
    pull[left + 1, left] -= walk
    return pull
