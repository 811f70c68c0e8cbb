"""Monitors ranks from the process that started them, for a stopped rank that no other rank can notice.

Once ranks have met they monitor each other (watch.py), and name one that hangs with its superstep. While MPI starts or
ends, a rank waits for the others within MPI, and notices nothing; then the system tells which process is stopped.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from arcflux.config import RANK_NAMES
from arcflux.errors import RankError

__all__ = ["INTERRUPT", "WATCH", "Guard", "is_runnable"]

# The system's name of the thread of a rank that monitors the others.
WATCH = "arcflux-watch"
# The signal that Open MPI forwards to ranks, which treat it like Ctrl-C; on Ctrl-C itself it kills them. MPICH forwards
# it, too.
INTERRUPT = signal.SIGUSR1
# Seconds that ranks which monitor each other have to name a stopped one before this process does.
_THEIR_TURN = 10.0
# After Ctrl-C the guard waits no longer than this for a stopped rank.
_HURRY = 5.0
# A guard that has not looked for so long was stopped itself, perhaps with all ranks: its observations are stale.
_GAP = 2.0
_PROC = Path("/proc")


class Guard:
    """Monitors the ranks below a process; it cannot see those on other machines."""

    def __init__(self, launcher: int, workers: int, patience: float) -> None:
        self._launcher, self._workers, self._patience = launcher, workers, patience
        self._hurried = self._ran = False
        self._ranks: dict[int, int] = {}
        self._stopped: dict[int, float] = {}
        self._looked = time.monotonic()

    def hurry(self) -> None:
        """The run should end: be less patient."""
        self._hurried, self._patience = True, min(self._patience, _HURRY)

    def look(self) -> int | None:
        """The process of a rank that has been stopped for too long while others were not; usually None."""
        now = time.monotonic()
        gap, self._looked = now - self._looked, now
        states = self._states()
        stopped = [pid for pid, state in states.items() if state in "Tt"]
        self._stopped = {pid: self._stopped.get(pid, now) if gap < _GAP else now for pid in stopped}
        if not stopped or (len(stopped) == len(states) and not self._hurried):  # all stopped: the run was suspended
            if not self._ran:
                self._ran = any(map(_watches, states))
            return None
        watched = all(_watches(pid) for pid in states if pid not in self._stopped)
        self._ran = self._ran or watched
        since, pid = min((since, pid) for pid, since in self._stopped.items())
        return pid if now - since > self._patience + _THEIR_TURN * watched else None

    def _states(self) -> dict[int, str]:
        """The processes that are ranks, and their states."""
        if len(self._ranks) < self._workers:
            for pid in _descendants(self._launcher):
                if pid not in self._ranks and (rank := _rank(pid)) is not None:
                    self._ranks[pid] = rank
        return {pid: found[1] for pid in self._ranks if (found := _stat(pid)) is not None}

    def kill(self) -> None:
        """Kill all ranks."""
        for pid in self._states():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def lost(self, rank: int, how: str) -> RankError:
        """The error for a rank that no other has named."""
        if self._ran:
            return RankError(f"rank {rank} {how} no rank could say in which superstep")
        return RankError(how, rank=rank)

    def rank(self, pid: int) -> int:
        """The rank of a process."""
        return self._ranks[pid]


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, directly or indirectly."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and (found := _stat(int(folder.name))) is not None:
            children.setdefault(found[0], []).append(int(folder.name))
    found_all, below = [], children.get(pid, [])
    while below:
        found_all += below
        below = [child for each in below for child in children.get(each, [])]
    return found_all


def _rank(pid: int) -> int | None:
    """The rank of a process, from its environment."""
    with suppress(OSError):
        environment = dict(
            each.partition(b"=")[::2] for each in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        )
        for name, _ in RANK_NAMES:
            if (found := environment.get(name.encode(), b"")).isdigit():
                return int(found)
    return None


def _stat(pid: int) -> tuple[int, str] | None:
    """The parent of a process and its state: R, S, D, T (stopped), Z; None if it is gone."""
    with suppress(OSError):
        state, parent, *_ = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return int(parent), state
    return None


def _watches(pid: int) -> bool:
    """Whether a process has the thread that monitors the other ranks."""
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                if (task / "comm").read_text().strip() == WATCH:
                    return True
    return False


def is_runnable(pid: int) -> bool:
    """Whether a thread of a process runs or waits for a core or the disk, except for the monitoring one.

    On busy cores a process may get next to no time for minutes: then it is slow, and does not hang.
    """
    try:
        tasks = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return False
    for task in tasks:
        with suppress(OSError):
            name, _, rest = (task / "stat").read_text().rpartition(")")
            if rest.split()[0] in "RD" and not name.endswith(f"({WATCH}"):
                return True
    return False
