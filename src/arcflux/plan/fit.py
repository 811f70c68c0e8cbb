"""Seconds of a run on this machine: a sum of terms, with rates fitted to measured runs.

Every program, direction and number of threads has rates of its own, for the same few terms (:data:`TERMS`): a launch,
supersteps, vertices, arcs in order, mispredicted ends of rows, reads of other vertices by distance and memory size, and
the further term that the program declares. No rate is negative. Runs count by relative error, a small graph as much as
a large one. The residuals of runs on similar graphs correct a prediction: similar graphs have similar residuals, since
a kernel has more effects than the sum has terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.history import History, column
from arcflux.plan.sketch import SPANS, Sketch
from arcflux.plan.work import Work

__all__ = ["PHASES", "POINTS", "TERMS", "Curve", "Fit", "Observation", "fit", "frontier_curve", "not_negative",
           "terms"]  # fmt: skip

Array = NDArray[np.float64]
TERMS = ("launch", "supersteps", "vertices", "row ends", "looks", "arcs", "pushed arcs", "spilled arcs", "arc reads",
         "spilled vertices", "row reads", "far rows", "more")  # fmt: skip
"""What a run does, in the order of the rates."""
PHASES = ("launch", "barriers", "update", "compute", "update", "compute", "compute", "load", "load", "load", "load",
          "load", "compute")  # fmt: skip
"""To which phase of a run each of them belongs."""
# Points of a frontier curve, from the first superstep to the last.
POINTS = 17
# The share of arcs whose source is not hot (Sketch.hot): it may be anywhere.
_COLD_SHARE = 0.2
# How many rows a core's branch predictor learns: for a dense program where each ends, for one with a frontier what
# becomes of its vertex.
_PREDICTED_ROWS = {True: 32_768.0, False: 8_192.0}
_INDEX = 4
# A search of this depth pushes half of its arcs; the frontiers of a deeper one never become large enough to pull.
_DEEP_SEARCH = 60.0
# Huber loss: relative errors below this count by their square, larger ones linearly.
_NEAR, _ROUNDS = 0.1, 5
# Scales of the distance between graphs: vertices and degree in powers of two, locality, skew and depth in powers of
# two, and the deviation of degrees over their mean likewise. The weight of the plain sum.
_SCALES = np.array([2.0, 1.0, 0.25, 3.0, 1.5, 1.0])
# The same for supersteps, which are fitted by a plane over degree and deviation; the ridge on its slopes.
_STEP_SCALES = np.array([6.0, 0.7, 0.5, 6.0, 2.0, 1.0])
_SLOPED, _FLAT = [1, 5], 0.05
_PRIOR = 0.2
# Runs further than this from the median count less, those further than twice that not at all.
_OUTLIER = 0.6


@dataclass(frozen=True)
class Curve:
    """Seconds of a random read, by the bytes of the array; both ascending."""

    bytes: tuple[float, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, hierarchy: Sequence[Mapping[str, float]]) -> Curve:
        """From the rows of :func:`arcflux.plan.microbench.hierarchy`; a larger array is never faster."""
        seconds = np.maximum.accumulate([4.0 / row["random"] for row in hierarchy])
        return cls(tuple(row["bytes"] for row in hierarchy), tuple(map(float, seconds)))

    def gather(self, graph: Sketch, value: float) -> float:
        """The cost of an arc's read of `value` bytes of its other end: near ends lie in a small moving window."""
        anywhere = (1 - _COLD_SHARE) * self.read(graph.hot * value) + _COLD_SHARE * self.read(graph.vertices * value)
        seconds, before = 0.0, 0.0
        for span, share in zip(SPANS, graph.near, strict=True):
            if 2 * span >= graph.vertices:
                break
            seconds += max(0.0, share - before) * min(anywhere, self.read(2 * span * value))
            before = max(before, share)
        return seconds + (1.0 - before) * anywhere

    def spilled(self, size: float) -> float:
        """The share of repeatedly read data of a size that comes from memory: from 0 to 1."""
        whole = self.seconds[-1] - self.seconds[0]
        return (self.read(size) - self.seconds[0]) / whole if whole else 0.0

    def read(self, size: float) -> float:
        """Seconds of a random read in an array of this many bytes."""
        return float(np.interp(math.log2(max(2.0, size)), self._logs, self.seconds))

    @cached_property
    def _logs(self) -> Array:
        return np.log2(self.bytes)


@dataclass(frozen=True)
class Observation:
    """A measured run: its graph, its supersteps, its seconds, and the arcs of each frontier.

    `frontiers` is the curve of a run in which only changed vertices send: the share of all arcs that left the frontier,
    at :data:`POINTS` places from the first superstep to the last; empty where none was recorded.
    """

    graph: Sketch
    supersteps: float
    seconds: float
    frontiers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        numbers = (self.supersteps, self.seconds, *self.frontiers)
        if not all(math.isfinite(one) and one >= 0 for one in numbers) or not self.seconds:
            raise ValueError("a figure is no number, or negative")
        if len(self.frontiers) not in (0, POINTS):
            raise ValueError("the curve of frontiers has other places")


@dataclass(frozen=True)
class Fit:
    """Rates of one program in one direction on a number of threads, their error, and the runs they were fitted to.

    `error` is the median relative error over those runs, each left out in turn when its neighbours' residuals are used;
    `missed`: the logarithm of measured over predicted seconds of each run.
    """

    rates: tuple[float, ...]
    work: Work
    curve: Curve
    error: float
    runs: tuple[Observation, ...] = field(default=(), repr=False)
    missed: tuple[float, ...] = field(default=(), repr=False)

    def with_runs(self, later: Sequence[Observation]) -> Fit:
        """The same rates, with the residuals of later runs added."""
        if not later:
            return self
        missed = tuple(self._miss(one) for one in later)
        return replace(self, runs=(*self.runs, *later), missed=(*self.missed, *missed))

    def _miss(self, run: Observation) -> float:
        predicted = float((terms(run.graph, run.supersteps, self.work, self.curve) * self.rates).sum())
        return math.log(run.seconds / max(predicted, 1e-12))

    def seconds(self, graph: Sketch, supersteps: float | None = None) -> float:
        """Predicted seconds of a run."""
        return float(self.parts(graph, supersteps).sum())

    def parts(self, graph: Sketch, supersteps: float | None = None) -> Array:
        """Predicted seconds of a run by term."""
        steps = self.supersteps(graph) if supersteps is None else supersteps
        row = terms(graph, steps, self.work, self.curve) * self.rates
        return row * self.correction(graph)

    def supersteps(self, graph: Sketch) -> float:
        """Expected supersteps: as many as on similar graphs, or, with a frontier, as many per level of a search."""
        if not self.runs:
            return max(1.0, graph.depth)
        counts = np.log([max(1.0, one.supersteps) / self._base(one.graph) for one in self.runs])
        # The value at this graph of the plane fitted to near runs.
        apart = self._places - _position(graph)
        weights = _near(apart / _STEP_SCALES)
        rows = np.column_stack((np.ones(len(apart)), apart[:, _SLOPED]))
        normal = (rows * weights[:, None]).T @ rows + np.diag([1e-9, *(_FLAT for _ in _SLOPED)])
        middle = float(np.linalg.solve(normal, (rows * weights[:, None]).T @ counts)[0])
        low, high = float(counts.min()), float(counts.max())
        return max(1.0, math.exp(min(max(middle, low), high)) * self._base(graph))

    def frontier(self, graph: Sketch, steps: int) -> Array:
        """The share of all arcs that leaves the frontier in each superstep; for a dense program, all of them."""
        curves = [one.frontiers for one in self.runs]
        if self.work.dense or not any(curves):
            return np.full(steps, 1.0 if self.work.dense else 1.0 / max(1, steps))
        weights = _near((self._places - _position(graph)) / _SCALES) * [bool(curve) for curve in curves]
        mean = weights @ np.array([curve or (0.0,) * POINTS for curve in curves]) / weights.sum()
        return np.asarray(np.interp(np.linspace(0.0, 1.0, steps), np.linspace(0.0, 1.0, POINTS), mean))

    def _base(self, graph: Sketch) -> float:
        return 1.0 if self.work.dense else max(1.0, graph.depth)

    @cached_property
    def _places(self) -> Array:
        return np.array([_position(one.graph) for one in self.runs])

    def correction(self, graph: Sketch) -> float:
        """Measured over predicted seconds on similar graphs; 1 far from all of them."""
        if not self.runs:
            return 1.0
        apart = (((self._places - _position(graph)) / _SCALES) ** 2).sum(axis=1)
        weights, logs = np.append(np.exp(-0.5 * apart), _PRIOR), np.append(self.missed, 0.0)
        middle = _middle(logs, weights)
        odd = np.abs(logs - middle) / _OUTLIER
        weights = weights * np.where(odd > 2.0, 0.0, 1.0 / np.maximum(1.0, odd) ** 2)
        whole = float(weights.sum())
        return math.exp(float(weights @ logs) / whole if whole else middle)  # 0: a few runs, far from each other


def _position(graph: Sketch) -> Array:
    """The coordinates of a graph in the distance between graphs."""
    degree = max(0.1, graph.mean_degree)
    skew, depth = math.log2(max(1.0, graph.top / degree)), math.log2(max(1.0, graph.depth))
    deviation = math.log2(math.sqrt(_variance(graph)) * max(1.0, graph.rows) / max(1, graph.arcs) + 2e-3)
    return np.array([math.log2(max(1, graph.vertices)), math.log2(degree), graph.local, skew, depth, deviation])


def _variance(graph: Sketch) -> float:
    """The variance of the degrees of vertices that have arcs."""
    rows = max(1.0, graph.rows)
    return max(0.0, graph.squares / rows - (graph.arcs / rows) ** 2)


def _near(apart: Array) -> Array:
    """The weights of runs by distance; far from all of them, the nearest run has the largest."""
    squares = (apart**2).sum(axis=1)
    return np.asarray(np.exp(-0.5 * (squares - squares.min())))


def _middle(numbers: Array, weights: Array) -> float:
    """The weighted median."""
    order = np.argsort(numbers)
    upto = np.cumsum(weights[order])
    return float(np.interp(upto[-1] / 2, upto - weights[order] / 2, numbers[order]))


def terms(graph: Sketch, steps: float, work: Work, curve: Curve) -> Array:
    """The terms of a run, in the order of :data:`TERMS`.

    A dense program does all of it in every superstep. One with a frontier visits every arc about once: it pushes them,
    or pulls and stops early where frontiers are large, which reads every row in some supersteps.
    """
    vertices, arcs, rows, depth = float(graph.vertices), float(graph.arcs), max(1.0, graph.rows), max(1.0, graph.depth)
    # Branches at row ends are predicted if all rows have the same length, or there are few.
    unpredicted = 1.0 / (1.0 + (_PREDICTED_ROWS[work.dense] / rows) ** 2)
    missed = rows * unpredicted * -math.expm1(-1.5 * _variance(graph))
    spilled = curve.spilled(_INDEX * arcs + 2.0 * work.value * vertices)
    gather = curve.gather(graph, work.value) - curve.seconds[0]
    more = float(getattr(graph, work.term)) if work.term else 0.0
    if work.dense:
        once = [vertices, missed, 0.0, arcs, 0.0, spilled * arcs, gather * arcs, spilled * vertices, 0.0, 0.0]
        return np.array([1.0, steps, *(steps * one for one in once), more])
    pushed = 1.0 / (1.0 + (_DEEP_SEARCH / depth) ** 3)
    looks = rows * min(depth, _DEEP_SEARCH) * (1.0 - pushed)
    far = rows * unpredicted * (1.0 - graph.local)
    return np.array([
        1.0, depth, vertices, missed, looks, (1.0 - pushed) * arcs, pushed * arcs, spilled * arcs, gather * arcs,
        spilled * vertices, gather * rows, far, more,
    ])  # fmt: skip


def fit(runs: Sequence[Observation], work: Work, curve: Curve) -> Fit:
    """Fit the rates to some runs by relative error.

    Large errors count less than by their square: on a machine with other load a run may take twice as long as it
    should.
    """
    rows = np.array([terms(one.graph, one.supersteps, work, curve) for one in runs])
    seconds = np.array([one.seconds for one in runs])
    # Scale the columns, so that a small rate can be distinguished from zero.
    weighted = rows / seconds[:, None]
    size = np.maximum(weighted.max(axis=0), 1e-300)
    weights = np.ones(len(runs))
    for _ in range(_ROUNDS):
        scaled = not_negative(weighted / size * weights[:, None], weights)
        weights = 1.0 / np.sqrt(np.maximum(np.abs(weighted / size @ scaled - 1), _NEAR))
    rates = scaled / size
    predicted = np.maximum(rows @ rates, 1e-12)
    missed = tuple(np.log(seconds / predicted).tolist())
    whole = Fit(tuple(map(float, rates)), work, curve, 0.0, tuple(runs), missed)
    return replace(whole, error=_error(whole, predicted, seconds))


def _error(whole: Fit, said: Array, seconds: Array) -> float:
    """The median relative error, each run's residual left out of its own prediction."""
    errors = []
    for k, one in enumerate(whole.runs):
        others = replace(
            whole, runs=whole.runs[:k] + whole.runs[k + 1 :], missed=whole.missed[:k] + whole.missed[k + 1 :]
        )
        errors.append(abs(float(said[k]) * others.correction(one.graph) / float(seconds[k]) - 1.0))
    return float(np.median(errors))


def not_negative(rows: Array, right: Array) -> Array:
    """Least squares without negative unknowns, by Lawson and Hanson (1974); importing SciPy's takes long.

    Examples
    --------
    >>> not_negative(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    unknowns = rows.shape[1]
    free, solution = np.zeros(unknowns, bool), np.zeros(unknowns)
    for _ in range(3 * unknowns):
        slope = np.where(free, -np.inf, rows.T @ (right - rows @ solution))
        if slope.max() <= 1e-10 * max(1.0, float(np.abs(rows.T @ right).max())):
            break
        free[int(slope.argmax())] = True
        while free.any():
            trial = np.zeros(unknowns)
            trial[free] = np.linalg.lstsq(rows[:, free], right, rcond=None)[0]
            low = free & (trial <= 0)
            if not low.any():
                solution = trial
                break
            way = solution[low] - trial[low]
            solution += float((solution[low] / np.where(way > 0, way, 1.0)).min()) * (trial - solution)
            free &= solution > 1e-15
            solution[~free] = 0.0
    return solution


def frontier_curve(history: Sequence[Any], arcs: int) -> tuple[float, ...]:
    """The share of all arcs that left the frontier, by superstep; empty if they were not counted.

    Of thousands of supersteps only those at the points of the curve are read.
    """
    if not len(history) or not arcs:
        return ()
    places = np.linspace(0.0, len(history) - 1.0, POINTS)
    steps = np.unique(np.concatenate((np.floor(places), np.ceil(places)))).astype(int)
    if isinstance(history, History):
        edges = history.column("edges", np.nan)[steps]
    else:
        edges = column([history[k] for k in steps.tolist()], "edges", np.nan)
    if np.isnan(edges).any() or not edges.any():
        return ()
    return tuple(round(float(share), 5) for share in np.interp(places, steps, edges / arcs))
