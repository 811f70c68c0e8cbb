"""Owners send to readers: changes become visible in the own node at once, in other nodes by messages.

While a part pulls, the messages of the first half of its vertices are sent before the second half is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.messages import packed, unpacked
from arcflux.engine.exchange.places import differing, put, taken
from arcflux.engine.part_worker import PartWorker
from arcflux.spmd.memory import frozen

__all__ = ["Telling"]

Array = NDArray[Any]


class Telling:
    """What a rank sends about its own vertices, and receives for its node."""

    def __init__(self, worker: PartWorker, meter: Meter) -> None:
        self.worker, self.meter = worker, meter
        self._middles: dict[int, int] = {}

    def take(self) -> None:
        """The part of this rank has changed."""
        self._middles.clear()

    def tell(self, step: int, halves: bool) -> None:
        """Send the messages of own vertices to the nodes that read them, and receive those of others."""
        worker = self.worker
        changed, carrier, lists = worker.changed_vertices(), worker.calls.carrier, worker.own.lists
        if not halves:
            for peer, vertices in lists.tell.items():
                self._post(peer, vertices, self._chosen(vertices, changed), later=False)
        for peer, everything in lists.hear.items():
            for vertices in self._halves(peer, everything) if halves else [everything]:
                some = self._hear(peer, vertices)
                if worker.lowered.sparse and len(some):
                    worker.join_frontier(step + 1, frozen(some))
        if carrier is not None:
            carrier.finish()
        worker.transport.finish()
        worker.forget_changes(changed)

    def tell_all(self) -> None:
        """Send all own vertices to the nodes that read them; no vertex joins the frontier by that."""
        worker, lists, carrier = self.worker, self.worker.own.lists, self.worker.calls.carrier
        for peer, vertices in lists.tell.items():
            self._post(peer, vertices, np.ones(len(vertices), bool), later=False)
        for peer, vertices in lists.hear.items():
            self._hear(peer, vertices)
        if carrier is not None:
            carrier.finish()
        worker.transport.finish()

    def send_half(self, half: int) -> None:
        """Send the messages of one half of the own vertices, if they changed, to the nodes that read them."""
        worker = self.worker
        worker.calls.fetch(worker.state.moves)
        for peer, everything in worker.own.lists.tell.items():
            vertices = self._halves(worker.transport.rank, everything)[half]
            chosen = taken(worker.state.moves, vertices) if worker.lowered.sparse else self._differing(vertices)
            self._post(peer, vertices, chosen, later=True)

    def _post(self, peer: int, vertices: Array, chosen: Array, later: bool) -> None:
        """Send a rank the current or next messages of the chosen vertices: through hosts, or from device to device."""
        worker, traffic = self.worker, self.meter.traffic
        carrier = worker.calls.carrier
        if carrier is None:
            arrays = worker.state.sent(later)
            message, _ = packed(vertices, chosen, lambda some: [taken(a, some) for a in arrays], traffic)
            worker.transport.post(peer, message)
            return
        message, some = packed(vertices, chosen, lambda some: [], traffic)
        worker.transport.post(peer, message)
        traffic.values += carrier.send(peer, some, later)

    def _hear(self, peer: int, vertices: Array) -> Array:
        """Receive the messages of these vertices from a rank; returns the vertices that it sent."""
        worker = self.worker
        carrier = worker.calls.carrier
        now = worker.state.sent() if carrier is None else []
        some, values = unpacked(worker.transport.collect(peer), vertices, now)
        for array, value in zip(now, values, strict=True):
            put(array, some, value)
        if carrier is not None:
            carrier.receive(peer, some)
        return some

    def _differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something other than they send now."""
        calls, state = self.worker.calls, self.worker.state
        if calls.carrier is not None:
            return calls.carrier.differing(vertices)
        halves = zip(state.sent(), state.sent(later=True), strict=True)
        differs = [differing(now, later, vertices) for now, later in halves]
        return differs[0] if len(differs) == 1 else np.any([np.zeros(len(vertices), bool), *differs], axis=0)

    def _halves(self, owner: int, vertices: Array) -> list[Array]:
        """Vertices of an owner: those in the first half of its own, and the others."""
        if owner not in self._middles:
            own = self.worker.own.parts.owned(owner)
            self._middles[owner] = int(own[len(own) // 2]) if len(own) else 0
        cut = int(np.searchsorted(vertices, vertices.dtype.type(self._middles[owner])))
        return [vertices[:cut], vertices[cut:]]

    def _chosen(self, vertices: Array, changed: Array) -> Array:
        """Which of the vertices have changed."""
        if len(changed) * 16 > len(vertices):
            return taken(self.worker.state.moves, vertices)
        chosen = np.zeros(len(vertices), bool)
        places = np.searchsorted(vertices, changed)
        inside = places < len(vertices)
        chosen[places[inside][vertices[places[inside]] == changed[inside]]] = True
        return chosen
