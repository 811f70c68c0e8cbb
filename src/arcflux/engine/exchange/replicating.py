"""Vertices that every node has: their accumulators are reduced over all nodes, and every node updates them.

One rank of each node communicates for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.check.tuples import TUPLES
from arcflux.engine.exchange.base import Meter
from arcflux.engine.part_worker import PartWorker
from arcflux.engine.totals import identity

__all__ = ["Replicas"]

Array = NDArray[Any]


class Replicas:
    """The vertices that every node has, given by flags."""

    def __init__(self, worker: PartWorker, flags: Array, meter: Meter) -> None:
        transport = worker.transport
        self.worker, self.meter = worker, meter
        self.vertices = np.flatnonzero(flags)
        self.leaders = transport.split(min(1, transport.place), transport.rank)

    def reduce(self, step: int) -> None:
        """Reduce accumulators over all nodes. Stamps and accumulators are those of the host."""
        worker, high = self.worker, self.vertices
        if worker.transport.nodes == 1 or worker.transport.place > 0:
            return
        state, mark = worker.state, worker.state.mark(step)
        came = state.stamp[high] == mark
        anywhere = self.leaders.reduce(came.astype(np.uint8), "max").astype(bool) if worker.lowered.sparse else came
        for group, operation in worker.lowered.groups.items():
            before = self.meter.sent
            self._reduce_tuple(group, operation)
            self.meter.traffic.values += self.meter.sent - before
        for name, array in state.accumulators.items():
            if worker.lowered.reductions[name].group:
                continue
            operation, mine = worker.lowered.reductions[name].operation, array[high]
            before = self.meter.sent
            if operation == "any":
                mine = np.where(came, mine, identity("max", array.dtype))
                array[high] = np.where(anywhere, self.leaders.reduce(mine, "max"), array[high])
            else:
                array[high] = self.leaders.reduce(np.ascontiguousarray(mine), operation).reshape(mine.shape)
            self.meter.traffic.values += self.meter.sent - before
        state.stamp[high[anywhere]] = mark

    def _reduce_tuple(self, group: tuple[str, ...], operation: str) -> None:
        """Reduce tuples element by element: in each next element, only the best so far count."""
        high, accumulators = self.vertices, self.worker.state.accumulators
        best = np.ones(len(high), bool)
        for name in group:
            array = accumulators[name]
            mine = np.where(best, array[high], identity(operation, array.dtype))
            reduced = self.leaders.reduce(np.ascontiguousarray(mine), TUPLES[operation]).reshape(mine.shape)
            best &= (mine == reduced) | (np.isnan(mine) & np.isnan(reduced))  # a vertex keeps its own NaN
            array[high] = reduced

    def leave_to_one(self) -> None:
        """Count the values that init gives to replicated vertices on the first node only."""
        worker = self.worker
        everywhere, state = worker.own.everywhere, worker.state
        if worker.transport.node > 0 and len(everywhere):
            worker.calls.fetch(*state.accumulators.values())
            for name in state.accumulators:
                state.empty(name, everywhere)
            worker.calls.changed(*state.accumulators.values())
