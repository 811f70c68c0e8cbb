"""The least squares that tell how fast devices are from how heavy vertices are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "Fit"]

Array = NDArray[Any]

# How much less sure each older round is.
_FADING = 0.7
# In logarithms: by how much measured times are off, how unequal rates are, and how much heavier an edge may be one
# part's width further on, before anything is known. Cells narrower than a 50th of a part differ as if they were wider.
_NOISE, _UNEQUAL, _UNEVEN, _NARROW = 0.03, 1.0, 1.0, 0.02
# What holds up scales and the mean of all factors, which times do not tell.
_LOOSE = 1e-3
# A part that took no time at all counts as one that took a thousandth of the mean.
LEAST = 1e-3
# Newton's steps, the largest one of a logarithm, and the one that is small enough.
_STEPS, _STRIDE, _SMALL = 8, 1.5, 1e-2


class Fit:
    """The least squares, by Gauss and Newton: unknown are the logarithms of rates, of cells' factors, of scales.

    A cell is what lies between two neighbouring bounds of any round. Its factor says how much heavier than its in-edges
    it is. Factors of neighbours differ as a random walk does, by the distance: a sliver between the bounds of two
    rounds then weighs what its neighbours do, and cannot take the blame for all that the two disagree about.
    """

    def __init__(self, rounds: list[tuple[Array, Array]], knots: Array, edges: Array, parts: int) -> None:
        self.edges, self.parts = edges, parts
        self.cells = slice(parts, parts + len(edges))
        self.rounds: list[tuple[Array, Array, Array, float]] = []
        for r, (bounds, shares) in enumerate(rounds):
            some = np.flatnonzero(np.diff(bounds))
            others = np.zeros((len(some), self.cells.stop + len(rounds)))
            others[np.arange(len(some)), some] = others[:, self.cells.stop + r] = 1.0
            inside = (knots[:-1] >= bounds[some, None]) & (knots[:-1] < bounds[some + 1, None])
            logs = np.log(np.maximum(shares[some], LEAST / parts))
            self.rounds.append((inside, others, logs, (_FADING ** (len(rounds) - 1 - r) / _NOISE) ** 2))
        self.pull = np.diag(np.full(self.cells.stop + len(rounds), _LOOSE))
        self.pull[np.arange(parts), np.arange(parts)] = 1 / _UNEQUAL**2
        width = np.maximum(parts * (edges[:-1] + edges[1:]) / 2, _NARROW)
        left = np.arange(parts, parts + len(width))
        walk = 1 / (_UNEVEN**2 * width)
        self.pull[left, left] += walk
        self.pull[left + 1, left + 1] += walk
        self.pull[left, left + 1] -= walk
        self.pull[left + 1, left] -= walk

    def solution(self, rates: Array, factors: Array) -> tuple[Array, Array]:
        """The logarithms of all rates and of all factors, searched from near where they are."""
        found = np.zeros(len(self.pull))
        found[: self.parts], found[self.cells] = rates, factors
        for _ in range(_STEPS):
            step = np.linalg.solve(*self._normal(found))
            found += np.clip(step, -_STRIDE, _STRIDE)
            if np.abs(step).max() < _SMALL:
                break
        return found[: self.parts], found[self.cells]

    def _normal(self, found: Array) -> tuple[Array, Array]:
        """The normal equations of the next step; round by round, whose matrices are too small for BLAS to use threads.

        Its threads wait for each other, and on busy cores that takes longer than all the rest.
        """
        heavy = self.edges * np.exp(found[self.cells])
        matrix, right = self.pull.copy(), -self.pull.dot(found)
        for inside, others, logs, sure in self.rounds:
            whole = inside.dot(heavy)
            off = logs - others.dot(found) - np.log(whole)
            slopes = others.copy()
            slopes[:, self.cells] = inside * heavy / whole[:, None]
            matrix += sure * slopes.T.dot(slopes)
            right += sure * off.dot(slopes)
        return matrix, right
