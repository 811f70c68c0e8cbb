"""Who reads whose vertices, and telling them: owners send what changed to the nodes that have a neighbour of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.rows import own_rows
from arcflux.engine.exchange import Traffic, packed, unpacked
from arcflux.partition.parts import Parts
from arcflux.spmd.jit import kernel
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["Readers", "whole"]

Array = NDArray[Any]


@kernel
def find_nodes(
    worker: Any, workers: Any, control: Any, begins: Any, ends: Any, neighbours: Any, owner: Any, node_of: Any,
    flags: Any,
) -> None:  # fmt: skip
    """``flags[r, node]``: whether a node owns a neighbour of the row."""
    for r in range(begins.size):
        for i in range(begins[r], ends[r]):
            flags[r, node_of[owner[neighbours[i]]]] = True


@kernel
def find_vertices(worker: Any, workers: Any, control: Any, begins: Any, ends: Any, neighbours: Any, flags: Any) -> None:
    """``flags[v]``: whether a vertex is in some row."""
    for r in range(begins.size):
        for i in range(begins[r], ends[r]):
            flags[neighbours[i]] = True


@dataclass
class Readers:
    """The lists of one rank: `tell[peer]` are own vertices that the peer's node reads, `hear[peer]` what it hears.

    Of each node one rank hears an owner, and writes what it hears into the memory of all. Both sides find the same
    list from their own rows, ascending.
    """

    tell: dict[int, Array] = field(default_factory=dict)
    hear: dict[int, Array] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)

    @classmethod
    def of(cls, transport: Transport, parts: Parts, launch: Launch, *, out: Sequence[bool]) -> Readers:
        """Readers along own rows: out-neighbours where `out` has True, in-neighbours where it has False."""
        made, rank, node_of = cls(), transport.rank, transport.node_of
        if transport.nodes == 1:
            return made
        mine, n = parts.owned(rank), parts.graph.vertices
        read_by = np.zeros((len(mine), transport.nodes), bool)
        read = np.zeros(n, bool)
        for side in out:
            # Whoever reads v among the out-neighbours of its own vertices owns an in-neighbour of v.
            launch(find_nodes, *own_rows(parts, rank, out=not side)[1:], parts.owner, frozen(node_of), read_by)
            for mate in transport.mates:
                rows = own_rows(parts, mate, out=side)[1:]
                find_vertices(0, 1, np.zeros(16, np.int64), *rows, read)
        for peer in range(transport.size):
            if node_of[peer] == transport.node:
                continue
            if _hears(transport, peer, rank):
                made.tell[peer] = mine[read_by[:, node_of[peer]]]
            if _hears(transport, rank, peer):
                theirs = parts.owned(peer)
                made.hear[peer] = theirs[read[theirs]]
        return made

    def copies(self, count: int, vertices: int) -> Readers:
        """The lists of so many copies of a graph, one after the other: vertex v of copy c is ``c * vertices + v``."""
        starts = vertices * np.arange(count, dtype=np.int64)[:, None]
        many = [{peer: (starts + some).reshape(-1) for peer, some in side.items()} for side in (self.tell, self.hear)]
        return Readers(many[0], many[1], self.traffic)

    def exchange(self, transport: Transport, changed: Array, arrays: list[Array], tag: int = 0) -> Array:
        """Tell the values of own vertices that changed (ascending), and write what others tell; whose that are."""
        for peer, vertices in self.tell.items():
            chosen = _among(vertices, changed)
            message, _ = packed(vertices, chosen, lambda some: [array[some] for array in arrays], self.traffic)
            transport.post(peer, message, tag)
        heard = [changed[:0]]
        for peer, vertices in self.hear.items():
            some, values = unpacked(transport.collect(peer, tag), vertices, arrays)
            for array, value in zip(arrays, values, strict=True):
                array[some] = value
            heard.append(some)
        transport.finish()
        return np.concatenate(heard)


def _hears(transport: Transport, reader: int, owner: int) -> bool:
    """Whether this reader is the one of its node that hears this owner."""
    mates = transport.members[int(transport.node_of[reader])]
    return mates[owner % len(mates)] == reader


def _among(vertices: Array, changed: Array) -> Array:
    """Which of the vertices changed; both ascend."""
    chosen = np.zeros(len(vertices), bool)
    places = np.searchsorted(vertices, changed)
    inside = places < len(vertices)
    places = places[inside]
    chosen[places[vertices[places] == changed[inside]]] = True
    return chosen


def whole(transport: Transport, parts: Parts, own: Array) -> Array:
    """The values of all vertices, from what each rank has for those it owns; collective."""
    made = np.empty(parts.graph.vertices, own.dtype)
    for rank, piece in enumerate(transport.gather(own)):
        made[parts.owned(rank)] = piece
    return made
