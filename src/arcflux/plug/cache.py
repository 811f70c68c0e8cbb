"""The vertex cache of an agent: which vertices of its table to keep between iterations (GX-Plug, III-B2).

The weight of a vertex decays with every iteration and rises with every use. If the cache is full, the lightest vertices
are evicted (the paper once says those with the highest weight, an erratum); a vertex that has changed since the upper
system last saw it is *dirty*, and is uploaded when evicted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError

__all__ = ["Counts", "VertexCache"]

Array = NDArray[Any]
_AGEING = 0.5


@dataclass
class Counts:
    """Traffic between an agent and its upper system, and between nodes: vertices, bytes and rounds."""

    hits: int = 0
    misses: int = 0
    evicted: int = 0
    downloaded: int = 0
    uploaded: int = 0
    bytes: int = 0
    iterations: int = 0
    synchronisations: int = 0
    skipped: int = 0

    def as_array(self) -> Array:
        """All counts in order, to be added up over nodes."""
        return np.array([getattr(self, one.name) for one in fields(self)], np.int64)

    @classmethod
    def of_array(cls, values: Array) -> Counts:
        """The same from an array."""
        return cls(*values.tolist())


class VertexCache:
    """Which of `size` vertices are in the cache; `capacity` None: all that come, 0: none stay for the next iteration.

    Examples
    --------
    >>> cache = VertexCache(5, capacity=2)
    >>> cache.miss(np.array([0, 1])).tolist(), cache.admit(np.array([0, 1])).tolist()
    ([0, 1], [])
    >>> cache.change(np.array([0])).tolist(), cache.age().tolist()
    ([], [])
    >>> cache.miss(np.array([1])).tolist(), cache.admit(np.array([2])).tolist()  # 0 is lighter, and dirty
    ([], [0])
    """

    def __init__(self, size: int, capacity: int | None = None) -> None:
        if capacity is not None and (not isinstance(capacity, int) or capacity < 0):
            raise UsageError(f"capacity of a cache is {capacity!r}", expected="vertices, from 0 on, or None for all")
        self.capacity = size if capacity is None else capacity
        self.present = np.zeros(size, np.bool_)
        self.dirty = np.zeros(size, np.bool_)
        self.weight = np.zeros(size, np.float32)
        self.counts = Counts()

    def miss(self, which: Array) -> Array:
        """Those of these vertices that have to be downloaded; the others are hits, and gain weight."""
        here = self.present[which]
        self.counts.hits += int(here.sum())
        self.counts.misses += int(len(which) - here.sum())
        self.weight[which[here]] += 1
        return which[~here]

    def admit(self, which: Array) -> Array:
        """Add vertices; returns the dirty ones that were evicted for them. Vertices in use stay, even without room."""
        self.present[which] = True
        self.weight[which] += 1
        return self._evict(int(self.present.sum()) - self.capacity, which) if len(which) else which

    def change(self, which: Array) -> Array:
        """These vertices have values that the upper system does not have; returns the dirty ones evicted."""
        self.dirty[which] = True
        return self.admit(which)

    def clean(self, which: Array) -> None:
        """The upper system has the values of these vertices."""
        self.dirty[which] = False

    def forget(self, which: Array) -> None:
        """Other nodes have newer values of these vertices."""
        self.present[which] = False
        self.weight[which] = 0

    def age(self) -> Array:
        """End an iteration: weights decay, and vertices beyond the capacity are evicted; returns the dirty ones."""
        self.weight *= np.float32(_AGEING)
        return self._evict(int(self.present.sum()) - self.capacity, np.zeros(0, np.int64))

    def _evict(self, many: int, spared: Array) -> Array:
        if many <= 0:
            return np.zeros(0, np.int64)
        candidates = self.present.copy()
        candidates[spared] = False
        found = np.flatnonzero(candidates)
        many = min(many, len(found))
        if not many:
            return found
        lightest = found[np.argpartition(self.weight[found], many - 1)[:many]]
        self.forget(lightest)
        self.counts.evicted += many
        gone = np.sort(lightest[self.dirty[lightest]])
        self.clean(gone)
        return gone
