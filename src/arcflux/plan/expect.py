"""What a run would take here, before anything is loaded: seconds with a range, bytes that memory moves, peak memory.

With the calibration of this machine, seconds come from fits of the programs that were measured; what was not measured
gets a bound from its bytes, and says so. For other machines, a plan is made and its best row taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arcflux import config
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan.calibrate import Calibration, kept
from arcflux.plan.fit import Curve
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work, work_of

__all__ = ["Estimate", "Way", "of_plan", "on_this_machine"]

_OFFSET, _LINE = 8, 64
# Bytes of a vertex that a run takes beside the graph, found by looking at the peak of runs on a million vertices.
_STATE = {"pagerank": 33.5, "bfs": 13.4, "sssp": 33.1, "connected_components": 4.0, "pagerank_delta": 73.0,
          "label_propagation": 15.0}  # fmt: skip
# Dense programs arrange arcs by blocks when messages overflow the cache (engine/dense.py): these many bytes more.
_BLOCK_CACHE, _BLOCK_ARCS, _BLOCK_BITS = 2 << 20, 16_384, 16
_BLOCK_ARC, _BLOCK_VERTEX = 4.0, 25.0


@dataclass(frozen=True)
class Way:
    """A way to run that was looked at, and its predicted seconds."""

    name: str
    seconds: float
    low: float
    high: float
    phases: dict[str, float]


@dataclass(frozen=True)
class Estimate:
    """Predicted: seconds, between which they should be, bytes that memory moves, and bytes that graph and run take."""

    algorithm: str
    graph: Shape
    machine: str
    ways: tuple[Way, ...]
    supersteps: float
    bytes: float
    memory: float
    notes: tuple[str, ...]

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
            "candidates": [vars(way) for way in self.ways],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from arcflux.plan.report import estimated

        return estimated(self)


def on_this_machine(algorithm: Any, graph: Any, supersteps: int | None = None) -> Estimate:
    """The estimate behind :func:`arcflux.estimate`, by the calibration of this machine."""
    columns = {name: column.dtype for name, column in graph.columns.items()} if isinstance(graph, Graph) else None
    work = work_of(algorithm, supersteps, columns)
    found = kept()
    if found is None:
        raise UsageError(
            "this machine has not been measured",
            expected="a calibration, which takes less than two minutes",
            remedy="arcflux calibrate, or name a machine: on='dgx1'",
        )
    shape = shape_of(graph)
    fits = {name.partition("/")[2]: one for name, one in found.fits.items() if name.partition("/")[0] == work.name}
    notes = list(found.notes)
    if fits:
        steps = float(supersteps) if supersteps else next(iter(fits.values())).steps(shape)
        ways = [_way(name, one, shape, steps) for name, one in fits.items()]
    else:
        steps = work.steps(shape)
        ways = [_bound(work, shape, found)]
        notes.append(work.note if work.bound else f"{work.name} was not measured: this is a bound, from its bytes")
    ways.sort(key=lambda way: way.seconds)
    visits = steps if work.supersteps else work.visits(shape)
    return Estimate(
        work.name, shape, str(found.machine["model"]), tuple(ways), steps, _moved(work, shape, visits, found),
        peak(work, shape), tuple(notes),
    )  # fmt: skip


def _way(name: str, fit: Any, shape: Shape, steps: float) -> Way:
    from arcflux.plan.fit import features

    row = features(shape, steps, fit.dense, fit.curve, fit.value) * fit.coefficients
    seconds = float(row.sum())
    doubt = max(0.15, min(1.0, 2.0 * fit.error))
    phases = {
        "launch": float(row[0]), "barriers": float(row[1]), "update": float(row[2]),
        "compute": float(row[3] + row[4]), "load": float(row[5]),
    }  # fmt: skip
    return Way(name, seconds, seconds / (1 + doubt), seconds * (1 + doubt), phases)


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
