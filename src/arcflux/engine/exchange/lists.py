"""Send and receive lists: which ranks send which vertices to which, computed once for the parts.

Owners send to readers: the message of a changed vertex goes to the nodes that have it as a source (their UDS, equation
9 of the Lux paper). Contributors send to owners: if the in-edges of a vertex are split over nodes, each node reduces
its own and sends one value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.partition import kernels
from arcflux.partition.parts import Part, Parts
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.transports.base import Transport

__all__ = ["Lists", "known_lists", "serves"]

Array = NDArray[Any]


@dataclass
class Lists:
    """Send and receive lists of vertices. Both ranks of a pair derive the same list.

    `tell[peer]`: own vertices that the peer's node reads; `hear[peer]`: vertices of the peer that this rank receives
    for its node. `give[peer]`: the peer's vertices to which this rank's node contributes; `take[peer]`: own vertices to
    which the peer's node does. `read[node]`: flags of the vertices that the node has as sources.
    """

    tell: dict[int, Array] = field(default_factory=dict)
    hear: dict[int, Array] = field(default_factory=dict)
    give: dict[int, Array] = field(default_factory=dict)
    take: dict[int, Array] = field(default_factory=dict)
    read: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, transport: Transport, parts: Parts, part: Part, whole: bool, high: Array | None) -> Lists:
        """The lists of this rank; collective. `high` flags vertices that every node has, or is None."""
        lists = cls()
        if transport.nodes == 1:
            return lists
        lists.read, reached = _presence(transport, parts.graph, part, whole)
        nodes, home, rank = np.asarray(transport.node_of), transport.node, transport.rank
        read = lists.read if high is None else [flags & ~high for flags in lists.read]
        for peer in range(transport.size):
            there = int(nodes[peer])
            if there == home:
                continue
            if serves(nodes, peer, rank):
                lists.tell[peer] = _owned(parts, rank, read[there])
            if serves(nodes, rank, peer):
                lists.hear[peer] = _owned(parts, peer, read[home])
            if whole:
                continue
            given, taken = (reached[node] if high is None else reached[node] & ~high for node in (home, there))
            lists.give[peer] = _share(_owned(parts, peer, given), nodes, rank)
            lists.take[peer] = _share(_owned(parts, rank, taken), nodes, peer)
        return lists


def known_lists(transport: Transport, parts: Parts, part: Part, whole: bool, replicated: Array | None) -> Lists:
    """The lists of this rank, computed once for these parts and nodes; collective."""
    key = ("lists", *transport.node_of.tolist())
    if replicated is not None or key not in part.kept:
        computed = Lists.of(transport, parts, part, whole, replicated)
        if replicated is not None:
            return computed
        part.kept[key] = computed
    lists: Lists = part.kept[key]
    return lists


def _owned(parts: Parts, i: int, flags: Array) -> Array:
    """The vertices of part `i` whose flag is set, ascending."""
    if parts.bounds is None:
        owned: Array = parts.owned(i)[flags[parts.owned(i)]]
    else:
        begin, end = parts.bounds[i : i + 2].tolist()
        owned = (np.flatnonzero(flags[begin:end]) + begin).astype(parts.graph.number_type)
    return owned


def serves(nodes: Array, reader: int, owner: int) -> bool:
    """Whether this reader is the rank of its node that receives from this owner."""
    mates = np.flatnonzero(nodes == nodes[reader])
    return int(mates[owner % len(mates)]) == reader


def _share(vertices: Array, nodes: Array, rank: int) -> Array:
    """The vertices for which this rank of its node communicates."""
    mates = np.flatnonzero(nodes == nodes[rank])
    share: Array = vertices[vertices % vertices.dtype.type(len(mates)) == np.searchsorted(mates, rank)]
    return share


def _presence(transport: Transport, graph: Graph, part: Part, whole: bool) -> tuple[list[Array], list[Array]]:
    """For each node, which vertices its parts have as sources, and, unless `whole`, which as targets."""
    offsets, neighbours = part.into
    sources = neighbours[int(offsets[0]) : int(offsets[-1])]
    sides = [sources] if whole else [sources, part.targets]
    packed_flags = np.zeros((len(sides), transport.nodes, -(-graph.vertices // 8)), np.uint8)
    for side, vertices in enumerate(sides):
        flags = np.zeros(graph.vertices, bool)
        run(kernels.mark, -(-len(vertices) // kernels.LIST), frozen(vertices), flags, threads=1)
        packed_flags[side, transport.node] = np.packbits(flags)
    everywhere = transport.reduce(packed_flags.reshape(-1), "or").reshape(packed_flags.shape)
    present = np.unpackbits(everywhere, axis=2, count=graph.vertices).view(bool)
    return list(present[0]), list(present[-1])
