"""Moving the bounds of parts in the middle of a run (Lux, section 5, steps 3 to 6).

Within a node all is shared, and a vertex changes its part by being in another range. Between nodes its state goes with
it, and with its in-edges come sources that the node did not read before: their owners send what these now send.
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


# Seconds an in-edge of a part: for send and receive lists, and for out-edges.
_LISTED, _TURNED = 3e-9, 20e-9
_TAG = 3


class Balancer:
    """Looks at the times of a run's parts, and moves their bounds when that pays.

    The first rank plans. When that is urgent, the others wait for it, and parts move at once. Else they are in the next
    superstep already; `told` are then the bounds that it has found, which reach all ranks with what they add up at the
    end of that superstep, and then parts move. `note` says why bounds cannot move, if that was asked for.
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
        """Between two supersteps: move to the bounds that all ranks have just heard of, or plan others.

        The seconds that planning and moving took; None where nothing is balanced.
        """
        if not self.on:
            return None
        heard, planning, migration = agreed.bounds, 0.0, 0.0
        wait = heard is None and urgent(step, agreed.part_seconds)
        # What others wait for takes as long as it does. Else they go on, and may have this rank's core meanwhile.
        clock = time.perf_counter if wait else time.thread_time
        if self._balance is not None:
            computed = clock()
            self._balance.note(np.asarray(self.worker.own.parts.bounds), agreed.part_seconds)
            self.told = None if heard is not None else self._balance.plan(step)
            planning = clock() - computed
        if wait:
            heard, self.told = self._awaited(), None
        if heard is not None:
            begun = time.perf_counter()
            with self.exchange.meter:
                self._move(step, heard)
            migration = time.perf_counter() - begun
            if self._balance is not None:
                self._balance.moved(migration)
        return planning, migration

    def _awaited(self) -> Array | None:
        """The bounds that the first rank has found just now, if any, on all ranks."""
        bounds = np.zeros(self.worker.own.parts.k + 1, np.int64)
        if self.told is not None:
            bounds[:] = self.told
        bounds = self.worker.transport.broadcast(bounds, 0)
        return bounds if bounds[-1] > 0 else None

    def _move(self, step: int, new: Array) -> None:
        worker, transport, state, parts = self.worker, self.worker.transport, self.worker.state, self.worker.own.parts
        assert parts.bounds is not None
        worker.calls.fetch()
        known, kind = worker.own.lists.read, worker.own.mine.dtype
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
            self._give(step, vertices[~known[int(transport.node_of[peer])][vertices]], [], peer)
        for peer, vertices in own.lists.hear.items():
            self._receive(step, vertices[~known[transport.node][vertices]], [], peer)
        transport.finish()
        worker.calls.changed()
        transport.barrier()

    def _give(self, step: int, vertices: Array, state: list[Array], peer: int) -> None:
        """Give vertices away: state, what they now send, and whether they are in the frontier."""
        worker = self.worker
        arrays = [*state, *worker.state.sent()]
        waiting = _among(worker.state.bits_at(step + 1), vertices)
        everyone, traffic = np.ones(len(vertices), bool), self.exchange.meter.traffic
        message, _ = packed(vertices, everyone, lambda some: [*(array[some] for array in arrays), waiting], traffic)
        worker.transport.post(peer, message, tag=_TAG)

    def _receive(self, step: int, vertices: Array, state: list[Array], peer: int) -> None:
        """Take vertices that another rank gives."""
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
    found: Array = (bits[numbers >> np.uint64(6)] >> (numbers & np.uint64(63))) & np.uint64(1) != 0
    return found


def _prices(worker: PartWorker, network: float | None) -> Prices:
    """What an in-edge and a vertex of this run weigh; links as fast as its devices say, the network as was measured.

    Until a move was timed, its other costs are estimated: send and receive lists are rebuilt if there are several
    nodes, and so are out-edges for programs that push.
    """
    graph, state, lowered = worker.graph, worker.state, worker.lowered
    arc = graph.into.neighbours.itemsize + sum(graph.in_columns[name].dtype.itemsize for name in lowered.columns)
    arrays = [*state.fields.values(), *state.accumulators.values(), *state.messages]
    vertex = sum(array.nbytes // max(1, len(array)) for array in arrays)
    each = graph.arcs / worker.own.parts.k * (_LISTED * (worker.transport.nodes > 1) + _TURNED * lowered.sparse)
    measured = {"link": worker.device.bandwidth, "network": network}
    known = {name: rate for name, rate in measured.items() if rate is not None}
    return replace(Prices(arc, vertex, each=each), **known)
