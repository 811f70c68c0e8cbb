"""Ranks that are processes, with any kind of messages: pages that a node shares, groups, and how to wait.

Waiting is a loop that polls, yields the core, and later naps: so a waiting rank always learns that another has failed,
which a blocking call would not, and there may be more ranks than cores.

A waiting rank receives every message that has arrived, whichever group it is for, so that large messages never block
each other. Therefore all groups use the same connections, distinguished by tags.
"""

from __future__ import annotations

import math
import os
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from arcflux.errors import UsageError
from arcflux.spmd.memory import Array
from arcflux.transports import pages
from arcflux.transports.base import YIELDING, YIELDS, Transport, naps
from arcflux.transports.board import Board
from arcflux.transports.collectives import LAST_TAG

__all__ = ["TAG_BITS", "Office", "ProcessTransport"]

_PAGES_TAG = LAST_TAG - 2
# A tag in transit is the number of the group, and in these lower bits the tag within the group.
TAG_BITS = LAST_TAG.bit_length()
# How often a waiting rank polls before it yields its core each time: the rank that it waits for may be on the same
# core, even if others are free. A poll takes a microsecond or two.
_LOOKS = 4
# Messages of a rank that has ended may still be in transit for this many seconds.
UNDER_WAY = 2.0

Member = TypeVar("Member", bound="ProcessTransport")


class Office:
    """What the transports of a process share: received messages, and its groups, whose number is limited."""

    def __init__(self, last_group: int) -> None:
        self.inbox: dict[tuple[int, int], deque[Array]] = {}
        self.members: list[Any] = []
        self.groups: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}
        self.last_group = last_group
        self.next_group = 1


class ProcessTransport(Transport):
    """A rank that is a process."""

    office: Office

    def _settle(self, office: Office) -> None:
        """Set up the transport over all ranks: its shared state, the node's board, the buffers of collectives."""
        self._join(office, 0)
        self.board = Board(self.shared(Board.bytes(self.size), np.uint8), self.size)
        self.board.begin(self.rank, os.getpid())
        self._furnish()

    def _join(self, office: Office, group: int) -> None:
        self.office = office
        self._first_tag = group << TAG_BITS
        office.members.append(self)

    # What each kind of process implements.

    @abstractmethod
    def _give(self, peer: int, raw: list[Array], tag: int) -> None:
        """Send bytes to a rank, without waiting and without counting them."""

    @abstractmethod
    def _take(self, peer: int, tag: int) -> Array:
        """The next message of a rank with this tag; waits for it."""

    def _rest(self, seconds: float) -> None:
        """Pause for so long at most, between polls."""
        time.sleep(seconds)

    # What they share.

    def shared(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """One array of zeros for all ranks of the node: the leader creates pages, the others open them."""
        whole = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(whole) * np.dtype(dtype).itemsize
        others, leader = self.mates[1:], self.mates[0]
        nothing: list[Array] = []
        if self.place:
            process, descriptor = self._take(leader, _PAGES_TAG).view(np.int64).tolist()
            array = pages.mapped(pages.adopt(process, descriptor), whole, dtype)
            self._give(leader, nothing, _PAGES_TAG)
            return array
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

    def collect(self, peer: int, tag: int = 0) -> Array:
        """The next message of a rank with this tag."""
        self._checked(peer, (), tag)
        return self._take(peer, tag)

    def _until(self, done: Callable[[], bool], peer: int | None, transfer: float | None = None) -> None:
        """Poll until `done`: first spinning, then yielding the core, then with naps.

        `transfer`: it is a message in transit, which may take this many seconds.
        """
        looks = _LOOKS if self._spins else 0
        for look in range(looks + YIELDS):
            if done():
                return
            if look >= looks:
                os.sched_yield()
        with self._waiting(transfer or 0.0):
            end, since_gone = time.monotonic_ns() + YIELDING, 0.0
            while time.monotonic_ns() < end:
                if done():
                    return
                os.sched_yield()
            for nap in naps():
                self.check()
                if transfer is None:
                    self._advance()
                if peer is not None and self._left(peer):
                    since_gone = since_gone or time.monotonic()
                    if time.monotonic() - since_gone > UNDER_WAY:
                        raise self._abandoned(peer)
                if done():
                    return
                self._rest(nap)

    def _left(self, peer: int) -> bool:
        """Whether a rank will send nothing more, apart from messages in transit."""
        return self._ended([peer]) is not None

    def split(self, colour: int, key: int, alone: bool = False) -> Transport:
        """The group of the ranks that gave the same colour, in the order of their keys."""
        office = self.office
        ranks, node_of, number = self._group(colour, key, alone, office.next_group)
        names = [self.names[rank] for rank in ranks]
        group = tuple(names), tuple(node_of)
        if group not in office.groups:
            office.groups[group] = self._new_group(ranks.index(self.rank), node_of, names, number)
        group_transport: Transport = office.groups[group]
        return group_transport

    def _new_group(self: Member, rank: int, node_of: list[int], names: list[int], number: int) -> Member:
        """A transport over some ranks. No two groups with two common ranks have the same number."""
        if number > self.office.last_group:
            raise UsageError(f"there are tags for {self.office.last_group} groups of ranks, and all are in use")
        self.office.next_group = number + 1
        transport = type(self).__new__(type(self))
        Transport.__init__(transport, rank, node_of, self.board, names, self._spins == 0)
        transport._join(self.office, number)
        transport._furnish()
        transport.sent = self.sent
        return transport

    def close(self) -> None:
        """End this rank's participation."""
        for each in self.office.members:
            each.finish()
        self.board.end(self.names[self.rank])
