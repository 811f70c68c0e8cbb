"""The exchange `allreduce`: every node has all vertices, and accumulators are reduced over all nodes."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.replicating import Replicas
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["AllReduce"]


class AllReduce:
    """Every node updates every vertex, from what all have reduced."""

    name = "allreduce"

    def __init__(self, worker: PartWorker, replicated: NDArray[Any]) -> None:
        self.worker = worker
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._replicas = Replicas(worker, replicated, self.meter)

    def take(self, own: OwnPart) -> None:
        """Parts do not move: every node has all vertices."""

    def send_half(self, half: int) -> None:
        """Nothing is final before all nodes have reduced."""

    def combine(self, step: int) -> None:
        """Reduce all vertices over all nodes."""
        state, calls, transport = self.worker.state, self.worker.calls, self.worker.transport
        transport.node_barrier()
        calls.fetch(state.stamp, *state.accumulators.values())
        with self.meter:
            self._replicas.reduce(step)
        calls.changed(state.stamp, *state.accumulators.values())
        transport.node_barrier()

    def empty_replicas(self) -> None:
        """What init gives to a vertex counts in the first node only."""
        self._replicas.leave_to_one()

    def tell_all(self) -> None:
        """Asked of programs that look around, whose edges are at their targets: not by this model."""

    def tell(self, step: int, halves: bool) -> None:
        """Every node knows already what all its vertices send."""
        self.worker.forget_changes(self.worker.changed_vertices())
