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
    """Every node updates every vertex, from the reduction over all nodes."""

    name = "allreduce"

    def __init__(self, worker: PartWorker, replicated: NDArray[Any]) -> None:
        self.worker = worker
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._replicas = Replicas(worker, replicated, self.meter)

    def take(self, own: OwnPart) -> None:
        """Nothing to do: every node has all vertices, so parts do not move."""

    def send_half(self, half: int) -> None:
        """Nothing to send: no value is final before all nodes have reduced."""

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
        """Count the values that init gives to replicated vertices on the first node only."""
        self._replicas.leave_to_one()

    def tell_all(self) -> None:
        """Never called: only programs with `around` use it, and their edges are at their targets."""

    def tell(self, step: int, halves: bool) -> None:
        """Nothing to send: every node has computed what all vertices send."""
        self.worker.forget_changes(self.worker.changed_vertices())
