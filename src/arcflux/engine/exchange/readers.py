"""The exchange `readers`: all in-edges of a vertex are with its owner, which sends changes to its readers."""

from __future__ import annotations

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.telling import Telling
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker

__all__ = ["Readers"]


class Readers:
    """Owners tell readers, half by half while they pull."""

    name = "readers"

    def __init__(self, worker: PartWorker) -> None:
        self.meter = Meter(worker.transport.sent, worker.linked)
        self._telling = Telling(worker, self.meter)

    def take(self, own: OwnPart) -> None:
        """The rank has another part."""
        self._telling.take()

    def send_half(self, half: int) -> None:
        """Send what one half of the own vertices has prepared."""
        with self.meter:
            self._telling.send_half(half)

    def combine(self, step: int) -> None:
        """Every vertex is reduced where it is updated."""

    def empty_replicas(self) -> None:
        """No vertex is in several nodes."""

    def tell_all(self) -> None:
        """What all own vertices send goes to the nodes that read it."""
        with self.meter:
            self._telling.tell_all()

    def tell(self, step: int, halves: bool) -> None:
        """What changed goes to the nodes that read it."""
        with self.meter:
            self._telling.tell(step, halves)
