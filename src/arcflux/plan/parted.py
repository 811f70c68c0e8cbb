"""What a run on parts takes: seconds as a sum of what it does, fitted to runs on parts of a few small graphs.

A run of s supersteps on k parts of m nodes, of which w compute at once in the mean, takes

    A / w  +  a  +  b s  +  c s (m - 1)  +  d A / w  +  e n X / w  +  f s (k - w)

with n as in fit.py, A the seconds of the same run on one thread of one process (which fit.py knows), and X the bytes
that cross when every vertex sends (split.py). So a is the start and the end of a run, b and c are the meetings of a
superstep, which take longer the more there are, d how much slower kernels on parts are, e packing, sending and
unpacking, f waiting for those that have no core. Each model of exchange has its own kernels, and so its own
coefficients, for each program, and for threads and processes. What the sum missed of runs nearby is made good, as in
fit.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.plan.brief import Brief, kind
from arcflux.plan.fit import not_negative
from arcflux.plan.nearby import Nearby, place_of
from arcflux.plan.split import Split, Where, form_of
from arcflux.plan.way import Way

__all__ = ["PartFit", "Seen", "fit_parts", "key_of", "part_way"]

_PHASES = ("launch", "barriers", "barriers", "compute", "transfer", "barriers")
_ALONE = 3  # the place of what one thread takes, which parts take at least
_NEAR, _ROUNDS = 0.1, 5


@dataclass(frozen=True)
class Seen:
    """A run on parts that was measured; `crossing`: values that cross when every vertex sends, as predicted."""

    graph: Brief
    where: Where
    split: Split
    supersteps: float
    seconds: float
    crossing: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**vars(self), "graph": vars(self.graph), "where": vars(self.where), "split": vars(self.split)}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Seen:
        """From what :meth:`to_dict` gave; an error if it is not that."""
        numbers = [float(kept[name]) for name in ("supersteps", "seconds", "crossing")]
        if not all(np.isfinite(one) and one >= 0 for one in numbers) or not numbers[1]:
            raise ValueError("a figure is no number, or negative")
        split = Split(str(kept["split"]["partition"]), str(kept["split"]["exchange"]))
        return cls(Brief.of(kept["graph"]), Where.of(kept["where"]), split, *numbers)


@dataclass(frozen=True)
class PartFit:
    """Coefficients of a program on parts in one form of exchange, and how far off they are.

    `nearby`: what the formula missed of the runs; `levels`: supersteps for each level of a search, by kind of graph.
    """

    coefficients: tuple[float, ...]
    dense: bool
    value: float
    error: float
    runs: int
    nearby: Nearby = field(default_factory=Nearby)
    levels: Mapping[str, float] = field(default_factory=dict)

    def steps(self, graph: Brief, otherwise: float) -> float:
        """Supersteps to expect: of programs with a frontier, so many for each level of a search, by kind of graph."""
        each = self.levels.get(kind(graph)) or self.levels.get("any")
        return otherwise if self.dense or each is None else max(1.0, each * graph.depth)

    def parts(self, graph: Brief, where: Where, steps: float, crossing: float, alone: float) -> NDArray[np.float64]:
        """Predicted seconds by what they are spent on; `alone` are those of the run on one thread of one process."""
        row = _features(where, steps, crossing, alone, self.dense, self.value) * self.coefficients
        row[_ALONE] += alone / where.at_once
        return row * self.nearby.factor(_place(graph, where))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        own = {"coefficients": list(self.coefficients), "nearby": self.nearby.to_dict()}
        return {**vars(self), **own}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> PartFit:
        """From what :meth:`to_dict` gave."""
        near = Nearby.of(**kept.get("nearby", {"places": (), "missed": ()}))
        return cls(**{**kept, "coefficients": tuple(map(float, kept["coefficients"])), "nearby": near})


def key_of(program: str, split: Split, where: Where) -> str:
    """Under which name fits are kept: the program and its direction, the form of exchange, and the transport."""
    far = "+" if where.machines > 1 else ""
    return f"{program} {form_of(split)} {where.transport}{far}"


def _features(
    where: Where, steps: float, crossing: float, alone: float, dense: bool, value: float
) -> NDArray[np.float64]:
    often, workers = steps if dense else 1.0, where.at_once
    crossed = often * crossing * value / workers
    waiting = steps * (where.parts - workers)
    return np.array([1.0, steps, steps * (where.nodes - 1), alone / workers, crossed, waiting])


def fit_parts(runs: Sequence[Seen], alone: Sequence[float], dense: bool, value: float) -> PartFit:
    """The coefficients that come nearest to some runs, each counted by its relative error, as in fit.py.

    `alone` are the seconds that each would take on one thread of one process.
    """
    rows = np.array([
        _features(one.where, one.supersteps, one.crossing, by_one, dense, value)
        for one, by_one in zip(runs, alone, strict=True)
    ])  # fmt: skip
    seconds = np.array([one.seconds for one in runs])
    least = rows[:, _ALONE]
    weighted, right = rows / seconds[:, None], 1.0 - least / seconds
    size = np.maximum(weighted.max(axis=0), 1e-300)
    sure = np.ones(len(runs))
    for _ in range(_ROUNDS):
        found = not_negative(weighted / size * sure[:, None], right * sure)
        sure = 1.0 / np.sqrt(np.maximum(np.abs(weighted / size @ found - right), _NEAR))
    coefficients = found / size
    said = least + rows @ coefficients
    error = float(np.median(np.abs(said / seconds - 1)))
    missed = np.log(seconds / np.maximum(said, 1e-12))
    nearby = Nearby(tuple(_place(one.graph, one.where) for one in runs), tuple(map(float, missed)))
    levels = _levels(runs)
    return PartFit(tuple(map(float, coefficients)), dense, float(value), error, len(runs), nearby, levels)


def _levels(runs: Sequence[Seen]) -> dict[str, float]:
    """Supersteps for each level of a search, in the median, by kind of graph and of all of them."""
    seen: dict[str, list[float]] = {}
    for one in runs:
        for name in (kind(one.graph), "any"):
            seen.setdefault(name, []).append(one.supersteps / max(1.0, one.graph.depth))
    return {name: float(np.median(some)) for name, some in seen.items()}


def _place(graph: Brief, where: Where) -> tuple[float, ...]:
    return place_of(graph, math.log2(where.parts), math.log2(where.nodes))


def part_way(
    fit: PartFit, graph: Brief, name: str, where: Where, split: Split, steps: float, crossing: float, alone: float,
    setup: float,
) -> Way:  # fmt: skip
    """What is predicted of a way on parts; `setup` are the seconds that splitting takes before the run."""
    row = fit.parts(graph, where, steps, crossing, alone)
    seconds, doubt = float(row.sum()), max(0.15, min(1.0, 2.0 * fit.error))
    phases: dict[str, float] = {}
    for phase, share in zip(_PHASES, row.tolist(), strict=True):
        phases[phase] = phases.get(phase, 0.0) + share
    often = steps if fit.dense else 1.0
    return Way(
        name, seconds, seconds / (1 + doubt), seconds * (1 + doubt), phases, supersteps=steps, where=where, split=split,
        crossing=crossing * fit.value * often, setup=setup,
    )  # fmt: skip
