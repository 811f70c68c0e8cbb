"""Ranks as threads of one process: the transport for one machine, and for testing a whole cluster.

Shared memory is plain arrays, a message is a copy in a queue. Python threads run one at a time, but ranks compute in
compiled code, which does not block the others.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from arcflux.errors import RankError, UsageError
from arcflux.spmd import memory
from arcflux.spmd.interrupt import raise_if_cancelled
from arcflux.spmd.memory import Array
from arcflux.spmd.pool import PATIENCE
from arcflux.transports.base import Transport, crowded, nodes_by_size
from arcflux.transports.board import THREW, Board

__all__ = ["LocalTransport", "run_local"]

Answer = TypeVar("Answer")
_GLANCE = 0.02
# Bytes of address space of a new thread, about.
_THREAD = 10 << 20


class _World:
    """What the threads of a run, or of a group of it, share."""

    def __init__(self, size: int) -> None:
        self.mail: list[dict[tuple[int, int], SimpleQueue[Array]]] = [{} for _ in range(size)]
        self.lock = threading.Lock()
        self.made: dict[tuple[Any, ...], tuple[Any, list[int]]] = {}

    def once(self, key: tuple[Any, ...], takers: int, make: Callable[[], Any]) -> Any:
        """The value that the first of `takers` creates for all of them; dropped when all have it."""
        with self.lock:
            if key not in self.made:
                self.made[key] = make(), [takers]
            thing, left = self.made[key]
            left[0] -= 1
            if not left[0]:
                del self.made[key]
        return thing


class LocalTransport(Transport):
    """A rank that is a thread."""

    def __init__(
        self, world: _World, rank: int, node_of: Sequence[int], board: Board, names: Sequence[int] | None = None,
        spread: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(rank, node_of, board, names, spread)
        self._world = world
        self._calls = 0
        self._furnish()

    def _together(self, takers: int, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        self._calls += 1
        return self._world.once((self._calls, *key), takers, make)

    def shared(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """One array of zeros for all ranks of the node."""
        whole = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(whole)
        array: Array = self._together(
            len(self.mates), ("shared", self.node), lambda: memory.recycled(size, dtype).reshape(whole)
        )
        return array

    def post(self, peer: int, parts: Sequence[Array], tag: int = 0) -> None:
        """Send contiguous arrays to a rank as one message."""
        raw = self._checked(peer, parts, tag)
        message = np.concatenate(raw) if raw else np.empty(0, np.uint8)
        self.sent.add(len(message), near=self.node_of[peer] == self.node)
        self._box(peer, self.rank, tag).put(message)

    def _box(self, owner: int, sender: int, tag: int) -> SimpleQueue[Array]:
        boxes = self._world.mail[owner]
        box = boxes.get((sender, tag))
        return box if box is not None else boxes.setdefault((sender, tag), SimpleQueue())

    def collect(self, peer: int, tag: int = 0) -> Array:
        """The next message of a rank with this tag."""
        box = self._box(self.rank, peer, tag)
        while True:
            self.check()
            try:
                return box.get(timeout=_GLANCE)
            except Empty:
                if self._ended([peer]) is not None and box.empty():
                    raise self._abandoned(peer) from None

    def finish(self) -> None:
        """Nothing: messages are copies."""

    def _advance(self) -> None:
        """Nothing: messages arrive at once."""

    def split(self, colour: int, key: int, alone: bool = False) -> Transport:
        """The group of the ranks that gave the same colour, in the order of their keys."""
        ranks, node_of, _ = self._group(colour, key, alone)
        world = self._together(len(ranks), ("split", colour), lambda: _World(len(ranks)))
        transport = type(self)(
            world, ranks.index(self.rank), node_of, self.board, [self.names[rank] for rank in ranks], self._spins == 0,
        )  # fmt: skip
        transport.sent = self.sent
        return transport

    def close(self) -> None:
        """End this rank's participation."""
        self.board.end(self.names[self.rank])


def run_local(
    size: int,
    work: Callable[[Any], Answer],
    *,
    ranks_per_node: int | None = None,
    ends: bool = False,
    transport: type[LocalTransport] = LocalTransport,
) -> list[Answer]:
    """Run ``work(transport)`` on `size` ranks, threads of this process; returns their values in rank order.

    `ranks_per_node` groups them into simulated nodes. If a rank throws, every other one ends at its next call of the
    transport, and the error is raised here as the rank raised it, with a note of the rank and its superstep. A
    cancelled token ends them in the same way, unless the work `ends` by itself then. `transport`: the class of ranks,
    for variants of threads.

    Examples
    --------
    >>> run_local(3, lambda t: int(t.reduce(np.array([t.rank]), "sum")[0]))
    [3, 3, 3]
    """
    if not isinstance(size, int) or size < 1:
        raise UsageError(f"size is {size!r}", expected="a whole number of ranks, from 1 on")
    node_of = nodes_by_size(size, ranks_per_node)
    board = Board(np.zeros(Board.bytes(size), np.uint8), size)
    world = _World(size)
    return run_threads(
        size, lambda rank: transport(world, rank, node_of, board, spread=crowded(size)), work, ends, board
    )


def run_threads(
    size: int, join: Callable[[int], Transport], work: Callable[[Any], Answer], ends: bool, board: Board | None = None
) -> list[Answer]:
    """The values of ``work(join(rank))`` on `size` threads of this process, each of which is a rank.

    `board`: the common board of all ranks; without it each transport tells the others about failures.
    """
    answers: list[Any] = [None] * size
    errors: list[tuple[int, BaseException]] = []
    entered: list[Transport | None] = [None] * size

    def live(rank: int) -> None:
        try:
            entered[rank] = made = join(rank)
            answers[rank] = work(made)
            made.close()
        except BaseException as error:
            if isinstance(error, MemoryError):
                memory.free_reserve()
            errors.append((rank, error))
            own = entered[rank]
            _alarm(board, own, rank, error)
            if own is not None:
                own.abandon()

    memory.hold_reserve()
    memory.require(size * _THREAD, f"{size} ranks")
    threads = _start(live, size)
    try:
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(_GLANCE)
            if not ends:
                raise_if_cancelled()
    except BaseException as error:  # Ctrl-C, or a token
        for rank in range(size):
            _alarm(board, entered[rank], rank, error)
        # A second Ctrl-C does not wait. If the work ends by itself, the first one was deferred, and this is the second.
        until = time.monotonic() + (PATIENCE if ends else math.inf)
        with suppress(KeyboardInterrupt):
            while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
                for thread in threads:
                    thread.join(_GLANCE)
        raise
    for rank, thrown in errors:
        own = entered[rank]
        seen = board if own is None else own.board
        if seen is None or rank == int(seen.alarm[1]):
            raise note_rank(thrown, rank, -1 if seen is None else seen.superstep(rank))
    return answers


def _alarm(board: Board | None, own: Transport | None, rank: int, error: BaseException) -> None:
    """Tell all ranks that one has failed."""
    if board is not None:
        board.raise_alarm(THREW, rank, board.superstep(rank))
    elif own is not None:
        own.fail(error)


def _start(live: Callable[[int], None], size: int) -> list[threading.Thread]:
    """Start the threads of the ranks, all of them or none, each with the settings of this thread, such as its token.

    None begins before all have started; and none outlives the process.
    """
    everyone, begins = threading.Event(), [True]

    def begin(rank: int) -> None:
        everyone.wait()
        if begins[0]:
            live(rank)

    threads = [
        threading.Thread(target=copy_context().run, args=(begin, rank), name=f"arcflux-rank-{rank}", daemon=True)
        for rank in range(size)
    ]
    try:
        for thread in threads:
            thread.start()
    except (RuntimeError, MemoryError):
        begins[0] = False
        raise
    finally:
        everyone.set()
    return threads


def note_rank(error: BaseException, rank: int, superstep: int) -> BaseException:
    """The error with a note of the rank and the superstep."""
    if isinstance(error, RankError):
        return error
    when = f"in superstep {superstep}" if superstep >= 0 else "before the first superstep"
    notes = [*getattr(error, "__notes__", []), f"on rank {rank}, {when}"]
    error.__notes__ = notes  # add_note is not in Python 3.10
    return error
