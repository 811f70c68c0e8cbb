"""The work of vertices and the speed of parts, estimated from the times of parts (Lux, section 5).

`Weights` is the paper's f: the work of vertices 0 to x - 1 as a share of all. It is known at some vertices, and between
two of them it grows with the in-edges. `Observed` estimates it from measured times. A part is slow because its vertices
are heavy or because its device is slow, and one superstep cannot tell which; a second one with other bounds does, since
weights belong to vertices and rates to devices. So both are estimated together:

    log(seconds of part i in round r) = log(scale of r) + log(rate of i) + log(weight of its vertices)

by least squares over the last rounds. The prior pulls towards equal rates, and towards weights that are in-edges plus
an estimated cost of each vertex, times a factor that varies little from neighbour to neighbour. A round is weighted by
its confidence: it rises with the number of supersteps and falls with the noise of the machine.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.balance.fit import LEAST, Found, Round, fitted
from arcflux.errors import UsageError

__all__ = ["REPEATS", "SLACK", "Observed", "Weights"]

Array = NDArray[Any]

# Rounds of different bounds that are remembered, supersteps of each round, and the factor of confidence of each older
# round.
_ROUNDS, REPEATS, _FADING = 6, 16, 0.9
# The most setbacks that count: there is then a plan every 16 supersteps.
_SETBACKS = 5
# The assumed noise of a part's share before it is measured, and how many measured deviations that assumption counts
# for.
_GUESS, _GUESSED = 0.035, 8
# The error of the model, which more measurements do not reduce.
_MODEL = 0.01
# A part whose time differs by more than this from the prediction, in logarithms, is measured twice.
_SURPRISE = 0.3
# Parts that differ by less than this, or by less than this many times the noise, are balanced.
SLACK, _SURE = 0.03, 0.7


@dataclass(frozen=True)
class Weights:
    """The work of vertices as a function f that rises from 0 to 1.

    known: vertices at which f is known, from 0 to the number of vertices; values: f there; in_offsets: where in-edges
    begin, which is how f grows in between; per_vertex: the cost of a vertex besides its in-edges, counted in edges.

    Examples
    --------
    >>> offsets = np.arange(0, 101, 10)  # ten vertices with ten in-edges each
    >>> heavy_start = Weights(offsets, np.array([0, 5, 10]), np.array([0.0, 0.8, 1.0]))
    >>> heavy_start(np.array([3, 5])).round(6).tolist()
    [0.48, 0.8]
    >>> heavy_start.pivots(np.array([1, 1])).tolist()
    [0, 3, 10]
    """

    in_offsets: Array
    known: Array
    values: Array
    per_vertex: float = 1.0

    @classmethod
    def of_edges(cls, in_offsets: Array, per_vertex: float = 1.0) -> Weights:
        """The assumption before any measurement: work is the number of in-edges."""
        return cls(in_offsets, np.array([0, len(in_offsets) - 1]), np.array([0.0, 1.0]), per_vertex)

    def edges(self, vertices: Any) -> Any:
        """The in-edges of all vertices before these, plus `per_vertex` for each vertex."""
        return self.in_offsets[vertices].astype(np.float64) + self.per_vertex * np.asarray(vertices)

    def __call__(self, vertices: Any) -> Any:
        """The share of all work that is before these vertices: linear interpolation over the edges."""
        return np.interp(self.edges(vertices), self._known_edges, self.values)

    @cached_property
    def _known_edges(self) -> Array:
        return np.asarray(self.edges(self.known))

    def pivots(self, shares: Array, begin: int = 0, end: int | None = None) -> Array:
        """Bounds that cut the vertices from `begin` to `end` into parts with work in proportion to `shares`.

        With equal shares of all vertices, f(bounds[i]) is i / M, as near as whole vertices allow.
        """
        last = len(self.in_offsets) - 1 if end is None else end
        low, high = self(np.array([begin, last])).tolist()
        goals = low + (high - low) * np.cumsum(shares)[:-1] / np.sum(shares)
        edges = np.interp(goals, self.values, self._known_edges)
        after = np.array([self._first(goal, begin, last) for goal in edges.tolist()], np.int64)
        before = np.maximum(after - 1, begin)
        inner = np.where(goals - self(before) < self(after) - goals, before, after)
        return np.concatenate(([begin], np.maximum.accumulate(inner), [last])).astype(np.int64)

    def _first(self, edges: float, low: int, high: int) -> int:
        """The first vertex from `low` to `high` with this many edges before it, or `high`."""
        while low < high:
            middle = (low + high) // 2
            if int(self.in_offsets[middle]) + self.per_vertex * middle < edges:
                low = middle + 1
            else:
                high = middle
        return low


class _Seen:
    """Supersteps with the same bounds: each part's share of all seconds in them, their median and deviations."""

    def __init__(self, bounds: Array, shares: Array) -> None:
        self.bounds, self.shares = bounds, [shares]
        self.middle, self.off = _middle(self.shares), np.empty(0)

    def add(self, shares: Array) -> None:
        """Add a superstep; the oldest is dropped when there are more than count."""
        self.shares = [*self.shares[1 - REPEATS :], shares]
        self.middle = _middle(self.shares)
        self.off = np.abs(np.array(self.shares) / np.maximum(self.middle, LEAST) - 1).ravel()


@dataclass
class Observed:
    """The times of parts, round after round, and the estimates of `rates` and `weights` from them.

    A rate is the time that a device takes for the same work: half the speed is twice the rate. Their geometric mean is
    1, since only differences can be measured. `effort`: the seconds that the last estimate took.

    Measured times are noisy, and work may change from superstep to superstep. So the medians of supersteps with the
    same bounds count, and after setbacks more supersteps pass before the next plan (`ready`). A setback is a plan that
    moved nothing, or a move that achieved less than a fifth of the predicted gain; a better one cancels one setback.

    Examples
    --------
    >>> offsets = np.arange(0, 4001, 4)
    >>> seen = Observed(offsets, 2)
    >>> for bounds in ([0, 500, 1000], [0, 350, 1000], [0, 320, 1000]):
    ...     seen.add(np.array(bounds), 1e-3 * np.diff(bounds) * [2, 1])  # the first device is twice as slow
    >>> slow, fast = seen.rates
    >>> bool(slow > 1.5 * fast)
    True
    """

    in_offsets: Array
    parts: int
    per_vertex: float = 1.0
    effort: float = field(init=False, default=0.0)
    setbacks: int = field(init=False, default=0)
    waited: int = field(init=False, default=0)
    _rounds: list[_Seen] = field(init=False, default_factory=list)
    _hope: float | None = field(init=False, default=None)
    _known: tuple[Array, Weights] | None = field(init=False, default=None)
    _noise: float | None = field(init=False, default=None)
    _fresh: bool = field(init=False, default=False)
    _doubtful: bool = field(init=False, default=False)
    _near: Found | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not self.per_vertex > 0:
            raise UsageError(f"per_vertex is {self.per_vertex!r}", expected="a number above 0")

    @property
    def rates(self) -> Array:
        """The relative time that the device of each part takes for the same work."""
        return self._fitted()[0]

    @property
    def weights(self) -> Weights:
        """How the work is distributed over the vertices."""
        return self._fitted()[1]

    @property
    def patience(self) -> int:
        """How many supersteps pass from plan to plan: 1, 1, 2, 4, ..., 16, by setbacks."""
        return 1 << max(self.setbacks - 1, 0)

    @property
    def ready(self) -> bool:
        """Whether enough supersteps have passed since the last plan: two if the first was far from its prediction."""
        return self.waited >= self.patience and not self._doubtful

    @property
    def repeats(self) -> int:
        """How many of the last supersteps had the same bounds as the last one; older ones than count are dropped."""
        return len(self._rounds[-1].shares) if self._rounds else 0

    @property
    def noise(self) -> float:
        """The relative error of a part's share in one superstep, from how it varies while bounds do not."""
        if self._noise is None:
            every = np.concatenate([np.full(_GUESSED, _GUESS), *(a.off for a in self._rounds)])
            every.sort()
            self._noise = 1.5 * float(every[(len(every) - 1) // 2] + every[len(every) // 2]) / 2
        return self._noise

    @property
    def slack(self) -> float:
        """How far the slowest part may be above the mean before that is more than noise."""
        return max(SLACK, _SURE * self.noise / math.sqrt(max(self.repeats, 1)))

    @property
    def shares(self) -> Array:
        """Each part's share of all seconds: the median of the last supersteps with the same bounds."""
        return self._rounds[-1].middle if self._rounds else np.full(self.parts, 1 / self.parts)

    def add(self, bounds: Array, times: Array) -> None:
        """Learn from one superstep: the seconds of every part, and the bounds."""
        measured = np.asarray(bounds, np.int64), np.asarray(times, np.float64)
        _check(*measured, len(self.in_offsets) - 1, self.parts)
        if not measured[1].max(initial=0.0) > 0 or len(self.in_offsets) < 2:
            return
        shares = measured[1] / measured[1].sum()
        if self._rounds and np.array_equal(self._rounds[-1].bounds, measured[0]):
            self._rounds[-1].add(shares)
            self._doubtful = False
        else:
            self._doubtful = self._surprise(*measured) > _SURPRISE
            self._rounds = [*self._rounds[1 - _ROUNDS :], _Seen(measured[0], shares)]
            if self._hope is not None:
                self._learn(bool(shares.max() <= self._hope))
            self._hope = None
        self._noise, self._fresh = None, False
        self.waited += 1

    def hope(self, seconds: Array) -> float:
        """The largest share of a part at which a plan with these predictions is a success: a fifth of the gain."""
        return float(4 * self.shares.max() + seconds.max() / seconds.sum()) / 5

    def planned(self, hope: float | None) -> None:
        """Record the prediction of a plan, to compare with the next superstep; None if nothing moves."""
        self.waited = 0
        if hope is None:
            self._learn(False)
        else:
            self._hope = hope

    def _surprise(self, bounds: Array, times: Array) -> float:
        """By how much the times of new bounds differ from the prediction, as a logarithm.

        0 after a single round: predictions from one round are often wrong, so a deviation tells nothing.
        """
        if self._known is None or len(self._rounds) < 2:
            return 0.0
        rates, weights = self._known
        expected = np.maximum(rates * np.diff(weights(bounds)), LEAST / self.parts)
        differ = np.log(np.maximum(times, LEAST * times.mean()) / expected)
        return float(np.abs(differ - np.median(differ)).max())

    def _learn(self, good: bool) -> None:
        self.setbacks = max(self.setbacks - 1, 0) if good else min(self.setbacks + 1, _SETBACKS)

    def seconds(self, bounds: Array) -> Array:
        """The relative times of parts with these bounds."""
        return np.array(self.rates * np.diff(self.weights(bounds)))

    def _fitted(self) -> tuple[Array, Weights]:
        """Rates and weights, estimated on demand."""
        if self._known is None or not self._fresh:
            begun = time.perf_counter()
            plain = Weights.of_edges(self.in_offsets, self.per_vertex)
            self._known = self._estimate(plain) if self._rounds else (np.ones(self.parts), plain)
            self.effort, self._fresh = time.perf_counter() - begun, True
        return self._known

    def _estimate(self, plain: Weights) -> tuple[Array, Weights]:
        noise, last = self.noise, len(self._rounds) - 1
        rounds = []
        for r, a in enumerate(self._rounds):
            error = math.hypot(noise / math.sqrt(len(a.shares)), _MODEL) / _FADING ** (last - r)
            rounds.append(Round(a.bounds, a.middle, error))
        self._near = estimate = fitted(rounds, self.in_offsets, plain.per_vertex, self._near)
        edges = Weights.of_edges(self.in_offsets, math.exp(estimate.per_vertex))
        heavy = np.diff(edges.edges(estimate.knots)) * np.exp(estimate.factors)
        values = np.concatenate(([0.0], np.cumsum(heavy / heavy.sum())))
        values[-1] = 1.0
        weights = Weights(self.in_offsets, estimate.knots, values, edges.per_vertex)
        return np.exp(estimate.rates - estimate.rates.mean()), weights


def _middle(shares: list[Array]) -> Array:
    """The median of each part, or the lower one of two, since noise only adds; normalised to sum 1."""
    medians = np.sort(shares, axis=0)[(len(shares) - 1) // 2]
    return np.asarray(medians / medians.sum())


def _check(bounds: Array, times: Array, vertices: int, parts: int) -> None:
    if bounds.shape != (parts + 1,) or bounds[0] != 0 or bounds[-1] != vertices or (np.diff(bounds) < 0).any():
        raise UsageError(
            f"bounds are {bounds.tolist()}", expected=f"{parts + 1} vertices that rise from 0 to {vertices:,}"
        )
    if times.shape != (parts,) or not np.isfinite(times).all() or (times < 0).any():
        raise UsageError(f"times are {times.tolist()}", expected=f"the seconds of {parts} parts, none below 0")
