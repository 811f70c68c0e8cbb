"""Workers that cannot reduce into memory shared with other workers become nodes of their own.

If in-edges of a vertex are split over parts, the workers of a node add to the same accumulators. A GPU's atomics on
host memory are not atomic for cores nor, without NVLink, for other GPUs: so each GPU has its own accumulators, and
sends its partial results to owners, as nodes do.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from arcflux import trace
from arcflux.transports.base import Transport

__all__ = ["with_own_nodes"]

# Created once and cached: groups of MPI are never freed.
_lock = threading.Lock()
_known: WeakKeyDictionary[Transport, dict[tuple[bool, ...], Transport]] = WeakKeyDictionary()


def with_own_nodes(transport: Transport, alone: Sequence[bool]) -> Transport:
    """The same ranks, where those flagged in `alone` are nodes of their own; collective.

    Examples
    --------
    >>> from arcflux.transports import run_local
    >>> run_local(3, lambda ranks: with_own_nodes(ranks, [True, False, False]).node)
    [1, 0, 0]
    """
    if not any(own and len(transport.members[node]) > 1 for own, node in zip(alone, transport.node_of, strict=True)):
        return transport
    with _lock:
        transports = _known.setdefault(transport, {})
    key = tuple(alone)
    if key not in transports:
        if transport.rank == 0:
            trace.note(
                "in-edges of a vertex are split over parts: every GPU becomes a node of its own, which reduces what it "
                "has and sends the sums to owners"
            )
        transports[key] = transport.split(0, transport.rank, alone[transport.rank])
    return transports[key]
