"""What a formula misses, learned from the runs it was fitted to: graphs that are alike are off alike.

A fit has few coefficients, and a kernel many habits: rows of other lengths, another cache, another algorithm below some
size. So a prediction is multiplied by what the fit was off by on runs nearby: the mean of the logarithms, weighted by
how near each run is in size, degree, nearness of neighbours and skew of degrees. Far from all runs the formula stands
as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.plan.brief import Brief

__all__ = ["Nearby", "place_of"]

# How far apart runs may be to tell of each other: vertices and degree in powers of two, nearness, skew in powers of
# two, and, of parts, powers of two of their number and of nodes. Found on graphs of the calibration, each held out.
_SCALES = np.array([2.0, 1.0, 0.25, 3.0, 1.0, 1.0])
# So much weight is on the formula itself.
_PRIOR = 0.2
# Runs that are off by more than so much from the middle one count less, by more than twice that not at all: they were
# disturbed, or are something else.
_ODD = 0.6


def place_of(graph: Brief, *more: float) -> tuple[float, ...]:
    """Where a graph is among others, and more numbers of its run."""
    degree = max(0.1, graph.mean_degree)
    skew = math.log2(max(1.0, graph.top / degree))
    return (math.log2(max(1, graph.vertices)), math.log2(degree), graph.local, skew, *more)


@dataclass(frozen=True)
class Nearby:
    """Places of runs, and the logarithms of what they took over what the formula says."""

    places: tuple[tuple[float, ...], ...] = ()
    missed: tuple[float, ...] = ()

    def factor(self, place: tuple[float, ...]) -> float:
        """What the formula is to be multiplied by at a place.

        Examples
        --------
        >>> one = Nearby(((10.0, 4.0, 0.0, 0.0),), (math.log(2.0),))
        >>> one.factor((10.0, 4.0, 0.0, 0.0)) > 1.7, one.factor((30.0, 4.0, 0.0, 0.0))
        (True, 1.0)
        """
        if not self.places:
            return 1.0
        apart = (np.array(self.places) - place) / _SCALES[: len(place)]
        weights = np.append(np.exp(-0.5 * (apart**2).sum(axis=1)), _PRIOR)
        missed = np.append(self.missed, 0.0)
        middle = _middle(missed, weights)
        odd = np.abs(missed - middle) / _ODD
        weights *= np.where(odd > 2.0, 0.0, 1.0 / np.maximum(1.0, odd) ** 2)
        whole = float(weights.sum())
        return math.exp(float(weights @ missed) / whole if whole else middle)  # none: a few runs, far from each other

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"places": [list(place) for place in self.places], "missed": list(self.missed)}

    @classmethod
    def of(cls, places: Sequence[Sequence[float]], missed: Sequence[float]) -> Nearby:
        """From lists; an error if they do not fit together."""
        rows, logs = tuple(tuple(map(float, place)) for place in places), tuple(map(float, missed))
        if len(rows) != len(logs) or not np.isfinite([*logs, *(number for row in rows for number in row)]).all():
            raise ValueError("places and what was missed there do not fit together")
        return cls(rows, logs)


def _middle(numbers: Any, weights: Any) -> float:
    """The median of numbers with weights."""
    order = np.argsort(numbers)
    upto = np.cumsum(weights[order])
    return float(np.interp(upto[-1] / 2, upto - weights[order] / 2, numbers[order]))
