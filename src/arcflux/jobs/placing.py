"""``arcflux plan --jobs``: algorithm 1 for a graph on the nodes of a machine, which may be a remote one.

On another machine the capability of workers is not measured: a GPU worker counts as 1.4 CPU workers, as in G2's figure
3. Half of a memory is for the graph, the other half for results (section V-A).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from arcflux.errors import UsageError
from arcflux.jobs.assignment import Assignment, WorkerNode, assign_parts
from arcflux.plan.work import work_of
from arcflux.spmd.space import available

__all__ = ["Placing", "assign_on"]

_GPU_OVER_CPU = 1.4
_FOR_GRAPH = 0.5
_OFFSET = 8


@dataclass(frozen=True)
class Placing:
    """An assignment, its title, and its assumptions."""

    assignment: Assignment
    title: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.title, str(self.assignment), "", *(f"  note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"title": self.title, **self.assignment.to_dict(), "notes": list(self.notes)}


def assign_on(algorithm: Any, graph: Any, machine: str, nodes: Any = None) -> Placing:
    """Algorithm 1 for a graph, or its shape, on this many nodes of a machine; "here" is this one."""
    from arcflux.plan.sample import shape_of

    work, shape = work_of(algorithm), shape_of(graph)
    size = int(_OFFSET * (shape.vertices + 1) + shape.arcs * work.arc_bytes)
    workers, notes = _here() if machine == "here" else _absent(machine, nodes)
    assignment = assign_parts(size, workers)
    title = f"{work.name}: {shape.vertices:,} vertices, {shape.arcs:,} arcs, {size:,} bytes on {len(workers)} workers"
    return Placing(assignment, title, (*notes, "half of each memory is for the graph"))


def _here() -> tuple[list[WorkerNode], tuple[str, ...]]:
    from arcflux.jobs.capability import capability

    cores = WorkerNode("cpu", max(1, int(available() * _FOR_GRAPH)), capability("cpu"))
    return [cores], ("capability is 1 / t of the tasks pagerank, bfs and sssp, measured here",)


def _absent(machine: str, nodes: Any) -> tuple[list[WorkerNode], tuple[str, ...]]:
    from arcflux.plan.profile import read

    profile = read(machine)
    try:
        count = 1 if nodes is None else operator.index(int(nodes))
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= 4096:
        raise UsageError(f"nodes is {nodes!r}", expected="one number of nodes, with --jobs", remedy="--nodes 8")
    workers = []
    for node in range(count):
        workers.append(WorkerNode(f"node{node}/cpu", int(profile.node_memory * _FOR_GRAPH), 1.0))
        memory = int(profile.memory * profile.devices * _FOR_GRAPH)
        workers.append(WorkerNode(f"node{node}/gpu", memory, _GPU_OVER_CPU, gpu=True))
    return workers, ("a GPU worker counts for 1.4 CPU workers: G2, figure 3, not measured",)
