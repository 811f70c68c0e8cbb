"""Measure this machine once, and keep that: memory, barriers, transports, and the rates of programs.

What is kept is a JSON file in the cache folder, with the machine it is of, the versions that measured it, and the date.
A calibration of another machine is not used; one of other versions or of long ago is, and says so.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from arcflux import __version__, config, trace
from arcflux.errors import FormatError, UsageError
from arcflux.plan.fit import Curve, Fit, Observation, fit

__all__ = ["Calibration", "calibrate", "kept", "machine", "path"]

_FORMAT = 1
_OLD_DAYS = 90
_TRIES = 4
GRAPHS = (
    "kron:12", "kron:14", "kron:16", "kron:18", "urand:13", "urand:15", "urand:18", "grid:128x128", "grid:500x500",
    "ws:50000,k=10,p=0.05",
)  # fmt: skip
_FEW = ("kron:10", "kron:12", "urand:10", "grid:40x40")
# Algorithm and direction: whether every superstep visits every arc, and bytes of a value that is gathered.
PROGRAMS = {
    ("pagerank", "pull"): (True, 8),
    ("pagerank", "push"): (True, 8),
    ("bfs", "auto"): (False, 4),
    ("bfs", "push"): (False, 4),
    ("sssp", "auto"): (False, 8),
    ("connected_components", "auto"): (False, 4),
}


@dataclass(frozen=True)
class Calibration:
    """What was measured: HIVE's tables, the memory hierarchy, costs of waiting, transports, and fits of programs."""

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

    @property
    def notes(self) -> list[str]:
        """Why one might measure again: other versions, or long ago."""
        now, then = _versions(), self.versions
        found = [
            f"{name} was {then.get(name)} and is {now[name]}" for name in sorted(now) if then.get(name) != now[name]
        ]
        age = (datetime.now(timezone.utc) - datetime.fromisoformat(self.date)).days
        if age > _OLD_DAYS:
            found.append(f"measured {age} days ago")
        return [f"the calibration is stale: {note}; arcflux calibrate" for note in found]

    @property
    def foreign(self) -> str:
        """In what this machine differs from the one that was measured; empty when it does not."""
        here = machine()
        differs = [f"{name} is {here[name]!r}, was {self.machine.get(name)!r}" for name in here
                   if self.machine.get(name) != here[name]]  # fmt: skip
        return "; ".join(differs)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        fits = {name: one.to_dict() for name, one in self.fits.items()}
        return {"format": _FORMAT, **vars(self), "hierarchy": list(self.hierarchy), "fits": fits}

    def save(self, target: Path) -> None:
        """Write it whole or not at all."""
        handle, work = tempfile.mkstemp(dir=target.parent, suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=1)
        os.replace(work, target)

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
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"arcflux": __version__, **{name: version(name) for name in ("numba", "numpy")}}


def path() -> Path:
    """Where the calibration of this machine, with as many threads as are used now, is kept."""
    found = machine()
    word = "".join(letter if letter.isalnum() else "-" for letter in f"{platform.node()}-{found['model']}")
    return config.cache_folder("calibration") / f"{word[:80]}-{found['threads']}.json"


def kept(target: Path | None = None) -> Calibration | None:
    """The calibration of this machine, if there is one; None too when it is of another machine, which is noted."""
    where = path() if target is None else target
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
        fits = {name: Fit.of(one) for name, one in raw.pop("fits").items()}
        found = Calibration(**{**raw, "hierarchy": tuple(raw["hierarchy"])}, fits=fits)
        datetime.fromisoformat(found.date)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"is no calibration: {error}", path=where, remedy=remedy) from error
    return found


def calibrate(*, quick: bool = False, keep: bool = True) -> Calibration:
    """Measure this machine, in less than two minutes, and keep what was found.

    `quick` looks at small graphs and small memories alone: good for a test, not for predictions.
    """
    from arcflux.plan import microbench

    begun = time.perf_counter()
    elements, largest = (1 << 16, 1 << 20) if quick else (1 << 25, 1 << 28)
    trace.note("measuring memory")
    throughput, latency = microbench.accesses(elements)
    hierarchy = tuple(microbench.hierarchy(largest=largest))
    trace.note("measuring barriers and transports")
    barrier, launch = microbench.barrier_seconds(), microbench.launch_seconds()
    exchange = microbench.exchange(processes=not quick)
    fits = _fits(_FEW if quick else GRAPHS, Curve.of(hierarchy))
    found = Calibration(
        machine(), _versions(), datetime.now(timezone.utc).isoformat(timespec="seconds"),
        time.perf_counter() - begun, throughput, latency, hierarchy, barrier, launch, exchange, fits,
    )  # fmt: skip
    if keep:
        found.save(path())
    return found


def cache_of(hierarchy: tuple[Mapping[str, float], ...]) -> float:
    """The largest array whose random reads are at least half as fast as those of the fastest."""
    best = max(row["random"] for row in hierarchy)
    return max(row["bytes"] for row in hierarchy if row["random"] >= best / 2)


def _fits(graphs: tuple[str, ...], curve: Curve) -> dict[str, Fit]:
    """Run every program on every graph, and fit."""
    from arcflux.io import load
    from arcflux.plan.sample import measured

    runs: dict[tuple[str, str], list[Observation]] = {program: [] for program in PROGRAMS}
    for spec in graphs:
        trace.note(f"measuring programs on {spec}")
        graph = load(spec)
        weighted = load(f"{spec},weights=1-255")
        shape = measured(graph)
        for program, seen in runs.items():
            steps, seconds = observed(*program, weighted if program[0] == "sssp" else graph)
            seen.append(Observation(shape, steps, seconds))
    return {
        "/".join(program): fit(seen, PROGRAMS[program][0], curve, PROGRAMS[program][1])
        for program, seen in runs.items()
    }


def observed(algorithm: str, direction: str, graph: Any, sources: int = 3) -> tuple[float, float]:
    """Supersteps and seconds of a run, in the median over some sources, each the fastest of some tries.

    Whatever else a machine does only adds to a time, so the fastest is nearest to what a run takes.
    """
    import numpy as np

    call = _call(algorithm, direction, graph)
    picked = np.random.default_rng(7).choice(np.flatnonzero(graph.out_degrees), sources)
    ids = graph.ids.to_ids(picked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a run is cut short on purpose
        results = [min((call(one) for _ in range(_TRIES)), key=lambda result: result.seconds) for one in ids]
    seconds = float(np.median([one.seconds for one in results]))
    return float(np.median([max(1, len(one.history)) for one in results])), seconds


def _call(algorithm: str, direction: str, graph: Any) -> Callable[[Any], Any]:
    from arcflux import algorithms

    function = getattr(algorithms, algorithm, None)
    if function is None:
        raise UsageError(f"{algorithm!r} names no algorithm")
    options = {} if direction == "auto" else {"direction": direction}
    if algorithm in ("bfs", "sssp"):
        return lambda source: function(graph, source, **options)
    return lambda source: function(graph, **options)
