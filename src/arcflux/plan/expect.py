"""Predict a run before anything is loaded: its plan, with the bytes that memory moves and peak memory.

With the rates of this machine; for another machine, with the models: all devices of one node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arcflux import config
from arcflux.engine.dense import blocks_pay
from arcflux.graph import Graph
from arcflux.plan.calibration import cache_of
from arcflux.plan.plans import Placement, Plan
from arcflux.plan.sample import shape_of
from arcflux.plan.scaling import prepare_plan
from arcflux.plan.shape import Shape
from arcflux.plan.this_machine import Here, current, make_plan
from arcflux.plan.work import Work, work_of

__all__ = ["columns_of", "estimate_here", "on_absent", "on_this_machine", "peak"]

_OFFSET, _LINE = 8, 64
# Extra bytes of the block layout beside the rows: per arc, and per vertex.
_BLOCK_ARC, _BLOCK_VERTEX = 4.0, 25.0


def columns_of(graph: Any) -> dict[str, Any] | None:
    """The edge columns of a loaded graph, by type."""
    return {name: column.dtype for name, column in graph.columns.items()} if isinstance(graph, Graph) else None


def on_this_machine(algorithm: Any, graph: Any, supersteps: int | None, placement: Placement) -> Plan:
    """The plan behind :func:`arcflux.estimate`, with the rates of this machine or usual ones."""
    work = work_of(algorithm, supersteps, columns_of(graph))
    return estimate_here(work, shape_of(graph), placement, float(supersteps) if supersteps else None)


def estimate_here(
    work: Work, shape: Shape, placement: Placement, supersteps: float | None = None, directions: tuple[str, ...] = (),
    machine: Here | None = None,
) -> Plan:  # fmt: skip
    """The plan of a run on this machine with all details; explanations of runs use it, too."""
    machine = machine or current(fresh=True)
    plan = make_plan(work, shape, machine, placement, directions, supersteps)
    visits = work.sweeps if work.sweeps and not work.supersteps else plan.supersteps or work.visits(shape)
    notes = [*plan.notes, *shape.notes]
    if placement.nodes > 1:
        notes.append(f"{placement.nodes} nodes are pretended on this machine, with {config.cores()} cores in all")
    lines = shape.cold(cache_of(machine.calibration.hierarchy) / work.value) * shape.arcs * _LINE
    moved = visits * (shape.arcs * work.arc_bytes + lines + shape.vertices * work.value)
    return replace(plan, notes=tuple(notes), bytes=moved, memory=peak(work, shape))


def peak(work: Work, shape: Shape) -> float:
    """Bytes of the graph and of the run at its peak, without those of the Python interpreter."""
    graph = _OFFSET * (shape.vertices + 1) + shape.arcs * work.arc_bytes
    run = (work.peak or work.state) * shape.vertices
    blocked = work.dense and blocks_pay(shape.vertices, shape.arcs, int(work.value), config.threads())
    if blocked and shape.sketch().local < 0.5:
        run += shape.arcs * _BLOCK_ARC + shape.vertices * _BLOCK_VERTEX
    return graph + run


def on_absent(algorithm: Any, graph: Any, on: Any, supersteps: int | None = None) -> Plan:
    """The same for another machine, with all devices of one node."""
    study = prepare_plan(algorithm, on, None, None, supersteps)(graph)
    best = study.rows[0].best
    return replace(study.rows[0].plan, bytes=best.bytes, memory=best.memory, notes=study.notes)
