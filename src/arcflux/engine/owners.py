"""Contributors tell owners: when in-edges of a vertex are split, each node reduces what it has, and sends one value.

Vertices that every node has whole have no owner: their accumulators are reduced over all nodes, and every node updates
them by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange import packed, unpacked
from arcflux.engine.node import identity
from arcflux.engine.places import put, taken
from arcflux.engine.readers import Readers
from arcflux.transports.base import Transport

__all__ = ["Owners"]

Array = NDArray[Any]

_COMBINE = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or,
            "and": np.bitwise_and, "any": None}  # fmt: skip


class Owners(Readers):
    """What a rank's node has reduced for others, and what others have for the rank's own vertices.

    `high` are vertices that every node has whole, or None; `leaders` are the ranks that speak for their nodes.
    """

    high: Array | None
    leaders: Transport

    def _contribute(self, step: int) -> None:
        """What this node has reduced for vertices of other nodes goes to their owners, and comes from them."""
        transport, arrays, mark = self.transport, list(self.accumulators.values()), self._mark(step)
        self.calls.fetch(self.stamp, *arrays)
        self._reduce_high(step)
        for peer, vertices in self.lists.give.items():
            chosen = self.stamp[vertices] == mark if self.lowered.sparse else np.ones(len(vertices), bool)
            message, some = packed(vertices, chosen, lambda some: [taken(a, some) for a in arrays], self.traffic)
            transport.post(peer, message, tag=1)
            for name, array in self.accumulators.items():
                array[some] = identity(self.lowered.reductions[name].operation, array.dtype)
        for peer, vertices in self.lists.take.items():
            some, values = unpacked(transport.collect(peer, tag=1), vertices, arrays)
            for (name, array), value in zip(self.accumulators.items(), values, strict=True):
                combine = _COMBINE[self.lowered.reductions[name].operation]
                put(array, some, value if combine is None else combine(taken(array, some), value))
            self.stamp[some] = mark
        self.calls.changed(self.stamp, *arrays)
        transport.finish()
        transport.node_barrier()

    def _reduce_high(self, step: int) -> None:
        """Accumulators of vertices that every node has are reduced over all nodes, by one rank of each."""
        if self.high is None or self.transport.nodes == 1 or self.transport.place > 0:
            return
        high, mark = np.flatnonzero(self.high), self._mark(step)
        came = self.stamp[high] == mark
        anywhere = self.leaders.reduce(came.astype(np.uint8), "max").astype(bool) if self.lowered.sparse else came
        for name, array in self.accumulators.items():
            operation, mine = self.lowered.reductions[name].operation, array[high]
            if operation == "any":
                mine = np.where(came, mine, identity("max", array.dtype))
                array[high] = np.where(anywhere, self.leaders.reduce(mine, "max"), array[high])
            else:
                array[high] = self.leaders.reduce(np.ascontiguousarray(mine), operation).reshape(mine.shape)
            self.traffic.values += mine.nbytes
        self.stamp[high[anywhere]] = mark

    def _leave_init_to_one(self) -> None:
        """What init gives to a vertex that every node has counts once: in the first node."""
        if self.transport.node > 0 and len(self.everywhere):
            self.calls.fetch(*self.accumulators.values())
            for name, array in self.accumulators.items():
                array[self.everywhere] = identity(self.lowered.reductions[name].operation, array.dtype)
            self.calls.changed(*self.accumulators.values())
