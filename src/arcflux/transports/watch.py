"""Detects killed and hanging ranks, and reports a failure to every node: one thread in each MPI process.

The thread notices at once when the process of a mate is gone, because it holds that process's descriptor, and when that
of another node's leader is, because their connection closes (ring.py). Now and then it writes on the node's board that
its own process is alive and whether it computes; the leaders exchange the contents of their boards. A rank hangs if
others have waited long for it, and it has neither computed, nor read from disk, nor waited itself; one that computes
for hours does not hang, nor does one that would compute if other processes left it a core. A run that should have ended
(its time is over, or Ctrl-C was pressed) has less patience with a silent process. After an alarm a rank has a few
seconds to end in good order.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import select
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from arcflux import config
from arcflux.spmd.memory import Array
from arcflux.transports.board import DIED, HUNG, STUCK, Board
from arcflux.transports.guard import WATCH, is_runnable
from arcflux.transports.ring import Ring

if TYPE_CHECKING:
    from arcflux.transports.mpi import MpiTransport

__all__ = ["Watch", "sweep"]

_SECOND = 1_000_000_000
_PR_SET_NAME = 15
_GLANCE = 0.2
# How long a rank may take to end in good order after the end of the run.
_GRACE = 5.0
# A rank that has not looked for so long was stopped itself, perhaps with all others: what it knows of them is stale.
_GAP = 1.0
# A process that uses less of a core than this does not compute.
_IDLE_SHARE = 0.05
# So long the mates of another node's leader may name it themselves, if it was killed.
_FIRST_WORD = 0.5


class Watch:
    """The monitoring thread of one rank."""

    def __init__(self, transport: MpiTransport, mpi: Any, comm: Any) -> None:
        self._transport, self._board, self._mpi, self._comm = transport, transport.board, mpi, comm
        self._limit = int(config.hang_seconds() * _SECOND)
        self._hurry = min(self._limit, int(_GRACE * _SECOND))
        self._mpich = not mpi.get_vendor()[0].startswith("Open MPI")
        self._parent = os.getppid()
        self._used, self._reads, self._looked = 0.0, 0, time.monotonic()
        self._sending: list[tuple[Any, Array]] = []
        self._arriving: deque[tuple[Any, Array]] = deque()
        self._alarmed_since = 0.0
        self._told = self._hung = False
        self._speaking = threading.Lock()
        self._glance = _GLANCE
        self._stopped = False
        self._read_fd, self._write_fd = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._read_fd, select.POLLIN)
        self._mates: dict[int, int] = {}
        self._board.beat(transport.rank, time.monotonic_ns(), True)
        transport.barrier()
        self.ring = transport.ring = Ring(transport)
        self._missed = 0.0
        if self.ring.previous is not None:
            self._poll.register(self.ring.previous, select.POLLRDHUP)
        for mate in transport.mates:
            if mate != transport.rank:
                descriptor = os.pidfd_open(self._board.pid(mate))
                self._mates[descriptor] = mate
                self._poll.register(descriptor, select.POLLIN)
        self._barrier, self._arrived = 0, 0
        self._last = self._awake_since = now = time.monotonic_ns()
        for rank in range(transport.size):
            self._board.beat(rank, now, True)
        Board(np.zeros(Board.bytes(1), np.uint8), 1).raise_alarm(DIED, 0, 0)  # compile it now: later, time is short
        self._thread = threading.Thread(target=self._watch, name="arcflux-watch", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Check now."""
        os.write(self._write_fd, b".")

    def hurry(self) -> None:
        """Check more often: this rank has ended, and waits for the others to end."""
        self._glance = _GLANCE / 10
        self.wake()

    def stop(self) -> None:
        """End the thread, when all ranks have ended."""
        self.ring.goodbye()
        self._stopped = True
        self.wake()
        self._thread.join()

    def leave(self, code: int) -> None:
        """End this process, whatever it does. Open MPI then ends the others; MPICH has to be asked to end a hanging
        rank, after the others had time to end in good order.
        """
        self._speaking.acquire(timeout=1.0)  # the run ends with the alarm, which must be reported before
        self.ring.goodbye()
        sweep()
        if self._mpich and self._hung:
            time.sleep(_GLANCE * 5)
            self._mpi.COMM_WORLD.Abort(code)
        os._exit(code)

    def last_words(self, seconds: float = 1.0) -> None:
        """Wait until the other nodes have been told of the alarm."""
        end = time.monotonic() + seconds
        while not self._told and time.monotonic() < end:
            self.wake()
            time.sleep(0.01)

    def _watch(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_NAME, WATCH.encode())  # so that the launcher sees that ranks monitor each other
        while not self._stopped:
            for descriptor, _ in self._poll.poll(int(self._glance * 1000)):
                if descriptor == self._read_fd:
                    os.read(self._read_fd, 4096)
                else:
                    self._poll.unregister(descriptor)
                    if descriptor in self._mates:
                        self._bury(self._mates[descriptor])
            now = time.monotonic_ns()
            if now - self._last > _GAP * _SECOND:
                self._awake_since = now
            self._last = now
            # A waiting rank is not idle, nor is it in the moment after, while the others still wait for it.
            since = self._waits_since(now)
            self._board.beat(self._transport.rank, now, self._computes() or since > 0)
            if self._transport.place == 0 and self._transport.nodes > 1:
                self._listen()  # before MPI is called, which may end this process when another has died
                self._hear(now)
                self._tell(now)
            if self._board.alarmed:
                self._end()
            else:
                self._judge(now, since)
            if os.getppid() != self._parent:
                self.leave(1)

    def _bury(self, mate: int) -> None:
        """The process of a mate is gone."""
        if self._board.runs(mate):  # MPI ends it, and it has said so: on Ctrl-C, none is to blame
            self._raise(DIED, mate)

    def _listen(self) -> None:
        """Check whether the leader of the node before was killed. Its mates, if any, report that first."""
        killed, superstep = self.ring.listen()
        if killed:
            self._missed = time.monotonic()
        if self._missed and not self._board.alarmed:
            watched = self.ring.watched
            alone = len(self._transport.members[self._transport.node_of[watched]]) == 1
            if alone or time.monotonic() - self._missed > _FIRST_WORD:
                self._board.at_superstep(watched, superstep)
                self._raise(DIED, watched)

    def _raise(self, kind: int, rank: int) -> None:
        """Raise the alarm; the first rank to do so reports it."""
        # The known superstep of a remote rank may be a moment old; it is at most one behind.
        superstep = max(self._board.superstep(rank), self._transport.superstep - 1)
        with self._speaking:
            if self._board.raise_alarm(kind, rank, superstep):
                self._hung = kind == HUNG
                os.write(2, f"arcflux: error: {self._board.error()}\n".encode())

    def _computes(self) -> bool:
        """Whether this process computed, could have, or read from disk in the last second; False if asked sooner."""
        now = time.monotonic()
        if now - self._looked < 1.0:
            return False
        usage = resource.getrusage(resource.RUSAGE_SELF)
        used, reads = usage.ru_utime + usage.ru_stime - time.thread_time(), usage.ru_majflt + usage.ru_inblock
        computes = used - self._used > _IDLE_SHARE * (now - self._looked) or reads != self._reads
        computes = computes or is_runnable(os.getpid())
        self._used, self._reads, self._looked = used, reads, now
        return computes

    def _waits_since(self, now: int) -> int:
        """Since when this rank waits, in Python, or at a barrier within a kernel; 0 if it does not."""
        barrier = self._board.waits_at(self._transport.rank)
        if barrier != self._barrier:
            self._barrier, self._arrived = barrier, now
        return self._board.waits_since(self._transport.rank) or (self._arrived if barrier else 0)

    def _judge(self, now: int, since: int) -> None:
        """If this rank has waited too long (since `since`): check whether another hangs, or all wait for each other."""
        transport, board = self._transport, self._board
        if not since:
            return
        waited = now - max(since, self._awake_since)
        overdue = min(waited, now - transport.due)
        worst, longest = -1, 0
        for rank in range(transport.size):
            # Leaders report for their nodes; remote ranks are judged later, and by one node after another.
            far = int(transport.node_of[rank] != transport.node) * (3 + min(4, transport.node)) * _SECOND
            silent = board.silent(rank, now)
            quiet = max(silent, board.idle(rank, now)) + (rank in transport.leaders)
            hangs = min(waited, quiet) > self._limit + far or min(overdue, silent) > self._hurry + far
            if not hangs or rank == transport.rank or board.ended(rank) or quiet <= longest:
                continue
            # A silent rank may be slow; after the deadline of the run it is waited for as long as any.
            if min(overdue, silent) > self._limit + far or not is_runnable(board.pid(rank)):
                worst, longest = rank, quiet
        if worst >= 0:
            self._raise(HUNG, worst)
            return
        # A silent rank may have been stopped while it waited.
        if transport.rank == 0 and waited > self._limit and all(
            board.stuck(rank, now) > self._limit and board.silent(rank, now) < self._limit // 2
            for rank in range(transport.size)
        ):  # fmt: skip
            self._raise(STUCK, 0)

    def _end(self) -> None:
        """The run is over: tell the other nodes, then make sure that this rank ends."""
        if not self._alarmed_since:
            self._alarmed_since = time.monotonic()
        if not self._told and self._board.error() is not None:
            self._tell(time.monotonic_ns())
            self._told = True
        if time.monotonic() - self._alarmed_since > _GRACE:
            self.leave(self._board.alarm_words()[3] or 1)

    def _tell(self, now: int) -> None:
        """Send the contents of this board to the leaders of the other nodes."""
        transport = self._transport
        kind, rank, superstep, code, trace = self._board.alarm_words()
        head = np.array([transport.node, kind, rank, superstep, code], np.int64)
        rows = self._board.ages(transport.mates, now)
        raw = np.frombuffer(trace.encode(), np.uint8)
        message = np.concatenate([head.view(np.uint8), rows.reshape(-1).view(np.uint8), raw])
        self._sending = [(request, kept) for request, kept in self._sending if not request.Test()]
        for leader in transport.leaders:
            if leader not in (transport.leaders[transport.node], transport.rank):
                request = self._comm.Isend([message, self._mpi.BYTE], leader, 0)
                self._sending.append((request, message))

    def _hear(self, now: int) -> None:
        """Process what the others have sent, once it is complete: a sender may be stopped within a message."""
        status = self._mpi.Status()
        while (found := self._comm.Improbe(self._mpi.ANY_SOURCE, 0, status)) is not None:
            message = np.empty(status.Get_elements(self._mpi.BYTE), np.uint8)
            self._arriving.append((found.Irecv([message, self._mpi.BYTE]), message))
        for _ in range(len(self._arriving)):
            request, message = self._arriving.popleft()
            if not request.Test():
                self._arriving.append((request, message))
                continue
            node, kind, rank, superstep, code = message[:40].view(np.int64).tolist()
            mates = self._transport.members[node]
            end = 40 + len(mates) * self._board.rows.shape[1] * 8
            rows = message[40:end].view(np.int64).reshape(len(mates), -1)
            self._board.take_ages(mates, rows, now)
            if kind:
                self._board.raise_alarm(kind, rank, superstep, message[end:].tobytes().decode(), code)


def sweep() -> None:
    """Remove the names in /dev/shm of the memory that MPI itself shares, which stay if it fails."""
    with open("/proc/self/maps") as maps:
        names = set(re.findall(r"/dev/shm/(?:sm_segment\.|mpich_shm_)\S+", maps.read()))
    for name in names:
        with suppress(OSError):
            os.unlink(name)
