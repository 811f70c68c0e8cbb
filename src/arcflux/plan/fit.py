"""The gammas of Lux on this machine: seconds of a run as a sum of what it does, fitted to runs on a few small graphs.

A run of s supersteps on a graph of V vertices and E arcs takes

    a  +  b s  +  c n V  +  d n E  +  e n E'  +  f n E gather

where n is s when every superstep visits everything (dense programs), and 1 when each arc is visited now and then, with
the depth of the graph for s. E' is E for searches of deep graphs, which cannot skip arcs as searches of shallow ones do
(and E is then 0). gather is what a random read costs in as much memory as the sources of most arcs take, less where
neighbours are near: the curve of the memory hierarchy. So a is a launch, b a barrier and more, c the update, d and e
the compute, f the load of Lux. None is negative (non-negative least squares), and runs count by relative errors, a
small graph as much as a large one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.plan.shape import Shape

__all__ = ["DEEP", "Curve", "Fit", "Observation", "features", "fit", "kind"]

DEEP = 30.0
_SKEWED = 16.0


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

    def gather(self, shape: Shape, value: float) -> float:
        """What an arc's read of its source costs on a graph."""
        size = max(2.0, shape.hot() * value)
        anywhere = float(np.interp(np.log2(size), np.log2(self.bytes), self.seconds))
        local = shape.local()
        return (1.0 - local) * anywhere + local * self.seconds[0]


@dataclass(frozen=True)
class Observation:
    """A run that was measured: what it ran on, in how many supersteps, and the seconds."""

    shape: Shape
    supersteps: float
    seconds: float


@dataclass(frozen=True)
class Fit:
    """Coefficients of one program in one direction, how far off they are, and what they were fitted to.

    `error` is the median and `doubt` the largest relative error over the runs it was fitted to. `dense`: whether every
    superstep visits every arc. `supersteps`: by kind of graph a line over the logarithm of its vertices, (at 0, slope),
    as they were seen.
    """

    coefficients: tuple[float, ...]
    dense: bool
    curve: Curve
    value: float
    error: float
    doubt: float
    runs: int
    supersteps: Mapping[str, tuple[float, float]]

    def seconds(self, shape: Shape, supersteps: float | None = None) -> float:
        """Predicted seconds of a run."""
        steps = self.steps(shape) if supersteps is None else supersteps
        row = features(shape, steps, self.dense, self.curve, self.value)
        return float(row @ np.array(self.coefficients))

    def steps(self, shape: Shape) -> float:
        """Supersteps to expect: those seen on graphs of this kind, or of any; the depth, if not dense."""
        if not self.dense:
            return shape.depth
        lines = list(self.supersteps.values())
        at, slope = self.supersteps.get(kind(shape)) or tuple(np.mean(lines, axis=0))
        return max(1.0, float(at + slope * np.log2(max(2, shape.vertices))))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        lines = {name: list(line) for name, line in self.supersteps.items()}
        own = {"coefficients": list(self.coefficients), "supersteps": lines}
        return {**vars(self), **own, "curve": {name: list(row) for name, row in vars(self.curve).items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Fit:
        """From what :meth:`to_dict` gave."""
        curve = Curve(tuple(kept["curve"]["bytes"]), tuple(kept["curve"]["seconds"]))
        lines = {name: (float(at), float(slope)) for name, (at, slope) in kept["supersteps"].items()}
        own = {"coefficients": tuple(map(float, kept["coefficients"])), "curve": curve, "supersteps": lines}
        return cls(**{**kept, **own})


def kind(shape: Shape) -> str:
    """What sort of graph it is: "near" (deep, as roads), "skewed" (with hubs), "local" (rings with chords) or "flat".

    Examples
    --------
    >>> from arcflux.plan.shape import grid, kronecker, uniform
    >>> kind(grid(100, 100)), kind(kronecker(16)), kind(uniform(1000, 16000))
    ('near', 'skewed', 'flat')
    """
    if shape.depth > DEEP:
        return "near"
    if float(shape.degrees.max(initial=0.0)) > _SKEWED * max(1.0, shape.mean_degree):
        return "skewed"
    return "local" if shape.local() > 0.5 else "flat"


def features(shape: Shape, steps: float, dense: bool, curve: Curve, value: float) -> NDArray[np.float64]:
    """What a run does, in the order of the coefficients; supersteps are given for dense programs alone."""
    steps = steps if dense else shape.depth
    often = steps if dense else 1.0
    deep = 0.0 if dense or shape.depth <= DEEP else 1.0
    arcs = often * shape.arcs
    gather = arcs * curve.gather(shape, value)
    return np.array([1.0, steps, often * shape.vertices, arcs * (1.0 - deep), arcs * deep, gather])


def fit(runs: Sequence[Observation], dense: bool, curve: Curve, value: float) -> Fit:
    """The coefficients that come nearest to some runs, each counted by its relative error."""
    from scipy.optimize import nnls

    rows = np.array([features(one.shape, one.supersteps, dense, curve, value) for one in runs])
    seconds = np.array([one.seconds for one in runs])
    # Columns of like size, which nnls needs to tell a small coefficient from none.
    weighted = rows / seconds[:, None]
    size = np.maximum(weighted.max(axis=0), 1e-300)
    found, _ = nnls(weighted / size, np.ones(len(runs)))
    coefficients = found / size
    errors = np.abs(rows @ coefficients / seconds - 1)
    seen: dict[str, list[tuple[float, float]]] = {}
    for one in runs:
        seen.setdefault(kind(one.shape), []).append((np.log2(max(2, one.shape.vertices)), one.supersteps))
    supersteps = {name: _line(counts) for name, counts in seen.items()}
    return Fit(
        tuple(map(float, coefficients)), dense, curve, float(value), float(np.median(errors)), float(errors.max()),
        len(runs), supersteps,
    )  # fmt: skip


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The line through some points: (at 0, slope); flat when they are all at one place."""
    x, y = np.array(points).T
    if np.ptp(x) == 0:
        return float(np.median(y)), 0.0
    slope, at = np.polyfit(x, y, 1)
    return float(at), float(slope)
