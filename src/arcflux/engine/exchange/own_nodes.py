"""Workers that cannot reduce into memory which others of their node reduce into become nodes of their own.

Where in-edges of a vertex are split over parts, workers of a node add to the same accumulators. Atomics of a GPU on
memory of the host are atomic neither for cores nor, without NVLink, for other GPUs: so each GPU has accumulators of its
own, and sends what it has reduced to owners, as nodes do.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from arcflux import trace
from arcflux.transports.base import Transport

__all__ = ["with_own_nodes"]

# Made once and kept, as groups of MPI never go.
_lock = threading.Lock()
_known: WeakKeyDictionary[Transport, dict[tuple[bool, ...], Transport]] = WeakKeyDictionary()


def with_own_nodes(transport: Transport, alone: Sequence[bool]) -> Transport:
    """The same ranks, of which those that `alone` says are nodes of their own; collective.

    Examples
    --------
    >>> from arcflux.transports import run_local
    >>> run_local(3, lambda ranks: with_own_nodes(ranks, [True, False, False]).node)
    [1, 0, 0]
    """
    if not any(own and len(transport.members[node]) > 1 for own, node in zip(alone, transport.node_of, strict=True)):
        return transport
    with _lock:
        made = _known.setdefault(transport, {})
    key = tuple(alone)
    if key not in made:
        if transport.rank == 0:
            trace.note(
                "in-edges of a vertex are split over parts: every GPU becomes a node of its own, which reduces what it "
                "has and sends the sums to owners"
            )
        made[key] = transport.split(0, transport.rank, alone[transport.rank])
    return made[key]
