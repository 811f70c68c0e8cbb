"""The exchange `mixed`: every node has the vertices of high degree (`allreduce`), the others have owners (`owners`)."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.contributing import contribute
from arcflux.engine.exchange.replicating import Replicas
from arcflux.engine.exchange.telling import Telling
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["Mixed"]


class Mixed:
    """Vertices of high degree are reduced over all nodes; of the others, contributors tell owners."""

    name = "mixed"

    def __init__(self, worker: PartWorker, replicated: NDArray[Any]) -> None:
        self.worker = worker
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._telling = Telling(worker, self.meter)
        self._replicas = Replicas(worker, replicated, self.meter)

    def take(self, own: OwnPart) -> None:
        """The rank has another part."""
        self._telling.take()

    def send_half(self, half: int) -> None:
        """Nothing is final before all nodes have contributed."""

    def combine(self, step: int) -> None:
        """Reduce vertices of high degree over all nodes; what was reduced for others goes to their owners."""
        state, calls, transport = self.worker.state, self.worker.calls, self.worker.transport
        transport.node_barrier()
        calls.fetch(state.stamp, *state.accumulators.values())
        with self.meter:
            self._replicas.reduce(step)
            contribute(self.worker, self.meter, step)
        calls.changed(state.stamp, *state.accumulators.values())
        transport.finish()
        transport.node_barrier()

    def empty_replicas(self) -> None:
        """What init gives to a vertex that every node has counts in the first node only."""
        self._replicas.leave_to_one()

    def tell_all(self) -> None:
        """Asked of programs that look around, whose edges are at their targets: not by this model."""

    def tell(self, step: int, halves: bool) -> None:
        """What changed goes to the nodes that read it."""
        with self.meter:
            self._telling.tell(step, halves)
