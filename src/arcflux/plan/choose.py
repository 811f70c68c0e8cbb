"""Plans: for every size of a machine that is asked about, the best way to run, and what is predicted of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan import hive
from arcflux.plan.predict import Candidate, application, candidates
from arcflux.plan.profile import Profile, read
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work, work_of
from arcflux.program import Program

__all__ = ["Plan", "Row", "make", "prepared", "whole_numbers"]

_MOST = 1 << 20
_LIFETIME = 3 * 365.25 * 86400.0


@dataclass(frozen=True)
class Row:
    """What is predicted for one size: the best candidate, the others, and how it compares with one device.

    `cost` is what a run costs in dollars: by the hour, or as its share of three years of a machine that was bought.
    """

    nodes: int
    devices: int
    candidates: tuple[Candidate, ...]
    speedup: float
    gteps: float | None
    cost: float | None
    ratio: float
    needed: float
    scalability: str

    @property
    def best(self) -> Candidate:
        """The candidate that would be taken."""
        return self.candidates[0]

    @property
    def efficiency(self) -> float:
        """Speed-up for each device."""
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
class Plan(Told):
    """A plan: predictions for one algorithm, graph and machine, a row for each size. Nothing in it was measured."""

    algorithm: str
    graph: Shape
    machine: Profile
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> Row:
        """The row that takes the least time, of those that fit."""
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
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
            "best": {"nodes": self.best.nodes, "devices": self.best.devices},
        }

    def __str__(self) -> str:
        from arcflux.plan.report import text

        return text(self)

    def plot(self, target: Any) -> None:
        """Draw predicted time and speed-up over devices: .png, .svg or .pdf."""
        from arcflux.plan.report import plot

        plot(self, target)


def make(
    algorithm: Any, graph: Any, on: Any, nodes: Any = None, devices: Any = None, supersteps: int | None = None
) -> Plan:
    """The plan behind :func:`arcflux.plan`."""
    return prepared(algorithm, on, nodes, devices, supersteps)(graph)


def prepared(
    algorithm: Any, on: Any, nodes: Any = None, devices: Any = None, supersteps: int | None = None
) -> Callable[[Any], Plan]:
    """A plan that lacks its graph: what is wrong with the rest is told before one is loaded, which may take long."""
    profile = read(on)
    sizes = _sizes(profile, nodes, devices)
    ways = hive.find(algorithm) if isinstance(algorithm, str) else []
    if not ways and not isinstance(algorithm, Program):
        work_of(algorithm, supersteps)
    for way in ways:
        hive.judge(way, hive.Given(1.0, 1.0, 1))

    def made(graph: Any) -> Plan:
        columns = {name: column.dtype for name, column in graph.columns.items()} if isinstance(graph, Graph) else None
        work = None if ways else work_of(algorithm, supersteps, columns)
        shape = shape_of(graph)
        rows = tuple(_row(profile, shape, ways, work, x, total) for x, total in sizes)
        name = work.name if work is not None else str(algorithm)
        return Plan(name, shape, profile, rows, tuple(_notes(profile, work, ways, sizes)))

    return made


def _row(
    profile: Profile, shape: Shape, ways: Sequence[hive.Application], work: Work | None, x: int, total: int
) -> Row:
    def tried(nodes: int, parts: int) -> list[Candidate]:
        if work is not None:
            return candidates(profile, work, shape, nodes, parts)
        made = [application(profile, way, shape, nodes, parts) for way in ways]
        return sorted(made, key=lambda one: (not one.fits, one.seconds))

    found = tried(x, total)
    best, alone = found[0], tried(1, 1)[0]
    if work is not None:
        operations = work.operations * shape.arcs * work.visits(shape)
        ratio = operations / best.bytes if best.bytes else math.inf
        scalability = work.group
    else:
        chosen = next(way for way in ways if (way.variant or "the study's") == best.exchange)
        scaling = hive.judge(chosen, hive.given_by(shape, total))
        ratio, scalability = scaling.ratio, scaling.scalability
    traversal = work is not None and work.traversal
    return Row(
        x, total, tuple(found), _over(alone.seconds, best.seconds, 1.0),
        _over(shape.arcs / 1e9, best.seconds, 0.0) if traversal else None,
        _cost(profile, x, total, best.seconds), ratio, hive.needed(profile, x), scalability,
    )  # fmt: skip


def _over(value: float, seconds: float, otherwise: float) -> float:
    """A rate; `otherwise` where nothing takes no time."""
    return value / seconds if seconds else otherwise


def _cost(profile: Profile, nodes: int, devices: int, seconds: float) -> float | None:
    if profile.hour_price is not None:
        return nodes * profile.hour_price * seconds / 3600
    price = profile.price(devices)
    return None if price is None else price * seconds / _LIFETIME


def _sizes(profile: Profile, nodes: Any, devices: Any) -> list[tuple[int, int]]:
    """Nodes and devices in all, for what was asked: counts of nodes, or counts of devices, which fill nodes."""
    if devices is not None:
        if nodes is not None:
            raise UsageError("nodes and devices are both given", expected="one of them; devices fill nodes")
        return [(-(-total // profile.devices), total) for total in whole_numbers("devices", devices)]
    return [(x, x * profile.devices) for x in whole_numbers("nodes", 1 if nodes is None else nodes)]


def whole_numbers(what: str, given: Any) -> list[int]:
    """Counts as they are written: 4, "1..16", "16,25,36", or some of them.

    Examples
    --------
    >>> whole_numbers("nodes", "1..4,8")
    [1, 2, 3, 4, 8]
    """
    expected = f"{what} as 4, 1..16 or 16,25,36, from 1 to {_MOST:,}"
    items: Iterable[Any] = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int) else given
    found: list[int] = []
    try:
        for item in items:
            if isinstance(item, bool):
                raise ValueError
            first, dots, last = str(item).strip().partition("..")
            low, high = int(first), int(last) if dots else int(first)
            if not 1 <= low <= high <= _MOST or high - low > 4096:
                raise ValueError
            found.extend(range(low, high + 1))
    except (TypeError, ValueError):
        found = []
    if not found:
        raise UsageError(f"{what} is {given!r}", expected=expected)
    return found


def _notes(
    profile: Profile, work: Work | None, ways: Sequence[hive.Application], sizes: Sequence[tuple[int, int]]
) -> list[str]:
    notes = [work.note] if work is not None and work.note else []
    if ways:
        notes.append("operations and bytes are those of one superstep, as the HIVE study counts them")
    most = max(x for x, _ in sizes)
    if most > profile.nodes:
        notes.append(f"{profile.name} has {profile.nodes} nodes; what is said of {most} takes more of the same")
    assumed = sorted(key for key, source in profile.sources.items() if source.startswith("assumed"))
    if assumed:
        notes.append(f"figures of {profile.name} that are assumed: {', '.join(assumed)}")
    return notes
