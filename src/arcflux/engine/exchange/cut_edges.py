"""Fields of edges between nodes: what a superstep writes on a cut edge is sent to the node of its other end.

That node reads it from the reverse edge, or in a phase in the other direction. Both ends have the same list of cut
edges, in in-edge order; unchanged edges are left out of the message, and the receiver carries their values over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.edge_state import EdgeArrays
from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.lists import serves
from arcflux.engine.exchange.messages import packed, rows_of, unpacked
from arcflux.engine.exchange.places import differing, put, taken
from arcflux.engine.part_worker import PartWorker
from arcflux.partition.parts import Parts
from arcflux.spmd.memory import frozen

__all__ = ["CutEdges", "collect_edges"]

Array = NDArray[Any]

_TAG = 5
_COLLECT_TAG = 6


class CutEdges:
    """The cut edges whose fields a rank sends, and those that it receives for its node; empty if no node needs them."""

    def __init__(self, worker: PartWorker, meter: Meter) -> None:
        self.worker, self.meter = worker, meter
        state, program = worker.lowered.edge_state, worker.lowered.program
        self.edges: EdgeArrays = worker.state.edges
        self.mirrored = state.mirrored if state is not None and state.turns else []
        others = state.written if state is not None and program.is_phase else []
        self.alone = [name for name in others if name not in program.mirrored]
        self.tells: dict[int, Array] = {}
        self.hears: dict[int, Array] = {}
        if (self.mirrored or self.alone) and worker.transport.nodes > 1:
            self._list(state is not None and state.against)

    def _list(self, against: bool) -> None:
        """List the cut edges of this rank's rows by receiving rank, and those of other ranks' rows that start here."""
        graph, transport = self.worker.graph, self.worker.transport
        owner = _owners(self.worker.own.parts)
        offsets, neighbours = graph.into
        rows = np.repeat(owner, np.diff(offsets).astype(np.int64))
        ends = owner[neighbours]
        for peer in range(transport.size):
            if transport.node_of[peer] == transport.node:
                continue
            sent = np.flatnonzero((rows == transport.rank) & (ends == peer))
            received = np.flatnonzero((rows == peer) & (ends == transport.rank))
            self.tells[peer], self.hears[peer] = (self._arcs(places, against) for places in (sent, received))

    def _arcs(self, places: Array, against: bool) -> Array:
        """In-edges of the graph as the phase sees it, as positions in the field arrays."""
        if against:
            return frozen(self.edges.place[places])
        return frozen(places.astype(np.uint32 if self.worker.graph.arcs < 1 << 32 else np.uint64))

    def tell(self) -> None:
        """Send what the superstep wrote; collective, after all ranks of the node have computed."""
        if not self.tells and not self.hears:
            return
        worker, transport, edges = self.worker, self.worker.transport, self.edges
        names = [*self.mirrored, *self.alone]
        later = [edges.current(name, later=True) for name in names]
        worker.calls.fetch(*later)
        with self.meter:
            for peer, arcs in self.tells.items():
                if len(arcs):
                    message, _ = packed(arcs, self._changed(arcs), lambda some: _rows(later, some), self.meter.traffic)
                    transport.post(peer, message, tag=_TAG)
            for peer, arcs in self.hears.items():
                if len(arcs):
                    self._hear(arcs, transport.collect(peer, tag=_TAG), later)
            transport.finish()
        worker.calls.changed(*later)

    def _changed(self, arcs: Array) -> Array:
        """Which of the edges differ from what the other node has."""
        changed = np.full(len(arcs), bool(self.alone))
        for name in self.mirrored:
            changed |= differing(self.edges.current(name), self.edges.current(name, later=True), arcs)
        return changed

    def _hear(self, arcs: Array, message: Array, later: list[Array]) -> None:
        for name in self.mirrored:
            put(self.edges.current(name, later=True), arcs, taken(self.edges.current(name), arcs))
        some, values = unpacked(message, arcs, later)
        for array, value in zip(later, values, strict=True):
            put(array, some, value)


def _rows(arrays: list[Array], some: Array) -> list[Array]:
    return [np.ascontiguousarray(taken(array, some)) for array in arrays]


def _owners(parts: Parts) -> Array:
    """The part of each vertex."""
    owner = np.zeros(parts.graph.vertices, np.int32)
    for part in range(parts.k):
        owner[parts.owned(part)] = part
    return owner


def collect_edges(worker: PartWorker) -> None:
    """At the end of a run: every node gets the fields of all edges from the owners of their targets. Collective."""
    transport, edges = worker.transport, worker.state.edges
    if not edges.arrays:
        return
    arrays = [edges.current(name) for name in edges.arrays]
    worker.calls.fetch(*arrays)
    transport.node_barrier()
    if transport.nodes == 1:
        return
    rows = np.repeat(_owners(worker.own.parts), np.diff(edges.graph.into.offsets).astype(np.int64))
    nodes = transport.node_of
    for peer in range(transport.size):
        if nodes[peer] != transport.node and serves(nodes, peer, transport.rank):
            transport.post(peer, _rows(arrays, np.flatnonzero(rows == transport.rank)), tag=_COLLECT_TAG)
    for peer in range(transport.size):
        if nodes[peer] != transport.node and serves(nodes, transport.rank, peer):
            theirs, message = np.flatnonzero(rows == peer), transport.collect(peer, tag=_COLLECT_TAG)
            for array, values in zip(arrays, rows_of(message, 0, len(theirs), arrays), strict=True):
                array[theirs] = values
    transport.finish()
    transport.node_barrier()
