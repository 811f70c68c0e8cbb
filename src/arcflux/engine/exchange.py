"""What crosses between nodes: of which vertices, decided once for the parts; and what changed, each superstep.

Owners tell readers: what a vertex sends goes to the nodes that have it as a source (their UDS, equation 9 of the Lux
paper), when it changed. Contributors tell owners: when the in-edges of a vertex are split over nodes, each node reduces
what it has and sends one value. A message is a header, then the places of the vertices on a list that both sides know
(nothing when it is all of them, else numbers or bits, whichever is shorter), then their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.places import chosen_of, taken
from arcflux.graph import Graph
from arcflux.partition import kernels
from arcflux.partition.parts import Part, Parts
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.transports.base import Transport

__all__ = ["Lists", "Traffic", "packed", "rows_of", "serves", "unpacked"]

Array = NDArray[Any]

_ALL, _NUMBERS, _BITS = range(3)
HEADER = 8


@dataclass
class Traffic:
    """Bytes that went to other nodes: values, the places that say whose they are, and headers."""

    values: int = 0
    places: int = 0
    headers: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.values + self.places + self.headers


@dataclass
class Lists:
    """Who tells whom about which vertices. Every pair of ranks that talk has a list that both derive alike.

    `tell[peer]` are own vertices that the peer's node reads, `hear[peer]` those of the peer that this rank takes for
    its node. `give[peer]` are the peer's vertices to which this rank's node contributes, `take[peer]` own vertices to
    which the peer's node does. `read[node]` says of every vertex whether that node has it as a source.
    """

    tell: dict[int, Array] = field(default_factory=dict)
    hear: dict[int, Array] = field(default_factory=dict)
    give: dict[int, Array] = field(default_factory=dict)
    take: dict[int, Array] = field(default_factory=dict)
    read: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, transport: Transport, parts: Parts, part: Part, whole: bool, high: Array | None) -> Lists:
        """The lists of this rank; collective. `high` are vertices that every node has whole, or None."""
        made = cls()
        if transport.nodes == 1:
            return made
        made.read, reached = _presence(transport, parts.graph, part, whole)
        nodes, home, rank = np.asarray(transport.node_of), transport.node, transport.rank
        read = made.read if high is None else [flags & ~high for flags in made.read]
        for peer in range(transport.size):
            there = int(nodes[peer])
            if there == home:
                continue
            if serves(nodes, peer, rank):
                made.tell[peer] = _owned(parts, rank, read[there])
            if serves(nodes, rank, peer):
                made.hear[peer] = _owned(parts, peer, read[home])
            if whole:
                continue
            given, taken = (reached[node] if high is None else reached[node] & ~high for node in (home, there))
            made.give[peer] = _share(_owned(parts, peer, given), nodes, rank)
            made.take[peer] = _share(_owned(parts, rank, taken), nodes, peer)
        return made


def _owned(parts: Parts, i: int, flags: Array) -> Array:
    """Those vertices of part `i` whose flag is set, ascending."""
    if parts.bounds is None:
        found: Array = parts.owned(i)[flags[parts.owned(i)]]
    else:
        begin, end = parts.bounds[i : i + 2].tolist()
        found = (np.flatnonzero(flags[begin:end]) + begin).astype(parts.graph.out.neighbours.dtype)
    return found


def serves(nodes: Array, reader: int, owner: int) -> bool:
    """Whether this reader is the one of its node that hears this owner."""
    mates = np.flatnonzero(nodes == nodes[reader])
    return int(mates[owner % len(mates)]) == reader


def _share(vertices: Array, nodes: Array, rank: int) -> Array:
    """The vertices for which this rank of its node speaks."""
    mates = np.flatnonzero(nodes == nodes[rank])
    spoken: Array = vertices[vertices % vertices.dtype.type(len(mates)) == np.searchsorted(mates, rank)]
    return spoken


def _presence(transport: Transport, graph: Graph, part: Part, whole: bool) -> tuple[list[Array], list[Array]]:
    """For each node, which vertices its parts have as sources, and unless vertices are whole which as targets."""
    offsets, neighbours = part.into
    sources = neighbours[int(offsets[0]) : int(offsets[-1])]
    sides = [sources] if whole else [sources, part.targets]
    seen = np.zeros((len(sides), transport.nodes, -(-graph.vertices // 8)), np.uint8)
    for side, vertices in enumerate(sides):
        flags = np.zeros(graph.vertices, bool)
        run(kernels.mark, -(-len(vertices) // kernels.LIST), frozen(vertices), flags, threads=1)
        seen[side, transport.node] = np.packbits(flags)
    everywhere = transport.reduce(seen.reshape(-1), "or").reshape(seen.shape)
    found = np.unpackbits(everywhere, axis=2, count=graph.vertices).view(bool)
    return list(found[0]), list(found[-1])


def packed(
    vertices: Array, chosen: Array, values: Callable[[Array], list[Array]], traffic: Traffic
) -> tuple[list[Array], Array]:
    """A message about those of `vertices` that are chosen (a mask), as arrays to post; and those vertices."""
    count = int(np.count_nonzero(chosen))
    some = chosen_of(vertices, chosen, count) if count < len(vertices) else vertices
    places = [] if count == 0 else _places(chosen, count)
    kind = _ALL if count == 0 or count == len(vertices) else (_NUMBERS if places[0].dtype == np.uint32 else _BITS)
    header = np.array([kind, count], np.uint32)
    sent = values(some) if count else []
    traffic.headers += HEADER
    traffic.places += sum(array.nbytes for array in places)
    traffic.values += sum(array.nbytes for array in sent)
    return [header, *places, *sent], some


def _places(chosen: Array, count: int) -> list[Array]:
    """Where the chosen ones are: nothing for all, else numbers or bits."""
    if count == len(chosen):
        return []
    if 4 * count <= -(-len(chosen) // 8):
        return [np.flatnonzero(chosen).astype(np.uint32)]
    return [np.packbits(chosen)]


def unpacked(message: Array, vertices: Array, like: list[Array]) -> tuple[Array, list[Array]]:
    """The vertices that a message is about, and their values: for each array of `like`, rows of its kind."""
    kind, count = (int(word) for word in np.frombuffer(message, np.uint32, 2))
    if not count:
        return vertices[:0], [array[:0] for array in like]
    place = HEADER
    if kind == _ALL:
        some = vertices
    elif kind == _NUMBERS:
        some = taken(vertices, np.frombuffer(message, np.uint32, count, place))
        place += 4 * count
    else:
        size = -(-len(vertices) // 8)
        bits = np.unpackbits(np.frombuffer(message, np.uint8, size, place), count=len(vertices))
        some = chosen_of(vertices, bits.view(bool), count)
        place += size
    return some, list(rows_of(message, place, count, like))


def rows_of(message: Array, place: int, count: int, like: list[Array]) -> Iterator[Array]:
    """The values in a message from a place on: for each array of `like`, so many rows of its kind."""
    for array in like:
        length = count * int(np.prod(array.shape[1:], dtype=np.int64))
        values = np.frombuffer(message, array.dtype, length, place)
        place += values.nbytes
        yield values.reshape(count, *array.shape[1:])
