"""The exchange `owners`: edges are where they start, and what they bring is reduced there before it goes to the owner.

Where a split puts edges neither with their sources nor with their targets, owners also tell the nodes that read them.
"""

from __future__ import annotations

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.contributing import contribute
from arcflux.engine.exchange.telling import Telling
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["Owners"]


class Owners:
    """Contributors tell owners, and owners tell readers."""

    name = "owners"

    def __init__(self, worker: PartWorker) -> None:
        self.worker = worker
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._telling = Telling(worker, self.meter)

    def take(self, own: OwnPart) -> None:
        """The rank has another part."""
        self._telling.take()

    def send_half(self, half: int) -> None:
        """Nothing is final before all nodes have contributed."""

    def combine(self, step: int) -> None:
        """What nodes have reduced for each other goes to owners."""
        state, calls, transport = self.worker.state, self.worker.calls, self.worker.transport
        transport.node_barrier()
        calls.fetch(state.stamp, *state.accumulators.values())
        with self.meter:
            self._reduce(step)
        calls.changed(state.stamp, *state.accumulators.values())
        transport.finish()
        transport.node_barrier()

    def _reduce(self, step: int) -> None:
        """Send what this node has reduced for vertices of others."""
        contribute(self.worker, self.meter, step)

    def empty_replicas(self) -> None:
        """No vertex is in several nodes."""

    def tell_all(self) -> None:
        """Asked of programs that look around, whose edges are at their targets: not by this model."""

    def tell(self, step: int, halves: bool) -> None:
        """What changed goes to the nodes that read it."""
        with self.meter:
            self._telling.tell(step, halves)
