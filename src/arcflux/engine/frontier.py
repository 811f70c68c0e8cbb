"""The loop of sparse programs: only changed vertices send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.dense import CHUNK
from arcflux.compile.cpu.frontier import SMALL
from arcflux.compile.cpu.frontier_pull import kept_apart
from arcflux.compile.cpu.lists import BLOCK, PARTS, board_size
from arcflux.compile.direction import reason_text
from arcflux.compile.sparse import buffers, precomputed
from arcflux.engine.loop import Loop
from arcflux.engine.state import State, rows
from arcflux.graph.neighbour_patterns import NONE, neighbour_patterns
from arcflux.history import Superstep

__all__ = ["Frontier"]

_CODES = {"auto": 0, "push": 1, "pull": 2}


class Frontier(Loop):
    """A program with a frontier; each superstep goes push or pull."""

    changed_at = 6

    def prepare(self) -> None:
        """Build in-edges, and the neighbour patterns if edges have no columns or fields."""
        self.graph.into  # noqa: B018 - built on first use
        self.patterns = (
            NONE if self.lowered.columns or self.lowered.edge_state is not None else neighbour_patterns(self.graph)
        )

    def extra(self) -> list[Any]:
        """Accumulators, and the messages that pull computes once per vertex."""
        kinds = [self.lowered.fields[name] for name in buffers(self.lowered)]
        kinds += [(message.dtype, message.length) for message in precomputed(self.lowered)]
        self.arrays = [rows(self.borrowed, self.graph.vertices, *kind) for kind in kinds]
        return self.arrays

    def begin(self, state: State) -> None:
        """Borrow queues and the other arrays that the kernel works on."""
        graph, n = self.graph, self.graph.vertices
        kind = graph.out.neighbours.dtype
        self.queues, stamp = self.borrowed(2 * n, kind), self.borrowed(n, np.uint8)
        self.kernel = self.made.frontier
        self.board = self.team.small(board_size(self.threads))
        # No more than one per chunk: longer arrays would hold leftovers of other phases.
        pieces = max(1, -(-n // CHUNK)) if kept_apart(self.lowered) else self.threads
        self.sums = self.team.small(2 * pieces, np.float64)
        columns = [side[name] for name in self.lowered.columns for side in (graph.in_columns, graph.columns)]
        self.bits, flags = self.borrowed(2 * ((n + 63) // 64), np.uint64), self.borrowed(n, np.bool_)
        buffers = self.team.small((self.threads, 2, CHUNK), kind)
        work = [self.queues, self.borrowed(n, kind), stamp, self.bits, flags, buffers]
        patterns = [self.patterns.of, self.patterns.rows, self.patterns.distances]
        self.rest = [*graph.into, *graph.out, *patterns, *work, *columns, *self.arrays, *state.constants]
        direction = _CODES["pull" if self.lowered.pull_only else self.options.direction]
        self.choice = [direction, self.tolerance, float(self.options.push_over_pull)]

    def started(self, step: int) -> list[Any]:
        """All arrays, in any superstep."""
        return self.arrays

    def refill(self, state: State, step: int) -> None:
        """Put the first frontier into the queue."""
        graph, n = self.graph, self.graph.vertices
        offsets, queue = graph.out.offsets, self.queues[n * (step & 1) :]
        count, edges = n, graph.arcs
        if state.active.all():
            queue[:n] = np.arange(n, dtype=queue.dtype)
        else:
            first = np.flatnonzero(state.active)
            count, edges = len(first), int((offsets[first + 1] - offsets[first]).sum())
            queue[:count] = first
        self.finished = not count
        alone = self.threads > 1 and edges < SMALL
        self.board[3 * BLOCK : PARTS] = count, edges, 0, step, graph.arcs, 0, alone, count

    def saved(self) -> dict[str, NDArray[Any]]:
        """Also the frontier's entries of the board, which a superstep that may be undone overwrites."""
        if self.polled:
            self.waiting = self.board[3 * BLOCK : PARTS].copy()
        return super().saved()

    def restore(self, before: dict[str, NDArray[Any]]) -> None:
        """Restore the frontier of before the superstep; its arrays are intact."""
        if self.team.leads:
            self.board[3 * BLOCK : PARTS] = self.waiting
        super().restore(before)

    def senders(self) -> NDArray[Any]:
        """The next frontier: a queue, or a bitmap after a pull."""
        n, step = self.graph.vertices, self.steps
        is_sender = np.zeros(n, np.bool_)
        if self.board[3 * BLOCK + 2]:
            half = self.bits[len(self.bits) // 2 * (step & 1) :]
            is_sender[:] = np.unpackbits(half[: len(self.bits) // 2].view(np.uint8), bitorder="little")[:n]
        else:
            is_sender[self.queues[n * (step & 1) :][: int(self.board[3 * BLOCK])]] = True
        return is_sender

    def give_back(self) -> None:
        """Release the queue, which is borrowed memory."""
        self.arrays, self.queues, self.bits = [], self.queues[:0].copy(), self.bits[:0].copy()
        super().give_back()

    def launched(self, steps: int) -> None:
        """Reset the board's claims of this launch: the next launch starts with others."""
        self.board[3 * BLOCK + 6] = 0
        self.board[PARTS:] = 0

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a superstep: senders, edges, and changed vertices."""
        size, residual, seconds, way, edges, about, changed = row[:7]
        reason = self.asked or reason_text(self.lowered, way == 2, int(edges), self.graph.arcs, about)
        name = "pull" if way == 2 else "push"
        return Superstep(k, name, int(size), residual, seconds, int(changed), int(edges), reason)

    def columns(self, rows: NDArray[Any]) -> Mapping[str, NDArray[Any] | float]:
        """Also the columns of edges and of changed vertices."""
        return {**super().columns(rows), "edges": rows[:, 4], "changed": rows[:, 6]}
