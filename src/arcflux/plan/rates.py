"""The rates that predictions are made with: measured here, or usual ones, and what runs since then have shown.

Where this machine was not measured, the rates of a small virtual machine stand in (usual.json, a calibration like any
other): good enough to choose by, and whoever is told a number is told that too. Runs that were kept (journal.py) are
added to those of the calibration, and the fits made anew, for the programs that are asked about alone.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from arcflux import config, trace
from arcflux.errors import ArcfluxError
from arcflux.plan import calibrate, journal
from arcflux.plan.calibrate import Calibration
from arcflux.plan.fit import Curve, Fit, Observation, at_threads, fit
from arcflux.plan.parted import PartFit, fit_parts, key_of
from arcflux.plan.programs import PROGRAMS, Form
from arcflux.plan.split import SHARED, Split, Where

__all__ = ["Rates", "current", "usual"]

# So many runs are needed to fit what was never calibrated, on so many graphs.
_FEW, _GRAPHS = 8, 3


@dataclass
class Rates:
    """A calibration, whether it is of this machine, and the runs that were kept since."""

    calibration: Calibration
    here: bool
    runs: list[journal.Run]
    notes: tuple[str, ...] = ()
    _found: dict[tuple[str, int], Fit | None] = field(default_factory=dict)
    _parted: dict[str, PartFit | None] = field(default_factory=dict)

    @property
    def workers(self) -> int:
        """How many threads the calibration is of."""
        return int(self.calibration.machine["threads"])

    def fit(self, key: str, threads: int, form: Form | None = None) -> Fit | None:
        """The fit of a program and direction on so many threads; None if nothing is known of it.

        `form` says what a program is that is not among the algorithms.
        """
        many, alone = self._of(key, self.workers, form), self._of(key, 1, form)
        if threads == self.workers or (self.workers == 1 and alone is None):
            return many
        if threads == 1:
            return alone
        own = self._of(key, threads, form) if self._ran_on(threads) else None
        if own is not None or alone is None or many is None:
            return own
        return at_threads(alone, many, self.workers, threads)

    def _ran_on(self, threads: int) -> bool:
        return any(run.threads == threads and run.part is None for run in self.runs)

    def on_parts(self, program: str, split: Split, where: Where, form: Form | None = None) -> PartFit | None:
        """The fit of a program and direction on parts; of what is most like it, where nothing is known of these.

        That is the same form of exchange within this machine, and what owners do where arcs are anywhere; threads tell
        nothing about processes, which meet otherwise.
        """
        near = Where(where.parts, where.nodes, where.transport)
        ways = [split] if split.exchange in (SHARED, "readers") else [split, Split(split.partition, "owners")]
        for way in ways:
            for place in dict.fromkeys((where, near)):
                key = key_of(program, way, place)
                if key not in self._parted:
                    self._parted[key] = self._made_on_parts(program, key, form)
                found = self._parted[key]
                if found is not None:
                    return found
        return None

    def _made_on_parts(self, program: str, key: str, form: Form | None) -> PartFit | None:
        """The calibrated fit, or one of all runs that are known, if some were kept."""
        found = self.calibration
        name, _, direction = program.partition("/")
        form = PROGRAMS.get((name, direction), form)
        later = [run.part for run in self.runs if run.part is not None and run.key == program]
        later = [one for one in later if key_of(program, one.split, one.where) == key]
        seen = [one for one in found.part_runs.get(program, ()) if key_of(program, one.split, one.where) == key]
        every, alone = seen + later, self.fit(program, 1, form)
        graphs = {(one.graph.vertices, one.graph.arcs) for one in every}
        if not later or form is None or alone is None or len(every) < _FEW or len(graphs) < _GRAPHS:
            return found.part_fits.get(key)
        by_one = [alone.seconds(one.graph, one.supersteps) for one in every]
        return fit_parts(every, by_one, form.dense, form.value)

    def _of(self, key: str, threads: int, form: Form | None) -> Fit | None:
        if (key, threads) not in self._found:
            self._found[key, threads] = self._made(key, threads, form)
        return self._found[key, threads]

    def _made(self, key: str, threads: int, form: Form | None) -> Fit | None:
        """The calibrated fit, or one of all runs that are known, if some were kept."""
        found = self.calibration
        kept: Fit | None = None
        seen: list[Observation] = []
        if threads == self.workers:
            kept, seen = found.fits.get(key), list(found.runs.get(key, ()))
        if threads == 1 and kept is None:
            kept, seen = found.alone.get(key), list(found.runs_alone.get(key, ()))
        later = [run.seen for run in self.runs if (run.key, run.threads, run.part) == (key, threads, None)]
        every = seen + later
        name, _, way = key.partition("/")
        form = PROGRAMS.get((name, way), form)
        graphs = {(one.shape.vertices, one.shape.arcs) for one in every}
        if not later or form is None or len(every) < _FEW or len(graphs) < _GRAPHS:
            return kept
        return fit(every, form.dense, Curve.of(found.hierarchy), form.value, form.extra)


@lru_cache(maxsize=1)
def usual() -> Calibration:
    """The calibration that stands in for a machine that was not measured."""
    raw = json.loads((Path(__file__).parent / "usual.json").read_text(encoding="utf-8"))
    raw.pop("format")
    return calibrate.from_dict(raw)


_current: tuple[tuple[str | None, str | None], tuple[float, ...], Rates] | None = None


def current(*, fresh: bool = False) -> Rates:
    """The rates for predictions here: read once in a process; with `fresh`, again if something was written since."""
    global _current
    stamp = os.environ.get("ARCFLUX_CACHE"), os.environ.get("ARCFLUX_THREADS")
    if _current is None or _current[0] != stamp or (fresh and _current[1] != _written()):
        _current = stamp, _written(), _read()
    return _current[2]


def _written() -> tuple[float, ...]:
    """When the calibration and the runs were written, and how many runs wait to be."""
    times = [0.0, 0.0]
    with suppress(ArcfluxError):
        files = (calibrate.path(), calibrate.path(config.cores())), (journal.where(),)
        for k, some in enumerate(files):
            for file in some:
                with suppress(OSError):
                    times[k] = max(times[k], os.stat(file).st_mtime_ns)
    return (*times, float(journal.waiting()))


def _read() -> Rates:
    notes: tuple[str, ...] = ()
    found = None
    try:
        found = calibrate.kept()
    except ArcfluxError as error:
        notes = (f"the calibration cannot be read ({error})",)
        trace.note(notes[0])
    if found is not None:
        return Rates(found, True, journal.read(), tuple(found.notes))
    told = "this machine has not been measured: rates are those of a usual one; arcflux calibrate"
    return Rates(usual(), False, journal.read(), (*notes, told))
