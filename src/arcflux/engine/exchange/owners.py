"""The exchange `owners`: edges are stored with their sources, and messages are reduced there before they go to owners.

If a split stores edges neither with their sources nor with their targets, owners also send to the nodes that read them.
"""

from __future__ import annotations

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.contributing import contribute
from arcflux.engine.exchange.telling import Telling
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["Owners"]


class Owners:
    """Contributors send to owners, and owners send to readers."""

    name = "owners"

    def __init__(self, worker: PartWorker) -> None:
        self.worker = worker
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._telling = Telling(worker, self.meter)

    def take(self, own: OwnPart) -> None:
        """The part of this rank has changed."""
        self._telling.take()

    def send_half(self, half: int) -> None:
        """Nothing to send: no value is final before all nodes have contributed."""

    def combine(self, step: int) -> None:
        """Send what nodes have reduced for each other to the owners."""
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
        """Nothing to do: no vertex is replicated."""

    def tell_all(self) -> None:
        """Never called: only programs with `around` use it, and their edges are at their targets."""

    def tell(self, step: int, halves: bool) -> None:
        """Send changed values to the nodes that read them."""
        with self.meter:
            self._telling.tell(step, halves)
