"""Moving the bounds of parts in the middle of a run (Lux, section 5, steps 3 to 6).

Within a node all is shared, and a vertex changes its part by being in another range. Between nodes its state goes with
it, and with its in-edges come sources that the node did not read before: their owners send what these now send.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.balance import Balance, urgent
from arcflux.engine.exchange import packed, unpacked
from arcflux.engine.rebalance import Prices, moves
from arcflux.partition.parts import Parts
from arcflux.spmd.memory import frozen

if TYPE_CHECKING:
    from arcflux.engine.parts import PartRun

__all__ = ["Balancer"]

Array = NDArray[Any]


# Seconds an in-edge of a part: for lists of who tells whom, and for out-edges.
_LISTED, _TURNED = 3e-9, 20e-9


class Balancer:
    """Looks at the times of a run's parts, and moves their bounds when that pays.

    The first rank plans. When that is urgent, the others wait for it, and parts move at once. Else they are in the next
    superstep already; `told` are then the bounds that it has found, which reach all ranks with what they add up at the
    end of that superstep, and then parts move.
    """

    def __init__(self, run: PartRun, how: str) -> None:
        self.run, self.how = run, how
        possible = run.whole and run.parts.bounds is not None and run.parts.k > 1 and not run.parts.duplicated
        self.on = how != "off" and possible and run.graph.vertices > 0
        self.planning = self.migration = 0.0
        self.told: Array | None = None
        self.plans = self.on and run.transport.rank == 0
        if self.plans:
            nodes = run.transport.node_of
            self.balance = Balance(run.graph.into.offsets, nodes, how, _prices(run), run.options.limit)

    def after(self, step: int, heard: Array | None) -> None:
        """Between two supersteps: move to the bounds that were `heard`, which all ranks do together, or plan."""
        self.planning = self.migration = 0.0
        if not self.on or self.run.finished:
            return
        wait = heard is None and urgent(step, self.run.part_seconds)
        # What others wait for takes as long as it does. Else they go on, and may have this rank's core meanwhile.
        clock = time.perf_counter if wait else time.thread_time
        if self.plans:
            computed = clock()
            self.balance.note(np.asarray(self.run.parts.bounds), self.run.part_seconds)
            self.told = None if heard is not None else self.balance.plan(step)
            self.planning = clock() - computed
        if wait:
            heard, self.told = self._awaited(), None
        if heard is not None:
            begun = time.perf_counter()
            self._move(step, heard)
            self.migration = time.perf_counter() - begun
            if self.plans:
                self.balance.moved(self.migration)

    def _awaited(self) -> Array | None:
        """The bounds that the first rank has found just now, if any, on all ranks."""
        bounds = np.zeros(self.run.parts.k + 1, np.int64)
        if self.told is not None:
            bounds[:] = self.told
        bounds = self.run.transport.broadcast(bounds, 0)
        return bounds if bounds[-1] > 0 else None

    def _move(self, step: int, new: Array) -> None:
        run, old = self.run, self.run.parts.bounds
        assert old is not None
        run.calls.fetch()
        known = run.lists.read
        prepared = [message[run.graph.vertices :] for message in run.messages]
        state = [*run.fields.values(), *run.accumulators.values(), run.pending, *prepared]
        for move in moves(old, new, run.graph.into.offsets, run.transport.node_of):
            if move.far and run.transport.rank in (move.source, move.target):
                vertices = np.arange(move.begin, move.end, dtype=run.mine.dtype)
                peer = move.target if run.transport.rank == move.source else move.source
                self._send(step, vertices, state, peer, give=run.transport.rank == move.source)
        run.transport.finish()
        run.transport.barrier()
        graph = run.graph
        run.parts = Parts(graph, run.parts.k, run.parts.how, bounds=new)
        run.take_part()
        for peer, vertices in run.lists.tell.items():
            fresh = vertices[~known[int(run.transport.node_of[peer])][vertices]]
            self._send(step, fresh, [], peer, give=True)
        for peer, vertices in run.lists.hear.items():
            fresh = vertices[~known[run.transport.node][vertices]]
            self._send(step, fresh, [], peer, give=False)
        run.transport.finish()
        run.calls.changed()
        run.transport.barrier()

    def _send(self, step: int, vertices: Array, state: list[Array], peer: int, *, give: bool) -> None:
        """Give or take vertices: state, what they now send, and whether they are in the frontier."""
        run, n = self.run, self.run.graph.vertices
        arrays = [*state, *(message[:n] for message in run.messages)]
        bits = run.bits_at(step + 1)
        everyone = np.ones(len(vertices), bool)
        if give:
            waiting = _among(bits, vertices)
            message, _ = packed(
                vertices, everyone, lambda some: [*(array[some] for array in arrays), waiting], run.traffic
            )
            run.transport.post(peer, message, tag=3)
            return
        some, values = unpacked(run.transport.collect(peer, tag=3), vertices, [*arrays, run.pending])
        for array, value in zip(arrays, values[:-1], strict=True):
            array[some] = value
        if run.lowered.sparse:
            run.join_frontier(step + 1, frozen(some[values[-1] & ~_among(bits, some)]))


def _among(bits: Array, vertices: Array) -> Array:
    """Which vertices are set in a bitmap."""
    numbers = vertices.astype(np.uint64)
    found: Array = (bits[numbers >> np.uint64(6)] >> (numbers & np.uint64(63))) & np.uint64(1) != 0
    return found


def _prices(run: PartRun) -> Prices:
    """What an in-edge and a vertex of this run weigh; links as fast as its devices say.

    Until a move was timed, what it costs besides is guessed: who tells whom is found anew where there are several
    nodes, and out-edges are made of in-edges anew for programs that push.
    """
    arc = run.graph.into.neighbours.itemsize + sum(
        run.graph.in_columns[name].dtype.itemsize for name in run.lowered.columns
    )
    arrays = [*run.fields.values(), *run.accumulators.values(), *run.messages]
    vertex = sum(array.nbytes // max(1, len(array)) for array in arrays)
    each = run.graph.arcs / run.parts.k * (_LISTED * (run.transport.nodes > 1) + _TURNED * run.lowered.sparse)
    prices, link = Prices(arc, vertex, each=each), run.device.bandwidth
    return prices if link is None else replace(prices, link=link)
