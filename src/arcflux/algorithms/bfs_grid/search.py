"""Breadth-first search on a grid of parts, with bitmaps: MapGraph's traversal (Fu et al., 2014, figures 3 to 7).

The rank in row i and column j has the arcs from the sources of range i to the targets of range j. So the ranks of a row
share a frontier of sources (In), and the ranks of a column find the same targets (Out). A superstep expands In along
the own arcs into Out; the column determines which part was first, and the union of what was found; that is the next In
of the row in which these vertices are sources. No vertex numbers are sent: levels and predecessors are computed where
the arcs are.

The paper calls the ranks with the same targets a row, and those with the same sources a column. Here the names are
those of the adjacency matrix, sources down and targets across, so the two are exchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux import trace
from arcflux.algorithms.bfs_grid.block import block_of
from arcflux.algorithms.bfs_grid.cpu import count
from arcflux.algorithms.bfs_grid.groups import groups
from arcflux.algorithms.bfs_grid.scan import HEADER, SCANS, Path
from arcflux.engine.loop import Options
from arcflux.engine.worker import Worker
from arcflux.partition.parts import Parts
from arcflux.result import Superstep
from arcflux.spmd.memory import Array
from arcflux.transports.base import Transport

__all__ = ["Found", "Iteration", "Search", "merged"]

# Targets pull if more arcs leave the frontier than this share of the unexplored ones (Beamer, 2012).
_ALPHA = 14


@dataclass(frozen=True)
class Iteration(Superstep):
    """A superstep of the traversal.

    `part_seconds`: how long each rank expanded and set levels; `exchange_seconds`: how long a rank took to agree with
    the others, including waiting, in the mean. `path_messages` and `path_bytes`: the critical path of the column's scan
    (:class:`~arcflux.algorithms.bfs_grid.scan.Path`), of the slowest column. `bytes` are bitmaps between nodes,
    `more_bytes` the counts of the termination test and of the path.
    """

    exchange_seconds: float = 0.0
    path_messages: int = 0
    path_bytes: int = 0
    assigned: tuple[int, ...] = ()


@dataclass(frozen=True)
class Found:
    """The result of a search, the same on every rank: levels and predecessors by vertex number, -1 if unreached."""

    level: Array
    parent: Array
    history: list[Iteration]
    finished: bool
    seconds: float
    compile_seconds: float


@dataclass
class _Step:
    """A rank's measurements of a superstep."""

    compute: float = 0.0
    exchange: float = 0.0
    values: int = 0
    others: int = 0
    path_messages: int = 0
    path_bytes: int = 0
    assigned: int = 0
    arcs: int = 0
    pulled: int = 0


class Search:
    """One worker's share of a search from the vertex number `root`: its device expands a cell of the grid.

    Workers exchange bitmaps in the node's memory, whatever device expands them.
    """

    def __init__(self, worker: Worker, parts: Parts, root: int, scan: str, options: Options) -> None:
        assert worker.transport is not None, "every worker of a grid is a rank"
        self.transport, self.root, self.options = worker.transport, root, options
        self.vertices = parts.graph.vertices
        self.scan = SCANS[scan]
        self.block = block = block_of(parts, worker.rank)
        self.column, self.row = groups(worker.transport, parts)
        self.inside = block.sources.mask
        self.frontier, self.visited = block.sources.bits(root), block.targets.bits(root)
        self.out, self.assigned = np.zeros_like(self.visited), np.zeros_like(self.visited)
        kind = np.int32 if self.vertices < 1 << 31 else np.int64
        self.cell = worker.kernels(__package__).Cell(worker, block, self.frontier, self.visited, kind)
        self.left = block.arcs
        self.steps: list[_Step] = []
        self.finished = False
        self.compile_seconds = self._compile()

    # --- the loop

    def run(self, over: Callable[[], bool]) -> Found:
        """Search until no rank finds a vertex, or until `over`."""
        self.transport.barrier()
        begun, seconds = time.perf_counter(), [0.0]
        self.cell.settle(self.visited, 0)
        with trace.task("bfs", unit="supersteps") as task:
            while not self.finished and len(self.steps) < self.options.limit:
                self.transport.superstep = len(self.steps)
                step = _Step()
                self.steps.append(step)
                started = time.perf_counter()
                self.expand(step)
                expanded = time.perf_counter()
                whole, found, stop = self.contract(step, over())
                contracted = time.perf_counter()
                self.cell.settle(whole, len(self.steps))
                self.finished = found == 0
                ended = time.perf_counter()
                step.compute = expanded - started + ended - contracted
                step.exchange = contracted - expanded
                seconds.append(ended - begun)
                task.at(len(self.steps))
                if stop:
                    break
        self.source_level, self.level = self.cell.levels()
        parent = (
            merged(self.column, self.row, self.trace_back(), self.block.targets.begin - self.block.targets.base) - 1
        )
        level = np.concatenate(self.row.gather(self.level[self.block.targets.begin - self.block.targets.base :]))
        taken = time.perf_counter() - begun
        return Found(level, parent, self._history(np.diff(seconds)), self.finished, taken, self.compile_seconds)

    def expand(self, step: _Step) -> None:
        """Set the bits in Out of all unvisited targets of In, in the cheaper direction."""
        size, step.arcs = self.cell.listed()
        step.pulled = self.options.direction == "pull" or (
            self.options.direction == "auto" and step.arcs * _ALPHA > self.left
        )
        self.left -= step.arcs
        self.out[:] = 0
        if not step.pulled:
            self.cell.push(size, self.out)
        elif size:
            self.cell.pull(self.out)

    def contract(self, step: _Step, over: bool) -> tuple[Array, int, bool]:
        """Agree on what was found: the union by target, how much (duplicates count twice), and whether to stop.

        The size of the global frontier is reduced meanwhile: one superfluous contraction, at the end, costs less than
        waiting in every superstep.
        """
        sent, path = self.transport.sent, Path()
        before = sent.bytes
        pending = self.transport.start_reduce(np.array([int(count(self.out)), over], np.int64), "sum")
        reduced = sent.bytes
        headers = sent.messages
        prefix, whole = self.scan(self.column, self.out, path)
        headers = HEADER * (sent.messages - headers)
        mine = self.out & ~prefix
        self.assigned |= mine
        whole = self.column.broadcast(whole, self.column.size - 1)
        self._next_frontier(whole)
        self.visited |= whole
        exchanged = sent.bytes
        found, stop = pending.wait().tolist()
        step.others = sent.bytes - exchanged + reduced - before + headers
        step.values = exchanged - reduced - headers
        step.path_messages, step.path_bytes = path.messages, path.bytes
        step.assigned = int(count(mine))
        return whole, found, stop > 0

    def _next_frontier(self, whole: Array) -> None:
        """What a column found, a row expands next; the part in both sends it to its row (the diagonal)."""
        self.frontier[:] = 0
        for column, there, here in self.block.pieces:
            piece = whole[there] if column == self.block.column else np.empty(here.stop - here.start, np.uint64)
            self.frontier[here] |= self.row.broadcast(piece, column)
        self.frontier &= self.inside

    def trace_back(self) -> Array:
        """The predecessors of the vertices assigned to this rank, from its arcs to them; plus 1, and 0 for none."""
        coded: Array = self.cell.trace_back(self.assigned)
        targets = self.block.targets
        if targets.begin <= self.root < targets.end:
            coded[self.root - targets.base] = self.root + 1
        return coded

    # --- the ends

    def _compile(self) -> float:
        """Compile all kernels, on one rank for all; returns the seconds it took."""
        begun = time.perf_counter()
        if self.transport.rank:
            self.transport.barrier()
        count.ready(self.out)
        self.cell.compile()
        if not self.transport.rank:
            self.transport.barrier()
        return time.perf_counter() - begun

    def _history(self, seconds: Any) -> list[Iteration]:
        """The measurements of all ranks, superstep by superstep."""
        names = list(_Step.__annotations__)
        mine = np.array([[getattr(step, name) for name in names] for step in self.steps], np.float64)
        every = np.array(self.transport.gather(mine.reshape(-1))).reshape(
            self.transport.size, len(self.steps), len(names)
        )
        history, frontier = [], 1
        for number in range(len(self.steps)):
            of = {name: every[:, number, k] for k, name in enumerate(names)}
            changed, arcs = int(of["assigned"].sum()), int(of["arcs"].sum())
            pulled = int(of["pulled"].sum())
            history.append(
                Iteration(
                    number, "pull" if 2 * pulled > len(every) else "push", frontier, 0.0, float(seconds[number]),
                    changed, arcs, f"{pulled} of {len(every)} ranks pull",
                    bytes=int(of["values"].sum()), more_bytes=int(of["others"].sum()),
                    part_seconds=tuple(of["compute"].tolist()), exchange_seconds=float(of["exchange"].mean()),
                    path_messages=int(of["path_messages"].max()), path_bytes=int(of["path_bytes"].max()),
                    assigned=tuple(int(count) for count in of["assigned"]),
                )
            )  # fmt: skip
            frontier = changed
        return history


def merged(column: Transport, row: Transport, coded: Array, start: int) -> Array:
    """One array over all vertices from each rank's targets: the maximum over a column, concatenated over columns.

    Predecessors are coded as 1 + the vertex, so that 0 means that a rank has none; `start` is the first target's
    position.
    """
    return np.concatenate(row.gather(column.reduce(coded, "max")[start:]))
