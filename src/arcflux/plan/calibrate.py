"""Measure this machine once, and keep that: memory, barriers, transports, and the rates of programs.

What is kept is a JSON file in the cache folder, with the machine it is of, the versions that measured it, and the date.
A calibration of another machine is not used; one of other versions or of long ago is, and says so.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from arcflux import __version__, config, trace
from arcflux.errors import FormatError, SpaceError
from arcflux.plan.brief import Brief, brief
from arcflux.plan.fit import Curve, Fit, Observation, fit
from arcflux.plan.parted import PartFit, Seen
from arcflux.plan.programs import PROGRAMS, WEIGHTED, observed, push_over_pull
from arcflux.spmd.private import write_private

__all__ = ["GRAPHS", "PROGRAMS", "Calibration", "calibrate", "fitted", "from_dict", "kept", "machine", "observed",
           "path", "versions"]  # fmt: skip

_FORMAT = 1
_OLD_DAYS = 90
GRAPHS = (
    "kron:12", "kron:14", "kron:16", "kron:18", "urand:13", "urand:15", "urand:18", "grid:128x128", "grid:500x500",
    "ws:50000,k=10,p=0.05", "ws:200000,k=8,p=0.2",
)  # fmt: skip
_FEW = ("kron:10", "kron:12", "urand:10", "grid:40x40")
# Large ones, on which one worker alone, and less usual programs, would take too long; what are too many pairs of arcs.
_LARGE = ("kron:16", "kron:18", "urand:18", "grid:500x500", "ws:200000,k=8,p=0.2")
_MANY_PAIRS = 2e8
# Seconds for all, after which nothing new begins; those for programs on all graphs, of which what is left after a first
# round is for a second.
_SECONDS, _TIME_FOR_RUNS = 108.0, 40.0


@dataclass(frozen=True)
class Calibration:
    """What was measured: HIVE's tables, the memory hierarchy, costs of waiting, transports, and fits of programs.

    `fits` are of all workers, `alone` of one; `runs` and `runs_alone` what they were fitted to, so that later runs can
    be added. `push_over_pull`: what an arc costs to push over what it costs to pull. `part_fits` and `part_runs` are of
    runs on parts, and `setup` has the seconds that splitting takes for each arc.
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
    fits: Mapping[str, Fit]
    alone: Mapping[str, Fit] = field(default_factory=dict)
    runs: Mapping[str, Sequence[Observation]] = field(default_factory=dict)
    runs_alone: Mapping[str, Sequence[Observation]] = field(default_factory=dict)
    push_over_pull: float = 3.0
    part_fits: Mapping[str, PartFit] = field(default_factory=dict)
    part_runs: Mapping[str, Sequence[Seen]] = field(default_factory=dict)
    setup: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Calibration of {self.date}: {len(self.fits)} programs, measured in {self.seconds:.0f} s>"

    @property
    def notes(self) -> list[str]:
        """Why one might measure again: other versions, or long ago."""
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
        """In what this machine differs from the one that was measured; empty when it does not.

        How many threads were used does not matter: those of one, and of all, are told apart.
        """
        here = {name: found for name, found in machine().items() if name != "threads"}
        differs = [f"{name} is {here[name]!r}, was {self.machine.get(name)!r}" for name in here
                   if self.machine.get(name) != here[name]]  # fmt: skip
        return "; ".join(differs)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        own: dict[str, Any] = {"hierarchy": list(self.hierarchy)}
        for name in ("fits", "alone", "part_fits"):
            own[name] = {key: one.to_dict() for key, one in getattr(self, name).items()}
        own["part_runs"] = {key: [one.to_dict() for one in some] for key, some in self.part_runs.items()}
        for name in ("runs", "runs_alone"):
            own[name] = {
                key: [{**vars(one), "shape": vars(brief(one.shape))} for one in some]
                for key, some in getattr(self, name).items()
            }
        return {"format": _FORMAT, **vars(self), **own}

    def save(self, target: Path) -> None:
        """Write it whole or not at all."""
        try:
            write_private(target, json.dumps(self.to_dict(), indent=1).encode())
        except OSError as error:
            remedy = "set ARCFLUX_CACHE to a folder that you can write to"
            raise SpaceError(f"the calibration could not be kept: {error}", remedy=remedy) from error

    def plot(self, target: Any) -> None:
        """Draw the bandwidth of each memory, in order and at random, as figure 2 of Lux does."""
        from arcflux.plan.report import memories

        memories(self, target)


def machine() -> dict[str, Any]:
    """What a calibration is of: the processor, the cores that are used, and the memory."""
    return {**_hardware(), "cores": config.cores(), "threads": config.threads()}


@lru_cache(maxsize=1)
def _hardware() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {"model": model, "memory_gb": round(size / 1e9)}


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What may change how fast a program is, by version."""
    from importlib.metadata import version

    return {"arcflux": __version__, **{name: version(name) for name in ("numba", "numpy")}}


def path(threads: int | None = None) -> Path:
    """Where the calibration of this machine, with so many threads or as many as are used now, is kept."""
    found = machine()
    word = "".join(letter if letter.isalnum() else "-" for letter in f"{platform.node()}-{found['model']}")
    return config.cache_folder("calibration") / f"{word[:80]}-{threads or found['threads']}.json"


def kept(target: Path | None = None) -> Calibration | None:
    """The calibration of this machine, if there is one; None too when it is of another machine, which is noted.

    One with all cores says something about fewer threads as well: of ranks of a job, each has a share of them.
    """
    where = path() if target is None else target
    if target is None and not where.exists():
        where = path(config.cores())
    if not where.exists():
        return None
    found = _read(where, where.stat().st_mtime_ns)
    if found.foreign:
        trace.note(f"{where} is of another machine ({found.foreign}), and is not used; arcflux calibrate")
        return None
    return found


@lru_cache(maxsize=4)
def _read(where: Path, written: int) -> Calibration:
    """The calibration in a file; read again when it was written again."""
    remedy = "arcflux calibrate"
    try:
        raw = json.loads(where.read_text(encoding="utf-8"))
        if raw.pop("format") != _FORMAT:
            raise FormatError("is a calibration of another version of Arcflux", path=where, remedy=remedy)
        found = from_dict(raw)
        datetime.fromisoformat(found.date)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"is no calibration: {error}", path=where, remedy=remedy) from error
    return found


def from_dict(raw: Mapping[str, Any]) -> Calibration:
    """A calibration from what :meth:`Calibration.to_dict` gave, without the format."""
    own: dict[str, Any] = {"hierarchy": tuple(raw["hierarchy"])}
    for name in ("fits", "alone"):
        own[name] = {key: Fit.of(one) for key, one in raw.get(name, {}).items()}
    for name in ("runs", "runs_alone"):
        own[name] = {key: [_observation(one) for one in some] for key, some in raw.get(name, {}).items()}
    own["part_fits"] = {key: PartFit.of(one) for key, one in raw.get("part_fits", {}).items()}
    own["part_runs"] = {key: [Seen.of(one) for one in some] for key, some in raw.get("part_runs", {}).items()}
    return Calibration(**{**raw, **own})


def _observation(raw: Mapping[str, Any]) -> Observation:
    shares = tuple(map(float, raw["frontiers"]))
    return Observation(Brief.of(raw["shape"]), float(raw["supersteps"]), float(raw["seconds"]), shares)


def calibrate(*, quick: bool = False, keep: bool = True) -> Calibration:
    """Measure this machine, in less than two minutes, and keep what was found.

    `quick` looks at small graphs and small memories alone: good for a test, not for predictions.
    """
    from arcflux.plan import microbench, partruns

    begun = time.perf_counter()
    elements, largest = (1 << 16, 1 << 20) if quick else (1 << 25, 1 << 28)
    trace.note("measuring memory")
    throughput, latency = microbench.accesses(elements)
    hierarchy = tuple(microbench.hierarchy(largest=largest))
    trace.note("measuring barriers and transports")
    barrier, launch = microbench.barrier_seconds(), microbench.launch_seconds()
    exchange = microbench.exchange(processes=not quick)
    graphs, curve = _FEW if quick else GRAPHS, Curve.of(hierarchy)
    with config.measuring():
        runs, by_one = _runs(graphs)
        trace.note("measuring when to push")
        dearer = push_over_pull(graphs[:1] if quick else ("kron:16", "urand:15"))
        part_runs, setup = _part_runs(quick, _SECONDS - (time.perf_counter() - begun))
    every, alone = fitted(runs, curve), fitted(by_one, curve)
    found = Calibration(
        machine(), versions(), datetime.now(timezone.utc).isoformat(timespec="seconds"),
        time.perf_counter() - begun, throughput, latency, hierarchy, barrier, launch, exchange, every,
        alone, runs, by_one, dearer, partruns.fitted_parts(part_runs, alone or every), part_runs, setup,
    )  # fmt: skip
    if keep:
        found.save(path())
    return found


def _part_runs(quick: bool, seconds: float) -> tuple[dict[str, list[Seen]], dict[str, float]]:
    """Runs on parts by program and direction, and what splitting takes."""
    from arcflux.plan import partruns

    rows = partruns.on_parts(quick=quick, seconds=seconds)
    found: dict[str, list[Seen]] = {}
    for row in rows:
        found.setdefault(row["key"], []).append(Seen.of(row))
    return found, partruns.setup_rates(rows)


def cache_of(hierarchy: tuple[Mapping[str, float], ...]) -> float:
    """The largest array whose random reads are at least half as fast as those of the fastest."""
    best = max(row["random"] for row in hierarchy)
    return max(row["bytes"] for row in hierarchy if row["random"] >= best / 2)


def _runs(graphs: tuple[str, ...]) -> tuple[dict[str, list[Observation]], dict[str, list[Observation]]]:
    """Every program on every graph, on all workers and on one alone: the faster of two rounds, while there is time.

    What else a machine does comes and goes by seconds, so a second round, later, is worth more than more tries now.
    """
    begun = time.perf_counter()
    first = [_round(spec) for spec in graphs]
    for spec, seen in zip(graphs, first, strict=True):
        if time.perf_counter() - begun > _TIME_FOR_RUNS:
            break
        for which, again in _round(spec).items():
            seen[which] = min(seen[which], again, key=lambda one: one.seconds)
    found: tuple[dict[str, list[Observation]], dict[str, list[Observation]]] = ({}, {})
    for seen in first:
        for (name, alone), one in seen.items():
            found[alone].setdefault(name, []).append(one)
    return found


def _round(spec: str) -> dict[tuple[str, bool], Observation]:
    """Every program on a graph, by its name and by whether one worker was alone."""
    from arcflux.io import load
    from arcflux.plan.sample import measured

    trace.note(f"measuring programs on {spec}")
    graph, weighted = load(spec), load(f"{spec},weights=1-255")
    known, seen = brief(measured(graph)), {}
    for program, form in PROGRAMS.items():
        if (spec in _LARGE and not form.main) or (form.extra == "squares" and known.squares > _MANY_PAIRS):
            continue
        subject = weighted if program[0] in WEIGHTED else graph
        for alone in (False, True) if config.threads() > 1 and spec not in _LARGE else (False,):
            found = observed(*program, subject, 3 if form.main else 1, 1 if alone else None)
            seen["/".join(program), alone] = Observation(known, *found)
    return seen


def fitted(runs: Mapping[str, Sequence[Observation]], curve: Curve) -> dict[str, Fit]:
    """The fits of what was observed, by program and direction; those that nobody ran are left out."""
    found = {}
    for name, seen in runs.items():
        form = PROGRAMS[tuple(name.split("/"))]  # type: ignore[index]
        if seen:
            found[name] = fit(seen, form.dense, curve, form.value, form.extra)
    return found
