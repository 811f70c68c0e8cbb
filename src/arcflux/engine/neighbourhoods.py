"""The loop of programs with `around`: every vertex visits its whole list of edges in every superstep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.around_frontier import EVERYWHERE, SEARCHED
from arcflux.compile.cpu.dense import CHUNK
from arcflux.compile.direction import LOOKS_AROUND
from arcflux.engine.dense import Dense
from arcflux.engine.scratch import worker_scratch
from arcflux.engine.state import State, rows
from arcflux.history import Superstep
from arcflux.spmd.memory import frozen

__all__ = ["Neighbourhoods", "SparseNeighbourhoods"]


class Neighbourhoods(Dense):
    """A dense program with `around`: every vertex is active in every superstep."""

    @property
    def push(self) -> bool:
        """A vertex visits all its edges at once: there is nothing to push."""
        return False

    def crew(self, steps: int) -> int:
        """All workers: the number of edges does not predict how long visiting them takes."""
        return self.threads

    def prepare(self) -> None:
        """Build in-edges, and order chunks by edges, most first, so that no worker ends with a hub."""
        offsets, n = self.graph.into.offsets, self.graph.vertices
        ends = np.minimum(np.arange(0, n + CHUNK, CHUNK), n)
        edges = np.diff(offsets[ends].astype(np.int64))
        self.order = frozen(np.argsort(-edges, kind="stable").astype(np.uint32))

    def begin(self, state: State) -> None:
        """Set the kernel and its arguments."""
        graph, n = self.graph, self.graph.vertices
        self.board = self.team.small(72)
        self.choice = [self.tolerance]
        columns = [graph.in_columns[name] for name in self.lowered.columns]
        arrays = [*graph.into, graph.out.offsets, *columns, *self.messages, self.order]
        arrays += worker_scratch(self.lowered, graph, self.threads)
        self.ways = {"plain": (self.made.dense, [CHUNK, *arrays, *state.constants])}
        self.sums = self.team.small(2 * -(-n // CHUNK), np.float64)
        self._take("plain")

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a superstep: all vertices visited their edges."""
        return replace(super().superstep(k, row), reason=LOOKS_AROUND)


class SparseNeighbourhoods(Neighbourhoods):
    """The same for sparse programs: only vertices with a neighbour that sent visit their edges again."""

    def extra(self) -> list[Any]:
        """The last message of each vertex."""
        kinds = [(message.dtype, message.length) for message in self.lowered.messages]
        self.messages = [rows(self.borrowed, self.graph.vertices, *kind) for kind in kinds]
        return self.messages

    def started(self, step: int) -> list[Any]:
        """The last message of each vertex, in any superstep."""
        return self.messages

    def begin(self, state: State) -> None:
        """Borrow lists and marks."""
        graph, n = self.graph, self.graph.vertices
        self.board = self.team.small(72)
        self.choice = [self.tolerance]
        columns = [graph.in_columns[name] for name in self.lowered.columns]
        self.told, self.seen = self.borrowed(n, np.int32), self.borrowed(n, np.int32)
        self.memory = self.team.small(16)
        kind = graph.out.neighbours.dtype
        lists = [self.borrowed(n, kind), self.borrowed(n, kind), self.team.small((self.threads, CHUNK), kind)]
        arrays = [*graph.into, *graph.out, *columns, *self.messages, self.order, self.told, self.seen, *lists]
        arrays += [self.memory, *worker_scratch(self.lowered, graph, self.threads)]
        self.ways = {"looking": (self.made.looking, [*arrays, *state.constants])}
        self.sums = self.team.small(2 * -(-n // CHUNK), np.float64)
        self._take("looking")

    def refill(self, state: State, step: int) -> None:
        """Mark the initially active vertices as senders of the superstep before."""
        senders = int(np.count_nonzero(state.active))
        self.finished = not senders
        if self.team.leads:
            self.told[:] = np.where(state.active, step, -1)
            self.seen[:] = -1
            edges = int(self.graph.out_degrees[state.active].sum())
            self.memory[:4] = SEARCHED if senders < self.graph.vertices else EVERYWHERE, 0, senders, edges
        self.team.together()

    def give_back(self) -> None:
        """Release the marks, which are borrowed memory."""
        self.told = self.seen = self.told[:0].copy()
        super().give_back()

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a superstep: senders, their edges, and changed vertices."""
        changed, residual, seconds, _, _, senders, edges = row[:7]
        return Superstep(k, "pull", int(senders), residual, seconds, int(changed), int(edges), LOOKS_AROUND)

    def columns(self, rows: NDArray[Any]) -> Mapping[str, NDArray[Any] | float]:
        """The same for all supersteps at once."""
        return {**super().columns(rows), "frontier": rows[:, 5], "edges": rows[:, 6], "pull": 1.0}
