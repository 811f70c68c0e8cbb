"""Ranks as processes of MPI: buffers only, nothing is pickled, and no call of MPI blocks.

Waiting is a loop that looks, gives the core away, and later naps: a rank that waits can always be told that another has
failed (watch.py does), which a blocking call of MPI could not, and ranks may be more than cores.

A waiting rank takes in every message that has come, whichever group it is for, so that large messages never wait for
each other. Therefore all groups talk over one communicator, told apart by their tags, and MPI makes none of them: it
would send messages of its own over the same communicator, which a waiting rank would take in as well.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from arcflux import config
from arcflux.errors import UsageError
from arcflux.spmd.memory import Array
from arcflux.transports import pages
from arcflux.transports.base import YIELDING, YIELDS, Transport, naps
from arcflux.transports.board import Board
from arcflux.transports.collectives import LAST_TAG
from arcflux.transports.ring import Ring

__all__ = ["MpiTransport"]

_PAGES_TAG = LAST_TAG - 2
# A tag of MPI is the number of the group, and below it, in so many bits, the tag within the group.
_TAG_BITS = LAST_TAG.bit_length()
# How often a waiting rank looks before it gives its core away each time.
_LOOKS = 200
# What a rank that has ended sent may still be under way for so many seconds.
_UNDER_WAY = 2.0
# Bytes a second of a message that is still arriving, and not stuck.
_SLOWEST_LINK = 4e6
# So many times as long as a rank may hang, MPI may take for a call in which it waits by itself.
_CALLS = 3


class _Office:
    """What the transports of a process have in common: the communicator, what has arrived, and the groups."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        self.mpi, self.comm = mpi, comm
        self.status = mpi.Status()
        self.inbox: dict[tuple[int, int], deque[Array]] = {}
        self.members: list[MpiTransport] = []
        self.groups: dict[tuple[tuple[int, ...], tuple[int, ...]], MpiTransport] = {}
        self.last_group = int(mpi.COMM_WORLD.Get_attr(mpi.TAG_UB)) >> _TAG_BITS
        self.next_group = 1


class MpiTransport(Transport):
    """A rank that is a process."""

    def __init__(self, mpi: Any, comm: Any, node_of: Sequence[int], crowded: bool = False) -> None:
        """The transport over all ranks; :meth:`split` makes those of groups."""
        size = len(node_of)
        alone = Board(np.zeros(Board.bytes(size), np.uint8), size)
        super().__init__(comm.Get_rank(), node_of, alone, crowded=crowded)
        self._join(_Office(mpi, comm), 0)
        self.board = Board(self.shared(Board.bytes(size), np.uint8), size)
        self.board.begin(self.rank, os.getpid())
        self._furnish()

    def _join(self, office: _Office, group: int) -> None:
        self._office, self._mpi, self._comm = office, office.mpi, office.comm
        self._first_tag = group << _TAG_BITS
        self._apart: Any = None
        self._sends: list[Any] = []
        self._kept: list[Array] = []
        self.ring: Ring | None = None
        office.members.append(self)

    def _at(self, superstep: int) -> None:
        super()._at(superstep)
        if (ring := self._office.members[0].ring) is not None:
            ring.at(superstep)

    def shared(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """One array of zeros for all ranks of the node: the leader offers pages, the others adopt them."""
        whole = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(whole) * np.dtype(dtype).itemsize
        others, leader = self.mates[1:], self.mates[0]
        nothing: list[Array] = []
        if self.place:
            process, descriptor = self._take(leader, _PAGES_TAG).view(np.int64).tolist()
            found = pages.mapped(pages.adopt(process, descriptor), whole, dtype)
            self._give(leader, nothing, _PAGES_TAG)
            return found
        descriptor = pages.offer(size)
        offered = np.array([os.getpid(), descriptor], np.int64).view(np.uint8)
        for mate in others:
            self._give(mate, [offered], _PAGES_TAG)
        for mate in others:
            self._take(mate, _PAGES_TAG)
        self.finish()
        return pages.mapped(descriptor, whole, dtype)

    def post(self, peer: int, parts: Sequence[Array], tag: int = 0) -> None:
        """Send contiguous arrays to a rank as one message, without waiting."""
        raw = self._checked(peer, parts, tag)
        self.sent.add(sum(map(len, raw)), near=self.node_of[peer] == self.node)
        self._give(peer, raw, tag)

    def _give(self, peer: int, raw: list[Array], tag: int) -> None:
        message = raw[0] if len(raw) == 1 else np.concatenate(raw) if raw else np.empty(0, np.uint8)
        self._sends.append(self._comm.Isend([message, self._mpi.BYTE], self.names[peer], self._first_tag + tag))
        self._kept.append(message)

    def collect(self, peer: int, tag: int = 0) -> Array:
        """The next message of a rank with this tag."""
        self._checked(peer, (), tag)
        return self._take(peer, tag)

    def _take(self, peer: int, tag: int) -> Array:
        inbox, key = self._office.inbox, (self.names[peer], self._first_tag + tag)
        found: Any = None

        def arrived() -> bool:
            nonlocal found
            if inbox.get(key):
                return True
            found = self._comm.Improbe(*key, self._office.status)
            return found is not None

        self._until(arrived, peer)
        return inbox[key].popleft() if found is None else self._received(found)

    def _received(self, found: Any) -> Array:
        """The message that was found last. Its sender may have to do something for it, and may have been stopped."""
        message = np.empty(self._office.status.Get_elements(self._mpi.BYTE), np.uint8)
        arriving = found.Irecv([message, self._mpi.BYTE])
        self._until(arriving.Test, None, transfer=len(message) / _SLOWEST_LINK)
        return message

    def finish(self) -> None:
        """Wait until the arrays of all messages that were posted may change again."""
        if self._sends:
            self._until(lambda: not self._sends or bool(self._mpi.Request.Testall(self._sends)), None)
            self._sends.clear()
            self._kept.clear()

    def _advance(self) -> None:
        """Let messages under way go on, of all groups, while this rank waits for something else.

        Large messages are only taken over when the other side receives them. So a waiting rank takes what has come into
        the inbox: two ranks that both finish what they posted, and collect then, do not wait for each other.
        """
        for each in self._office.members:
            if each._sends and self._mpi.Request.Testall(each._sends):
                each._sends.clear()
                each._kept.clear()
        status = self._office.status
        while (found := self._comm.Improbe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status)) is not None:
            key = status.Get_source(), status.Get_tag()
            self._office.inbox.setdefault(key, deque()).append(self._received(found))

    def _until(self, done: Callable[[], bool], peer: int | None, transfer: float | None = None) -> None:
        """Look until it is done: first awake, then giving the core away, then with naps.

        `transfer`: it is a message on its way, which may take so many seconds.
        """
        looks = _LOOKS if self._spins else 0
        for look in range(looks + YIELDS):
            if done():
                return
            if look >= looks:
                os.sched_yield()
        with self._waiting(transfer or 0.0):
            end, gone = time.monotonic_ns() + YIELDING, 0.0
            while time.monotonic_ns() < end:
                if done():
                    return
                os.sched_yield()
            for nap in naps():
                self.check()
                if transfer is None:
                    self._advance()
                if peer is not None and self._ended([peer]) is not None:
                    gone = gone or time.monotonic()
                    if time.monotonic() - gone > _UNDER_WAY:
                        raise self._abandoned(peer)
                if done():
                    return
                time.sleep(nap)

    def apart(self) -> tuple[Any, Any]:
        """MPI, and a communicator of these ranks that nobody here listens to, made once."""
        if self._apart is None:
            world = self._mpi.COMM_WORLD
            members = world.group.Incl(self.names)
            # MPI waits by itself there, with next to none of a busy core: a rank in it has not stopped.
            with self._waiting(_CALLS * config.hang_seconds()):
                self._apart = world.Create_group(members, tag=self._first_tag)
            members.Free()
        return self._mpi, self._apart

    def split(self, colour: int, key: int, alone: bool = False) -> Transport:
        """The group of the ranks that gave the same colour, in the order of their keys."""
        office = self._office
        ranks, node_of, number = self._group(colour, key, alone, office.next_group)
        names = [self.names[rank] for rank in ranks]
        group = tuple(names), tuple(node_of)
        if group not in office.groups:
            office.groups[group] = self._new_group(ranks.index(self.rank), node_of, names, number)
        return office.groups[group]

    def _new_group(self, rank: int, node_of: list[int], names: list[int], number: int) -> MpiTransport:
        """A transport over some ranks. No two groups that have two ranks in common have the same number."""
        if number > self._office.last_group:
            raise UsageError(f"this MPI has tags for {self._office.last_group} groups of ranks, and all are in use")
        self._office.next_group = number + 1
        made = MpiTransport.__new__(MpiTransport)
        Transport.__init__(made, rank, node_of, self.board, names, self._spins == 0)
        made._join(self._office, number)
        made._furnish()
        made.sent = self.sent
        return made

    def close(self) -> None:
        """This rank needs the others no more."""
        for each in self._office.members:
            each.finish()
        self.board.end(self.names[self.rank])
