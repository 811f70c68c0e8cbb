"""What was measured of this machine, stored as a JSON file in the cache folder.

It records the machine, the versions that measured it, and the date. A calibration of another machine is not used; one
of other versions or one that is old is used with a note. calibrate.py makes one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from arcflux import config, trace
from arcflux.errors import ArcfluxError, FormatError, SpaceError
from arcflux.plan.fit import Curve, Fit, Observation, fit
from arcflux.plan.journal import Run, file_stem, machine, versions
from arcflux.plan.sketch import Sketch
from arcflux.plan.work import WORKS
from arcflux.spmd.private import write_private

__all__ = ["Calibration", "cache_of", "calibration_time", "from_dict", "load_calibration", "path", "usual"]

_FORMAT = 2
_OLD_DAYS = 90


@dataclass(frozen=True)
class Calibration:
    """What was measured: HIVE's tables, the memory hierarchy, costs of waiting, transports, and runs of programs.

    `fits`: what was fitted to `runs`, by program and direction and threads. `push_over_pull`: the cost of pushing an
    arc over that of pulling it.
    """

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    date: str
    seconds: float
    throughput: Mapping[str, Mapping[str, float]]
    latency: Mapping[str, Mapping[str, float]]
    hierarchy: tuple[Mapping[str, float], ...]
    barrier: float
    launch: float
    exchange: Mapping[str, Mapping[str, float]]
    runs: tuple[Run, ...] = field(repr=False)
    push_over_pull: float = 3.0
    fits: Mapping[tuple[str, int], Fit] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.fits:
            object.__setattr__(self, "fits", _fit_runs(self.runs, self.curve))

    def __repr__(self) -> str:
        return f"<Calibration of {self.date}: {len(self.fits)} programs, measured in {self.seconds:.0f} s>"

    @cached_property
    def curve(self) -> Curve:
        """The cost of random reads."""
        return Curve.of(self.hierarchy)

    @property
    def notes(self) -> list[str]:
        """Reasons to measure again: other versions, or an old calibration."""
        now, then = versions(), self.versions
        found = [
            f"{name} was {then.get(name)} and is {now[name]}" for name in sorted(now) if then.get(name) != now[name]
        ]
        age = (datetime.now(timezone.utc) - datetime.fromisoformat(self.date)).days
        if age > _OLD_DAYS:
            found.append(f"measured {age} days ago")
        return [f"the calibration is stale: {note}; arcflux calibrate" for note in found]

    @property
    def foreign(self) -> str:
        """How this machine differs from the one that was measured; empty when it does not.

        The number of threads is not compared: runs on one thread and on all have fits of their own.
        """
        here = {name: value for name, value in machine().items() if name != "threads"}
        differs = [f"{name} is {here[name]!r}, was {self.machine.get(name)!r}" for name in here
                   if self.machine.get(name) != here[name]]  # fmt: skip
        return "; ".join(differs)

    def to_dict(self) -> dict[str, Any]:
        """As a dict for JSON: graphs once, and runs by the index of their graph."""
        graphs = list(dict.fromkeys(run.seen.graph for run in self.runs))
        number = {graph: k for k, graph in enumerate(graphs)}
        runs = [
            [run.key, run.threads, number[run.seen.graph], run.seen.supersteps, run.seen.seconds,
             list(run.seen.frontiers)]
            for run in self.runs
        ]  # fmt: skip
        fits = {
            f"{key}/{threads}": {"rates": list(one.rates), "error": one.error, "runs": len(one.runs),
                                 "missed": list(one.missed)}
            for (key, threads), one in self.fits.items()
        }  # fmt: skip
        own = {
            "hierarchy": list(self.hierarchy),
            "graphs": [vars(graph) for graph in graphs],
            "runs": runs,
            "fits": fits,
        }
        return {"format": _FORMAT, **{name: value for name, value in vars(self).items() if name != "curve"}, **own}

    def save(self, target: Path) -> None:
        """Write the file atomically."""
        try:
            write_private(target, json.dumps(self.to_dict()).encode())
        except OSError as error:
            remedy = "set ARCFLUX_CACHE to a folder that you can write to"
            raise SpaceError(f"the calibration could not be kept: {error}", remedy=remedy) from error

    def plot(self, target: Any) -> None:
        """Draw the bandwidth of each memory, in order and at random, as figure 2 of Lux does."""
        from arcflux.plan.report import memories

        title = f"{self.machine['model']}, {self.machine['threads']} threads"
        memories(self.throughput, self.hierarchy, title, target)


def _fit_runs(runs: Sequence[Run], curve: Curve) -> dict[tuple[str, int], Fit]:
    """The fits of the observations, by program and direction, and threads."""
    observations: dict[tuple[str, int], list[Observation]] = {}
    for run in runs:
        observations.setdefault((run.key, run.threads), []).append(run.seen)
    return {name: fit(some, WORKS[name[0].partition("/")[0]], curve) for name, some in observations.items()}


def from_dict(raw: Mapping[str, Any]) -> Calibration:
    """A calibration from the output of :meth:`Calibration.to_dict`, without the format."""
    graphs = [Sketch.of(one) for one in raw["graphs"]]
    runs = tuple(
        Run(str(key), int(threads), Observation(graphs[k], float(steps), float(seconds), tuple(map(float, shares))))
        for key, threads, k, steps, seconds, shares in raw["runs"]
    )
    seen: dict[tuple[str, int], list[Observation]] = {}
    for run in runs:
        seen.setdefault((run.key, run.threads), []).append(run.seen)
    hierarchy = tuple(raw["hierarchy"])
    curve, fits = Curve.of(hierarchy), {}
    for name, one in raw["fits"].items():
        key, _, threads = name.rpartition("/")
        own = tuple(seen.get((key, int(threads)), ()))
        rates, missed = tuple(map(float, one["rates"])), tuple(map(float, one["missed"]))
        if len(missed) != len(own) or not np.isfinite([*rates, *missed, float(one["error"])]).all():
            raise ValueError(f"the rates of {name} do not fit its runs")
        fits[key, int(threads)] = Fit(rates, WORKS[key.partition("/")[0]], curve, float(one["error"]), own, missed)
    rest = {name: value for name, value in raw.items() if name != "graphs"}
    return Calibration(**{**rest, "hierarchy": hierarchy, "runs": runs, "fits": fits})


def cache_of(hierarchy: Sequence[Mapping[str, float]]) -> float:
    """The largest array whose random reads are at least half as fast as those of the fastest array."""
    best = max(row["random"] for row in hierarchy)
    return max(row["bytes"] for row in hierarchy if row["random"] >= best / 2)


def path(threads: int | None = None) -> Path:
    """The file of this machine's calibration for a number of threads, by default as many as are used now."""
    return config.cache_folder("calibration") / f"{file_stem(threads)}.json"


def load_calibration(target: Path | None = None) -> Calibration | None:
    """The calibration of this machine; None if there is none or it is of another machine, which is noted.

    A calibration with all cores also serves fewer threads: each rank of a job has a share of the cores.
    """
    where = path() if target is None else target
    if target is None and not where.exists():
        where = path(config.cores())
    if not where.exists():
        return None
    calibration = _read(where, where.stat().st_mtime_ns)
    if calibration.foreign:
        trace.note(f"{where} is of another machine ({calibration.foreign}), and is not used; arcflux calibrate")
        return None
    return calibration


def calibration_time() -> float:
    """When the calibration of this machine was written; 0 without one."""
    times = [0.0]
    with suppress(ArcfluxError):
        for file in (path(), path(config.cores())):
            with suppress(OSError):
                times.append(os.stat(file).st_mtime_ns)
    return max(times)


@lru_cache(maxsize=4)
def _read(where: Path, written: int) -> Calibration:
    """The calibration in a file; read again when the file has changed."""
    remedy = "arcflux calibrate"
    try:
        raw = json.loads(where.read_text(encoding="utf-8"))
        if raw.pop("format") != _FORMAT:
            raise FormatError("is a calibration of another version of Arcflux", path=where, remedy=remedy)
        calibration = from_dict(raw)
        datetime.fromisoformat(calibration.date)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"is no calibration: {error}", path=where, remedy=remedy) from error
    return calibration


@lru_cache(maxsize=1)
def usual() -> Calibration:
    """The calibration that stands in for a machine that was not measured."""
    raw = json.loads((Path(__file__).parent / "usual.json").read_text(encoding="utf-8"))
    raw.pop("format")
    return from_dict(raw)
