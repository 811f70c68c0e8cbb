"""The end of a run: every node gets the fields of all vertices from their owners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.lists import serves
from arcflux.engine.exchange.messages import rows_of
from arcflux.engine.part_worker import PartWorker
from arcflux.partition.parts import Parts

__all__ = ["collect_fields", "collect_senders"]

Array = NDArray[Any]

_TAG = 4


def collect_fields(worker: PartWorker) -> dict[str, Array]:
    """All fields of all vertices, in arrays that the node's ranks share. Collective."""
    fields = worker.state.fields
    _collect(worker, list(fields.values()))
    return {name: worker.state.team.result(array) for name, array in fields.items()}


def collect_senders(worker: PartWorker, step: int) -> Array | None:
    """The vertices that send in a superstep, or wait for their bucket; None if all send. Collective."""
    state, transport = worker.state, worker.transport
    if not worker.lowered.sparse:
        return None
    bits = state.bits_at(step)
    worker.calls.fetch(bits, state.pending)
    transport.node_barrier()
    own = _stretch(worker.own.parts, transport.rank)
    is_sender = np.unpackbits(bits.view(np.uint8), bitorder="little")[: worker.graph.vertices].astype(np.bool_)
    state.pending[own] = is_sender[own] | (state.pending[own] & worker.lowered.ordered)
    _collect(worker, [state.pending])
    return state.pending.copy()


def _collect(worker: PartWorker, arrays: list[Array]) -> None:
    """Collect the values of all vertices from their owners, in arrays that the node's ranks share. Collective."""
    transport, parts = worker.transport, worker.own.parts
    worker.calls.fetch(*arrays)
    transport.node_barrier()
    nodes = transport.node_of
    for peer in range(transport.size):
        if nodes[peer] != transport.node and serves(nodes, peer, transport.rank):
            own = _stretch(parts, transport.rank)
            transport.post(peer, [np.ascontiguousarray(array[own]) for array in arrays], tag=_TAG)
    for peer in range(transport.size):
        if nodes[peer] != transport.node and serves(nodes, transport.rank, peer):
            theirs, message = _stretch(parts, peer), transport.collect(peer, tag=_TAG)
            count = len(parts.owned(peer)) if parts.bounds is None else theirs.stop - theirs.start
            for array, values in zip(arrays, rows_of(message, 0, count, arrays), strict=True):
                array[theirs] = values
    transport.finish()
    transport.node_barrier()


def _stretch(parts: Parts, rank: int) -> Any:
    """The index of a rank's vertices in an array: a slice if they are contiguous."""
    if parts.bounds is None:
        return parts.owned(rank)
    return slice(*parts.bounds[rank : rank + 2].tolist())
