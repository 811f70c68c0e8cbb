"""Owners tell readers: what changed becomes what is sent, in the own node at once, in others by messages.

While a part pulls, what the first half of its vertices will send is on its way before the second half is computed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.bins import width
from arcflux.engine.exchange import packed, rows_of, serves, unpacked
from arcflux.engine.node import Node
from arcflux.engine.places import differing, put, taken
from arcflux.spmd.memory import frozen

__all__ = ["Readers"]

Array = NDArray[Any]


class Readers(Node):
    """What a rank tells about its own vertices, and hears for its node.

    `told` has room for those that changed; `early` says whether messages went out while the part computed; `middles`
    are the vertices at which the halves of owners begin.
    """

    told: Array
    early: bool
    middles: dict[int, int]

    def _publish(self, step: int, mine: Array, everywhere: Array) -> None:
        """Own vertices that changed now send what they have prepared."""
        limit = self._limit() if self.lowered.ordered else 0.0
        heads = self.heads[8 * ((step + 1) & 1) :]
        later = [self.bits_at(step + 1), self._queue(step + 1), heads, self.told, self.counts]
        self._each("publish", step, mine, everywhere, limit, *later)

    def _limit(self) -> float:
        """Up to which priority vertices send: the end of the first bucket in which any waits. Collective."""
        least = np.full(self.threads, np.inf)
        self.calls.fetch(self.tally)
        before = self.tally.copy()
        self._call("least", 0, self.mine, least)
        lowest = least.min()
        self._call("least", 0, self.everywhere, least)
        self.tally[:] = before
        lowest = float(self.transport.reduce(np.array([min(lowest, least.min())]), "min")[0])
        return np.inf if lowest == np.inf else (np.floor(lowest / self._width) + 1) * self._width

    @cached_property
    def _width(self) -> float:
        return width(self.lowered, self.graph)

    def _tell(self, step: int) -> None:
        """What own vertices now send goes to the nodes that read them; what others send comes in."""
        self.calls.fetch(self.told, self.counts, self.moves)
        told = self.told[: int(self.counts[1])]
        if not self.early:
            for peer, vertices in self.lists.tell.items():
                self._post(peer, vertices, self._chosen(vertices, told), later=False)
        for peer, everything in self.lists.hear.items():
            for vertices in self._halves(peer, everything) if self.early else [everything]:
                some = self._hear(peer, vertices)
                if self.lowered.sparse and len(some):
                    self.join_frontier(step + 1, frozen(some))
        if self.calls.carrier is not None:
            self.calls.carrier.finish()
        self.transport.finish()
        self.moves[told] = False
        self.calls.changed(self.moves)

    def _post(self, peer: int, vertices: Array, chosen: Array, later: bool) -> None:
        """Tell a rank what the chosen ones of these vertices send, now or next: by hosts, or from device to device."""
        carrier, n = self.calls.carrier, self.graph.vertices
        if carrier is None:
            arrays = [message[n:] if later else message[:n] for message in self.messages]
            message, _ = packed(vertices, chosen, lambda some: [taken(a, some) for a in arrays], self.traffic)
            self.transport.post(peer, message)
            return
        message, some = packed(vertices, chosen, lambda some: [], self.traffic)
        self.transport.post(peer, message)
        self.traffic.values += carrier.send(peer, some, later)

    def _hear(self, peer: int, vertices: Array) -> Array:
        """Take what a rank tells about these vertices; about which of them it was."""
        carrier, n = self.calls.carrier, self.graph.vertices
        now = [message[:n] for message in self.messages] if carrier is None else []
        some, values = unpacked(self.transport.collect(peer), vertices, now)
        for array, value in zip(now, values, strict=True):
            put(array, some, value)
        if carrier is not None:
            carrier.receive(peer, some)
        return some

    def _tell_half(self, half: int) -> None:
        """What own vertices of one half have prepared, if it changed, goes to the nodes that read them."""
        self.calls.fetch(self.moves)
        for peer, everything in self.lists.tell.items():
            vertices = self._halves(self.transport.rank, everything)[half]
            chosen = taken(self.moves, vertices) if self.lowered.sparse else self._differing(vertices)
            self._post(peer, vertices, chosen, True)

    def _differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something else than now."""
        if self.calls.carrier is not None:
            return self.calls.carrier.differing(vertices)
        n = self.graph.vertices
        found = [differing(message[:n], message[n:], vertices) for message in self.messages]
        return found[0] if len(found) == 1 else np.any([np.zeros(len(vertices), bool), *found], axis=0)

    def _halves(self, owner: int, vertices: Array) -> list[Array]:
        """Vertices of an owner: those in the first half of its own, and the others."""
        if owner not in self.middles:
            own = self.parts.owned(owner)
            self.middles[owner] = int(own[len(own) // 2]) if len(own) else 0
        cut = int(np.searchsorted(vertices, vertices.dtype.type(self.middles[owner])))
        return [vertices[:cut], vertices[cut:]]

    def join_frontier(self, step: int, vertices: Array) -> None:
        """Vertices of other nodes are in the frontier of a superstep."""
        heads = self.heads[8 * (step & 1) :]
        self.calls.alone("receive", vertices, self.bits_at(step), self._queue(step), heads)

    def _chosen(self, vertices: Array, told: Array) -> Array:
        """Which of the vertices are among those told."""
        if len(told) * 16 > len(vertices):
            return taken(self.moves, vertices)
        chosen = np.zeros(len(vertices), bool)
        places = np.searchsorted(vertices, told)
        inside = places < len(vertices)
        chosen[places[inside][vertices[places[inside]] == told[inside]]] = True
        return chosen

    def _collected(self) -> dict[str, Array]:
        """All fields of all vertices, in arrays that the node's ranks share; what others own comes from its owners."""
        self.calls.fetch(*self.fields.values())
        transport, arrays = self.transport, list(self.fields.values())
        transport.node_barrier()
        nodes = transport.node_of
        for peer in range(transport.size):
            if nodes[peer] != transport.node and serves(nodes, peer, transport.rank):
                own = self._stretch(transport.rank)
                transport.post(peer, [np.ascontiguousarray(array[own]) for array in arrays], tag=4)
        for peer in range(transport.size):
            if nodes[peer] != transport.node and serves(nodes, transport.rank, peer):
                theirs, message = self._stretch(peer), transport.collect(peer, tag=4)
                count = len(self.parts.owned(peer)) if self.parts.bounds is None else theirs.stop - theirs.start
                for array, values in zip(arrays, rows_of(message, 0, count, arrays), strict=True):
                    array[theirs] = values
        transport.finish()
        transport.node_barrier()
        return {name: self.team.result(array) for name, array in self.fields.items()}

    def _stretch(self, rank: int) -> Any:
        """What picks the vertices of a rank out of an array: a slice where they stand together."""
        if self.parts.bounds is None:
            return self.parts.owned(rank)
        return slice(*self.parts.bounds[rank : rank + 2].tolist())
