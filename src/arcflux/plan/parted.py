"""What a run on parts takes: seconds as a sum of what it does, fitted to runs on parts of a few small graphs.

A run of s supersteps on k parts, of which w compute at once, takes

    a  +  b s  +  c s (k - 1)  +  d n V  +  e n E / w  +  f n X / w  +  g n E gather / w

with n and gather as in fit.py, and X the bytes that cross when every vertex sends (split.py). So a is the start and the
end of a run, b and c are the meetings of a superstep, which take longer the more there are, d and e compute, f packing,
sending and unpacking, g loading. Each model of exchange has its own kernels, and so its own coefficients, for each
program, and for threads and processes. What the sum missed of runs nearby is made good, as in fit.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.plan.brief import Brief
from arcflux.plan.fit import Curve, not_negative
from arcflux.plan.nearby import Nearby, place_of
from arcflux.plan.split import Split, Where, form_of
from arcflux.plan.way import Way

__all__ = ["PartFit", "Seen", "fit_parts", "key_of", "part_way"]

_PHASES = ("launch", "barriers", "barriers", "update", "compute", "transfer", "load")
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
    """Coefficients of a program on parts in one form of exchange, and how far off they are."""

    coefficients: tuple[float, ...]
    dense: bool
    curve: Curve
    value: float
    error: float
    runs: int
    nearby: Nearby = field(default_factory=Nearby)

    def parts(self, graph: Brief, where: Where, steps: float, crossing: float) -> NDArray[np.float64]:
        """Predicted seconds by what they are spent on."""
        row = _features(graph, where, steps, crossing, self.dense, self.curve, self.value)
        return row * self.coefficients * self.nearby.factor(_place(graph, where))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        curve = {name: list(row) for name, row in vars(self.curve).items()}
        own = {"coefficients": list(self.coefficients), "curve": curve, "nearby": self.nearby.to_dict()}
        return {**vars(self), **own}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> PartFit:
        """From what :meth:`to_dict` gave."""
        curve = Curve(tuple(kept["curve"]["bytes"]), tuple(kept["curve"]["seconds"]))
        near = Nearby.of(**kept.get("nearby", {"places": (), "missed": ()}))
        return cls(**{**kept, "curve": curve, "coefficients": tuple(map(float, kept["coefficients"])), "nearby": near})


def key_of(program: str, split: Split, where: Where) -> str:
    """Under which name fits are kept: the program and its direction, the form of exchange, and the transport."""
    far = "+" if where.machines > 1 else ""
    return f"{program} {form_of(split)} {where.transport}{far}"


def _features(
    graph: Brief, where: Where, steps: float, crossing: float, dense: bool, curve: Curve, value: float
) -> NDArray[np.float64]:
    often, workers = steps if dense else 1.0, where.workers
    arcs = often * graph.arcs / workers
    row = [1.0, steps, steps * (where.parts - 1), often * graph.vertices, arcs, often * crossing * value / workers,
           arcs * curve.gather(graph, value)]  # fmt: skip
    return np.array(row)


def fit_parts(runs: Sequence[Seen], dense: bool, curve: Curve, value: float) -> PartFit:
    """The coefficients that come nearest to some runs, each counted by its relative error, as in fit.py."""
    rows = np.array(
        [_features(one.graph, one.where, one.supersteps, one.crossing, dense, curve, value) for one in runs]
    )
    seconds = np.array([one.seconds for one in runs])
    weighted = rows / seconds[:, None]
    size = np.maximum(weighted.max(axis=0), 1e-300)
    sure = np.ones(len(runs))
    for _ in range(_ROUNDS):
        found = not_negative(weighted / size * sure[:, None], sure)
        sure = 1.0 / np.sqrt(np.maximum(np.abs(weighted / size @ found - 1), _NEAR))
    coefficients = found / size
    said = rows @ coefficients
    error = float(np.median(np.abs(said / seconds - 1)))
    missed = np.log(seconds / np.maximum(said, 1e-12))
    nearby = Nearby(tuple(_place(one.graph, one.where) for one in runs), tuple(map(float, missed)))
    return PartFit(tuple(map(float, coefficients)), dense, curve, float(value), error, len(runs), nearby)


def _place(graph: Brief, where: Where) -> tuple[float, ...]:
    return place_of(graph, math.log2(where.parts), math.log2(where.nodes))


def part_way(
    fit: PartFit, graph: Brief, name: str, where: Where, split: Split, steps: float, crossing: float, setup: float
) -> Way:
    """What is predicted of a way on parts; `setup` are the seconds that splitting takes before the run."""
    row = fit.parts(graph, where, steps, crossing)
    seconds, doubt = float(row.sum()), max(0.15, min(1.0, 2.0 * fit.error))
    phases: dict[str, float] = {}
    for phase, share in zip(_PHASES, row.tolist(), strict=True):
        phases[phase] = phases.get(phase, 0.0) + share
    often = steps if fit.dense else 1.0
    return Way(
        name, seconds, seconds / (1 + doubt), seconds * (1 + doubt), phases, supersteps=steps, where=where, split=split,
        crossing=crossing * fit.value * often, setup=setup,
    )  # fmt: skip
