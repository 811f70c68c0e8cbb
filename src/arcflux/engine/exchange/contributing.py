"""Contributors send to owners: each node reduces the in-edges that it has of a vertex, and sends one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.messages import packed, unpacked
from arcflux.engine.exchange.places import put, taken
from arcflux.engine.part_worker import PartWorker

__all__ = ["contribute"]

Array = NDArray[Any]

_TAG = 1
_COMBINE = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or,
            "and": np.bitwise_and, "any": None}  # fmt: skip


def contribute(worker: PartWorker, meter: Meter, step: int) -> None:
    """Send to owners what this node has reduced for vertices of other nodes; receive what others have reduced.

    Stamps and accumulators are those of the host.
    """
    state, lowered, transport = worker.state, worker.lowered, worker.transport
    arrays, mark = list(state.accumulators.values()), state.mark(step)
    for peer, vertices in worker.own.lists.give.items():
        chosen = state.stamp[vertices] == mark if lowered.sparse else np.ones(len(vertices), bool)
        message, some = packed(vertices, chosen, lambda some: [taken(a, some) for a in arrays], meter.traffic)
        transport.post(peer, message, tag=_TAG)
        for name in state.accumulators:
            state.empty(name, some)
    for peer, vertices in worker.own.lists.take.items():
        some, values = unpacked(transport.collect(peer, tag=_TAG), vertices, arrays)
        came = dict(zip(state.accumulators, values, strict=True))
        for group, operation in lowered.groups.items():
            _combine_tuple(state.accumulators, some, came, group, operation)
        for (name, array), value in zip(state.accumulators.items(), values, strict=True):
            if lowered.reductions[name].group:
                continue
            combine = _COMBINE[lowered.reductions[name].operation]
            put(array, some, value if combine is None else combine(taken(array, some), value))
        state.stamp[some] = mark


def _combine_tuple(
    accumulators: Mapping[str, Array], some: Array, came: Mapping[str, Array], group: tuple[str, ...], operation: str
) -> None:
    """Replace tuples of own vertices by received ones that are better."""
    wins, equal = np.zeros(len(some), bool), np.ones(len(some), bool)
    for name in group:
        have, new = taken(accumulators[name], some), came[name]
        wins |= equal & (new < have if operation == "least" else new > have)
        equal &= new == have
    for name in group:
        put(accumulators[name], some, np.where(wins, came[name], taken(accumulators[name], some)))
