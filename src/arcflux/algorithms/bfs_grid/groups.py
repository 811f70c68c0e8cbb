"""The groups of a rank's column and of its row: created once and cached, since MPI never frees groups."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from arcflux.partition.parts import Parts
from arcflux.transports.base import Transport

__all__ = ["groups"]

_lock = threading.Lock()
_known: WeakKeyDictionary[Transport, dict[tuple[int, int], tuple[Transport, Transport]]] = WeakKeyDictionary()


def groups(transport: Transport, parts: Parts) -> tuple[Transport, Transport]:
    """The group of ranks with the same targets, by row, and of those with the same sources, by column. Collective."""
    assert parts.shape is not None
    with _lock:
        made = _known.setdefault(transport, {})
    if parts.shape not in made:
        row, column = parts.place(transport.rank)
        made[parts.shape] = transport.split(column, row), transport.split(row, column)
    return made[parts.shape]
