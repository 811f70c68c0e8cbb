"""A machine at several sizes: the plan of a run at each size, compared with one device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan.hive import (
    Application,
    Inputs,
    find,
    given_by,
    judge,
    kinds_of,
    moved_by,
    parameters_of,
    required_operations_per_byte,
)
from arcflux.plan.other_machine import Absent, absent
from arcflux.plan.plans import Candidate, Placement, Plan, predict, seconds
from arcflux.plan.profile import Profile
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work, work_of
from arcflux.program import Program
from arcflux.trace import readable

__all__ = ["Row", "Scaling", "prepare_plan", "whole_numbers"]

_MOST = 1 << 20
_LIFETIME = 3 * 365.25 * 86400.0
_PHASES = ("load", "compute", "transfer", "overhead")


@dataclass(frozen=True)
class Row:
    """The prediction for one size: the plan, compared with one device.

    `cost` is the cost of a run in dollars: by the hour, or as its share of three years of a bought machine.
    """

    nodes: int
    devices: int
    plan: Plan
    speedup: float
    gteps: float | None
    cost: float | None
    ratio: float
    needed: float
    scalability: str

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every way to run at this size, the best first."""
        return self.plan.candidates

    @property
    def best(self) -> Candidate:
        """The best candidate."""
        return self.plan.chosen

    @property
    def efficiency(self) -> float:
        """Speed-up per device."""
        return self.speedup / self.devices

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; the names of the first keys are those of measured runs."""
        best = self.best
        return {
            "nodes": self.nodes,
            "devices": self.devices,
            "seconds": best.seconds,
            "speedup": self.speedup,
            "efficiency": self.efficiency,
            "bytes": best.bytes,
            **({"gteps": self.gteps} if self.gteps is not None else {}),
            "cost_usd": self.cost,
            "operations_per_byte": self.ratio,
            "operations_per_byte_needed": self.needed,
            "scalability": self.scalability,
            **best.to_dict(),
            "candidates": [one.to_dict() for one in self.candidates],
        }


@dataclass(frozen=True, repr=False)
class Scaling(Told):
    """Plans for one algorithm, graph and machine, a row for each size. Nothing in it was measured.

    ways: for an application, all ways to do it and its parts, at the size of the best row.
    """

    algorithm: str
    graph: Shape
    machine: Profile
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    parameters: Mapping[str, float] = field(default_factory=dict)
    ways: tuple[str, ...] = ()

    @property
    def best(self) -> Row:
        """The fastest row, of those that fit."""
        return min(self.rows, key=lambda row: (not row.best.fits, row.best.seconds))

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON, labelled as predicted."""
        return {
            "label": "predicted",
            "algorithm": self.algorithm,
            "graph": {
                "name": self.graph.name,
                "vertices": self.graph.vertices,
                "arcs": self.graph.arcs,
                "depth": self.graph.depth,
            },
            "machine": {"name": self.machine.name, "title": self.machine.title},
            "parameters": dict(self.parameters),
            "ways": list(self.ways),
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
            "best": {"nodes": self.best.nodes, "devices": self.best.devices},
        }

    def __str__(self) -> str:
        shape = self.graph
        traversal = any(row.gteps is not None for row in self.rows)
        lines = [
            f"predicted: {self.algorithm} on {shape.name} ({shape.vertices:,} vertices, {shape.arcs:,} arcs)",
            f"      on: {self.machine.name}, {self.machine.title}",
            *([f"    with: {_shown(self.parameters)}"] if self.parameters else []),
            "",
            f"  {'nodes':>5} {'devices':>7} {'seconds':>9} {'range':>19} {'speed-up':>8} {'eff.':>5} {'bytes':>9} "
            f"{'memory':>9} {'fits':>5}" + (f" {'GTEPS':>7}" if traversal else "") + f" {'cost':>9}  way",
        ]
        lines += [_line(row, traversal) for row in self.rows]
        told = [*(f"  way: {way}" for way in self.ways), *(f"  note: {note}" for note in self.notes)]
        return "\n".join([*lines, "", *_about(self.best), *told])

    def plot(self, target: Any) -> None:
        """Draw predicted time by phase, and speed-up, over devices: .png, .svg or .pdf."""
        from arcflux.plan.report import scaling

        stacks = {name: [row.best.phases.get(name, 0.0) for row in self.rows] for name in _PHASES}
        title = f"predicted: {self.algorithm} on {self.graph.name}, {self.machine.name}"
        scaling([row.devices for row in self.rows], stacks, [row.speedup for row in self.rows], title, target)


def _shown(parameters: Mapping[str, float]) -> str:
    said = (f"{name} {value:,.6g}" if value or name != "reduced" else f"{name} as usual" for name, value in
            parameters.items())  # fmt: skip
    return ", ".join(said)


def _line(row: Row, traversal: bool) -> str:
    best = row.best
    low, high = best.range
    cost = "-" if row.cost is None else f"${row.cost:.2g}"
    gteps = f" {row.gteps:7.3g}" if traversal else ""
    between = f"{seconds(low)} - {seconds(high)}"
    return (
        f"  {row.nodes:5} {row.devices:7} {seconds(best.seconds):>9} {between:>19} {row.speedup:8.2f} "
        f"{row.efficiency:5.2f} {readable(round(best.bytes)):>9} {readable(round(best.memory)):>9} "
        f"{'yes' if best.fits else 'no':>5}{gteps} {cost:>9}  {best.name}"
    )


def _about(row: Row) -> list[str]:
    """The phases of the best row, the other candidates, and how it scales."""
    best = row.best
    shares = {name: best.phases[name] / (best.seconds or 1.0) for name in _PHASES}
    phases = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= 0.005)
    lines = [f"  best: {row.devices} devices, {best.name}: {phases}"]
    if row.plan.reason:
        lines.append(f"  runner-up: {row.plan.reason}")
    ratio = "nothing is sent" if math.isinf(row.ratio) else f"{row.ratio:.3g} operations a byte"
    short = "" if row.ratio >= row.needed else ": here links are the limit"
    lines.append(f"  scalability: {row.scalability}, as the HIVE study classes its kind ({ratio}, and "
                 f"{row.needed:.3g} are needed on this machine{short})")  # fmt: skip
    return lines


def _reason(best: Candidate, others: Sequence[Candidate]) -> str:
    """The second candidate, and why it is not the first."""
    if not others or not best.seconds > 0:
        return ""
    second = others[0]
    why = f"{second.seconds / best.seconds:.2f} times as long" if second.fits else "does not fit"
    if second.fits and second.seconds < best.seconds:
        why += ", but nothing of its kind was measured there"
    return f"{second.name}: {why}"


def prepare_plan(
    algorithm: Any, on: Any, nodes: Any = None, devices: Any = None, supersteps: int | None = None,
    parameters: Mapping[str, Any] | None = None, moves: str | None = None,
) -> Callable[[Any], Scaling]:  # fmt: skip
    """A function that plans for a graph; the other arguments are checked before a graph is loaded.

    `parameters` and `moves` are for applications of the HIVE study: numbers of the input, and how data moves.
    """
    machine = absent(on)
    sizes = _sizes(machine.profile, nodes, devices)
    ways = find(algorithm) if isinstance(algorithm, str) else []
    if not ways and not isinstance(algorithm, Program):
        work_of(algorithm, supersteps)
    if not ways and (parameters or moves):
        problem = "parameters and moves are for applications of the HIVE study"
        raise UsageError(problem, expected="no such thing", remedy="leave them out")
    ways = moved_by(ways, moves)
    given = parameters_of(ways, parameters or {})
    for way in ways:
        judge(way, Inputs(1.0, 1.0, 1, **given))

    def made(graph: Any) -> Scaling:
        columns = {name: column.dtype for name, column in graph.columns.items()} if isinstance(graph, Graph) else None
        # An application of the study has no other figures than its operations and bytes.
        work = Work(str(algorithm), 4, 8) if ways else work_of(algorithm, supersteps, columns)
        shape = shape_of(graph)
        rows = tuple(_row(machine, shape, ways, given, work, x, total) for x, total in sizes)
        notes = tuple(_notes(machine.profile, work, ways, sizes))
        found = Scaling(work.name, shape, machine.profile, rows, notes, given)
        every = [*ways, *kinds_of(ways)] if len(ways) + len(kinds_of(ways)) > 1 else []
        return replace(found, ways=tuple(_way(machine, shape, one, given, found.best) for one in every))

    return made


def _row(
    machine: Absent, shape: Shape, ways: Sequence[Application], given: Mapping[str, float], work: Work, nodes: int,
    devices: int,
) -> Row:  # fmt: skip
    def tried(nodes: int, parts: int) -> list[Candidate]:
        placement = Placement(0, parts, nodes)
        if not ways:
            return predict(work, shape, machine, placement)
        candidates = [machine.application(way, shape, placement, given) for way in ways]
        return sorted(candidates, key=lambda one: (not one.fits, one.seconds))

    every = tried(nodes, devices)
    best, alone = every[0], tried(1, 1)[0]
    if ways:
        chosen = next(way for way in ways if (way.variant or "the study's") == best.exchange)
        scaling = judge(chosen, given_by(shape, devices, **given))
        ratio, scalability = scaling.ratio, scaling.scalability
    else:
        operations = work.operations * shape.arcs * work.visits(shape)
        ratio = operations / best.bytes if best.bytes else math.inf
        scalability = work.group
    plan = Plan(work, shape, machine.name, tuple(every), _reason(best, every[1:]), measured_here=False)
    return Row(
        nodes, devices, plan, _over(alone.seconds, best.seconds, 1.0),
        _over(shape.arcs / 1e9, best.seconds, 0.0) if work.traversal else None,
        _cost(machine.profile, nodes, devices, best.seconds), ratio,
        required_operations_per_byte(machine.profile, nodes), scalability,
    )  # fmt: skip


def _way(machine: Absent, shape: Shape, way: Application, given: Mapping[str, float], row: Row) -> str:
    """One line on a way to do an application."""
    own = {name: value for name, value in given.items() if name in way.parameters}
    one = machine.application(way, shape, Placement(0, row.devices, row.nodes), own)
    scaling = judge(way, given_by(shape, row.devices, **own))
    ratio = "" if math.isinf(scaling.ratio) else f", {scaling.ratio:.3g} operations a byte"
    name = ", ".join(filter(None, (way.name, way.variant, way.moves if way.moves != "explicit" else "")))
    return f"{name}: {seconds(one.seconds)}, {readable(round(one.bytes))}, {scaling.scalability}{ratio}"


def _over(value: float, seconds: float, otherwise: float) -> float:
    """A rate; `otherwise` where the time is 0."""
    return value / seconds if seconds else otherwise


def _cost(profile: Profile, nodes: int, devices: int, seconds: float) -> float | None:
    if profile.hour_price is not None:
        return nodes * profile.hour_price * seconds / 3600
    price = profile.price(devices)
    return None if price is None else price * seconds / _LIFETIME


def _sizes(profile: Profile, nodes: Any, devices: Any) -> list[tuple[int, int]]:
    """Nodes and devices in all, for each size asked for.

    Given nodes, all their devices are used; given devices, they fill nodes; given both, every way to spread that many
    devices evenly over that many nodes that have them (Lux's x and y).
    """
    if devices is None:
        return [(x, x * profile.devices) for x in whole_numbers("nodes", 1 if nodes is None else nodes)]
    totals = whole_numbers("devices", devices)
    if nodes is None:
        return [(-(-total // profile.devices), total) for total in totals]
    spread = [(x, total) for total in totals for x in whole_numbers("nodes", nodes)]
    sizes = [(x, total) for x, total in spread if total % x == 0 and total <= x * profile.devices]
    if not sizes:
        raise UsageError(
            f"devices {devices} cannot be spread evenly over nodes {nodes}",
            expected=f"counts of devices that are x times 1 to {profile.devices}, for x nodes of {profile.name}",
        )
    return sizes


def whole_numbers(what: str, given: Any) -> list[int]:
    """Counts as users write them: 4, "1..16", "16,25,36", or a list of them.

    Examples
    --------
    >>> whole_numbers("nodes", "1..4,8")
    [1, 2, 3, 4, 8]
    """
    expected = f"{what} as 4, 1..16 or 16,25,36, from 1 to {_MOST:,}"
    items: Iterable[Any] = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int) else given
    numbers: list[int] = []
    try:
        for item in items:
            if isinstance(item, bool):
                raise ValueError
            first, dots, last = str(item).strip().partition("..")
            low, high = int(first), int(last) if dots else int(first)
            if not 1 <= low <= high <= _MOST or high - low > 4096:
                raise ValueError
            numbers.extend(range(low, high + 1))
    except (TypeError, ValueError):
        numbers = []
    if not numbers:
        raise UsageError(f"{what} is {given!r}", expected=expected)
    return numbers


def _notes(profile: Profile, work: Work, ways: Sequence[Application], sizes: Sequence[tuple[int, int]]) -> list[str]:
    notes = [work.note] if work.note else []
    if ways:
        notes.append("operations and bytes are those of one superstep, as the HIVE study counts them")
    if any(way.name == "sparse_fused_lasso" for way in ways):
        notes.append("the study's cost of a flow is a bound for the worst case; runs take a small part of it")
    most = max(x for x, _ in sizes)
    if most > profile.nodes:
        notes.append(f"{profile.name} has {profile.nodes} nodes; what is said of {most} takes more of the same")
    assumed = sorted(key for key, source in profile.sources.items() if source.startswith("assumed"))
    if assumed:
        notes.append(f"figures of {profile.name} that are assumed: {', '.join(assumed)}")
    return notes
