"""A model of exchange as the runner sees it: what it calls between computing and seeing whether that was all."""

from __future__ import annotations

from typing import Protocol

from arcflux.engine.exchange.messages import Traffic
from arcflux.engine.own_part import OwnPart
from arcflux.transports.base import Counts

__all__ = ["Exchange", "Meter"]


class Meter:
    """Counts what a rank sends to other nodes inside its `with` blocks: by the transport's own counters.

    `traffic.values` are the bytes of values among them. A link between GPUs may be one that the transport does not
    count; then places and headers are those that were packed.
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
        """Bytes of values and of all else since this was last asked."""
        traffic, crossed = self.traffic, self._crossed
        if not (crossed or traffic.headers):
            return 0, 0
        self.traffic, self._crossed = Traffic(), 0
        return traffic.values, traffic.total - traffic.values if self._linked else crossed - traffic.values


class Exchange(Protocol):
    """How nodes tell each other what changed. Every rank has one; the calls are collective.

    `name` is the model, `meter` counts its bytes.
    """

    name: str
    meter: Meter

    def take(self, own: OwnPart) -> None:
        """The rank has another part."""

    def send_half(self, half: int) -> None:
        """Send what one half of the own vertices has prepared, while the other half computes; where `own.whole`."""

    def combine(self, step: int) -> None:
        """What was reduced along the edges of parts comes together where vertices are updated; not if `own.whole`."""

    def empty_replicas(self) -> None:
        """What `init` gives to a vertex that several nodes have counts once."""

    def tell_all(self) -> None:
        """What all own vertices send reaches the nodes that read it, also of those that rest; where `own.whole`."""

    def tell(self, step: int, halves: bool) -> None:
        """What changed vertices now send reaches the nodes that read it; if `halves`, both halves are on their way."""
