"""After a run: what was predicted beside what was measured, and where they part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan.expect import Estimate, on_this_machine
from arcflux.plan.report import seconds
from arcflux.result import Result

__all__ = ["Explanation", "compared", "explained", "measured_run"]

_ROWS = 12


@dataclass(frozen=True)
class Explanation:
    """An estimate and the run that it was of."""

    estimate: Estimate
    result: Result

    @property
    def ratio(self) -> float:
        """Predicted over measured seconds."""
        return self.estimate.seconds / self.result.seconds if self.result.seconds else float("inf")

    @property
    def within(self) -> bool:
        """Whether the run took as long as the range said."""
        low, high = self.estimate.range
        return low <= self.result.seconds <= high

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        history = list(self.result.history)
        return {
            "measured_seconds": self.result.seconds,
            "measured_supersteps": len(history),
            "predicted_over_measured": self.ratio,
            "within_range": self.within,
            "supersteps": [
                {"number": step.number, "direction": step.direction, "seconds": step.seconds, "reason": step.reason,
                 "frontier": step.frontier, "edges": step.edges}
                for step in history
            ],
        }  # fmt: skip

    def plot(self, target: Any) -> None:
        """Draw predicted seconds by phase beside the measured ones: .png, .svg or .pdf."""
        from arcflux.plan.report import beside

        beside(self, target)

    def __str__(self) -> str:
        history = list(self.result.history)
        told = "within the range" if self.within else "outside the range"
        lines = [
            f"measured: {seconds(self.result.seconds)} in {len(history)} supersteps; predicted "
            f"{seconds(self.estimate.seconds)} in {self.estimate.supersteps:.0f}, {self.ratio:.2f} times that, {told}"
        ]
        each = self.estimate.seconds / max(1.0, self.estimate.supersteps)
        for step in history[:_ROWS]:
            why = f" ({step.reason})" if step.reason else ""
            lines.append(
                f"├─ superstep {step.number}: {step.direction}{why}, {seconds(step.seconds)}, "
                f"predicted {seconds(each)} in the mean"
            )
        if len(history) > _ROWS:
            lines.append(f"└─ and {len(history) - _ROWS} more")
        return "\n".join(lines)


def compared(estimate: Estimate, result: Result) -> Explanation:
    """An estimate beside the run that it was of."""
    return Explanation(estimate, result)


def explained(result: Result) -> Explanation:
    """What was to be expected of a run that is over, by the calibration of this machine."""
    from arcflux.algorithms.registry import ALGORITHMS

    names = {_plain(known): entry.name for entry in ALGORITHMS.values() for known in (entry.name, *entry.also)}
    name = names.get(_plain(result.name))
    if name is None:
        expected = "the result of one of: " + ", ".join(ALGORITHMS)
        raise UsageError(f"{result.name} is no algorithm with a model", expected=expected)
    return Explanation(on_this_machine(name, result.graph), result)


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").lower()


def measured_run(algorithm: str, graph: Any) -> Result:
    """Run an algorithm once to compile it and once to measure it, from the vertex with most arcs if it asks for one."""
    import numpy as np

    from arcflux.algorithms.registry import find
    from arcflux.io import load

    entry, found = find(algorithm), graph if isinstance(graph, Graph) else load(graph)
    given: dict[str, Any] = {}
    for name, one in entry.arguments.items():
        if one.required and name == "source":
            given[name] = found.ids.to_ids(np.array([int(np.argmax(found.out_degrees))]))[0]
        elif one.required:
            raise UsageError(f"{entry.name} needs {name}", remedy="leave --run out")
    entry.call(found, **given)
    return entry.call(found, **given)
