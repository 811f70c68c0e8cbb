"""The kernel scheduler: which ready kernels run side by side, slice by slice (G2, section IV-C; Kernelet).

A pure state machine: events are calls, commands are what they return; no threads, and time is told to it. A ready
kernel is cut into slices, ranges of its chunks that take about one quantum. Slices of two kernels that want different
resources, by their accounts and by what was measured of them together, run side by side until either kernel ends;
others take turns.

Who is next is fair: every kernel has a virtual time, the seconds it was served over its weight, and the least is first
(stride scheduling), so none starves, whatever its priority. A kernel may be *away* between two slices: it comes back
by itself, as a run does that looks at its supersteps between two launches.

Where slices end late, as on cores (`patience`), nobody waits long for one: a kernel that has had less than a quantum
so far runs beside it at once, and so does one that waits for a slice that cannot be cut; others after the quantum and
`patience` seconds. What is beside another for no gain ends with its quantum.
"""

from __future__ import annotations

from dataclasses import dataclass

from arcflux.errors import UsageError
from arcflux.jobs.accounts import Account, Pairs

__all__ = ["Command", "Done", "KernelScheduler", "Preempt", "Run"]

# What two kernels have to gain together, for them to be worth running side by side.
_WORTH = 1.05


@dataclass(frozen=True)
class Run:
    """Run chunks of a kernel, from `first` to before `last`, on so many workers, for about so many seconds."""

    kernel: int
    first: int
    last: int
    workers: int
    seconds: float


@dataclass(frozen=True)
class Preempt:
    """Let the slice of a kernel end as soon as it can: others wait, or there are more workers for it."""

    kernel: int


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
    state: str = "ready"  # running, away
    next: int = 0
    virtual: float = 0.0
    since: float = 0.0  # ready or running since then
    chunk_seconds: float = 0.0
    workers: int = 0
    limit: int = 0  # workers that its slices take at most; 0: as many as there are
    served: float = 0.0  # seconds
    leaving: bool = False
    told: bool = False


class KernelScheduler:
    """Decides which slices run, on so many workers.

    Examples
    --------
    >>> search, ranks = Account("bfs", 1.0, 0.1), Account("filter", 0.2, 1.0)
    >>> kernels = KernelScheduler(workers=2, quantum=0.01)
    >>> kernels.add(1, search, chunks=8)
    [Run(kernel=1, first=0, last=1, workers=2, seconds=0.01)]
    >>> kernels.add(2, ranks, chunks=4)
    [Preempt(kernel=1)]
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
        self.clock = 0.0  # the virtual time of whoever was chosen last

    # --- events

    def add(
        self, kernel: int, account: Account, chunks: int | None = None, weight: float = 1.0, now: float = 0.0,
        away: bool = False,
    ) -> list[Command]:  # fmt: skip
        """A kernel is ready: its inputs are on the device. `chunks`: None, when it says by itself that it is done."""
        if kernel in self.kernels or not weight > 0 or (chunks is not None and chunks < 1):
            raise UsageError(
                f"kernel {kernel} with {chunks} chunks and weight {weight}", expected="a new one, with some"
            )
        one = _Kernel(kernel, account, weight, chunks, virtual=self.clock, since=now)
        one.state = "away" if away else "ready"
        self.kernels[kernel] = one
        return [] if away else self._waits(one, now)

    def back(self, kernel: int, now: float, limit: int = 0) -> list[Command]:
        """A kernel that was away asks for its next slice, which takes at most `limit` workers."""
        one = self.kernels[kernel]
        one.state, one.since, one.limit = "ready", now, limit
        return self._waits(one, now)

    def ended(self, kernel: int, chunks: int, seconds: float, now: float, *, away: bool = False) -> list[Command]:
        """A slice has ended after so many chunks, in so many seconds."""
        one, beside = self.kernels[kernel], self.beside(kernel)
        one.virtual += max(seconds, 1e-9) * one.workers / self.workers / one.weight
        one.served += seconds
        one.next += chunks
        if chunks:
            self.pairs.measured(one.account, beside, chunks / max(seconds, 1e-9))
            one.chunk_seconds = seconds / chunks * one.workers / self.workers
        one.state, one.since, one.workers, one.told = "away" if away else "ready", now, 0, False
        if one.leaving or (one.chunks is not None and one.next >= one.chunks):
            del self.kernels[kernel]
            return [Done(kernel), *self._choose(now)]
        return self._choose(now)

    def remove(self, kernel: int, now: float) -> list[Command]:
        """A kernel is not wanted any more, or has said that it is done; a slice of it ends first."""
        one = self.kernels.get(kernel)
        if one is None:
            return []
        if one.state == "running":
            one.leaving = True
            return self._preempt(one)
        del self.kernels[kernel]
        return [Done(kernel), *self._choose(now)]

    def tick(self, now: float) -> list[Command]:
        """Time has passed: whoever has waited too long for a slice that does not end runs beside it."""
        if self.patience is None:
            return []
        running = self._running()
        late = [one for one in self._ready() if now - one.since >= self.quantum + self.patience]
        if not late or not running or len(running) > 2:
            return self._choose(now) if not running else []
        return [self._run(late[0], max(1, self.workers // 2), now)]

    # --- what follows of them

    def _ready(self) -> list[_Kernel]:
        """Those that wait for a slice, the next first."""
        found = [one for one in self.kernels.values() if one.state == "ready"]
        return sorted(found, key=lambda one: (one.virtual, one.number))

    def _running(self) -> list[_Kernel]:
        return [one for one in self.kernels.values() if one.state == "running"]

    def beside(self, kernel: int) -> Account | None:
        """Beside whom a kernel runs."""
        return next((one.account for one in self._running() if one.number != kernel), None)

    def _waits(self, one: _Kernel, now: float) -> list[Command]:
        """A kernel has become ready: it runs, or those that run and have had their time are told to end."""
        found = self._choose(now)
        if one.state == "ready":
            running = self._running()
            if self.patience is not None and len(running) == 1 and (one.served < self.quantum or running[0].limit):
                found.append(self._run(one, max(1, self.workers // 2), now))
            for other in running:
                found += self._preempt(other)
        return found

    def _preempt(self, one: _Kernel) -> list[Command]:
        if one.told:
            return []
        one.told = True
        return [Preempt(one.number)]

    def _choose(self, now: float) -> list[Command]:
        """Fill what is free: with a pair, with a partner of the one that runs, or with one kernel alone."""
        running, ready = self._running(), self._ready()
        if not ready:
            # One that runs on a share, and nobody wants the rest: it goes on with all workers after its slice.
            alone = len(running) == 1 and 0 < running[0].workers < self.workers and not running[0].limit
            return self._preempt(running[0]) if alone and self._nobody_away(running[0]) else []
        if len(running) > 1:
            return []
        if running:
            one = running[0]
            partner = self._partner(one, ready) if one.workers < self.workers else None
            return [self._run(partner, self.workers - one.workers, now)] if partner is not None else []
        first = ready[0]
        self.clock = max(self.clock, first.virtual)
        partner = self._partner(first, ready[1:])
        if partner is None:
            return [self._run(first, self.workers, now)]
        half = self.workers // 2
        return [self._run(first, self.workers - half, now), self._run(partner, half, now)]

    def _nobody_away(self, one: _Kernel) -> bool:
        return not any(other.state == "away" for other in self.kernels.values() if other is not one)

    def _partner(self, one: _Kernel, others: list[_Kernel]) -> _Kernel | None:
        """Who gains most beside a kernel, of those that are due; the first of equals is the one that waits longest."""
        if self.workers < 2 or not self.pairing:
            return None
        due = [other for other in others if other.virtual <= others[0].virtual + 2 * self.quantum / other.weight]
        gains = [self.pairs.gain(one.account, other.account) for other in due]
        return due[gains.index(max(gains))] if gains and max(gains) >= _WORTH else None

    def _run(self, one: _Kernel, workers: int, now: float) -> Run:
        workers = min(workers, one.limit) if one.limit else workers
        one.state, one.workers, one.since, one.told = "running", workers, now, False
        chunk = one.chunk_seconds * self.workers / workers
        count = max(1, int(self.quantum / chunk)) if chunk > 0 else 1
        last = one.next + count
        if one.chunks is not None:
            last = min(last, one.chunks)
        return Run(one.number, one.next, last, workers, self.quantum)
