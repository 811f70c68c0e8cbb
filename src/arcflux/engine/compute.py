"""What a rank computes in a superstep: its part pulls or pushes, updates its vertices, and publishes what they send."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.bins import width
from arcflux.compile.cpu.parts import empties_first
from arcflux.engine.exchange.base import Exchange
from arcflux.engine.mail import Mailroom
from arcflux.engine.part_worker import PartWorker
from arcflux.spmd.memory import frozen

__all__ = ["Compute"]

Array = NDArray[Any]


class Compute:
    """The kernels of a superstep, in order.

    `halves`: each half of the vertices was sent as soon as it was computed. Then `publish` only has to update the node,
    and the exchange only has to receive.
    """

    def __init__(self, worker: PartWorker, exchange: Exchange) -> None:
        self.worker, self.exchange = worker, exchange
        self.halves = False
        self._updated = worker.own.mine, worker.own.everywhere
        self.mail = Mailroom(worker, exchange.meter) if worker.lowered.mails else None

    def start(self, step: int = 0) -> None:
        """The state before a superstep, computed by `start`; vertices that are active at first send."""
        worker, own = self.worker, self.worker.own
        if step:
            worker.calls.zero(worker.state.tally)
            worker.calls.zero(worker.state.counts)
            worker.clear_frontier(step)
        looks_at_resting = worker.lowered.around is not None and worker.lowered.sparse
        if looks_at_resting and not worker.lowered.program.is_phase:
            self._start_others()
        worker.clear_measures()
        if self.mail is not None:
            self.mail.prepare("start", step, own.mine)
            self.mail.post("start", step, own.mine)
            self.mail.deliver(step - 1)
        else:
            worker.each("start", step, own.mine, own.everywhere)
        self.exchange.empty_replicas()
        worker.transport.node_barrier()
        if looks_at_resting and worker.lowered.program.is_phase:  # nodes have fields of own vertices
            self.exchange.tell_all()
            worker.transport.node_barrier()
        self._updated = own.mine, own.everywhere
        self.publish(step - 1)

    def _start_others(self) -> None:
        """Run `start` for vertices of other nodes, too: neighbours that send nothing at first are also visited.

        The ranks of a node divide them: `start` runs once for each vertex.
        """
        worker, transport = self.worker, self.worker.transport
        other_ranks = [rank for rank in range(transport.size) if transport.node_of[rank] != transport.node]
        if other_ranks:
            vertices = np.concatenate([worker.own.parts.owned(rank) for rank in other_ranks])
            share = np.array_split(vertices, len(transport.mates))[transport.place]
            worker.calls.run("start", 0, frozen(share))
            # Their contributions to totals are counted by their owners.
            contributions = worker.state.brought
            worker.calls.fetch(*contributions)
            for array in contributions:
                array[share.astype(np.int64)] = 0.0
            worker.calls.changed(*contributions)

    def superstep(self, step: int, pull: bool) -> float:
        """Compute a superstep of the part, up to what its vertices will send; returns the seconds of the device."""
        worker, calls = self.worker, self.worker.calls
        calls.zero(worker.state.tally)
        calls.zero(worker.state.counts)
        worker.clear_measures()
        worker.clear_frontier(step + 1)
        if self.mail is not None:
            return self._with_mail(step, self.mail)
        if not worker.lowered.has_edges:
            return self._apply(step)
        if worker.own.whole and pull:
            return self._pull(step)
        return self._reduce(step, pull)

    def publish(self, step: int) -> None:
        """Publish to the node what the changed own vertices have prepared to send."""
        worker, state = self.worker, self.worker.state
        own, updated, limit = worker.own, self._updated, 0.0
        if worker.lowered.ordered or step < 0:
            updated = own.mine, own.everywhere
        if worker.lowered.ordered:
            limit = self._limit()
        there = [state.bits_at(step + 1), state.queue_at(step + 1), state.heads_at(step + 1), own.told, state.counts]
        worker.each("publish", step, *updated, limit, *there)

    # --- all in-edges of a vertex are in this part

    def _pull(self, step: int) -> float:
        """Own vertices pull all their messages: first those whose edges are on the device, then block by block.

        The first half of the vertices is sent while the second half computes.
        """
        worker, own = self.worker, self.worker.own
        streams, size = bool(worker.streamed), len(own.mine)
        self.halves = not worker.lowered.ordered and worker.transport.nodes > 1
        self._updated = own.mine, own.everywhere
        worker.calls.prepare("pull", step, *self._pulling(step, 0, 0))
        placed = worker.placed
        ends = [0, placed.resident, *placed.blocks[1:].tolist()] if streams else [0, size // 2, size]
        with worker.device.timed() as took:
            for piece, (first, last) in enumerate(pairwise(ends)):
                worker.calls.run("pull", step, *self._pulling(step, first, last))
                if self.halves and not streams:
                    self.exchange.send_half(piece)
            if self.halves and streams:
                self.exchange.send_half(0)
                self.exchange.send_half(1)
        return took.seconds + worker.transfer()

    def _pulling(self, step: int, first: int, last: int) -> list[Any]:
        """The arguments of the pull kernel for own vertices from position `first` to before `last`."""
        own = self.worker.own
        return [own.mine, np.uint64(first), np.uint64(last), *own.in_edges, self.worker.state.bits_at(step)]

    def _with_mail(self, step: int, mail: Mailroom) -> float:
        """Visit the edges of own vertices, if any; receive mail, update and send; then deliver the mail."""
        worker, own = self.worker, self.worker.own
        self.halves = False
        self._updated = own.mine, own.everywhere
        along = worker.lowered.has_edges
        name, arguments = ("pull", self._pulling(step, 0, len(own.mine))) if along else ("apply", [own.mine])
        mail.prepare(name, step, *arguments)
        with worker.device.timed() as took:
            mail.post(name, step, *arguments)
        mail.deliver(step)
        return took.seconds + (worker.transfer() if along else 0.0)

    def _apply(self, step: int) -> float:
        """Update own vertices, in a program without messages."""
        worker = self.worker
        self.halves = False
        self._updated = worker.own.mine, worker.own.everywhere
        worker.calls.prepare("apply", step, self._updated[0])
        with worker.device.timed() as applied:
            worker.each("apply", step, *self._updated)
        return applied.seconds

    # --- messages are reduced into accumulators first

    def _reduce(self, step: int, pull: bool) -> float:
        """Reduce messages along the part's edges, possibly on several nodes; then update the receivers."""
        worker, calls = self.worker, self.worker.calls
        self.halves = False
        if empties_first(worker.lowered):
            worker.each("empty", step, worker.own.mine, worker.own.everywhere)
            self.exchange.empty_replicas()
            worker.transport.node_barrier()
        name, arguments = self._gathering(step, pull)
        calls.prepare(name, step, *arguments)
        with worker.device.timed() as reduced:
            calls.run(name, step, *arguments)
        if not worker.own.whole:
            self.exchange.combine(step)
        self._updated = self._receivers(step)
        calls.prepare("apply", step, self._updated[0])
        with worker.device.timed() as applied:
            worker.each("apply", step, *self._updated)
        self.exchange.empty_replicas()
        return reduced.seconds + applied.seconds + worker.transfer(worker.pushed_bytes(step) if not pull else None)

    def _gathering(self, step: int, pull: bool) -> tuple[str, list[Any]]:
        """The kernel that reduces messages along the part's edges into accumulators, and its arguments."""
        state, own = self.worker.state, self.worker.own
        listing = [state.stamp, state.mark(step), own.reached, state.counts]
        if pull:
            return "gather", [own.targets, *own.in_edges, state.bits_at(step), *listing]
        self.worker.calls.fetch(state.heads)
        size = int(state.heads_at(step)[0])
        return "push", [state.queue_at(step), size, *own.out_edges, own.whole, *listing]

    def _receivers(self, step: int) -> tuple[Array, Array]:
        """Vertices to update, own ones and a share of the replicated ones: receivers, or all if dense."""
        state, own, calls = self.worker.state, self.worker.own, self.worker.calls
        if not self.worker.lowered.sparse:
            return own.mine, own.everywhere
        calls.fetch(state.counts)
        if own.whole:
            return frozen(own.reached[: int(state.counts[0])]), own.everywhere
        calls.fetch(state.stamp)
        mark = state.mark(step)
        mine, everywhere = (vertices[state.stamp[vertices] == mark] for vertices in (own.mine, own.everywhere))
        return frozen(mine), frozen(everywhere)

    # --- buckets

    def _limit(self) -> float:
        """The priority up to which vertices send: the end of the first bucket that is not empty. Collective."""
        worker, calls, state = self.worker, self.worker.calls, self.worker.state
        least = np.full(worker.threads, np.inf)
        calls.fetch(state.tally)
        before = state.tally.copy()
        calls.run("least", 0, worker.own.mine, least)
        lowest = least.min()
        calls.run("least", 0, worker.own.everywhere, least)
        state.tally[:] = before
        lowest = float(worker.transport.reduce(np.array([min(lowest, least.min())]), "min")[0])
        # Where a bucket is narrower than the gap between floats, its end is the next float, so that the first vertex
        # always sends.
        end = (np.floor(lowest / self._width) + 1) * self._width
        return np.inf if lowest == np.inf else max(float(end), float(np.nextafter(lowest, np.inf)))

    @cached_property
    def _width(self) -> float:
        return width(self.worker.lowered, self.worker.graph)
