"""The host's side of phases: `iteration` is called until it returns False, and calls phases through `run`.

A :class:`Stage` is where phases run: it keeps the fields from one phase to the next, and prepares every phase once, so
that a call costs one launch, or many iterations together (fused.py). Each rank runs `iteration` itself: all see the
same counts and take the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from arcflux import trace
from arcflux.errors import did_you_mean
from arcflux.graph import Graph
from arcflux.history import Phased, Superstep
from arcflux.phase import RUN
from arcflux.program import ABOUT_GRAPH, Function, Program

__all__ = ["Advanced", "Hosted", "Several", "Stage", "StagedPhase", "host"]


class Advanced(NamedTuple):
    """The outcome of a call of a phase: its supersteps, the vertices that changed in them, whether it was cut short."""

    supersteps: int
    changed: int
    cut: bool


class Several(NamedTuple):
    """The outcome of many iterations in one launch: the called phases in order, and where the host continues.

    `iterations`: how many were called in all; `changed`: vertices that changed in the last phase; `over`: whether the
    last iteration ended the run.
    """

    phases: Sequence[str]
    iterations: int
    changed: int
    over: bool


class StagedPhase(Protocol):
    """A phase that is ready to run repeatedly."""

    def advance(self, room: int, quiet: bool) -> Advanced:
        """Run one superstep, or if `quiet` as many as it takes until no vertex changes; at most `room`."""

    def history(self) -> Sequence[Superstep]:
        """All its supersteps so far."""


class Stage(Protocol):
    """Where phases run."""

    @property
    def phases(self) -> Mapping[str, StagedPhase]:
        """All phases of the program, by name."""

    def over(self) -> bool:
        """Whether the run has to end, by its timeout, its token or Ctrl-C; the same on all ranks."""

    def total(self, name: str) -> Any:
        """The value of a total after the last superstep that wrote it."""

    def iterate(self, iterations: int, changed: int, room: int) -> Several | None:
        """Run iterations without Python, for at most `room` supersteps; None if Python has to decide."""


@dataclass(frozen=True)
class Hosted:
    """The outcome of all iterations: supersteps, calls of `iteration`, whether it returned False, and totals."""

    history: Phased
    iterations: int
    converged: bool
    totals: Mapping[str, Any]


class _CutShort(BaseException):
    """The run has to end within an iteration; no `except Exception` of the user may catch it."""


class Run:
    """The ``run`` of `iteration`: the phases by name, and the counts so far."""

    def __init__(self, program: Program, stage: Stage, limit: int, task: trace.Task) -> None:
        self._program, self._stage, self._limit, self._task = program, stage, limit, task
        self._taken: list[str] = []
        self.iterations = 0
        self.changed = 0
        for name, phase in stage.phases.items():
            self.__dict__[name] = self._caller(name, phase)

    def several(self) -> bool | None:
        """Run iterations without Python; returns whether the last one ended the run, None if Python has to decide."""
        outcome = self._stage.iterate(self.iterations, self.changed, self._limit - len(self._taken))
        if outcome is None:
            return None
        self.iterations, self.changed = outcome.iterations, outcome.changed
        self._taken += outcome.phases
        self._task.at(len(self._taken))
        if not outcome.over and self._stage.over():
            raise _CutShort
        return outcome.over

    def _caller(self, name: str, phase: StagedPhase) -> Callable[..., int]:
        def call(*given: Any, **named: Any) -> int:
            until = given[0] if len(given) == 1 else named.get("until")
            if len(given) + len(named) > 1 or named.keys() - {"until"} or until not in (None, "quiet"):
                arguments = [*(repr(one) for one in given), *(f"{key}={value!r}" for key, value in named.items())]
                raise self._refusal(
                    f"run.{name} is called with {', '.join(arguments)}",
                    "write until='quiet', or leave it out: one superstep",
                )
            room = self._limit - len(self._taken)
            if room <= 0 or (self._taken and self._stage.over()):
                raise _CutShort
            supersteps, self.changed, cut = phase.advance(room, until is not None)
            self._taken += [name] * supersteps
            self._task.at(len(self._taken))
            if cut:
                raise _CutShort
            return self.changed

        return call

    def _refusal(self, what: str, remedy: str) -> Exception:
        assert self._program.iteration is not None
        return self._program.refusal(self._program.iteration.line, what, remedy)

    def __getattr__(self, name: str) -> Any:
        known = [*self._stage.phases, *RUN]
        raise self._refusal(f"there is no phase {name}", did_you_mean(name, known, f"there are: {', '.join(known)}"))


class _Known:
    """The ``g`` of `iteration`: the counts of the graph, and the current totals."""

    def __init__(self, program: Program, stage: Stage, graph: Graph) -> None:
        self._program, self._stage = program, stage
        self.vertices, self.edges, self.arcs = graph.vertices, graph.edges, graph.arcs

    def __getattr__(self, name: str) -> Any:
        program = self._program
        if name not in program.totals:
            known = [*ABOUT_GRAPH, *program.totals]
            assert program.iteration is not None
            remedy = did_you_mean(name, known, f"g has {', '.join(known)}")
            raise program.refusal(program.iteration.line, f"g has no {name!r}", remedy)
        return self._stage.total(name)


def host(
    program: Program, stage: Stage, limit: int, graph: Graph, p: Mapping[str, Any],
    past: Callable[[], Mapping[str, Any]] = dict,
) -> Hosted:  # fmt: skip
    """Call `iteration` until it returns False, or until the run has to end.

    `p`: the values of the parameters; `past` returns the totals of all supersteps, if histories do not have them.
    """
    iteration = program.iteration
    assert iteration is not None
    with trace.task(program.name, unit="supersteps") as task:
        run, converged = Run(program, stage, limit, task), False
        known = {"run": run, "g": _Known(program, stage, graph), "p": SimpleNamespace(**p)}
        arguments = [known[name] for name in iteration.arguments]
        try:
            idle, before = 0, -1
            while not converged and idle <= limit:
                if (over := run.several()) is not None:
                    converged = over
                    continue
                run.iterations += 1
                converged = not _answer(program, iteration, iteration.call(*arguments))
                idle, before = idle + 1 if len(run._taken) == before else 0, len(run._taken)
                if idle and stage.over():  # no phase was called, which would have checked
                    break
        except _CutShort:
            pass
    histories = {name: phase.history() for name, phase in stage.phases.items()}
    totals = {name: stage.total(name) for name in program.totals}
    return Hosted(Phased(histories, run._taken, past()), run.iterations, converged, totals)


def _answer(program: Program, iteration: Function, said: Any) -> bool:
    if not isinstance(said, (bool, np.bool_)):
        raise program.refusal(
            iteration.line, f"iteration returned {said!r}, not True or False",
            "return True to be called again, False to end: `return run.changed > 0`",
        )  # fmt: skip
    return bool(said)
