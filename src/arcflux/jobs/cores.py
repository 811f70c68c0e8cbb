"""The cores of this process, shared by jobs: the kernel scheduler, driven by threads.

A job asks for a turn before each launch and waits here until the scheduler grants it. A launch of many supersteps is
asked to end after its slice if others wait, and continues at its next turn, with as many workers as it gets then. A
launch that cannot be asked to end delays others by the scheduler's patience at most. A job alone never waits, and is
never cut.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from arcflux.errors import SpaceError
from arcflux.jobs.accounts import Account
from arcflux.jobs.slices import Command, KernelScheduler, Preempt, Run
from arcflux.spmd.pool import BRIEF
from arcflux.spmd.turns import Turns

__all__ = ["Cores", "Seat"]

# Seconds of a slice, and how long a slice that cannot be cut may delay others.
QUANTUM, PATIENCE = 0.05, 0.01
_GLANCE, _RESOLUTION = 0.05, 0.002
# The share of a slice that has to run beside another one for its speed to count as a measurement of the pair; and the
# least seconds.
_MOSTLY, _TELLING = 0.7, 2e-4


@dataclass
class _Slice:
    control: NDArray[Any]
    begun: float
    workers: int
    cut: float = 0.0  # when it is asked to end; 0: never
    shared: float = 0.0  # seconds beside another one
    beside: Account | None = None


@dataclass(frozen=True)
class _Turn:
    """A measured turn: its seconds, and if its speed is representative, beside which jobs, or alone on all workers."""

    seconds: float = 0.0
    telling: bool = False
    beside: Account | None = None


class Cores:
    """Threads of this process on which jobs take turns."""

    def __init__(self, threads: int, quantum: float = QUANTUM, pairing: bool = True) -> None:
        self.threads = threads
        self.scheduler = KernelScheduler(threads, quantum, patience=PATIENCE, pairing=pairing)
        self._lock = threading.Lock()
        self.condition = threading.Condition(self._lock)  # the clock thread waits here
        self.slices: dict[int, _Slice] = {}
        self.deciding = 0.0  # CPU seconds that scheduling has taken
        self._controls: dict[int, NDArray[Any]] = {}
        self._waiting: dict[int, threading.Condition] = {}  # jobs that wait for a turn, each with its own condition
        self._clock: threading.Thread | None = None
        self._alarm = 0.0  # when the clock looks next
        self._closed = False

    def seat(self, number: int, account: Account, weight: float, **watching: Any) -> Seat:
        """Register a job, which then asks for turns."""
        with self.condition:
            self.scheduler.add(number, account, weight=weight, now=time.perf_counter(), away=True)
            crowd = len(self.scheduler.kernels)
            if crowd > 1 and self._clock is None:
                self._clock = threading.Thread(target=self._tick, name="arcflux-turns", daemon=True)
                self._clock.start()
        # A job that cannot change its number of workers gets all of them if it is alone, else a share.
        threads = self.threads if crowd == 1 else max(1, self.threads // 2)
        return Seat(self, number, account, threads, **watching)

    def close(self) -> None:
        """Grant no more turns."""
        with self.condition:
            self._closed = True
            for waiting in (self.condition, *self._waiting.values()):
                waiting.notify()

    def take(self, number: int, workers: int, control: NDArray[Any], shrinks: bool, over: Callable[[], bool]) -> int:
        """Wait for a turn; a job that is over need not wait: it has one superstep left at most."""
        with self.condition:
            begun = time.thread_time()
            self._controls[number] = control
            limit = 0 if shrinks and workers >= self.threads else workers
            self._obey(self.scheduler.back(number, time.perf_counter(), limit))
            self.deciding += time.thread_time() - begun
            if number not in self.slices and not self._wait(number, over):
                self.scheduler.kernels[number].state = "away"
                control[BRIEF] = 1
                return 1 if shrinks else workers
            granted = self.slices[number].workers
            return min(workers, granted) if shrinks else workers

    def _wait(self, number: int, over: Callable[[], bool]) -> bool:
        """Wait until a job has a slice; returns False if the job, or everything, has to end."""
        turn = self._waiting[number] = threading.Condition(self._lock)
        try:
            self._set_alarm(time.perf_counter())
            while number not in self.slices:
                if over() or self._closed:
                    return False
                turn.wait(_GLANCE)
            return True
        finally:
            del self._waiting[number]

    def leave(self, number: int) -> _Turn:
        """End a turn; returns its measurements."""
        with self.condition:
            self._controls.pop(number, None)
            one = self.slices.pop(number, None)
            if one is None:
                return _Turn()
            now, begun = time.perf_counter(), time.thread_time()
            account = self.scheduler.kernels[number].account
            self._share(one, account, now)
            self._obey(self.scheduler.ended(number, 0, now - one.begun, now, away=True))
            self.deciding += time.thread_time() - begun
            limit = self.scheduler.kernels[number].limit
            return self._judge(one, now - one.begun, min(limit or self.threads, self.threads))

    def _share(self, one: _Slice, account: Account, now: float) -> None:
        """A slice ends: it ran beside those that still run since the later one of each pair began."""
        for number, other in self.slices.items():
            shared = now - max(one.begun, other.begun)
            for mine, theirs in ((one, self.scheduler.kernels[number].account), (other, account)):
                mine.shared += shared
                mine.beside = theirs

    def _judge(self, one: _Slice, seconds: float, most: int) -> _Turn:
        alone = not one.shared and one.workers == most
        paired = one.shared >= _MOSTLY * seconds and one.workers == max(1, self.threads // 2)
        return _Turn(seconds, alone or paired, one.beside if paired else None)

    def stand_up(self, number: int) -> None:
        """A job no longer uses the cores."""
        with self.condition:
            self.slices.pop(number, None)
            if number in self.scheduler.kernels:
                self.scheduler.kernels[number].state = "away"
                now = time.perf_counter()
                self._obey(self.scheduler.remove(number, now))
                if self.slices:
                    self._set_alarm(now)

    def _obey(self, commands: Sequence[Command]) -> None:
        now = time.perf_counter()
        for command in commands:
            if isinstance(command, Run):
                self.slices[command.kernel] = _Slice(self._controls[command.kernel], now, command.workers)
                if (turn := self._waiting.get(command.kernel)) is not None:
                    turn.notify()
            elif isinstance(command, Preempt) and command.kernel in self.slices:
                one = self.slices[command.kernel]
                one.cut = now if command.at_once else one.begun + self.scheduler.quantum
                self._cut(one, now)
        if commands and (self._waiting or any(one.cut for one in self.slices.values())):
            self._set_alarm(now)

    @staticmethod
    def _cut(one: _Slice, now: float) -> None:
        """Ask a slice to end if it is time."""
        if one.cut and now >= one.cut:
            one.control[BRIEF], one.cut = 1, 0.0

    def _set_alarm(self, now: float) -> None:
        """Wake the clock if it would look too late."""
        soonest = now + self._until_next_tick(now)
        if soonest < self._alarm - _RESOLUTION:
            self._alarm = soonest
            self.condition.notify()

    def _tick(self) -> None:
        """Cut slices whose time is over while others wait, and run others beside those that cannot be cut."""
        with self.condition:
            while not self._closed:
                now, begun = time.perf_counter(), time.thread_time()
                for one in self.slices.values():
                    self._cut(one, now)
                self._obey(self.scheduler.tick(now))
                pause = self._until_next_tick(now)
                self._alarm = now + pause
                self.deciding += time.thread_time() - begun
                self.condition.wait(pause)

    def _until_next_tick(self, now: float) -> float:
        times = [one.cut for one in self.slices.values() if one.cut]
        due = self.scheduler.next_tick()
        soonest = min(times if due is None else [*times, due], default=now + _GLANCE)
        return min(_GLANCE, max(_RESOLUTION, soonest - now))


class Seat(Turns):
    """A job's access to the cores: turns for its launches, and an account of their use.

    `limit`: the most bytes of its arrays; `over`: whether it has to end; `seen` is called with its supersteps.
    """

    def __init__(
        self, cores: Cores, number: int, account: Account, threads: int, limit: int | None = None,
        over: Callable[[], bool] = bool, seen: Callable[[Sequence[Any]], None] | None = None,
    ) -> None:  # fmt: skip
        self.cores, self.number, self.account, self.threads = cores, number, account, threads
        self.limit, self.over, self.seen = limit, over, seen
        self.nbytes = self.peak = 0
        self.waited = 0.0
        self._spent, self._begun = 0.0, 0.0  # seconds of earlier turns; when the current one began
        self.turns = 0
        self._last = _Turn()
        self._thread = threading.get_ident()

    @property
    def seconds(self) -> float:
        """Seconds on the cores so far, including the current turn."""
        begun = self._begun
        return self._spent + (time.perf_counter() - begun if begun else 0.0)

    def sit_down(self) -> None:
        """Bind the job to this thread; launches of other threads take no turns."""
        self._thread = threading.get_ident()

    def take(self, workers: int, control: NDArray[Any], shrinks: bool) -> int:
        """Wait for a turn."""
        if threading.get_ident() != self._thread:
            return workers
        begun = time.perf_counter()
        granted = self.cores.take(self.number, workers, control, shrinks, self.over)
        self.waited += time.perf_counter() - begun
        self.turns += 1
        self._begun = time.perf_counter()
        return granted

    def leave(self) -> None:
        """End the turn: the launch is over."""
        if threading.get_ident() == self._thread:
            self._last = self.cores.leave(self.number)
            self._begun, self._spent = 0.0, self._spent + self._last.seconds

    def saw(self, first: int, supersteps: Sequence[Any]) -> None:
        """Report completed supersteps: their speed to the scheduler, the events to listeners."""
        edges = sum(one.edges or 0 for one in supersteps)
        seconds = sum(one.seconds for one in supersteps)
        if edges and seconds > _TELLING and self._last.telling:
            with self.cores.condition:
                self.cores.scheduler.pairs.measured(self.account, self._last.beside, edges / seconds)
        if self.seen is not None:
            self.seen(supersteps)

    def charge(self, nbytes: int) -> None:
        """Count bytes, and refuse more than the job's limit."""
        self.nbytes += nbytes
        self.peak = max(self.peak, self.nbytes)
        if self.limit is not None and self.nbytes > self.limit:
            raise SpaceError(
                f"the job's arrays take {self.nbytes:,} bytes", expected=f"at most {self.limit:,}, its limit",
                remedy="a larger max_memory=, or a smaller graph",
            )  # fmt: skip

    def stand_up(self) -> None:
        """The job no longer uses the cores."""
        self.cores.stand_up(self.number)
