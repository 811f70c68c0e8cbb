"""What the ranks of a node know about each other: a page of shared memory that each can read and write at any time.

For every rank of the run the board has its superstep, its state and since when it waits; for the whole run it has the
alarm: which rank failed first, how, in which superstep, and its traceback. Waiting ranks poll the alarm, so that a
failure ends every wait of the node at once. The board begins with a watched barrier (spmd/layout.py): ranks that wait
within a kernel read the same alarm, and mark it in their line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcflux.errors import RankError
from arcflux.spmd.layout import ALARM, ARRIVED, GENERATION, LINE, ROWS, watched_words
from arcflux.spmd.memory import Array

__all__ = ["DIED", "ENDED", "HUNG", "LEAVES", "ORPHANED", "RUNNING", "STUCK", "THREW", "TOLD", "Board", "error_of"]

# States of a rank.
RUNNING, ENDED, LEAVES = 0, 1, 2
# Kinds of alarm; 0 is none, _SOMEBODY is set while the rest is filled in.
THREW, DIED, HUNG, STUCK, TOLD, ORPHANED = 1, 2, 3, 4, 5, 6
_SOMEBODY = -1
_SAID = {
    THREW: "failed",
    DIED: "was killed",
    HUNG: "hangs, neither computes nor answers,",
    STUCK: "waits for ever: what it waits for never comes,",
    ORPHANED: "has lost the process that looks after the ranks,",
    TOLD: "was ended from outside, mpiexec says why,",
}

# Each rank has its own cache line, whose last word belongs to the barrier: frequent writes disturb no other rank.
_SUPERSTEP, _STATE, _PID, _WAITING, _PATIENCE, _BEAT, _BUSY = range(ARRIVED)
_TRACE_BYTES = 16 << 10
# The control word in which a kernel of many supersteps counts them.
_COUNT = 2


class Board:
    """A board for a run of `size` ranks over `memory`, which is shared by the ranks of a node and zero at first."""

    def __init__(self, memory: Array, size: int) -> None:
        head = 8 * watched_words(size)
        self.barrier: Array = memory[:head].view(np.int64)
        self.alarm = self.barrier[ALARM:ROWS]
        self.rows = self.barrier[ROWS:].reshape(size, LINE)
        self.trace = memory[head : head + _TRACE_BYTES]
        # The control array of the kernel that all ranks of the node are in, for as long as they are.
        self.control: Array | None = None

    @staticmethod
    def bytes(size: int) -> int:
        """How much memory a board for `size` ranks needs."""
        return 8 * watched_words(size) + _TRACE_BYTES

    def superstep(self, rank: int) -> int:
        """The superstep of a rank, as it reported or as the common kernel counts; -1 before the first."""
        reported = int(self.rows[rank, _SUPERSTEP]) - 1
        counted = 0 if self.control is None else int(self.control[_COUNT])
        return max(reported, counted) if counted else reported

    def at_superstep(self, rank: int, superstep: int) -> None:
        """Set the superstep of the rank."""
        self.rows[rank, _SUPERSTEP] = superstep + 1

    def begin(self, rank: int, pid: int) -> None:
        """The rank has started, in this process."""
        self.rows[rank, _PID] = pid

    def alarm_words(self) -> tuple[int, int, int, int, str]:
        """The alarm: kind (0: none yet), rank, superstep, exit code, traceback."""
        kind, rank, superstep, length, code = (int(word) for word in self.alarm[:5])
        return max(kind, 0), rank, superstep, code, bytes(self.trace[:length]).decode("utf-8", "replace")

    def pid(self, rank: int) -> int:
        """The process of a rank; 0 if it is on another node."""
        return int(self.rows[rank, _PID])

    def end(self, rank: int) -> None:
        """The rank has done its work and will not respond any more."""
        self.rows[rank, _STATE] = ENDED

    def ended(self, rank: int) -> bool:
        """Whether a rank has ended its work."""
        return bool(self.rows[rank, _STATE] == ENDED)

    def leave(self, rank: int) -> None:
        """The rank was asked to end by a signal, and will: it was not killed."""
        self.rows[rank, _STATE] = LEAVES

    def runs(self, rank: int) -> bool:
        """Whether a rank has neither ended its work nor been asked to end."""
        return bool(self.rows[rank, _STATE] == RUNNING)

    def wait_since(self, rank: int, nanoseconds: int, patience: int = 0) -> None:
        """The rank waits since this time of the machine's monotonic clock; 0: it waits no more.

        `patience`: for something that may take this many nanoseconds more, such as many bytes in transit.
        """
        self.rows[rank, _PATIENCE] = patience
        self.rows[rank, _WAITING] = nanoseconds

    def waits_since(self, rank: int) -> int:
        """Since when a rank waits; 0 if it does not, or waits within a kernel."""
        return int(self.rows[rank, _WAITING])

    def waits_at(self, rank: int) -> int:
        """The barrier at which a rank waits within a kernel, a different number for each; 0 if it does not."""
        arrived = int(self.rows[rank, ARRIVED])
        return arrived if arrived == self.barrier[GENERATION] + 1 else 0

    def raise_alarm(
        self, kind: int, rank: int, superstep: int, trace: str = "", code: int = RankError.exit_code
    ) -> bool:
        """Tell every rank of the node that the run is over; False if another rank's alarm was first."""
        from arcflux.transports.kernels import first_to_claim

        if not first_to_claim(self.alarm):
            return False
        text = np.frombuffer(trace.encode("utf-8", "replace")[-_TRACE_BYTES:], np.uint8)
        self.trace[: len(text)] = text
        self.alarm[1:5] = rank, superstep, len(text), code
        self.alarm[0] = kind
        return True

    def beat(self, rank: int, now: int, busy: bool) -> None:
        """The rank's process is alive, and (`busy`) has computed lately."""
        self.rows[rank, _BEAT] = now
        if busy:
            self.rows[rank, _BUSY] = now

    def silent(self, rank: int, now: int) -> int:
        """How long ago a rank's process last reported."""
        return now - int(self.rows[rank, _BEAT])

    def idle(self, rank: int, now: int) -> int:
        """For how long a rank has neither computed nor waited."""
        return 0 if self.rows[rank, _WAITING] or self.waits_at(rank) else now - int(self.rows[rank, _BUSY])

    def stuck(self, rank: int, now: int) -> int:
        """How long a rank has waited for others, beyond what the awaited operation may take."""
        since = int(self.rows[rank, _WAITING])
        return max(0, now - since - int(self.rows[rank, _PATIENCE])) if since else 0

    def ages(self, ranks: Sequence[int], now: int) -> Array:
        """The rows of some ranks for another machine, whose clock differs: times become ages.

        A mate may have written a time after `now` was read: its age is then 0, not negative, which would mean never.
        """
        rows: Array = self.rows[list(ranks)].copy()
        for word in (_WAITING, _BEAT, _BUSY):
            rows[:, word] = np.where(rows[:, word] > 0, np.maximum(now - rows[:, word], 0), -1)
        return rows

    def take_ages(self, ranks: Sequence[int], rows: Array, now: int) -> None:
        """Store the rows that another machine sent of its ranks."""
        for word in (_WAITING, _BEAT, _BUSY):
            rows[:, word] = np.where(rows[:, word] >= 0, now - rows[:, word], 0)
        rows[:, _PID] = 0
        self.rows[list(ranks)] = rows

    @property
    def alarmed(self) -> bool:
        """Whether the run is over."""
        return bool(self.alarm[0] != 0)

    def error(self) -> RankError | None:
        """The alarm as an error that every rank can raise; None if there is none."""
        kind, rank, superstep, _, trace = self.alarm_words()
        return error_of(kind, rank, superstep, trace) if kind else None


def error_of(kind: int, rank: int, superstep: int, trace: str = "") -> RankError:
    """A failure of a rank as an error that every rank can raise."""
    return RankError(_SAID[kind], rank=rank, superstep=superstep, trace=trace)
