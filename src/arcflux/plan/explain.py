"""After a run: what was predicted beside what was measured, and where they part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.history import column
from arcflux.plan import rates
from arcflux.plan.advise import Advice
from arcflux.plan.expect import Estimate, by_rates
from arcflux.plan.report import helping, seconds
from arcflux.plan.sample import measured
from arcflux.plan.spread import Placed
from arcflux.plan.work import work_of
from arcflux.result import Result

__all__ = ["Explanation", "compared", "explained", "measured_run"]

_ROWS = 12


@dataclass(frozen=True, repr=False)
class Explanation(Told):
    """An estimate, the run that it was of, and the plan by which it ran, if it had one."""

    estimate: Estimate
    result: Result

    @property
    def plan(self) -> Advice | None:
        """What was chosen for the run, and why."""
        plan: Advice | None = self.result.plan
        return plan

    @property
    def ratio(self) -> float:
        """Predicted over measured seconds."""
        return self.estimate.seconds / self.result.seconds if self.result.seconds else float("inf")

    @property
    def within(self) -> bool:
        """Whether the run took as long as the range said."""
        low, high = self.estimate.range
        return low <= self.result.seconds <= high

    @property
    def phases(self) -> list[tuple[str, float, float]]:
        """Predicted and measured seconds of what can be told apart in a run."""
        said, history = self.estimate.ways[0].phases, self.result.history
        steps = float(column(history, "seconds").sum())
        rows = [("launch and start", said.get("launch", 0.0), max(0.0, self.result.seconds - steps))]
        across = said.get("transfer", 0.0) + said.get("overhead", 0.0)
        if self.estimate.ways[0].where is not None:
            across += said.get("barriers", 0.0)
        inside = self.estimate.seconds - rows[0][1] - across
        if not history:
            return [("all", self.estimate.seconds, self.result.seconds)]
        if not history[0].part_seconds:
            return [*rows, ("supersteps", inside + across, steps)]
        slowest = float(column(history, "slowest").sum())
        balance = float((column(history, "planning") + column(history, "migration")).sum())
        return [*rows, ("compute of the slowest part", inside, slowest), ("exchange and waiting", across,
                max(0.0, steps - slowest - balance)), ("balance", 0.0, balance)]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        history, expected = list(self.result.history), self.estimate.steps
        return {
            "plan": None if self.plan is None else self.plan.to_dict(),
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

        beside(self, target)

    def __str__(self) -> str:
        history, expected = self.result.history, self.estimate.steps
        told = "within the range" if self.within else "outside the range"
        lines = [] if self.plan is None else [*str(self.plan).splitlines()]
        lines += [
            f"measured: {seconds(self.result.seconds)} in {len(history)} supersteps; predicted "
            f"{seconds(self.estimate.seconds)} in {self.estimate.supersteps:.0f}, {self.ratio:.2f} times that, {told}"
        ]
        lines += [f"├─ {name}: {seconds(seen)}, predicted {seconds(said)}" for name, said, seen in self.phases]
        for k, step in enumerate(history[:_ROWS]):
            why = f" ({step.reason})" if step.reason else ""
            if k < len(expected):
                way = "" if expected[k].direction == step.direction else f"{expected[k].direction}, "
                said = f"predicted {way}{seconds(expected[k].seconds)}"
            else:
                said = "not predicted"
            lines.append(f"├─ superstep {step.number}: {step.direction}{why}, {seconds(step.seconds)}, {said}")
        if len(history) > _ROWS:
            lines.append(f"├─ and {len(history) - _ROWS} more")
        return "\n".join([*lines, f"└─ what would help most: {helping(self.estimate)}"])


def compared(estimate: Estimate, result: Result) -> Explanation:
    """An estimate beside the run that it was of."""
    return Explanation(_as_run(estimate, result), result)


def explained(result: Result) -> Explanation:
    """What was to be expected of a run that is over, by the rates of this machine, or by usual ones."""
    from arcflux.algorithms.registry import ALGORITHMS

    names = {_plain(known): entry.name for entry in ALGORITHMS.values() for known in (entry.name, *entry.also)}
    name, plan = names.get(_plain(result.name)), result.plan
    if (
        plan is not None
        and plan.subject.name == result.name
        and (name is None or plan.subject.algorithm == "min_label")
    ):
        return Explanation(_planned(plan, result), result)
    if name is None:
        expected = "the result of one of: " + ", ".join(ALGORITHMS)
        raise UsageError(f"{result.name} is no algorithm with a model", expected=expected)
    parts = max((len(step.part_seconds) for step in result.history[:1]), default=0)
    placed = Placed(parts=parts or None) if plan is None else _placed(plan)
    found = by_rates(work_of(name), measured(result.graph), None, placed, rates.current(fresh=True))
    return compared(found, result)


def _placed(plan: Advice) -> Placed:
    """Where a plan has a run."""
    if plan.where is None:
        return Placed(threads=plan.threads)
    return Placed(parts=plan.where.parts, nodes=plan.where.nodes, transport=plan.where.transport)


def _as_run(estimate: Estimate, result: Result) -> Estimate:
    """The estimate with the way first that the run took."""
    plan = result.plan
    if plan is None:
        return estimate
    if plan.where is not None:
        ways = sorted(estimate.ways, key=lambda way: way.split != plan.split)
        return replace(estimate, ways=tuple(ways), crossing=ways[0].crossing)
    ways = sorted(estimate.ways, key=lambda way: (way.name != plan.direction, way.threads not in (0, plan.threads)))
    same = ways[0].name == plan.direction
    return replace(estimate, ways=tuple(ways), supersteps=ways[0].supersteps) if same else estimate


def _planned(plan: Advice, result: Result) -> Estimate:
    """The estimate of a program that is no algorithm: by runs of its own, or by the algorithm that it is most like."""
    found, shape = rates.current(), measured(result.graph)
    columns = {name: column.dtype for name, column in result.graph.columns.items()}
    like = work_of("connected_components" if plan.subject.algorithm == "min_label" else plan.subject.algorithm)
    if not plan.ways:
        return by_rates(like, shape, None, _placed(plan), found)
    notes = list(found.notes)
    if plan.subject.key != plan.subject.algorithm:
        notes.append(f"nothing is known of {plan.subject.name} but that it is like {plan.subject.algorithm}, "
                     "and what its runs have shown")  # fmt: skip
    weights = sum(kind.itemsize for kind in columns.values())
    work = replace(like, name=plan.subject.name, value=plan.subject.form.value, arc=float(weights))
    base = by_rates(work, shape, None, _placed(plan), found)
    return replace(base, ways=plan.ways, supersteps=plan.ways[0].supersteps, notes=tuple(notes))


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").lower()


def measured_run(algorithm: str, graph: Any, where: Mapping[str, Any] | None = None) -> Result:
    """Run an algorithm once to compile it and once to measure it, from the vertex with most arcs if it asks for one."""
    import numpy as np

    from arcflux.algorithms.registry import find
    from arcflux.io import load

    entry, found = find(algorithm), graph if isinstance(graph, Graph) else load(graph)
    given: dict[str, Any] = {name: value for name, value in (where or {}).items() if value is not None}
    unknown = given.keys() - entry.options
    if unknown:
        raise UsageError(f"{entry.name} takes no {sorted(unknown)[0]}", remedy="leave --run out")
    for name, one in entry.arguments.items():
        if one.required and name == "source":
            given[name] = found.ids.to_ids(np.array([int(np.argmax(found.out_degrees))]))[0]
        elif one.required:
            raise UsageError(f"{entry.name} needs {name}", remedy="leave --run out")
    entry.call(found, **given)
    return entry.call(found, **given)
