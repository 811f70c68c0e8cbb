"""The kernel scheduler: which ready kernels run side by side, slice by slice (G2, section IV-C; Kernelet).

A pure state machine: events are calls with the current time, commands are their return values; no threads. A ready
kernel is cut into slices, ranges of its chunks that take about one quantum. Slices of two kernels that need different
resources, by their accounts and by measurements of the pair, run side by side until either kernel ends; others take
turns.

Scheduling is fair: every kernel has a virtual time, the seconds it was served over its weight, and the smallest is next
(stride scheduling), so none starves, whatever its priority. A kernel may be *away* between two slices: it comes back by
itself, as a run does that inspects its supersteps between two launches.

Where slices end late, as on cores (`patience`), no job waits long for one: a kernel that has had less than a quantum
runs at once beside one that has had more, and so does one that waits for a slice that cannot be cut; others do after
the quantum and `patience` seconds. Two short ones take turns: more workers than cores slow both down. A kernel that
runs beside another without a gain ends with its quantum. Where jobs come one after the other, a share of the workers
stays free after a job that was worth running beside: for a multiple of the usual time until the next of its kind comes,
half a quantum at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arcflux.errors import UsageError
from arcflux.jobs.accounts import Account, Pairs

__all__ = ["Command", "Done", "KernelScheduler", "Preempt", "Run"]

# The least gain for which two kernels run side by side.
_LEAST_GAIN = 1.05
# A share stays free for this many times the usual time until the next kernel of a kind comes; shorter times change that
# estimate only gradually.
_GAPS_WAITED, _GAP_WEIGHT = 4.0, 0.2


@dataclass(frozen=True)
class Run:
    """Run chunks of a kernel, from `first` to before `last`, on this many workers, for about this many seconds."""

    kernel: int
    first: int
    last: int
    workers: int
    seconds: float


@dataclass(frozen=True)
class Preempt:
    """Ask the slice of a kernel to end after its quantum, or `at_once`: others wait, or there are more workers."""

    kernel: int
    at_once: bool = False


@dataclass(frozen=True)
class Done:
    """All chunks of a kernel have run."""

    kernel: int


Command = Run | Preempt | Done


@dataclass
class _Kernel:
    number: int
    account: Account
    weight: float
    chunks: int | None
    state: str = "ready"  # or running, away
    next: int = 0
    virtual: float = 0.0
    since: float = 0.0  # when it became ready or running
    chunk_seconds: float = 0.0
    workers: int = 0
    limit: int = 0  # the most workers of its slices; 0: all
    served: float = 0.0  # seconds
    leaving: bool = False
    told: Preempt | None = None


class KernelScheduler:
    """Decides which slices run, on this many workers.

    Examples
    --------
    >>> search, ranks = Account("bfs", 1.0, 0.1), Account("filter", 0.2, 1.0)
    >>> kernels = KernelScheduler(workers=2, quantum=0.01)
    >>> kernels.add(1, search, chunks=8)
    [Run(kernel=1, first=0, last=1, workers=2, seconds=0.01)]
    >>> kernels.add(2, ranks, chunks=4)
    [Preempt(kernel=1, at_once=True)]
    >>> kernels.ended(1, 1, 0.005, now=0.005)
    [Run(kernel=2, first=0, last=1, workers=1, seconds=0.01), Run(kernel=1, first=1, last=2, workers=1, seconds=0.01)]
    """

    def __init__(
        self, workers: int, quantum: float = 0.02, pairs: Pairs | None = None, patience: float | None = None,
        pairing: bool = True,
    ) -> None:  # fmt: skip
        if workers < 1 or not quantum > 0:
            raise UsageError(f"{workers} workers with slices of {quantum} s", expected="1 or more, and more than 0 s")
        self.workers, self.quantum, self.patience, self.pairing = workers, quantum, patience, pairing
        self.pairs = pairs or Pairs()
        self.kernels: dict[int, _Kernel] = {}
        self.clock = 0.0  # the virtual time of the kernel that was chosen last
        self._gone: tuple[_Kernel | None, float] = None, 0.0  # who has left, and until when its share is left free
        self._left: dict[str, float] = {}  # by kind: when its last kernel left
        self._gaps: dict[str, float] = {}  # and the usual time until the next one comes

    # --- events

    def add(
        self, kernel: int, account: Account, chunks: int | None = None, weight: float = 1.0, now: float = 0.0,
        away: bool = False,
    ) -> list[Command]:  # fmt: skip
        """A kernel is ready: its inputs are on the device. `chunks`: None if it reports its end itself."""
        if kernel in self.kernels or not weight > 0 or (chunks is not None and chunks < 1):
            raise UsageError(
                f"kernel {kernel} with {chunks} chunks and weight {weight}", expected="a new one, with some"
            )
        one = _Kernel(kernel, account, weight, chunks, virtual=self.clock, since=now)
        one.state = "away" if away else "ready"
        self.kernels[kernel] = one
        self._learn_gap(account.kind, now)
        return [] if away else self._waits(one, now)

    def back(self, kernel: int, now: float, limit: int = 0) -> list[Command]:
        """A kernel that was away asks for its next slice, with at most `limit` workers."""
        one = self.kernels[kernel]
        one.state, one.since, one.limit = "ready", now, limit
        return self._waits(one, now)

    def ended(self, kernel: int, chunks: int, seconds: float, now: float, *, away: bool = False) -> list[Command]:
        """A slice has ended after this many chunks, in this many seconds."""
        one = self.kernels[kernel]
        one.virtual += max(seconds, 1e-9) * one.workers / self.workers / one.weight
        one.served += seconds
        one.next += chunks
        if chunks:
            self.pairs.measured(one.account, self.beside(kernel), chunks / max(seconds, 1e-9))
            one.chunk_seconds = seconds / chunks * one.workers / self.workers
        one.state, one.since, one.workers, one.told = "away" if away else "ready", now, 0, None
        if one.leaving or (one.chunks is not None and one.next >= one.chunks):
            return self._leave(one, now)
        return self._choose(now)

    def remove(self, kernel: int, now: float) -> list[Command]:
        """A kernel is cancelled, or has reported its end; a running slice of it ends first."""
        one = self.kernels.get(kernel)
        if one is None:
            return []
        if one.state == "running":
            one.leaving = True
            return self._preempt(one)
        return self._leave(one, now)

    def tick(self, now: float) -> list[Command]:
        """Time has passed: a kernel that has waited too long for a slice that does not end runs beside it."""
        if self.patience is None:
            return []
        running = self._running()
        late = [one for one in self._ready() if now >= self._patient_until(one, running)]
        if not late:
            return self._choose(now) if not running else self._grow(now)
        if not running or len(running) > 2:
            return self._choose(now) if not running else []
        return [self._run(late[0], max(1, self.workers // 2), now)]

    def next_tick(self) -> float | None:
        """When the next tick would change something; None if only events do."""
        if self.patience is None:
            return None
        running = self._running()
        times = [self._patient_until(one, running) for one in self._ready()]
        if len(running) == 1 and 0 < running[0].workers < self.workers:
            times.append(self._company_until(running[0]))
        return min(times, default=None)

    # --- consequences of events

    def _ready(self) -> list[_Kernel]:
        """The kernels that wait for a slice, the next one first."""
        ready = [one for one in self.kernels.values() if one.state == "ready"]
        return sorted(ready, key=lambda one: (one.virtual, one.number))

    def _running(self) -> list[_Kernel]:
        return [one for one in self.kernels.values() if one.state == "running"]

    def beside(self, kernel: int) -> Account | None:
        """The account of the kernel that runs beside this one."""
        return next((one.account for one in self._running() if one.number != kernel), None)

    def _patient_until(self, one: _Kernel, running: list[_Kernel]) -> float:
        """Until when a kernel waits for slices that end late; a short one until the other has had its quantum."""
        due = one.since + self.quantum
        if len(running) == 1 and one.served < self.quantum:
            due = min(due, running[0].since + max(0.0, self.quantum - running[0].served))
        return due + (self.patience or 0.0)

    def _is_short_beside(self, one: _Kernel, other: _Kernel, now: float) -> bool:
        """Whether a kernel has had less than a quantum, and another that runs has had more."""
        return one.served < self.quantum <= other.served + now - other.since

    def _waits(self, one: _Kernel, now: float) -> list[Command]:
        """A kernel has become ready: it runs, or running kernels that have had their time are asked to end."""
        commands = self._choose(now)
        if one.state == "ready":
            running = self._running()
            alone = self.patience is not None and len(running) == 1
            if alone and (running[0].limit or self._is_short_beside(one, running[0], now)):
                commands.append(self._run(one, max(1, self.workers // 2, self.workers - running[0].workers), now))
            for other in running:
                commands += self._preempt(other, len(running) == 1 and self._partner(other, [one]) is not None)
        return commands

    def _preempt(self, one: _Kernel, at_once: bool = False) -> list[Command]:
        command = Preempt(one.number, at_once)
        if one.told == command or (one.told is not None and one.told.at_once):
            return []
        one.told = command
        return [command]

    def _choose(self, now: float) -> list[Command]:
        """Fill free workers: with a pair, with a partner of the running kernel, or with one kernel alone."""
        running, ready = self._running(), self._ready()
        if not ready:
            return self._grow(now)
        if len(running) > 1:
            return []
        half = self.workers // 2
        if running:
            return self._fill(running[0], ready, now)
        first = ready[0]
        self.clock = max(self.clock, first.virtual)
        partner = self._partner(first, ready[1:])
        if partner is not None:
            return [self._run(first, self.workers - half, now), self._run(partner, half, now)]
        begun = self._run(first, self.workers - (half if self._expects_company(first, now) else 0), now)
        return [begun, *(self._fill(first, ready[1:], now) if first.limit else [])]

    def _fill(self, one: _Kernel, ready: list[_Kernel], now: float) -> list[Command]:
        """Give the workers that a running kernel leaves free to its partner; if slices end late, to the next kernel."""
        room = self.workers - one.workers
        if room < 1 or not ready:
            return []
        partner = self._partner(one, ready)
        if partner is None and (self.patience is not None or one.limit):
            partner = ready[0]
        return [self._run(partner, room, now)] if partner is not None else []

    def _grow(self, now: float) -> list[Command]:
        """One kernel runs on a share, and no other needs the rest: it continues with all workers after its slice."""
        running = self._running()
        if len(running) != 1 or not 0 < running[0].workers < self.workers or running[0].limit:
            return []
        away = any(other.state == "away" for other in self.kernels.values() if other is not running[0])
        return [] if away or self._expects_company(running[0], now) else self._preempt(running[0])

    def _leave(self, one: _Kernel, now: float) -> list[Command]:
        """A kernel is done; if its kind comes again, the kernels worth running beside it leave its share free."""
        del self.kernels[one.number]
        if self.patience is not None:
            kind = one.account.kind
            self._left[kind] = now
            self._gone = one, now + min(self.quantum / 2, _GAPS_WAITED * self._gaps.get(kind, self.quantum))
        return [Done(one.number), *self._choose(now)]

    def _learn_gap(self, kind: str, now: float) -> None:
        """A kernel of a kind has come: learn how long after the last one left, if such kernels come in succession."""
        gap = now - self._left.pop(kind, -math.inf)
        if gap <= self.quantum / 2:
            before = self._gaps.get(kind, gap)
            self._gaps[kind] = max(gap, before + _GAP_WEIGHT * (gap - before))

    def _expects_company(self, one: _Kernel, now: float) -> bool:
        return self.pairing and now < self._company_until(one)

    def _company_until(self, one: _Kernel) -> float:
        """Until when a share stays free: for kernels that are away, or that follow one that has left."""
        gone, until = self._gone
        known = gone is not None and (0 < gone.limit < self.workers or self._is_worth(one.account, gone.account))
        away = [other.since + self.quantum / 2 for other in self.kernels.values()
                if other.state == "away" and self._is_worth(one.account, other.account)]  # fmt: skip
        return max([until if known else 0.0, *away])

    def _is_worth(self, one: Account, other: Account) -> bool:
        return self.pairs.gain(one, other) >= _LEAST_GAIN or self.pairs.is_worth_a_try(one, other)

    def _partner(self, one: _Kernel, others: list[_Kernel]) -> _Kernel | None:
        """The kernel that gains most beside this one, of those that are due; of equals, the one that waits longest."""
        if self.workers < 2 or not self.pairing:
            return None
        due = [other for other in others if other.virtual <= others[0].virtual + 2 * self.quantum / other.weight]
        worth = [other for other in due if self._is_worth(one.account, other.account)]
        return max(worth, key=lambda other: self.pairs.gain(one.account, other.account), default=None)

    def _run(self, one: _Kernel, workers: int, now: float) -> Run:
        workers = min(workers, one.limit) if one.limit else workers
        one.state, one.workers, one.since, one.told = "running", workers, now, None
        chunk = one.chunk_seconds * self.workers / workers
        count = max(1, int(self.quantum / chunk)) if chunk > 0 else 1
        last = one.next + count
        if one.chunks is not None:
            last = min(last, one.chunks)
        return Run(one.number, one.next, last, workers, self.quantum)
