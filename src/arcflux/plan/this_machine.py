"""This machine: predictions of runs on it, the choice of options that were left open, and the record of finished runs.

Rates are those of the calibration. Where this machine was not measured, those of a small virtual machine stand in
(usual.json, a calibration like any other): good enough to choose by, and every report that uses them says so. Recorded
runs (journal.py) correct those rates; for a program that was never calibrated, a few runs give rates of its own.
Options that were given are never changed; the defaults (all threads, the direction chosen in each superstep) are
changed only for a candidate that should be clearly faster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arcflux import config, trace
from arcflux.errors import ArcfluxError
from arcflux.graph import Graph
from arcflux.plan.calibration import Calibration, calibration_time, load_calibration, usual
from arcflux.plan.fit import PHASES, Fit, Observation, fit, frontier_curve
from arcflux.plan.journal import Run, add, is_worth_recording, read
from arcflux.plan.journal import journal_time as runs_written
from arcflux.plan.plans import Candidate, Placement, Plan, predict, times
from arcflux.plan.sketch import Sketch, remember_depth, sketch_graph
from arcflux.plan.work import WORKS, Work, program_work
from arcflux.result import Result

__all__ = ["SWITCH_THRESHOLD", "WORKS", "Here", "Placement", "choose", "current", "make_plan", "program_work", "record"]

# The runs, and the graphs, needed to fit a program that was never calibrated.
_LEAST_RUNS, _LEAST_GRAPHS = 8, 3
_MEMORY_PHASES = ("update", "compute", "load")
# A candidate other than the default has to be predicted to take at most this share of its time.
SWITCH_THRESHOLD = 0.95
# A run of a program with a frontier is recorded if it visited at least this share of all arcs; where those are not
# counted, if this share of all vertices sent.
_REACHED, _SENT = 0.5, 0.25
# Workers share memory, so parts are threads.
_SHARED_MEMORY = ("", "shared")
# Shorter runs have no frontier curve worth recording.
_LONG_ENOUGH = 1e-3


@dataclass
class Here:
    """This machine: a calibration (its own, or the usual one), and the runs recorded since."""

    calibration: Calibration
    measured: bool
    runs: list[Run]
    notes: tuple[str, ...] = ()
    _fits: dict[tuple[str, str, int], Fit | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its processor."""
        return str(self.calibration.machine["model"])

    @property
    def workers(self) -> int:
        """The number of threads of the calibration."""
        return int(self.calibration.machine["threads"])

    def fit(self, work: Work, direction: str, threads: int) -> Fit | None:
        """The fit of a program in a direction on exactly this number of threads."""
        name = work.run_key, direction, threads
        if name not in self._fits:
            self._fits[name] = self._made(work, direction, threads)
        return self._fits[name]

    def _made(self, work: Work, direction: str, threads: int) -> Fit | None:
        key = f"{work.run_key}/{direction}"
        later = [run.seen for run in self.runs if (run.key, run.threads) == (key, threads)]
        own = self.calibration.fits.get((key, threads))
        if own is not None:
            return own.with_runs(later)
        graphs = {(one.graph.vertices, one.graph.arcs) for one in later}
        if len(later) >= _LEAST_RUNS and len(graphs) >= _LEAST_GRAPHS:
            return fit(later, work, self.calibration.curve)
        like = self.calibration.fits.get((f"{work.like}/{direction}", threads)) if work.like else None
        return None if like is None else replace(like, work=work).with_runs(later)

    def candidates(
        self,
        work: Work,
        graph: Any,
        placement: Placement,
        directions: Sequence[str] = (),
        supersteps: float | None = None,
    ) -> list[Candidate]:
        """Every direction on every number of workers for which there are rates; else a bound, from its bytes."""
        sketch = graph if isinstance(graph, Sketch) else graph.sketch()
        every = [
            self._placed(one, work, graph, placement, workers)
            for workers in placement.counts()
            for direction in directions or work.measured
            if (one := self._candidate(work, sketch, direction, workers, supersteps)) is not None
        ]
        if not every:
            workers = placement.counts()[0]
            bound = self._bound(work, sketch, (directions or work.measured)[0], workers)
            every = [self._placed(bound, work, graph, placement, workers)]
        return sorted(every, key=lambda one: one.seconds)

    def _candidate(
        self, work: Work, sketch: Sketch, direction: str, workers: int, supersteps: float | None
    ) -> Candidate | None:
        """A direction on a number of threads; between one and all of them, each term is a + b / threads."""
        own = self.fit(work, direction, workers)
        pair = [own] if own is not None else [self.fit(work, direction, count) for count in (1, self.workers)]
        if None in pair:
            return None
        *alone, best = [one for one in pair if one is not None]
        steps = best.supersteps(sketch) if supersteps is None else supersteps
        parts = best.parts(sketch, steps)
        if alone and workers < self.workers:
            share = (1.0 - 1.0 / workers) / (1.0 - 1.0 / self.workers)
            parts = alone[0].parts(sketch, steps) * (1.0 - share) + parts * share
        phases: dict[str, float] = {}
        for phase, taken in zip(PHASES, parts.tolist(), strict=True):
            phases[phase] = phases.get(phase, 0.0) + taken
        doubt = max(0.15, min(1.0, 2.0 * best.error))
        return Candidate(direction, phases, doubt, Placement(workers), steps, fit=best)

    def _bound(self, work: Work, sketch: Sketch, direction: str, workers: int) -> Candidate:
        """The time that memory alone needs for the arcs and the values they read; a run takes more, hence the range."""
        calibration = self.calibration
        steps = float(work.supersteps) or max(1.0, work.rounds * sketch.depth)
        visits = work.sweeps or steps
        phases = {
            "launch": calibration.launch, "barriers": calibration.barrier * steps,
            "compute": sketch.arcs * work.arc_bytes / calibration.throughput["regular_read"]["host"] * visits,
            "load": sketch.arcs * calibration.curve.gather(sketch, work.value) * visits,
        }  # fmt: skip
        return Candidate(direction, phases, 9.0, Placement(workers), steps, at_least=True)

    def _placed(self, one: Candidate, work: Work, graph: Any, placement: Placement, workers: int) -> Candidate:
        """The candidate in its placement: on parts of several nodes, or on devices of unequal speed.

        Parts of one node are workers that share memory, so they are threads. Nodes send each value to those that read
        it (Lux, equation 13), or reduce all of them (allreduce), with two barriers per superstep. On devices of unequal
        speed a superstep takes as long as all of them need together, once the split follows their speeds: work over the
        sum of speeds.
        """
        if not placement.parts:
            return one
        phases, crossing = dict(one.phases), 0.0
        if placement.speeds:
            factor = workers / sum(placement.speeds)
            phases |= {name: phases[name] * factor for name in _MEMORY_PHASES if name in phases}
        if placement.nodes > 1:
            between = self.calibration.exchange.get("mpi") or self.calibration.exchange["local"]
            visits = one.supersteps if work.supersteps or not work.sweeps else work.sweeps
            crossing = work.value * graph.uds(placement.nodes) * visits
            if placement.exchange == "allreduce":
                crossing = _allreduce_bytes(work.value * graph.vertices, placement) * one.supersteps
            meetings = max(1.0, one.supersteps) * (placement.nodes + 1) * between["latency"]
            phases["transfer"] = crossing / between["bandwidth"] / placement.nodes + meetings
        return replace(one, phases=phases, placement=placement, bytes=crossing)


def _allreduce_bytes(size: float, placement: Placement) -> float:
    """Bytes between nodes when all of them reduce an array: small arrays go whole, of others each node's share."""
    from arcflux.transports.collectives import SMALL

    nodes = placement.nodes
    return size * (nodes - 1) * (nodes if size * placement.parts <= SMALL else 2)


def make_plan(
    work: Work, graph: Any, machine: Here, placement: Placement, directions: Sequence[str] = (),
    supersteps: float | None = None,
) -> Plan:  # fmt: skip
    """The plan for a run: the default (the first direction, all threads), unless another is clearly faster."""
    every = predict(work, graph, machine, placement, directions=directions, supersteps=supersteps)
    first, most = (directions or work.measured)[0], placement.counts()[0]
    usual = next((one for one in every if one.direction == first and one.threads in (0, most)), every[0])
    # Of the candidates about as fast as the fastest, the one most like the default.
    close = [one for one in every if SWITCH_THRESHOLD * one.seconds <= every[0].seconds]
    best = min(close, key=lambda one: (one.direction != usual.direction, -one.threads))
    ordered = (best, *(one for one in every if one is not best))
    if best.at_least:
        reason = f"nothing is known of how long {work.name} takes: this is a bound, from its bytes"
    elif len(every) == 1:
        reason = f"{best} is all there is to choose from"
    elif best is usual:
        reason = f"{best} is usual; {ordered[1]} is predicted to take {times(ordered[1], best)}"
    else:
        reason = f"{usual} is usual, and predicted to take {times(usual, best)}"
    notes = machine.notes
    if best.at_least or work.like:
        notes = (*notes, work.note or f"{work.name} was not measured: this is a bound, from its bytes")
    ratio = machine.calibration.push_over_pull
    return Plan(work, graph, machine.name, ordered, reason, notes, machine.measured, ratio)


def choose(work: Work, graph: Graph, placement: Placement, directions: Sequence[str] = ()) -> Plan:
    """The plan for a run on a graph, by its sketch; it is kept with the graph."""
    machine = current()
    if not placement.parts and os.environ.get("ARCFLUX_THREADS"):
        placement = replace(placement, threads=config.threads(placement.threads or None))
    name = ("plan", work, placement, tuple(directions), config.threads())
    before: tuple[Here, Plan] | None = graph.kept.get(name)
    if before is not None and before[0] is machine:
        return before[1]
    plan = make_plan(work, sketch_graph(graph), machine, placement, directions)
    graph.kept[name] = machine, plan
    return plan


def record(plan: Plan, graph: Graph, result: Result, *, keep: bool = True) -> Result:
    """The result with its plan; the run is recorded if it was a complete one on threads (for ranks, by one of them)."""
    steps = len(result.history)
    if plan.placement.parts and result.exchange not in ("", plan.placement.exchange):
        # Not every program supports every exchange: the plan names the one that was used.
        run = replace(plan.chosen, placement=replace(plan.placement, exchange=result.exchange))
        plan = replace(plan, candidates=(run, *plan.candidates[1:]))
    deeper = plan.work.early and steps > graph.kept.get("depth", 0.0)
    news, threads, count = False, plan.placement.parts or plan.threads, float(max(1, steps))
    if keep and result.seconds > 0 and plan.placement.exchange in _SHARED_MEMORY and config.keeps_runs():
        news = is_worth_recording(plan.key, threads, (graph.vertices, graph.arcs), count, result.seconds)
    if (deeper or news) and _whole(plan.work, graph, result):
        if deeper:
            remember_depth(graph, steps)
        if news:
            curve: tuple[float, ...] = ()
            if result.seconds > _LONG_ENOUGH and not plan.work.dense:
                curve = frontier_curve(result.history, graph.arcs)
            add(Run(plan.key, threads, Observation(sketch_graph(graph), count, result.seconds, curve)))
    return result.with_changes(plan=plan)


def _whole(work: Work, graph: Graph, result: Result) -> bool:
    """Whether a run is typical: a search that ended at once is not."""
    if work.dense or not result.history:
        return True
    if not result.converged:
        return False
    if walked := float(result.column("edges").sum()):
        return walked >= _REACHED * graph.arcs
    return float(result.column("frontier").sum()) >= _SENT * graph.vertices


_current: tuple[tuple[Any, ...], tuple[Any, ...], Here] | None = None


def current(*, fresh: bool = False) -> Here:
    """The current state of this machine: read once per process; with `fresh`, again if the files have changed."""
    global _current
    environment = os.environ.get("ARCFLUX_CACHE"), os.environ.get("ARCFLUX_THREADS")
    if (
        _current is None
        or _current[0] != environment
        or (fresh and _current[1] != (calibration_time(), runs_written()))
    ):
        _current = environment, (calibration_time(), runs_written()), _read_machine()
    return _current[2]


def _read_machine() -> Here:
    notes: tuple[str, ...] = ()
    measured = None
    try:
        measured = load_calibration()
    except ArcfluxError as error:
        notes = (f"the calibration cannot be read ({error})",)
        trace.note(notes[0])
    if measured is not None:
        return Here(measured, True, read(), tuple(measured.notes))
    note = "this machine has not been measured: rates are those of a usual one; arcflux calibrate"
    return Here(usual(), False, read(), (*notes, note))
