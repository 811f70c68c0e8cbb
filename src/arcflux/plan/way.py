"""A way to run, with what is predicted of it: seconds in all, by phase, and superstep by superstep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arcflux.compile.direction import pulls
from arcflux.plan.brief import Brief
from arcflux.plan.fit import Fit
from arcflux.plan.shape import Shape
from arcflux.plan.split import Split, Where

__all__ = ["Step", "Way", "steps_of", "way_of"]

_PHASES = ("launch", "barriers", "update", "compute", "compute", "load")
_MOST_STEPS = 4096


@dataclass(frozen=True)
class Step:
    """A superstep: the share of all arcs that leaves its frontier, the direction it would take, its seconds."""

    frontier: float
    direction: str
    seconds: float


@dataclass(frozen=True)
class Way:
    """A way to run that was looked at, and its predicted seconds.

    On parts, `where` and `split` say which, `crossing` how many bytes nodes tell each other in the whole run, and
    `setup` how long splitting takes before it, once for a graph.
    """

    name: str
    seconds: float
    low: float
    high: float
    phases: dict[str, float]
    threads: int = 0
    supersteps: float = 0.0
    fit: Fit | None = field(default=None, repr=False, compare=False)
    where: Where | None = None
    split: Split | None = None
    crossing: float = 0.0
    setup: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of the run, and of splitting before it."""
        return self.seconds + self.setup

    def __str__(self) -> str:
        if self.where is not None:
            return f"{self.name}, {self.where}, {self.split}"
        threads = f", {self.threads} thread{'' if self.threads == 1 else 's'}" if self.threads else ""
        return f"{self.name}{threads}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "name": self.name,
            "threads": self.threads or None,
            "seconds": self.seconds,
            "low": self.low,
            "high": self.high,
            "phases": self.phases,
            "supersteps": self.supersteps,
            **({} if self.where is None or self.split is None else self._on_parts(self.where, self.split)),
        }

    def _on_parts(self, where: Where, split: Split) -> dict[str, Any]:
        crossing = {"crossing_bytes": self.crossing, "setup_seconds": self.setup}
        return {"parts": where.parts, "nodes": where.nodes, "transport": where.transport, **vars(split), **crossing}


def way_of(fit: Fit, shape: Shape | Brief, name: str, threads: int, supersteps: float | None = None) -> Way:
    """What a fit predicts of a run; twice as far off as it was in the median of what it was fitted to."""
    steps = fit.rounds(shape) if supersteps is None else supersteps
    row = fit.parts(shape, steps)
    seconds = float(row.sum())
    doubt = max(0.15, min(1.0, 2.0 * fit.error))
    phases: dict[str, float] = {}
    for phase, share in zip(_PHASES, row.tolist(), strict=True):
        phases[phase] = phases.get(phase, 0.0) + share
    return Way(name, seconds, seconds / (1 + doubt), seconds * (1 + doubt), phases, threads, steps, fit)


def steps_of(way: Way, shape: Shape | Brief, push_over_pull: float, *, early: bool = False) -> list[Step]:
    """A way superstep by superstep: barriers are the same in each, all else goes as the arcs of the frontier.

    A superstep that is left to choose is pulled when its arcs, so many times as dear, cost more than all of them; where
    pull stops `early`, when they are many of those that nobody went along yet (Beamer's rule, as the engine has it).
    """
    if way.fit is None:
        return []
    count = max(1, min(_MOST_STEPS, round(way.supersteps)))
    shares = way.fit.frontier(shape, count)
    fixed = (way.phases.get("launch", 0.0) + way.phases.get("barriers", 0.0)) / count
    moving = sum(share for name, share in way.phases.items() if name not in ("launch", "barriers"))
    total = float(shares.sum()) or 1.0

    arcs, left, found = max(1, shape.arcs), 1.0, []
    for share in shares.tolist():
        pull = pulls(share * arcs, left * arcs, shape.vertices, arcs, early, push_over_pull)
        name = way.name if way.name in ("pull", "push") else "pull" if pull else "push"
        found.append(Step(share, name, fixed + moving * share / total))
        left -= share
    return found
