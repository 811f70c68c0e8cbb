"""Push-relabel in rounds, each worker with a share of the vertices: the distributed form of the HIVE study.

Every node has the network, and the labels of all vertices; only the owner of a vertex has the residual capacities of
its arcs. A push across nodes is a message to the owner of its target: the reverse arc, and the amount. Changed labels
are sent to all. So the rounds are those of a single node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.maximum_flow.solver import Solver
from arcflux.validate import arguments

__all__ = ["Rounds", "solver_of"]

Array = NDArray[Any]
# Labels are recomputed after so much work per vertex and arc: rounds use labels of the round before, which gain more by
# exact ones.
_VERTEX, _ARC = 1.5, 0.25


class Rounds(Solver):
    """The state of a flow; `rounds` counts rounds."""

    def _prepare(self) -> None:
        network, n, host = self.network, self.n, self.cores.host
        self.mark, self.raised = self._filled(n, self.kind, 0), host(n, self.kind)
        self.listed, self.found = self._filled(n, np.int32, 0), host(n, network.heads.dtype)
        self.enough = int(_VERTEX * n + _ARC * len(network.heads))
        self.outbox = host(2 * len(network.heads), np.int64).reshape(-1, 2)
        cuts = np.searchsorted(network.offsets, np.array(self.worker.shares.cuts(len(network.heads)), np.uint64))
        cuts[-1] = n
        self.cuts, self.own = cuts, (int(cuts[self.worker.rank]), int(cuts[self.worker.rank + 1]))

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arguments of the kernel of a round."""
        made = self.network
        return (
            made.offsets, made.heads, made.reverse, self.left, self.mark, self.raised, self.excess, self.added,
            self.listed, self.found,
        )  # fmt: skip

    def reaches(self) -> Array:
        """Which vertices can still push to the sink of the last flow."""
        return np.asarray(self.mark < 2 * self.n)

    def arrived(self, sink: int) -> int:
        """How much has reached the sink."""
        mine = self.own[0] <= sink < self.own[1] or self.worker.size == 1
        return int(self.worker.sum(np.array([int(self.added[sink]) if mine else 0]))[0])

    def rows_left(self) -> Array:
        """The residual capacity of every arc, gathered from the owners."""
        if self.worker.size == 1:
            return self.left.copy()
        first, last = (int(self.network.offsets[v]) for v in self.own)
        return self.worker.gather(self.left[first:last].copy())

    def flow(self, without: int, sink: int) -> None:
        """Push all excess that can reach the sink; `without` is left out. Labels are exact at the end."""
        active = np.flatnonzero(self.excess > 0)
        active = active[(active != without) & (active != sink)].astype(self.network.heads.dtype)
        first, last = self.own
        own = active[(active >= first) & (active < last)]
        self._relabel(without, sink)
        work, outbox = 0, self.outbox
        own = self._awake(own)
        while int(self.worker.sum(np.array([len(own)]))[0]):
            self.worker.superstep(self.rounds)
            board = self.cores.small(self.kernels.BOARD)
            listed = self._filled(len(own), own.dtype, own)
            self.cores.launch(self.kernels.discharge, len(own), board, np.int64(self.n), *self.arrays, listed, outbox)
            self.cores.together()
            own = self._settled(own, outbox[: int(board[self.kernels.SENT])], int(board[self.kernels.FOUND]), sink)
            work += int(self.worker.sum(np.array([board[self.kernels.WORK]]))[0])
            self.rounds += 1
            if work > self.enough:
                self._relabel(without, sink)
                own, work = self._awake(own), 0
        self._relabel(without, sink)

    def _awake(self, own: Array) -> Array:
        """Those of the own vertices that can reach the sink; all nodes learn that they are active."""
        own = own[self.mark[own] < 2 * self.n]
        self._tell(own, self.mark[own] + 1)
        return own

    def _settled(self, own: Array, pushed: Array, many: int, sink: int) -> Array:
        """The second half of a round: pushed flow arrives, labels are exchanged; returns the active vertices."""
        first, last = self.own
        made = self.network
        found = self.found[:many].copy()
        ends = made.heads[made.reverse[pushed[:, 0]]]  # the receiver of each push
        abroad = (ends < first) | (ends >= last)
        sent, owners = pushed[abroad], np.searchsorted(self.cuts, ends[abroad], side="right") - 1
        with self.traffic.phase("pushes"):
            pieces = [sent[owners == k].reshape(-1) for k in range(self.worker.size)]
            got = np.concatenate(self.worker.swap(pieces)).reshape(-1, 2)
        reached = made.heads[made.reverse[got[:, 0]]]
        self.cores.together()
        if self.cores.leads:
            self.listed[found] = 0
            self.added[ends[abroad]] = 0
            self.left[got[:, 0]] += got[:, 1]
            np.add.at(self.added, reached, got[:, 1])
        self.cores.together()
        fresh = np.unique(np.concatenate([found[(found >= first) & (found < last)], reached]))
        fresh = fresh[(self.mark[fresh] & 1 == 0) & (fresh != sink)]
        label = self.raised[own].astype(np.int64)
        after = self.excess[own] + self.added[own]
        again = (after > 0) & (label < self.n)
        filled = self.added[fresh].copy()
        self.cores.together()
        if self.cores.leads:
            self.excess[own], self.excess[fresh] = after, self.excess[fresh] + filled
            self.added[own], self.added[fresh] = 0, 0
        self.cores.together()
        marks = np.concatenate([2 * label + again, self.mark[fresh] + 1])
        self._tell(np.concatenate([own, fresh]), marks)
        return np.concatenate([own[again], fresh])

    def _tell(self, vertices: Array, marks: Array) -> None:
        """Send new marks to all nodes: 8 bytes for each that has changed."""
        changed = self.mark[vertices] != marks
        news = np.stack([vertices[changed], marks[changed].astype(np.uint32)], 1).astype(np.uint32)
        with self.traffic.phase("labels"):
            heard = self.worker.gather(news.reshape(-1)).reshape(-1, 2)
        self.cores.together()
        if self.cores.leads:
            self.mark[heard[:, 0]] = heard[:, 1]
        self.cores.together()

    def _relabel(self, without: int, sink: int) -> None:
        """Recompute all labels, by a search from the sink: each node finds its own vertices that push to it."""
        first, last = self.own
        made, never = self.network, 2 * self.n
        self.cores.publish(never, self.mark)
        front, level = np.array([sink]), 0
        while len(front):
            self.cores.together()
            if self.cores.leads:
                self.mark[front] = 2 * level
            self.cores.together()
            begins = made.offsets[front].astype(np.int64)
            counts = made.offsets[front + 1].astype(np.int64) - begins
            arcs = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
            ends = made.heads[arcs].astype(np.int64)
            mine = (ends >= first) & (ends < last) & (ends != without)
            arcs, ends = arcs[mine], ends[mine]
            near = np.unique(ends[(self.mark[ends] == never) & (self.left[made.reverse[arcs]] > 0)])
            with self.traffic.phase("labels"):
                front = self.worker.gather(near.astype(np.uint32)).astype(np.int64)
            level += 1


_METHODS: dict[str, type[Solver]] = {"highest": Solver, "rounds": Rounds}


def solver_of(method: str) -> type[Solver]:
    """The solver of a method's name."""
    if method not in _METHODS:
        raise arguments.unknown_choice("method", method, tuple(_METHODS))
    return _METHODS[method]
