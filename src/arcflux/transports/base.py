"""The interface of a rank to the others: shared memory on its node, messages between nodes, collectives.

A *rank* is a worker that owns one part of the graph. Ranks that share memory form a *node*. Every rank runs the same
function, and makes the same collective calls in the same order. A transport implements three things (memory shared by a
node, sending a message, receiving one); everything else here is built from these, so that it is the same on threads and
on MPI, and so that every byte between nodes is counted where it is sent.
"""

from __future__ import annotations

import operator
import os
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import arcflux.transports.collectives as collectives
from arcflux.errors import ArcfluxError, RankError, UsageError
from arcflux.spmd.layout import WORDS
from arcflux.spmd.memory import Array
from arcflux.transports.board import THREW, Board

__all__ = ["NEVER", "Counts", "Transport", "crowded", "naps", "nodes_by_size"]

# How often a waiting rank polls, and yields its core, before the board shows that it waits; and for how many
# nanoseconds it continues to yield before it sleeps between polls. On busy cores each yield may take long.
_SPINS = 2000
YIELDS = 50
YIELDING = 4_000_000
_NAP = 50e-6
_LONGEST_NAP = 1e-3
# The deadline of work without a limit.
NEVER = 1 << 62


def naps() -> Iterator[float]:
    """How long to sleep between polls: longer and longer, up to a millisecond."""
    nap = _NAP
    while True:
        yield nap
        nap = min(1.2 * nap, _LONGEST_NAP)


@dataclass
class Counts:
    """What a rank has sent: messages and bytes to other nodes, and (`near`) to ranks of its own node.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.add(100, near=False)
    >>> counts.messages, counts.bytes, counts.near_messages
    (1, 100, 0)
    """

    messages: int = 0
    bytes: int = 0
    near_messages: int = 0
    near_bytes: int = 0

    def add(self, size: int, near: bool) -> None:
        """Count a message of `size` bytes."""
        if near:
            self.near_messages += 1
            self.near_bytes += size
        else:
            self.messages += 1
            self.bytes += size

    def reset(self) -> None:
        """Restart the counts."""
        self.messages = self.bytes = self.near_messages = self.near_bytes = 0


def nodes_by_size(size: int, ranks_per_node: int | None) -> list[int]:
    """The node of every rank if each node has this many ranks, the last one perhaps fewer; one node for None.

    Examples
    --------
    >>> nodes_by_size(5, 2)
    [0, 0, 1, 1, 2]
    """
    if ranks_per_node is None:
        return [0] * size
    try:
        count = operator.index(ranks_per_node)
    except TypeError:
        count = 0
    if count < 1:
        raise UsageError(f"ranks_per_node is {ranks_per_node!r}", expected="a whole number from 1 on")
    return [rank // count for rank in range(size)]


class Transport(ABC):
    """One rank's connection to the others.

    `kind` is the transport's name in the registry.

    Attributes
    ----------
    rank, size
        The number of this rank, and how many there are.
    node, nodes, node_of
        The number of this rank's node, how many there are, and the node of every rank.
    mates, place
        The ranks of this node, ascending, and the index of this rank in that list. The one at index 0 leads.
    sent
        What this rank has sent so far. Groups made by :meth:`split` count into the same object.
    due
        The deadline of the current work, in nanoseconds of the monotonic clock; see :meth:`limited`.
    """

    kind = "local"

    def __init__(
        self, rank: int, node_of: Sequence[int], board: Board, names: Sequence[int] | None = None, crowded: bool = False
    ) -> None:
        """`names`: the numbers of the ranks in the whole run, if this is a group of it."""
        self.rank = rank
        self.size = len(node_of)
        self.node_of: Array = np.asarray(node_of, np.int64)
        self.node = int(node_of[rank])
        self.nodes = max(node_of) + 1
        members: list[list[int]] = [[] for _ in range(self.nodes)]
        for each, node in enumerate(node_of):
            members[node].append(each)
        self.members = members
        self.leaders = [ranks[0] for ranks in members]
        self.mates = members[self.node]
        self.place = self.mates.index(rank)
        self.sent = Counts()
        self.names = list(names) if names is not None else list(range(self.size))
        self.board = board
        self.due = NEVER
        self._spins = 0 if crowded else _SPINS
        self._pending: collectives.Pending | None = None

    def _furnish(self) -> None:
        """Allocate the memory of collectives; collective over the node, at the end of a transport's own set-up."""
        from arcflux.transports.kernels import meet

        self._meet = meet
        memory = self.shared(2 * WORDS * 8 + collectives.Rooms.bytes(), np.uint8)
        barriers = memory[: 2 * WORDS * 8].view(np.int64).reshape(2, WORDS)
        self._barriers = barriers[0], barriers[1]
        self._rooms = collectives.Rooms(memory[2 * WORDS * 8 :])

    def apart(self) -> tuple[Any, Any] | None:
        """mpi4py's module, and a communicator of these ranks that nothing here receives from; None if it is not MPI.

        It is for memory outside of the host's, which MPI itself must handle. Collective.
        """
        return None

    # What each transport implements.

    @abstractmethod
    def shared(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """One array of zeros for all ranks of the node, each of which has to ask for it. It lives until close."""

    @abstractmethod
    def post(self, peer: int, parts: Sequence[Array], tag: int = 0) -> None:
        """Send contiguous arrays to a rank as one message, without waiting; they may change again after finish."""

    @abstractmethod
    def collect(self, peer: int, tag: int = 0) -> Array:
        """The next message of a rank with this tag, as bytes; waits for it. Messages keep their order."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until the arrays of all messages that were posted may change again."""

    @abstractmethod
    def split(self, colour: int, key: int, alone: bool = False) -> Transport:
        """The group of the ranks with the same colour, ordered by their keys; collective. Call it once per group.

        A rank that is `alone` is a node of its own there, and shares no memory with others.
        """

    @abstractmethod
    def close(self) -> None:
        """End this rank's participation."""

    def abandon(self) -> None:  # noqa: B027
        """After this rank has failed and told the others: release what the transport holds."""

    def _checked(self, peer: int, parts: Sequence[Array], tag: int) -> list[Array]:
        """The arrays of a message as bytes, after checking it."""
        if not 0 <= peer < self.size:
            raise UsageError(f"peer is {peer}", expected=f"a rank from 0 to {self.size - 1}")
        if not 0 <= tag <= collectives.LAST_TAG:
            raise UsageError(f"tag is {tag}", expected=f"a whole number from 0 to {collectives.LAST_TAG}")
        if not all(part.flags.c_contiguous for part in parts):
            raise UsageError("an array of a message is not contiguous", remedy="numpy.ascontiguousarray(array)")
        return [part.reshape(-1).view(np.uint8) for part in parts]

    @abstractmethod
    def _advance(self) -> None:
        """Let messages in transit progress, while this rank waits for something else."""

    def _group(self, colour: int, key: int, alone: bool, number: int = 0) -> tuple[list[int], list[int], int]:
        """The ranks with the same colour, ordered by their keys; their nodes, renumbered; and the highest number that
        any rank passed.
        """
        requests = [each.tolist() for each in self.gather(np.array([colour, key, alone, number], np.int64))]
        ranks = [rank for _, rank in sorted((k, rank) for rank, (c, k, _, _) in enumerate(requests) if c == colour)]
        nodes = [(int(self.node_of[rank]), rank + 1 if requests[rank][2] else 0) for rank in ranks]
        numbers = {node: number for number, node in enumerate(sorted(set(nodes)))}
        return ranks, [numbers[node] for node in nodes], max(each[3] for each in requests)

    # Waiting and failing.

    @property
    def superstep(self) -> int:
        """The superstep that errors name, set by the engine; -1 before the first."""
        return self.board.superstep(self.names[self.rank])

    @superstep.setter
    def superstep(self, value: int) -> None:
        self._at(value)

    def _at(self, superstep: int) -> None:
        self.board.at_superstep(self.names[self.rank], superstep)

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """The block should end within this many seconds: after that, others wait less for a rank that is stopped."""
        before = self.due
        if seconds is not None:
            self.due = min(before, time.monotonic_ns() + int(min(seconds, 1e9) * 1e9))
        try:
            yield
        finally:
            self.due = before

    def fail(self, error: BaseException) -> bool:
        """This rank has failed: end the waiting of all others, with an error that has this one's traceback.

        False if another rank failed before, so that the run ends with that one's error.
        """
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        code = error.exit_code if isinstance(error, ArcfluxError) else 1
        return self.board.raise_alarm(THREW, self.names[self.rank], self.superstep, trace, code)

    def check(self) -> None:
        """Raise :class:`~arcflux.errors.RankError` if any rank has failed."""
        if not self.board.alarmed:
            return
        while (error := self.board.error()) is None:  # the rank that raises it is still writing
            time.sleep(_NAP)
        raise error

    def _abandoned(self, peer: int) -> RankError:
        """The error of waiting for a rank that has ended."""
        return RankError(
            f"waits for rank {self.names[peer]}, which has ended its work,",
            rank=self.names[self.rank],
            superstep=self.superstep,
            remedy="every rank has to make the same collective calls in the same order",
        )

    def _ended(self, peers: Sequence[int]) -> int | None:
        """One of these ranks that has ended its work, if any."""
        return next((peer for peer in peers if self.board.ended(self.names[peer])), None)

    @contextmanager
    def _waiting(self, patience: float = 0.0) -> Iterator[None]:
        """Show on the board that this rank waits, perhaps this many seconds longer than is usual."""
        name = self.names[self.rank]
        self.board.wait_since(name, time.monotonic_ns(), int(patience * 1e9))
        try:
            yield
        finally:
            self.board.wait_since(name, 0)

    def node_barrier(self) -> None:
        """Return when all ranks of the node have arrived. Costs microseconds."""
        if len(self.mates) > 1:
            self._pass(self._barriers[0], self._arrive(self._barriers[0]))

    def _arrive(self, barrier: Array) -> int:
        """Arrive at a barrier, without waiting; returns the token to pass with."""
        return int(self._meet(barrier, len(self.mates), self.board.alarm, -1, 0, 0))

    def _pass(self, barrier: Array, token: int) -> None:
        """Wait until a barrier releases those that arrived with this token: first spinning, then with naps."""
        members, alarm = len(self.mates), self.board.alarm
        if token >= 0:
            token = int(self._meet(barrier, members, alarm, token, self._spins, YIELDS))
        if token >= 0:
            with self._waiting():
                end = time.monotonic_ns() + YIELDING
                while token >= 0 and time.monotonic_ns() < end:
                    token = int(self._meet(barrier, members, alarm, token, 0, YIELDS))
                for nap in naps() if token >= 0 else ():
                    self._advance()
                    ended = self._ended(self.mates)
                    token = int(self._meet(barrier, members, alarm, token, 0, 1))
                    if token < 0:
                        break
                    if ended is not None:
                        raise self._abandoned(ended)
                    time.sleep(nap)
        self.check()

    # Collectives.

    def barrier(self) -> None:
        """Return when all ranks have arrived."""
        collectives.gather_bytes(self, np.empty(0, np.uint8), [0] * self.size)

    def reduce(self, values: Array, operation: str) -> Array:
        """Combine the values of all ranks, element by element: sum, product, min, max, or, and; for all.

        All ranks pass the same shape and dtype. Small arrays (64 KiB over all ranks) are combined in rank order, so
        that floats have the same bits however ranks are grouped into nodes; large ones first within nodes.
        """
        return collectives.reduce(self, values, operation)

    def start_reduce(self, values: Array, operation: str) -> collectives.Pending:
        """Like reduce, without waiting: ``.wait()`` returns the result. One at a time; other calls may come between."""
        return collectives.Pending(self, values, operation)

    def broadcast(self, values: Array, root: int) -> Array:
        """The values of `root`, for all; the others pass any array of the same shape and dtype, left unchanged."""
        return collectives.broadcast(self, values, root)

    def gather(self, values: Array) -> list[Array]:
        """The arrays of all ranks, for all, in rank order; each of any length, of one dtype and one shape of rows."""
        return collectives.gather(self, values)


def crowded(ranks: int) -> bool:
    """Whether this many ranks on this machine have to share its cores, so that waiting should not spin."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ranks > cores
