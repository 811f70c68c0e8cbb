"""The gammas of Lux on this machine: seconds of a run as a sum of what it does, fitted to runs on a few small graphs.

A run of s supersteps on a graph of V vertices and E arcs takes

    a  +  b s  +  c n V  +  d n E  +  e n E'  +  f n E gather

where n is s when every superstep visits everything (dense programs), and 1 when each arc is visited now and then, with
the depth of the graph for s. E' is E for searches of graphs that are deep or whose neighbours are near, which cannot
skip arcs as others do (and E is then 0). gather is what a random read costs in as much memory as the sources of most
arcs take, less where neighbours are near: the curve of the memory hierarchy. So a is a launch, b a barrier and more, c
the update, d and e the compute, f the load of Lux. None is negative (non-negative least squares), and runs count by
relative errors, a small graph as much as a large one. Where rows are intersected (triangles), E' is the sum over arcs
of the smaller degree of their ends; where neighbours of neighbours are visited, the sum of squared degrees. What the
sum missed of runs on graphs that are alike is made good (nearby.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.plan.brief import DEEP, Brief, brief, kind
from arcflux.plan.nearby import Nearby, place_of
from arcflux.plan.shape import Shape

__all__ = ["DEEP", "POINTS", "Curve", "Fit", "Observation", "at_threads", "features", "fit", "kind", "not_negative"]

# Places of a frontier curve, from the first superstep to the last.
POINTS = 17
# Runs that are off by less than so much count by the square of that, others by how much they are off.
_NEAR = 0.1
# The share of arcs whose source is not among the hot ones (Shape.hot): it is anywhere.
_COLD = 0.2
# From so much nearness on, the frontiers of a search grow slowly.
_LOCAL = 0.5
_ROUNDS = 5


@dataclass(frozen=True)
class Curve:
    """Seconds of a random read, by the bytes among which it is: ascending in both."""

    bytes: tuple[float, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, hierarchy: Sequence[Mapping[str, float]]) -> Curve:
        """From the rows of :func:`arcflux.plan.microbench.hierarchy`; more memory is never faster."""
        seconds = np.maximum.accumulate([4.0 / row["random"] for row in hierarchy])
        return cls(tuple(row["bytes"] for row in hierarchy), tuple(map(float, seconds)))

    def gather(self, shape: Shape | Brief, value: float) -> float:
        """What an arc's read of its source costs on a graph."""
        known = brief(shape)
        anywhere = (1 - _COLD) * self._read(known.hot * value) + _COLD * self._read(known.vertices * value)
        return (1.0 - known.local) * anywhere + known.local * self.seconds[0]

    def _read(self, size: float) -> float:
        """What a random read costs in so many bytes."""
        return float(np.interp(np.log2(max(2.0, size)), np.log2(self.bytes), self.seconds))


@dataclass(frozen=True)
class Observation:
    """A run that was measured: what it ran on, in how many supersteps, the seconds, and arcs of each frontier.

    `frontiers` is the curve of a run in which only changed vertices send: the share of all arcs that left the frontier,
    at :data:`POINTS` places from the first superstep to the last; empty where nobody looked.
    """

    shape: Shape | Brief
    supersteps: float
    seconds: float
    frontiers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Fit:
    """Coefficients of one program in one direction, how far off they are, and what they were fitted to.

    `error` is the median and `doubt` the largest relative error over the runs it was fitted to. `dense`: whether every
    superstep visits every arc. `supersteps`: by kind of graph a line over the logarithm of its vertices, (at 0, slope),
    as they were seen. `extra`: what the fifth number of a run is, if not the arcs of deep graphs. `frontiers`: by kind
    of graph, the mean of the curves of frontiers. `per_level`: supersteps for each level of a search. `nearby`: what
    the formula missed of the runs.
    """

    coefficients: tuple[float, ...]
    dense: bool
    curve: Curve
    value: float
    error: float
    doubt: float
    runs: int
    supersteps: Mapping[str, tuple[float, float]]
    extra: str = ""
    frontiers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    per_level: float = 1.0
    nearby: Nearby = field(default_factory=Nearby)

    def seconds(self, shape: Shape | Brief, supersteps: float | None = None) -> float:
        """Predicted seconds of a run."""
        return float(self.parts(shape, supersteps).sum())

    def parts(self, shape: Shape | Brief, supersteps: float | None = None) -> NDArray[np.float64]:
        """Predicted seconds of a run by what they are spent on, in the order of the coefficients."""
        known = brief(shape)
        steps = self.steps(known) if supersteps is None else supersteps
        row = features(known, steps, self.dense, self.curve, self.value, self.extra) * self.coefficients
        return row * self.nearby.factor(place_of(known)) if self.nearby.places else row

    def frontier(self, shape: Shape | Brief, steps: int) -> NDArray[np.float64]:
        """The share of all arcs that leaves the frontier in each superstep; of a dense program, all of them."""
        if self.dense or not self.frontiers:
            return np.full(steps, 1.0 if self.dense else 1.0 / max(1, steps))
        lines = list(self.frontiers.values())
        curve = self.frontiers.get(kind(shape)) or tuple(np.mean(lines, axis=0))
        shares: NDArray[np.float64] = np.interp(np.linspace(0.0, 1.0, steps), np.linspace(0.0, 1.0, POINTS), curve)
        return shares

    def rounds(self, shape: Shape | Brief) -> float:
        """Supersteps to expect as they are counted: of programs with a frontier, so many for each level of a search."""
        return self.steps(shape) if self.dense else max(1.0, self.per_level * shape.depth)

    def steps(self, shape: Shape | Brief) -> float:
        """Supersteps to expect: those seen on graphs of this kind, or of any; the depth, if not dense."""
        if not self.dense:
            return shape.depth
        lines = list(self.supersteps.values())
        at, slope = self.supersteps.get(kind(shape)) or tuple(np.mean(lines, axis=0))
        return max(1.0, float(at + slope * np.log2(max(2, shape.vertices))))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        lines = {name: list(line) for name, line in self.supersteps.items()}
        own: dict[str, Any] = {"coefficients": list(self.coefficients), "supersteps": lines}
        own["frontiers"] = {name: list(curve) for name, curve in self.frontiers.items()}
        own["nearby"] = self.nearby.to_dict()
        return {**vars(self), **own, "curve": {name: list(row) for name, row in vars(self.curve).items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Fit:
        """From what :meth:`to_dict` gave."""
        curve = Curve(tuple(kept["curve"]["bytes"]), tuple(kept["curve"]["seconds"]))
        lines = {name: (float(at), float(slope)) for name, (at, slope) in kept["supersteps"].items()}
        own = {"coefficients": tuple(map(float, kept["coefficients"])), "curve": curve, "supersteps": lines}
        near = Nearby.of(**kept.get("nearby", {"places": (), "missed": ()}))
        curves = {name: tuple(map(float, shares)) for name, shares in kept.get("frontiers", {}).items()}
        return cls(**{**kept, **own, "frontiers": curves, "nearby": near})


def features(
    shape: Shape | Brief, steps: float, dense: bool, curve: Curve, value: float, extra: str = ""
) -> NDArray[np.float64]:
    """What a run does, in the order of the coefficients; supersteps are given for dense programs alone."""
    known = brief(shape)
    steps = steps if dense else known.depth
    often = steps if dense else 1.0
    arcs = often * known.arcs
    if extra:
        more = getattr(known, extra)
    else:
        slow = not dense and (known.depth > DEEP or known.local > _LOCAL)
        arcs, more = (0.0, arcs) if slow else (arcs, 0.0)
    gather = often * known.arcs * curve.gather(known, value)
    return np.array([1.0, steps, often * known.vertices, arcs, more, gather])


def fit(runs: Sequence[Observation], dense: bool, curve: Curve, value: float, extra: str = "") -> Fit:
    """The coefficients that come nearest to some runs, each counted by its relative error.

    Large errors count less than by their square: on a machine that does other things too, a run may take twice as long
    as it should, and tells nothing.
    """
    rows = np.array([features(one.shape, one.supersteps, dense, curve, value, extra) for one in runs])
    seconds = np.array([one.seconds for one in runs])
    # Columns of like size, which is how a small coefficient is told from none.
    weighted = rows / seconds[:, None]
    size = np.maximum(weighted.max(axis=0), 1e-300)
    sure = np.ones(len(runs))
    for _ in range(_ROUNDS):
        found = not_negative(weighted / size * sure[:, None], sure)
        sure = 1.0 / np.sqrt(np.maximum(np.abs(weighted / size @ found - 1), _NEAR))
    coefficients = found / size
    said = rows @ coefficients
    errors = np.abs(said / seconds - 1)
    missed = np.log(seconds / np.maximum(said, 1e-12))
    nearby = Nearby(tuple(place_of(brief(one.shape)) for one in runs), tuple(map(float, missed)))
    seen: dict[str, list[tuple[float, float]]] = {}
    curves: dict[str, list[tuple[float, ...]]] = {}
    for one in runs:
        seen.setdefault(kind(one.shape), []).append((np.log2(max(2, one.shape.vertices)), one.supersteps))
        if one.frontiers:
            curves.setdefault(kind(one.shape), []).append(one.frontiers)
    levels = [one.supersteps / max(1.0, one.shape.depth) for one in runs]
    supersteps = {name: _line(counts) for name, counts in seen.items()}
    frontiers = {name: tuple(map(float, np.mean(some, axis=0))) for name, some in curves.items()}
    return Fit(
        tuple(map(float, coefficients)), dense, curve, float(value), float(np.median(errors)), float(errors.max()),
        len(runs), supersteps, extra, frontiers, float(np.median(levels)), nearby,
    )  # fmt: skip


def not_negative(rows: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least squares with no negative unknown, by Lawson and Hanson (1974); SciPy's takes long to import.

    Examples
    --------
    >>> not_negative(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    unknowns = rows.shape[1]
    taken, found = np.zeros(unknowns, bool), np.zeros(unknowns)
    for _ in range(3 * unknowns):
        slope = np.where(taken, -np.inf, rows.T @ (right - rows @ found))
        if slope.max() <= 1e-10 * max(1.0, float(np.abs(rows.T @ right).max())):
            break
        taken[int(slope.argmax())] = True
        while taken.any():
            trial = np.zeros(unknowns)
            trial[taken] = np.linalg.lstsq(rows[:, taken], right, rcond=None)[0]
            low = taken & (trial <= 0)
            if not low.any():
                found = trial
                break
            way = found[low] - trial[low]
            found += float((found[low] / np.where(way > 0, way, 1.0)).min()) * (trial - found)
            taken &= found > 1e-15
            found[~taken] = 0.0
    return found


def at_threads(alone: Fit, many: Fit, workers: int, threads: int) -> Fit:
    """The fit of so many threads, from that of one and that of `workers`: each coefficient is a + b / threads.

    Examples
    --------
    >>> one = Fit((8.0,) * 6, True, Curve((1.0,), (1.0,)), 8.0, 0.1, 0.2, 9, {})
    >>> four = Fit((2.0,) * 6, True, Curve((1.0,), (1.0,)), 8.0, 0.1, 0.2, 9, {})
    >>> at_threads(one, four, 4, 2).coefficients[0]
    4.0
    """
    if threads >= workers:
        return many
    if threads == 1:
        return alone
    share = (1.0 - 1.0 / threads) / (1.0 - 1.0 / workers)
    mixed = tuple(one + (all_ - one) * share for one, all_ in zip(alone.coefficients, many.coefficients, strict=True))
    return replace(many, coefficients=mixed)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The line through some points: (at 0, slope); flat when they are all at one place."""
    x, y = np.array(points).T
    if np.ptp(x) == 0:
        return float(np.median(y)), 0.0
    slope, at = np.polyfit(x, y, 1)
    return float(at), float(slope)
