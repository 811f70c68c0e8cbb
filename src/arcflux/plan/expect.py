"""What a run would take here, before anything is loaded: seconds with a range, bytes that memory moves, peak memory.

With the calibration of this machine, seconds come from fits of the programs that were measured; what was not measured
gets a bound from its bytes, and says so. For other machines, a plan is made and its best row taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arcflux import config
from arcflux.drawing import Told
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan import rates
from arcflux.plan.advise import Subject
from arcflux.plan.brief import brief
from arcflux.plan.calibrate import Calibration, kept
from arcflux.plan.divide import Open, part_ways, preferred
from arcflux.plan.fit import Curve
from arcflux.plan.programs import PROGRAMS
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import Shape
from arcflux.plan.split import SHARED, Where
from arcflux.plan.spread import Placed, on_nodes, with_speeds
from arcflux.plan.way import Step, Way, steps_of, way_of
from arcflux.plan.work import Work, work_of

__all__ = ["Estimate", "Way", "by_rates", "of_plan", "on_this_machine"]

_OFFSET, _LINE = 8, 64
# The most supersteps that JSON lists.
_SHOWN = 256
# Bytes of a vertex that a run takes beside the graph, found by looking at the peak of runs on a million vertices.
_STATE = {"pagerank": 33.5, "bfs": 13.4, "sssp": 33.1, "connected_components": 4.0, "pagerank_delta": 73.0,
          "label_propagation": 15.0}  # fmt: skip
# Dense programs arrange arcs by blocks when messages overflow the cache (engine/dense.py): these many bytes more.
_BLOCK_CACHE, _BLOCK_ARCS, _BLOCK_BITS = 2 << 20, 16_384, 16
_BLOCK_ARC, _BLOCK_VERTEX = 4.0, 25.0


@dataclass(frozen=True, repr=False)
class Estimate(Told):
    """Predicted: seconds, between which they should be, bytes that memory moves, and bytes that graph and run take.

    `crossing` are bytes between nodes. `push_over_pull`: what an arc costs to push over what it costs to pull.
    """

    algorithm: str
    graph: Shape
    machine: str
    ways: tuple[Way, ...]
    supersteps: float
    bytes: float
    memory: float
    notes: tuple[str, ...]
    crossing: float = 0.0
    push_over_pull: float = 3.0

    @property
    def seconds(self) -> float:
        """Seconds of the fastest way."""
        return self.ways[0].seconds

    @property
    def range(self) -> tuple[float, float]:
        """Between which the seconds should be."""
        return self.ways[0].low, self.ways[0].high

    @property
    def direction(self) -> str:
        """The direction of the fastest way."""
        return self.ways[0].name

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "label": "predicted",
            "algorithm": self.algorithm,
            "graph": {"name": self.graph.name, "vertices": self.graph.vertices, "arcs": self.graph.arcs},
            "machine": self.machine,
            "predicted_seconds": self.seconds,
            "predicted_range": list(self.range),
            "predicted_bytes": self.bytes,
            "predicted_memory": self.memory,
            "predicted_supersteps": self.supersteps,
            "candidates": [way.to_dict() for way in self.ways],
            "predicted_steps": [vars(step) for step in self.steps[:_SHOWN]],
            "predicted_crossing_bytes": self.crossing,
            "notes": list(self.notes),
        }

    @property
    def steps(self) -> list[Step]:
        """The fastest way superstep by superstep; empty where only the whole is known."""
        return steps_of(self.ways[0], self.graph, self.push_over_pull, early=self.algorithm == "bfs")

    def __str__(self) -> str:
        from arcflux.plan.report import estimated

        return estimated(self)


def on_this_machine(
    algorithm: Any, graph: Any, supersteps: int | None = None, placed: Placed | None = None
) -> Estimate:
    """The estimate behind :func:`arcflux.estimate`, by the calibration of this machine and the runs since."""
    columns = {name: column.dtype for name, column in graph.columns.items()} if isinstance(graph, Graph) else None
    work = work_of(algorithm, supersteps, columns)
    if kept() is None:
        raise UsageError(
            "this machine has not been measured",
            expected="a calibration, which takes less than two minutes",
            remedy="arcflux calibrate, or name a machine: on='dgx1'",
        )
    return by_rates(work, shape_of(graph), supersteps, placed or Placed(), rates.current(fresh=True))


def by_rates(work: Work, shape: Shape, supersteps: int | None, placed: Placed, known: rates.Rates) -> Estimate:
    """An estimate by some rates: every way that was measured, or a bound."""
    found = known.calibration
    parted = _ways_on_parts(work, shape, supersteps, placed, known)
    ways = parted or _measured_ways(work, shape, supersteps, placed, known)
    ways += _against_parts(work, shape, supersteps, placed, known)
    notes = [*known.notes, *shape.notes]
    crossing = parted[0].crossing if parted else 0.0
    if not ways:
        ways = [_bound(work, shape, found)]
        notes.append(work.note if work.bound else f"{work.name} was not measured: this is a bound, from its bytes")
    steps = ways[0].supersteps or work.steps(shape)
    visits = steps if work.supersteps else work.visits(shape)
    if placed.nodes > 1:
        if not parted:
            both = [on_nodes(way, work, shape, placed.nodes, found, visits) for way in ways]
            ways, crossing = [way for way, _ in both], both[0][1]
        notes.append(f"{placed.nodes} nodes are pretended on this machine, with {config.cores()} cores in all")
    if not parted:
        ways.sort(key=lambda way: way.total)
    return Estimate(
        work.name, shape, str(found.machine["model"]), tuple(ways), steps, _moved(work, shape, visits, found),
        peak(work, shape), tuple(notes), crossing, found.push_over_pull,
    )  # fmt: skip


def _ways_on_parts(work: Work, shape: Shape, supersteps: int | None, placed: Placed, known: rates.Rates) -> list[Way]:
    """Every way to split, and to exchange, that runs on parts were measured in; the one that a run would take first."""
    if placed.parts is None or placed.speeds:
        return []
    asked, few, ways = Open(Where(placed.parts, placed.nodes, placed.transport)), brief(shape), []
    for (name, direction), form in PROGRAMS.items():
        if name == work.name:
            subject = Subject(name, name, name, form, (direction,))
            ways += part_ways(subject, few, shape, asked, known, supersteps=float(supersteps) if supersteps else None)
    return preferred(ways, asked)


def _against_parts(work: Work, shape: Shape, supersteps: int | None, placed: Placed, known: rates.Rates) -> list[Way]:
    """Where nothing is said about threads and parts: the best way on a part for each core, if any was measured."""
    if placed != Placed() or config.threads() == 1:
        return []
    ways = _ways_on_parts(work, shape, supersteps, Placed(parts=config.threads()), known)
    ways = [way for way in ways if way.split is not None and way.split.exchange != SHARED]  # which are threads
    return sorted(ways, key=lambda way: way.total)[:1]


def _measured_ways(work: Work, shape: Shape, supersteps: int | None, placed: Placed, known: rates.Rates) -> list[Way]:
    """Every direction that was measured, on every number of workers that may be taken."""
    directions = [way for name, way in PROGRAMS if name == work.name]
    ways: list[Way] = []
    few = brief(shape)
    for count in placed.counts():
        for direction in directions:
            fit = known.fit(f"{work.name}/{direction}", count)
            if fit is not None:
                way = way_of(fit, few, direction, count, float(supersteps) if supersteps else None)
                ways.append(with_speeds(way, placed.speeds, count))
    return ways


def _bound(work: Work, shape: Shape, found: Calibration) -> Way:
    """What memory alone needs for the arcs and what they read; the truth is more, hence the range."""
    visits = work.visits(shape)
    stream = shape.arcs * work.arc_bytes / found.throughput["regular_read"]["host"] * visits
    load = shape.arcs * Curve.of(found.hierarchy).gather(shape, work.value) * visits
    phases = {"launch": found.launch, "barriers": found.barrier * work.steps(shape), "compute": stream, "load": load}
    seconds = sum(phases.values())
    return Way("bound", seconds, seconds, 10 * seconds, phases)


def _moved(work: Work, shape: Shape, visits: float, found: Calibration) -> float:
    """Bytes that memory gives: arcs, a line for each source that is not in the cache, and the state of vertices."""
    from arcflux.plan.calibrate import cache_of

    lines = shape.cold(cache_of(found.hierarchy) / work.value) * shape.arcs * _LINE
    return visits * (shape.arcs * work.arc_bytes + lines + shape.vertices * work.value)


def peak(work: Work, shape: Shape) -> float:
    """Bytes of the graph and of the run at its peak, without those of Python itself."""
    graph = _OFFSET * (shape.vertices + 1) + shape.arcs * work.arc_bytes
    run = _STATE.get(work.name, work.state) * shape.vertices
    across = -(-shape.vertices >> _BLOCK_BITS)
    blocked = (
        work.name == "pagerank"
        and shape.vertices * work.value > _BLOCK_CACHE
        and shape.arcs > _BLOCK_ARCS * across**2
        and across >= 4 * config.threads()
        and shape.local() < 0.5
    )
    return graph + run + (shape.arcs * _BLOCK_ARC + shape.vertices * _BLOCK_VERTEX if blocked else 0.0)


def of_plan(algorithm: Any, graph: Any, on: Any, supersteps: int | None = None) -> Estimate:
    """The same for another machine, with all devices of one node: the best row of a plan."""
    from arcflux.plan.choose import make

    plan = make(algorithm, graph, on, None, None, supersteps)
    ways = tuple(
        Way(one.name, one.seconds, *one.range, {name: value for name, value in vars(one.phases).items() if value})
        for one in plan.rows[0].candidates
    )
    best = plan.rows[0].best
    steps = 0.0 if plan.algorithm not in _STATE else work_of(algorithm, supersteps).steps(plan.graph)
    return Estimate(
        plan.algorithm, plan.graph, plan.machine.name, ways, steps, best.bytes, best.memory, plan.notes
    )  # fmt: skip
