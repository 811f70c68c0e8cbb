"""What a run is told when nobody told it: in which direction to go, and on how many threads.

Candidates are predicted by the rates of this machine (rates.py), which takes less than a millisecond, once for each
graph and program. What was asked for is never changed, and what is usual (all threads, the direction chosen in each
superstep) only for something that should be clearly faster. After the run, what was measured is kept (journal.py), so
that the next prediction is a better one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from arcflux import config
from arcflux.drawing import Told
from arcflux.graph import Graph
from arcflux.plan import journal, rates
from arcflux.plan.brief import Brief, glanced, glanced_shape, kind, remember_depth
from arcflux.plan.fit import Fit, Observation
from arcflux.plan.parted import Seen
from arcflux.plan.programs import MODELS, PROGRAMS, Form, curve_of
from arcflux.plan.split import SHARED, Split, Where, crossing
from arcflux.plan.way import Way, way_of
from arcflux.result import Result

__all__ = ["CLEARLY", "Advice", "Subject", "advised", "algorithm", "program", "recorded"]

# Something else than usual has to be predicted to take at most so much of the time.
CLEARLY = 0.95
# A run of a program with a frontier says something if it went along so many of all arcs; where those are not counted,
# if so many of all vertices sent.
_REACHED, _SENT = 0.5, 0.25
# The most ways that are told to a person.
_SHOWN = 8
# Shorter runs have no frontier worth a look.
_LONG = 1e-3


@dataclass(frozen=True, eq=False)
class Subject:
    """What is to be run: its name, the algorithm that stands for it, under which name it is kept, and what it is.

    `directions` are those that may be chosen, the usual one first.
    """

    name: str
    algorithm: str
    key: str
    form: Form
    directions: tuple[str, ...]


@lru_cache(maxsize=256)
def program(name: str, dense: bool, value: float, directions: tuple[str, ...]) -> Subject:
    """A vertex program: one of the algorithms, or something like one of them. Each exists once.

    `value` are the bytes that an arc reads of its source, 0 if that is the number of the vertex alone.
    """
    algorithm, same = MODELS.get(name, ("pagerank" if dense else "min_label", False))
    form = next(one for (known, _), one in PROGRAMS.items() if known == algorithm)
    same = same and form.dense == dense and value in (0, form.value)
    form = form if same else Form(dense, value or 4.0)
    return Subject(name, algorithm, algorithm if same else f"program {name} {value:.0f}", form, directions)


@lru_cache(maxsize=64)
def algorithm(name: str) -> Subject:
    """An algorithm with kernels of its own. Each exists once."""
    return Subject(name, name, name, PROGRAMS[name, "auto"], ("auto",))


@dataclass(frozen=True, repr=False)
class Advice(Told):
    """A plan: the way that was chosen, those that were not, and why; on parts, `where` and `split` say which."""

    subject: Subject
    graph: Brief
    direction: str
    threads: int
    ways: tuple[Way, ...]
    reason: str
    push_over_pull: float
    measured_here: bool
    notes: tuple[str, ...] = ()
    where: Where | None = None
    split: Split | None = None

    def taking(self, split: Split) -> Advice:
        """The plan with another split, which the first rank has chosen."""
        if split == self.split:
            return self
        ways = sorted(self.ways, key=lambda way: (way.split != split, way.total))
        return replace(self, ways=tuple(ways), split=split, reason=f"the first rank has chosen {split}")

    @property
    def chosen(self) -> Way | None:
        """The way that was chosen; None when nothing could be predicted."""
        return self.ways[0] if self.ways else None

    @property
    def on_threads(self) -> bool:
        """Whether parts are threads of one process that share everything."""
        shared = self.split is not None and self.split.exchange == SHARED
        return self.where is None or (shared and self.where.transport == "local")

    @property
    def key(self) -> str:
        """Under which name a run of it is kept."""
        return f"{self.subject.key}/{self.direction}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "direction": self.direction,
            "threads": self.threads,
            "reason": self.reason,
            "measured_here": self.measured_here,
            "push_over_pull": self.push_over_pull,
            **({} if self.where is None or self.split is None else {**vars(self.where), **vars(self.split)}),
            "candidates": [way.to_dict() for way in self.ways],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from arcflux.plan.report import seconds

        on = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        if self.where is not None:
            on = f"{self.where}, {self.split}"
        lines = [f"plan: {self.subject.name}, {self.direction}, {on}", f"├─ why: {self.reason}"]
        for way in self.ways[:_SHOWN]:
            before = f", and {seconds(way.setup)} to split the graph" if way.setup else ""
            between = f"between {seconds(way.low)} and {seconds(way.high)}"
            lines.append(f"├─ {way}: {seconds(way.seconds)}, {between}{before}")
        if len(self.ways) > _SHOWN:
            lines.append(f"├─ and {len(self.ways) - _SHOWN} more")
        return "\n".join([*lines[:-1], lines[-1].replace("├─", "└─"), *(f"note: {note}" for note in self.notes)])


def advised(subject: Subject, graph: Graph, threads: int | None) -> Advice:
    """The plan for a run on a graph; `threads` that were asked for stay. It is kept with the graph."""
    given = config.threads(threads)
    open_threads = threads is None and not os.environ.get("ARCFLUX_THREADS")
    found = rates.current()
    name = ("advice", subject, given, open_threads)
    kept: tuple[rates.Rates, Advice] | None = graph.kept.get(name)
    if kept is not None and kept[0] is found:
        return kept[1]
    made = _made(subject, glanced(graph), given, open_threads, found)
    graph.kept[name] = found, made
    return made


def _made(subject: Subject, graph: Brief, given: int, open_threads: bool, found: rates.Rates) -> Advice:
    counts = _counts(given) if open_threads else [given]
    ways: list[Way] = []
    for direction in subject.directions:
        for count in counts:
            fit = _fit_of(subject, direction, count, found)
            if fit is not None:
                ways.append(way_of(fit, graph, direction, count))
    usual = next((way for way in ways if (way.name, way.threads) == (subject.directions[0], given)), None)
    notes, dearer = found.notes, found.calibration.push_over_pull
    if usual is None:
        reason = f"nothing is known of how long {subject.name} takes"
        return Advice(subject, graph, subject.directions[0], given, (), reason, dearer, found.here, notes)
    ways.sort(key=lambda way: way.seconds)
    # Of those that are about as fast as the fastest, the one that is most like the usual one.
    close = [way for way in ways if CLEARLY * way.seconds <= ways[0].seconds]
    best = min(close, key=lambda way: (way.name != usual.name, -way.threads))
    ordered = (best, *(way for way in ways if way is not best))
    if len(ways) == 1:
        reason = f"{best} is all there is to choose from"
    elif best is usual:
        second = ordered[1]
        reason = f"{best} is usual; {second} is predicted to take {_times(second, best)}"
    else:
        reason = f"{usual} is usual, and predicted to take {_times(usual, best)}"
    return Advice(subject, graph, best.name, best.threads, ordered, reason, dearer, found.here, notes)


def _times(way: Way, best: Way) -> str:
    """How much longer a way takes; an empty graph may take no time at all."""
    return f"{way.seconds / best.seconds:.2f} times as long" if best.seconds > 0 else f"{way.seconds:.1e} s longer"


def _counts(most: int) -> list[int]:
    """Threads to choose from: powers of two, and all."""
    return sorted({most, *(1 << k for k in range(most.bit_length()) if 1 << k <= most)})


def _fit_of(subject: Subject, direction: str, threads: int, found: rates.Rates) -> Fit | None:
    """The fit of a program, or of the algorithm that stands for it, by which only threads are chosen."""
    own = found.fit(f"{subject.key}/{direction}", threads, subject.form)
    if own is not None or subject.key == subject.algorithm or direction != subject.directions[0]:
        return own
    like = found.fit(f"{subject.algorithm}/{direction}", threads)
    return None if like is None else replace(like, value=subject.form.value)


def recorded(advice: Advice, graph: Graph, result: Result, *, keep: bool = True) -> Result:
    """The result with its plan; the run is kept, if it was a whole one (of several ranks, by one of them)."""
    steps, whole = len(result.history), _whole(advice.subject.form, graph, result)
    search = advice.subject.algorithm == "bfs"
    if search and whole:
        remember_depth(graph, steps)
    if keep and whole and result.seconds > 0 and config.keeps_runs():
        known = replace(advice.graph, depth=float(max(1, steps))) if search else advice.graph
        if advice.where is not None and advice.split is not None and not advice.on_threads:
            crossed = crossing(glanced_shape(graph), kind(known), advice.split, advice.where.nodes)
            part = Seen(known, advice.where, advice.split, float(max(1, steps)), result.seconds, crossed)
            journal.add(journal.Run.on_parts(advice.key, part))
            return replace(result, plan=advice)
        curve: tuple[float, ...] = ()
        if result.seconds > _LONG and not advice.subject.form.dense:
            curve = curve_of(result.history, graph.arcs)
        seen = Observation(known, float(max(1, steps)), result.seconds, curve)
        threads = advice.threads if advice.where is None else advice.where.parts * advice.threads
        journal.add(journal.Run(advice.key, threads, seen))
    return replace(result, plan=advice)


def _whole(form: Form, graph: Graph, result: Result) -> bool:
    """Whether a run tells what such runs take: of a search, that it was not over before it began."""
    if form.dense or not result.history:
        return True
    if not result.converged:
        return False
    if walked := float(result.column("edges").sum()):
        return walked >= _REACHED * graph.arcs
    return float(result.column("frontier").sum()) >= _SENT * graph.vertices
