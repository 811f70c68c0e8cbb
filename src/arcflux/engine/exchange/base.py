"""The interface of an exchange model: what the runner calls between computing and the convergence test."""

from __future__ import annotations

from typing import Protocol

from arcflux.engine.exchange.messages import Traffic
from arcflux.engine.own_part import OwnPart
from arcflux.transports.base import Counts

__all__ = ["Exchange", "Meter"]


class Meter:
    """Counts what a rank sends to other nodes within its `with` blocks, by the transport's own counters.

    `traffic.values`: the bytes of vertex values among them. The transport may not count a link between GPUs; then
    places and headers are counted as they are packed.
    """

    def __init__(self, sent: Counts, linked: bool) -> None:
        self.traffic = Traffic()
        self._sent, self._linked = sent, linked
        self._begun = self._crossed = 0

    def __enter__(self) -> None:
        self._begun = self._sent.bytes

    def __exit__(self, *error: object) -> None:
        self._crossed += self._sent.bytes - self._begun

    @property
    def sent(self) -> int:
        """Bytes that the transport has counted so far."""
        return self._sent.bytes

    def taken(self) -> tuple[int, int]:
        """Bytes of values and other bytes since the last call."""
        traffic, crossed = self.traffic, self._crossed
        if not (crossed or traffic.headers):
            return 0, 0
        self.traffic, self._crossed = Traffic(), 0
        return traffic.values, traffic.total - traffic.values if self._linked else crossed - traffic.values


class Exchange(Protocol):
    """How nodes exchange what changed. Every rank has one; the calls are collective.

    `name`: the model; `meter` counts its bytes.
    """

    name: str
    meter: Meter

    def take(self, own: OwnPart) -> None:
        """The part of this rank has changed."""

    def send_half(self, half: int) -> None:
        """Send the messages of one half of the own vertices, while the other half computes; where `own.whole`."""

    def combine(self, step: int) -> None:
        """Reduce partial results to where vertices are updated; unless `own.whole`."""

    def empty_replicas(self) -> None:
        """Count the values that `init` gives to a replicated vertex only once."""

    def tell_all(self) -> None:
        """Send the messages of all own vertices, active or not, to the nodes that read them; where `own.whole`."""

    def tell(self, step: int, halves: bool) -> None:
        """Send changed values to the nodes that read them; if `halves`, both halves were sent already."""
