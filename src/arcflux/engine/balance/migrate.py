"""Moving the bounds of parts during a run (Lux, section 5, steps 3 to 6).

Within a node all memory is shared, and a vertex changes its part just by being in another range. Between nodes its
state moves with it, and its in-edges bring sources that the node did not read before: their owners send the current
messages of these.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.agreement import Agreement
from arcflux.engine.balance.plan import Prices, moves
from arcflux.engine.balance.schedule import Balance, urgent
from arcflux.engine.exchange.base import Exchange
from arcflux.engine.exchange.messages import packed, unpacked
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker
from arcflux.partition.parts import Parts
from arcflux.spmd.memory import frozen

__all__ = ["Balancer"]

Array = NDArray[Any]


# Seconds per in-edge of a part, to rebuild send and receive lists, and out-edges.
_LISTED, _TURNED = 3e-9, 20e-9
_TAG = 3


class Balancer:
    """Observes the times of a run's parts, and moves their bounds when that pays.

    The first rank plans. If that is urgent, the others wait for it and parts move at once. Otherwise they are in the
    next superstep already; `told` then holds the planned bounds, which reach all ranks in the reduction at the end of
    that superstep, and then parts move. `note` says why bounds cannot move, if rebalancing was asked for.
    """

    def __init__(self, worker: PartWorker, exchange: Exchange, how: str, limit: int, network: float | None) -> None:
        """`how`: "auto", "local" or "off"; `limit`: the most supersteps; `network`: bytes a second between nodes."""
        own, transport = worker.own, worker.transport
        self.worker, self.exchange = worker, exchange
        stay = "fields of edges stay with their parts" if worker.lowered.program.edge_fields else ""
        fixed = own.parts.k > 1 and (_why_fixed(own, exchange.name) or stay)
        self.on = how != "off" and own.parts.k > 1 and not fixed and worker.graph.vertices > 0
        self.note = f"rebalance={how!r} moves nothing: {fixed}" if how != "off" and fixed else ""
        self.told: Array | None = None
        self._balance: Balance | None = None
        if self.on and transport.rank == 0:
            offsets = worker.graph.in_offsets
            self._balance = Balance(offsets, transport.node_of, how, _prices(worker, network), limit)

    def after(self, step: int, agreed: Agreement) -> tuple[float, float] | None:
        """Between two supersteps: move to the bounds that all ranks have just received, or plan others.

        The seconds of planning and of moving; None where nothing is balanced.
        """
        if not self.on:
            return None
        new_bounds, planning, migration = agreed.bounds, 0.0, 0.0
        wait = new_bounds is None and urgent(step, agreed.part_seconds)
        # When the others wait, wall time counts. Otherwise they go on and may use this rank's core, so CPU time counts.
        clock = time.perf_counter if wait else time.thread_time
        if self._balance is not None:
            computed = clock()
            self._balance.note(np.asarray(self.worker.own.parts.bounds), agreed.part_seconds)
            self.told = None if new_bounds is not None else self._balance.plan(step)
            planning = clock() - computed
        if wait:
            new_bounds, self.told = self._awaited(), None
        if new_bounds is not None:
            begun = time.perf_counter()
            with self.exchange.meter:
                self._move(step, new_bounds)
            migration = time.perf_counter() - begun
            if self._balance is not None:
                self._balance.moved(migration)
        return planning, migration

    def _awaited(self) -> Array | None:
        """The bounds that the first rank has just planned, if any, on all ranks."""
        bounds = np.zeros(self.worker.own.parts.k + 1, np.int64)
        if self.told is not None:
            bounds[:] = self.told
        bounds = self.worker.transport.broadcast(bounds, 0)
        return bounds if bounds[-1] > 0 else None

    def _move(self, step: int, new: Array) -> None:
        worker, transport, state, parts = self.worker, self.worker.transport, self.worker.state, self.worker.own.parts
        assert parts.bounds is not None
        worker.calls.fetch()
        readers, kind = worker.own.lists.read, worker.own.mine.dtype
        arrays = [*state.fields.values(), *state.accumulators.values(), state.pending, *state.sent(later=True)]
        for move in moves(parts.bounds, new, worker.graph.in_offsets, transport.node_of):
            if move.far and transport.rank in (move.source, move.target):
                vertices = np.arange(move.begin, move.end, dtype=kind)
                if transport.rank == move.source:
                    self._give(step, vertices, arrays, move.target)
                else:
                    self._receive(step, vertices, arrays, move.source)
        transport.finish()
        transport.barrier()
        own = OwnPart.take(Parts(worker.graph, parts.k, parts.how, bounds=new), None, transport, worker.lowered.columns)
        worker.take(own)
        self.exchange.take(own)
        for peer, vertices in own.lists.tell.items():
            self._give(step, vertices[~readers[int(transport.node_of[peer])][vertices]], [], peer)
        for peer, vertices in own.lists.hear.items():
            self._receive(step, vertices[~readers[transport.node][vertices]], [], peer)
        transport.finish()
        worker.calls.changed()
        transport.barrier()

    def _give(self, step: int, vertices: Array, state: list[Array], peer: int) -> None:
        """Send vertices to their new owner: state, current messages, and whether they are in the frontier."""
        worker = self.worker
        arrays = [*state, *worker.state.sent()]
        waiting = _among(worker.state.bits_at(step + 1), vertices)
        everyone, traffic = np.ones(len(vertices), bool), self.exchange.meter.traffic
        message, _ = packed(vertices, everyone, lambda some: [*(array[some] for array in arrays), waiting], traffic)
        worker.transport.post(peer, message, tag=_TAG)

    def _receive(self, step: int, vertices: Array, state: list[Array], peer: int) -> None:
        """Receive vertices from another rank."""
        worker = self.worker
        arrays = [*state, *worker.state.sent()]
        message = worker.transport.collect(peer, tag=_TAG)
        some, values = unpacked(message, vertices, [*arrays, worker.state.pending])
        for array, value in zip(arrays, values[:-1], strict=True):
            array[some] = value
        if worker.lowered.sparse:
            waiting = values[-1] & ~_among(worker.state.bits_at(step + 1), some)
            worker.join_frontier(step + 1, frozen(some[waiting]))


def _why_fixed(own: OwnPart, exchange: str) -> str:
    """Why the bounds of these parts cannot move; "" if they can."""
    if not own.whole:
        return f"with exchange {exchange}, in-edges of a vertex are at several parts"
    if own.parts.bounds is None:
        return f"parts by {own.parts.how} are no ranges of vertices"
    if own.parts.duplicated:
        return "parts have copies of vertices"
    return "" if own.parts.graph.whole else "the edges of a part are with its rank alone"


def _among(bits: Array, vertices: Array) -> Array:
    """Which vertices are set in a bitmap."""
    numbers = vertices.astype(np.uint64)
    flags: Array = (bits[numbers >> np.uint64(6)] >> (numbers & np.uint64(63))) & np.uint64(1) != 0
    return flags


def _prices(worker: PartWorker, network: float | None) -> Prices:
    """The costs of an in-edge and a vertex of this run; link speed as of its devices, network speed as measured.

    Until a move was timed, its other costs are estimated: rebuilding send and receive lists if there are several nodes,
    and out-edges for programs that push.
    """
    graph, state, lowered = worker.graph, worker.state, worker.lowered
    arc = graph.into.neighbours.itemsize + sum(graph.in_columns[name].dtype.itemsize for name in lowered.columns)
    arrays = [*state.fields.values(), *state.accumulators.values(), *state.messages]
    vertex = sum(array.nbytes // max(1, len(array)) for array in arrays)
    each = graph.arcs / worker.own.parts.k * (_LISTED * (worker.transport.nodes > 1) + _TURNED * lowered.sparse)
    measured = {"link": worker.device.bandwidth, "network": network}
    rates = {name: rate for name, rate in measured.items() if rate is not None}
    return replace(Prices(arc, vertex, each=each), **rates)
