"""A rank's part of the graph: its vertices, its edges, and its send and receive lists; replaced after a move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.lists import Lists, known_lists
from arcflux.partition.parts import Part, Parts
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["OwnPart"]

Array = NDArray[Any]


@dataclass
class OwnPart:
    """A rank's part, from one move of bounds to the next; `vid` is the dtype of vertices.

    parts: the split it belongs to; part: its arcs; whole: whether it has all in-edges of its vertices; mine: vid[owned
    vertices], without replicated ones; everywhere: vid[this rank's share of the replicated vertices]; targets: vid[rows
    of in-edges]; lists: what to send and receive; columns: those of the edges that the program reads; reached: vid[V]
    and told: vid[mine + everywhere]: buffers for vertices that received and for those that changed.
    """

    parts: Parts
    part: Part
    whole: bool
    mine: Array
    everywhere: Array
    targets: Array
    lists: Lists
    columns: Sequence[str]
    reached: Array
    told: Array

    @classmethod
    def take(cls, parts: Parts, replicated: Array | None, transport: Transport, columns: Sequence[str]) -> OwnPart:
        """The part of this rank; `replicated` flags the vertices that every node has, or is None. Collective."""
        part, own = parts.part(transport.rank), parts.owned(transport.rank)
        everywhere = own[:0]
        if replicated is not None:
            shared = np.flatnonzero(replicated).astype(own.dtype)
            everywhere = np.array_split(shared, len(transport.mates))[transport.place]
            own = own[~replicated[own]]
        whole = parts.placement == "target" and replicated is None
        lists = known_lists(transport, parts, part, whole, replicated)
        reached, changed = (np.empty(size, own.dtype) for size in (parts.graph.vertices, len(own) + len(everywhere)))
        lasting = frozen(own), frozen(everywhere), frozen(part.targets)
        return cls(parts, part, whole, *lasting, lists, columns, reached, changed)

    @property
    def updated(self) -> Array:
        """All vertices that this rank updates."""
        return np.concatenate([self.mine, self.everywhere])

    @cached_property
    def in_edges(self) -> list[Array]:
        """Offsets, neighbours and columns of edges by target, as kernel arguments."""
        return [frozen(array) for array in (*self.part.into, *(self.part.in_columns[name] for name in self.columns))]

    @cached_property
    def out_edges(self) -> list[Array]:
        """The same by source."""
        return [frozen(array) for array in (*self.part.out, *(self.part.out_columns[name] for name in self.columns))]
