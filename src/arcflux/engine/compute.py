"""What a rank computes in a superstep: its part pulls or pushes, vertices are updated, what they send is published."""

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
    """The kernels of a superstep, in their order.

    `halves` says whether what vertices will send went out half by half while the part computed. Then only the node has
    to be told (`publish`), and the exchange to take in what others sent.
    """

    def __init__(self, worker: PartWorker, exchange: Exchange) -> None:
        self.worker, self.exchange = worker, exchange
        self.halves = False
        self._updated = worker.own.mine, worker.own.everywhere
        self.mail = Mailroom(worker, exchange.meter) if worker.lowered.mails else None

    def start(self, step: int = 0) -> None:
        """The state before a superstep as `start` makes it; vertices that are active at first send."""
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
        if looks_at_resting and worker.lowered.program.is_phase:  # whose fields nodes have of their own vertices alone
            self.exchange.tell_all()
            worker.transport.node_barrier()
        self._updated = own.mine, own.everywhere
        self.publish(step - 1)

    def _start_others(self) -> None:
        """Vertices of other nodes start here, too: who looks around sees also those that send nothing at first.

        The ranks of a node share them out, for each may start once only.
        """
        worker, transport = self.worker, self.worker.transport
        far = [rank for rank in range(transport.size) if transport.node_of[rank] != transport.node]
        if far:
            vertices = np.concatenate([worker.own.parts.owned(rank) for rank in far])
            share = np.array_split(vertices, len(transport.mates))[transport.place]
            worker.calls.run("start", 0, frozen(share))
            # What they bring to totals is for their owners to count.
            brought = worker.state.brought
            worker.calls.fetch(*brought)
            for array in brought:
                array[share.astype(np.int64)] = 0.0
            worker.calls.changed(*brought)

    def superstep(self, step: int, pull: bool) -> float:
        """Take the part through a superstep, up to what its vertices will send; the seconds that the device took."""
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
        """Own vertices that changed now send what they have prepared, as their node sees it."""
        worker, state = self.worker, self.worker.state
        own, updated, limit = worker.own, self._updated, 0.0
        if worker.lowered.ordered or step < 0:
            updated = own.mine, own.everywhere
        if worker.lowered.ordered:
            limit = self._limit()
        there = [state.bits_at(step + 1), state.queue_at(step + 1), state.heads_at(step + 1), own.told, state.counts]
        worker.each("publish", step, *updated, limit, *there)

    # --- all messages of a vertex are here

    def _pull(self, step: int) -> float:
        """Own vertices take all their messages: those whose edges are with the device, then block by block.

        What the first half of them will send goes out while the second half computes.
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
        """What the kernel is given that takes own vertices from the place `first` to before `last` through pull."""
        own = self.worker.own
        return [own.mine, np.uint64(first), np.uint64(last), *own.in_edges, self.worker.state.bits_at(step)]

    def _with_mail(self, step: int, mail: Mailroom) -> float:
        """Own vertices look around where there are edges, receive, are updated and send; mail goes to its receivers."""
        worker, own = self.worker, self.worker.own
        self.halves = False
        self._updated = own.mine, own.everywhere
        along = worker.lowered.has_edges
        name, given = ("pull", self._pulling(step, 0, len(own.mine))) if along else ("apply", [own.mine])
        mail.prepare(name, step, *given)
        with worker.device.timed() as took:
            mail.post(name, step, *given)
        mail.deliver(step)
        return took.seconds + (worker.transfer() if along else 0.0)

    def _apply(self, step: int) -> float:
        """Own vertices are updated; there are no messages."""
        worker = self.worker
        self.halves = False
        self._updated = worker.own.mine, worker.own.everywhere
        worker.calls.prepare("apply", step, self._updated[0])
        with worker.device.timed() as applied:
            worker.each("apply", step, *self._updated)
        return applied.seconds

    # --- messages are reduced into accumulators first

    def _reduce(self, step: int, pull: bool) -> float:
        """Messages are reduced along the part's edges, maybe on several nodes; then receivers are updated."""
        worker, calls = self.worker, self.worker.calls
        self.halves = False
        if empties_first(worker.lowered):
            worker.each("empty", step, worker.own.mine, worker.own.everywhere)
            self.exchange.empty_replicas()
            worker.transport.node_barrier()
        name, given = self._gathering(step, pull)
        calls.prepare(name, step, *given)
        with worker.device.timed() as reduced:
            calls.run(name, step, *given)
        if not worker.own.whole:
            self.exchange.combine(step)
        self._updated = self._receivers(step)
        calls.prepare("apply", step, self._updated[0])
        with worker.device.timed() as applied:
            worker.each("apply", step, *self._updated)
        self.exchange.empty_replicas()
        return reduced.seconds + applied.seconds + worker.transfer(worker.pushed_bytes(step) if not pull else None)

    def _gathering(self, step: int, pull: bool) -> tuple[str, list[Any]]:
        """The kernel that reduces messages along the part's edges into accumulators, and what it is given."""
        state, own = self.worker.state, self.worker.own
        listing = [state.stamp, state.mark(step), own.reached, state.counts]
        if pull:
            return "gather", [own.targets, *own.in_edges, state.bits_at(step), *listing]
        self.worker.calls.fetch(state.heads)
        size = int(state.heads_at(step)[0])
        return "push", [state.queue_at(step), size, *own.out_edges, own.whole, *listing]

    def _receivers(self, step: int) -> tuple[Array, Array]:
        """Vertices to update, own ones and the share of those everywhere: that received, or all when all send."""
        state, own, calls = self.worker.state, self.worker.own, self.worker.calls
        if not self.worker.lowered.sparse:
            return own.mine, own.everywhere
        calls.fetch(state.counts)
        if own.whole:
            return frozen(own.reached[: int(state.counts[0])]), own.everywhere
        calls.fetch(state.stamp)
        mark = state.mark(step)
        mine, everywhere = (which[state.stamp[which] == mark] for which in (own.mine, own.everywhere))
        return frozen(mine), frozen(everywhere)

    # --- buckets

    def _limit(self) -> float:
        """Up to which priority vertices send: the end of the first bucket in which any waits. Collective."""
        worker, calls, state = self.worker, self.worker.calls, self.worker.state
        least = np.full(worker.threads, np.inf)
        calls.fetch(state.tally)
        before = state.tally.copy()
        calls.run("least", 0, worker.own.mine, least)
        lowest = least.min()
        calls.run("least", 0, worker.own.everywhere, least)
        state.tally[:] = before
        lowest = float(worker.transport.reduce(np.array([min(lowest, least.min())]), "min")[0])
        # Where a bucket is narrower than numbers are apart, its end is the next number: the first of all always sends.
        end = (np.floor(lowest / self._width) + 1) * self._width
        return np.inf if lowest == np.inf else max(float(end), float(np.nextafter(lowest, np.inf)))

    @cached_property
    def _width(self) -> float:
        return width(self.worker.lowered, self.worker.graph)
