"""The types of the planner: where a run is placed, a candidate with its prediction, and a plan of several candidates.

A :class:`Plan` says which candidate was chosen, what else there was, and why. All questions are answered by one: how to
run (choose.py), the time of a run (af.estimate), the comparison with a finished run (explain.py), and the time at each
size of another machine (scaling.py). All use :func:`predict`; this machine (this_machine.py) and another one
(other_machine.py) differ in the source of their rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arcflux import config
from arcflux.checks import real_array, shown
from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.plan.sketch import Sketch
from arcflux.plan.work import Work
from arcflux.trace import readable

if TYPE_CHECKING:
    from arcflux.plan.shape import Shape

__all__ = ["Candidate", "Machine", "Placement", "Plan", "Step", "predict", "seconds", "times"]

# The most supersteps listed in JSON, the most candidates printed, the most supersteps examined.
_STEPS, _TOLD, _MOST_STEPS = 256, 6, 4096
_HELP = {
    "load": "a larger cache, or vertices in an order in which neighbours are near",
    "compute": "more cores, or more memory bandwidth",
    "update": "more cores",
    "barriers": "fewer workers, since supersteps are short",
    "launch": "nothing: the graph is small",
    "transfer": "a faster link, fewer parts, or a partitioning that cuts less",
    "overhead": "fewer parts, since supersteps are short",
}


def seconds(value: float) -> str:
    """A time with three digits, in a suitable unit.

    Examples
    --------
    >>> seconds(0.0429), seconds(7.2e-6), seconds(250)
    ('42.9 ms', '7.2 us', '250 s')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 1e-6:.3g} us"


@dataclass(frozen=True)
class Placement:
    """The placement of a run: on threads, or on parts of the graph on nodes; 0: whatever is best.

    `exchange`: what nodes exchange; empty where workers share memory. `speeds`: how fast the device of each part is,
    1.0 being a core of this machine.
    """

    threads: int = 0
    parts: int = 0
    nodes: int = 1
    transport: str = "local"
    partition: str = "ranges"
    exchange: str = ""
    speeds: tuple[float, ...] = ()

    @classmethod
    def checked(cls, threads: Any, parts: Any, nodes: Any, speeds: Any) -> Placement:
        """The placement that a user asked for, checked."""
        for name, count in (("threads", threads), ("parts", parts), ("nodes", nodes)):
            if count is None and name != "nodes":
                continue
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 4096:
                raise UsageError(f"{name} is {count!r}", expected="a whole number from 1 to 4096")
        fast = _speeds(speeds)
        parts = len(fast) if fast and parts is None else parts
        if fast and len(fast) != parts:
            raise UsageError(f"there are {parts} parts and {len(fast)} speeds", expected="one for each part")
        if threads is not None and parts is not None:
            raise UsageError("threads and parts are both given", expected="one of them: a part is the work of a thread")
        if nodes > 1 and (parts is None or parts < nodes):
            raise UsageError(f"there are {nodes} nodes and {parts or 'no'} parts", expected="a part for each node")
        return cls(threads or 0, parts or 0, nodes, exchange="readers" if nodes > 1 else "", speeds=fast)

    def counts(self) -> list[int]:
        """Worker counts to consider, all workers first: the one asked for, or one, all, and powers of two."""
        if self.parts:
            return [min(self.parts, config.cores())]
        if self.threads:
            return [config.threads(self.threads)]
        most = config.threads()
        return sorted({most, *(1 << k for k in range(most.bit_length()) if 1 << k <= most)}, reverse=True)

    def __str__(self) -> str:
        if not self.parts:
            return f"{self.threads} thread{'' if self.threads == 1 else 's'}" if self.threads else ""
        parts = f"{self.parts} part{'' if self.parts == 1 else 's'}"
        parts += "" if self.nodes == 1 else f" on {self.nodes} nodes"
        return f"{parts}, {self.partition}" + (f", {self.exchange}" if self.exchange else "")


def _speeds(given: Any) -> tuple[float, ...]:
    if given is None:
        return ()
    expected = "a positive number for each part, such as [1, 1, 0.5]"
    found = real_array("speeds", given, expected)
    if found.ndim != 1 or not len(found) or not (np.isfinite(found) & (found > 0)).all():
        raise UsageError(f"speeds is {shown(given)}", expected=expected)
    return tuple(found.tolist())


@dataclass(frozen=True)
class Step:
    """A superstep: the share of all arcs that leaves its frontier, the direction it would take, its seconds."""

    frontier: float
    direction: str
    seconds: float


@dataclass(frozen=True)
class Candidate:
    """A way to run: direction, placement, and the prediction of the whole run.

    `phases`: seconds by phase; `doubt`: the relative error of those; `bytes`: crossing between nodes or devices;
    `memory`: bytes of a device, whether they fit (`fits`), and the bytes that do not (`spilled`); `at_least`: the
    seconds are a lower bound. `fit`: the fit of the prediction, on this machine.
    """

    direction: str
    phases: Mapping[str, float]
    doubt: float
    placement: Placement = field(default_factory=Placement)
    supersteps: float = 0.0
    bytes: float = 0.0
    memory: float = 0.0
    fits: bool = True
    spilled: float = 0.0
    at_least: bool = False
    fit: Any = field(default=None, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """Predicted seconds of the run."""
        return float(sum(self.phases.values()))

    @property
    def range(self) -> tuple[float, float]:
        """The range in which the seconds are expected; a bound is its lower end."""
        return self.seconds / (1.0 if self.at_least else 1 + self.doubt), self.seconds * (1 + self.doubt)

    @property
    def threads(self) -> int:
        """Workers of one process; 0 when it runs on parts."""
        return self.placement.threads

    @property
    def partition(self) -> str:
        """How the graph is split."""
        return self.placement.partition

    @property
    def exchange(self) -> str:
        """What nodes or devices exchange; empty where they share memory."""
        return self.placement.exchange

    @property
    def name(self) -> str:
        """A short description, without counts."""
        if self.at_least:
            return "bound"
        return f"{self.direction}, {self.partition}, {self.exchange}" if self.exchange else self.direction

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.direction, str(self.placement))))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        low, high = self.range
        found: dict[str, Any] = {
            "name": self.name, "direction": self.direction, "threads": self.threads or None,
            "partition": self.partition, "exchange": self.exchange, "supersteps": self.supersteps,
            "seconds": self.seconds, "low": low, "high": high, "phases": dict(self.phases),
            "predicted_seconds": self.seconds, "predicted_range": [low, high], "predicted_phases": dict(self.phases),
            "predicted_bytes": self.bytes, "predicted_memory": self.memory, "fits": self.fits,
            "spilled_bytes": self.spilled, "crossing_bytes": self.bytes,
        }  # fmt: skip
        if self.placement.parts:
            found |= {name: getattr(self.placement, name) for name in ("parts", "nodes", "transport")}
        return found


class Machine(Protocol):
    """A machine whose runs can be predicted, from rates measured here or given in a profile."""

    @property
    def name(self) -> str:
        """Its name for users."""

    def candidates(
        self, work: Work, graph: Any, placement: Placement, directions: Sequence[str], supersteps: float | None
    ) -> list[Candidate]:
        """All candidates for which there are rates."""


def predict(
    work: Work, graph: Shape | Sketch, machine: Machine, placement: Placement, *, directions: Sequence[str] = (),
    supersteps: float | None = None,
) -> list[Candidate]:  # fmt: skip
    """All candidates for what was left open, the fastest of those that fit first; at least one.

    `directions` are those allowed; by default all that have rates.
    """
    return machine.candidates(work, graph, placement, directions, supersteps)


@dataclass(frozen=True, repr=False)
class Plan(Told):
    """The chosen candidate of a run, the others, and why; only the rates in it were measured.

    `candidates`: the chosen one first. `bytes`: moved by memory; `memory`: of graph and run at the peak.
    `measured_here`: rates are those of this machine. `push_over_pull`: the cost of pushing an arc over that of pulling
    it.
    """

    work: Work
    graph: Shape | Sketch
    machine: str
    candidates: tuple[Candidate, ...]
    reason: str = ""
    notes: tuple[str, ...] = ()
    measured_here: bool = True
    push_over_pull: float = 3.0
    bytes: float = 0.0
    memory: float = 0.0

    @property
    def algorithm(self) -> str:
        """The algorithm or program."""
        return self.work.name

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[0]

    @property
    def placement(self) -> Placement:
        """The placement of the run."""
        return self.chosen.placement

    @property
    def direction(self) -> str:
        """The chosen direction."""
        return self.chosen.direction

    @property
    def threads(self) -> int:
        """Workers of one process, or those of each part."""
        return self.chosen.threads or 1

    @property
    def seconds(self) -> float:
        """Predicted seconds of the run."""
        return self.chosen.seconds

    @property
    def range(self) -> tuple[float, float]:
        """The range in which the seconds should be."""
        return self.chosen.range

    @property
    def supersteps(self) -> float:
        """The expected number of supersteps."""
        return self.chosen.supersteps

    @property
    def crossing(self) -> float:
        """Bytes between nodes."""
        return self.chosen.bytes

    @property
    def key(self) -> str:
        """The name of its recorded runs."""
        return f"{self.work.run_key}/{self.direction}"

    @property
    def steps(self) -> list[Step]:
        """The chosen candidate by superstep; empty where only the total is known.

        Barriers cost the same in each, everything else is in proportion to the arcs of the frontier. The direction
        follows the engine's rule for such a frontier.
        """
        from arcflux.compile.direction import pulls

        one = self.chosen
        if one.fit is None:
            return []
        count = max(1, min(_MOST_STEPS, round(one.supersteps)))
        shares = one.fit.frontier(self.graph if isinstance(self.graph, Sketch) else self.graph.sketch(), count)
        fixed = (one.phases.get("launch", 0.0) + one.phases.get("barriers", 0.0)) / count
        moving = sum(share for name, share in one.phases.items() if name not in ("launch", "barriers"))
        total, left, found = float(shares.sum()) or 1.0, 1.0, []
        arcs = self.graph.arcs
        for share in shares.tolist():
            pull = pulls(share * arcs, left * arcs, self.graph.vertices, arcs, self.work.early, self.push_over_pull)
            name = one.direction if one.direction in ("pull", "push") else "pull" if pull else "push"
            found.append(Step(share, name, fixed + moving * share / total))
            left -= share
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        graph, where = self.graph, self.placement
        parts = {name: getattr(where, name) for name in ("parts", "nodes", "transport", "partition", "exchange")}
        return {
            "label": "predicted",
            "algorithm": self.algorithm,
            "graph": {"name": getattr(graph, "name", ""), "vertices": graph.vertices, "arcs": graph.arcs},
            "machine": self.machine,
            "measured_here": self.measured_here,
            "direction": self.direction,
            "threads": self.threads,
            **(parts if where.parts else {}),
            "reason": self.reason,
            "push_over_pull": self.push_over_pull,
            "predicted_seconds": self.seconds,
            "predicted_range": list(self.range),
            "predicted_bytes": self.bytes,
            "predicted_memory": self.memory,
            "predicted_supersteps": self.supersteps,
            "predicted_crossing_bytes": self.crossing,
            "candidates": [one.to_dict() for one in self.candidates],
            "predicted_steps": [vars(step) for step in self.steps[:_STEPS]],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        graph, (low, high), first = self.graph, self.range, self.chosen
        named = getattr(graph, "name", "") or "a graph"
        phases = sorted(((share, name) for name, share in first.phases.items() if share > 0), reverse=True)
        moved = f"; {readable(round(self.bytes))} moved" if self.bytes else ""
        peak = f", {readable(round(self.memory))} at the peak" if self.memory else ""
        lines = [
            f"predicted: {self.algorithm} on {named} ({graph.vertices:,} vertices, {graph.arcs:,} arcs)",
            f"      on: {self.machine}",
            f"├─ {seconds(self.seconds)}, between {seconds(low)} and {seconds(high)}{moved}{peak}",
            f"├─ {first}" + (f", {first.supersteps:.0f} supersteps" if first.supersteps else ""),
        ]
        lines += [f"│  ├─ {name}: {seconds(share)}, {100 * share / self.seconds:.0f} %" for share, name in phases]
        if self.reason:
            lines.append(f"├─ why: {self.reason}")
        if self.crossing:
            lines.append(f"├─ {readable(round(self.crossing))} between nodes")
        for other in self.candidates[1:_TOLD]:
            lines.append(f"├─ instead {other}: {seconds(other.seconds)}, {times(other, first)}")
        lines.append(f"└─ what would help most: {self.helping}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def helping(self) -> str:
        """What would help most: advice on the longest phase."""
        phases = self.chosen.phases
        longest = max(phases, key=lambda name: phases[name], default="")
        if self.placement.nodes > 1 and longest == "barriers":
            return "fewer parts, or one node, since supersteps are short"
        return _HELP.get(longest, "a faster device") if phases.get(longest) else "nothing"


def times(one: Candidate, other: Candidate) -> str:
    """How much longer one candidate takes than another; a run on an empty graph may take no time at all."""
    if other.seconds > 0:
        return f"{one.seconds / other.seconds:.2f} times as long"
    return f"{seconds(one.seconds)} longer"
