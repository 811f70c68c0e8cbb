"""The exchange `readers`: all in-edges of a vertex are with its owner, which sends changes to its readers."""

from __future__ import annotations

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.telling import Telling
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["Readers"]


class Readers:
    """Owners send to readers, half by half while they pull."""

    name = "readers"

    def __init__(self, worker: PartWorker) -> None:
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._telling = Telling(worker, self.meter)

    def take(self, own: OwnPart) -> None:
        """The part of this rank has changed."""
        self._telling.take()

    def send_half(self, half: int) -> None:
        """Send the messages of one half of the own vertices."""
        with self.meter:
            self._telling.send_half(half)

    def combine(self, step: int) -> None:
        """Nothing to do: every vertex is reduced where it is updated."""

    def empty_replicas(self) -> None:
        """Nothing to do: no vertex is replicated."""

    def tell_all(self) -> None:
        """Send the messages of all own vertices to the nodes that read them."""
        with self.meter:
            self._telling.tell_all()

    def tell(self, step: int, halves: bool) -> None:
        """Send changed values to the nodes that read them."""
        with self.meter:
            self._telling.tell(step, halves)
