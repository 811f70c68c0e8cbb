"""After a run: what was predicted beside what was measured, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.history import column
from arcflux.plan.expect import estimate_here
from arcflux.plan.plans import Placement, Plan, seconds
from arcflux.plan.sample import measure_shape
from arcflux.plan.this_machine import current
from arcflux.plan.work import Work, work_of
from arcflux.trace import counted

__all__ = ["Explanation", "explain_result", "run_measured"]

_ROWS = 12


@dataclass(frozen=True, repr=False)
class Explanation(Told):
    """The plan of a run, with the candidate that it took first, and its result."""

    plan: Plan
    result: Any

    @property
    def ratio(self) -> float:
        """Predicted over measured seconds."""
        return self.plan.seconds / self.result.seconds if self.result.seconds else float("inf")

    @property
    def within(self) -> bool:
        """Whether the run's time was within the predicted range."""
        low, high = self.plan.range
        return low <= float(self.result.seconds) <= high

    @property
    def phases(self) -> list[tuple[str, float, float]]:
        """Predicted and measured seconds of the phases that a run measures."""
        said, history = self.plan.chosen.phases, self.result.history
        if not history:
            return [("all", self.plan.seconds, self.result.seconds)]
        steps = float(column(history, "seconds").sum())
        rows = [("launch and start", said.get("launch", 0.0), max(0.0, self.result.seconds - steps))]
        across = said.get("transfer", 0.0) + said.get("overhead", 0.0)
        if self.plan.placement.nodes > 1:
            across += said.get("barriers", 0.0)
        inside = self.plan.seconds - rows[0][1] - across
        if not history[0].part_seconds:
            return [*rows, ("supersteps", inside + across, steps)]
        slowest = float(column(history, "slowest").sum())
        balance = float((column(history, "planning") + column(history, "migration")).sum())
        return [*rows, ("compute of the slowest part", inside, slowest), ("exchange and waiting", across,
                max(0.0, steps - slowest - balance)), ("balance", 0.0, balance)]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        history, expected = list(self.result.history), self.plan.steps
        return {
            "plan": self.plan.to_dict(),
            "measured_seconds": self.result.seconds,
            "measured_supersteps": len(history),
            "predicted_over_measured": self.ratio,
            "within_range": self.within,
            "phases": [
                {"name": name, "predicted_seconds": said, "measured_seconds": seen} for name, said, seen in self.phases
            ],
            "supersteps": [
                {"number": step.number, "direction": step.direction, "seconds": step.seconds, "reason": step.reason,
                 "frontier": step.frontier, "edges": step.edges,
                 "predicted_seconds": expected[k].seconds if k < len(expected) else None,
                 "predicted_direction": expected[k].direction if k < len(expected) else None}
                for k, step in enumerate(history)
            ],
        }  # fmt: skip

    def plot(self, target: Any) -> None:
        """Draw predicted seconds by phase beside the measured ones: .png, .svg or .pdf."""
        from arcflux.plan.report import beside

        every = self.plan.candidates
        names = dict.fromkeys(name for one in every for name in one.phases)
        stacks = {name: [one.phases.get(name, 0.0) for one in every] for name in names}
        title = f"{self.plan.algorithm} on {getattr(self.plan.graph, 'name', '')}"
        beside([str(one) for one in every], stacks, self.result.seconds, title, target)

    def __str__(self) -> str:
        history, expected = self.result.history, self.plan.steps
        told = "within the range" if self.within else "outside the range"
        lines = [
            str(self.plan),
            f"measured: {seconds(self.result.seconds)} in {counted(len(history), 'superstep')}; predicted "
            f"{seconds(self.plan.seconds)} in {self.plan.supersteps:.0f}, {self.ratio:.2f} times that, {told}",
        ]
        rows = [f"{name}: {seconds(seen)}, predicted {seconds(said)}" for name, said, seen in self.phases]
        for k, step in enumerate(history[:_ROWS]):
            why = f" ({step.reason})" if step.reason else ""
            if k < len(expected):
                way = "" if expected[k].direction == step.direction else f"{expected[k].direction}, "
                said = f"predicted {way}{seconds(expected[k].seconds)}"
            else:
                said = "not predicted"
            rows.append(f"superstep {step.number}: {step.direction}{why}, {seconds(step.seconds)}, {said}")
        if len(history) > _ROWS:
            rows.append(f"and {len(history) - _ROWS} more")
        return "\n".join([*lines, *(f"├─ {row}" for row in rows[:-1]), f"└─ {rows[-1]}"])


def explain_result(result: Any) -> Explanation:
    """Compare a finished run with its prediction, from what was known of this machine before it or usual rates."""
    work, plan = _work_of(result), result.plan
    if plan is None:
        parts = max((len(step.part_seconds) for step in result.history[:1]), default=0)
        return Explanation(
            estimate_here(work, measure_shape(result.graph), Placement(parts=parts), machine=current()), result
        )
    placed = plan.placement.parts or len({one.threads for one in plan.candidates}) == 1
    directions = work.measured if plan.direction in work.measured else (plan.direction, *work.measured)
    where = plan.placement if placed else Placement()
    expected = estimate_here(work, measure_shape(result.graph), where, None, directions, current())
    candidate = next(
        (
            one
            for one in expected.candidates
            if (one.direction, one.threads) == (plan.direction, plan.placement.threads)
        ),
        expected.chosen,
    )
    if candidate is not expected.chosen:
        others = (one for one in expected.candidates if one is not candidate)
        expected = replace(expected, candidates=(candidate, *others), reason=f"when it was chosen, {plan.reason}")
    return Explanation(expected, result)


def _work_of(result: Any) -> Work:
    """The algorithm of the result's name, or the program that was planned for."""
    from arcflux.algorithms.registry import ALGORITHMS

    names = {_plain(known): entry.name for entry in ALGORITHMS.values() for known in (entry.name, *entry.also)}
    name, plan = names.get(_plain(result.name)), result.plan
    if plan is not None and (plan.work.call or (name is None and plan.work.name == result.name)):
        planned: Work = plan.work
        return planned
    if name is None:
        expected = "the result of one of: " + ", ".join(ALGORITHMS)
        raise UsageError(f"{result.name} is no algorithm with a model", expected=expected)
    return work_of(name)


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").lower()


def run_measured(algorithm: str, graph: Any, where: Mapping[str, Any] | None = None) -> Any:
    """Run an algorithm to compile it and again to measure it, from the vertex with most arcs if it has a source."""
    import numpy as np

    from arcflux.algorithms.registry import find
    from arcflux.io import load

    entry, loaded = find(algorithm), graph if isinstance(graph, Graph) else load(graph)
    options: dict[str, Any] = {name: value for name, value in (where or {}).items() if value is not None}
    unknown = options.keys() - entry.options
    if unknown:
        raise UsageError(f"{entry.name} takes no {sorted(unknown)[0]}", remedy="leave --run out")
    for name, one in entry.arguments.items():
        if one.required and name == "source":
            options[name] = loaded.ids.to_ids(np.array([int(np.argmax(loaded.out_degrees))]))[0]
        elif one.required:
            raise UsageError(f"{entry.name} needs {name}", remedy="leave --run out")
    entry.call(loaded, **options)
    return entry.call(loaded, **options)
