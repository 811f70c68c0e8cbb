"""Streams of jobs on two cores by a clock that is modelled: what the scheduler of `af.Jobs` decides on idle ones.

    python benchmarks/jobs_model.py [--handoff .3] [--crowding 1.0 1.1 1.25]

Each stream submits its next job when it has the result of the last, as a user does. The scheduler is the real one
(`arcflux.jobs.slices`); seconds on two workers and on one, and supersteps, are those of single runs on idle cores.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from arcflux.jobs.accounts import Account, Pairs
from arcflux.jobs.cores import PATIENCE, QUANTUM
from arcflux.jobs.slices import KernelScheduler, Preempt, Run

__all__ = ["KINDS", "PAIRS", "Model", "main", "over_sequence"]


@dataclass(frozen=True)
class Kind:
    """A kind of jobs: seconds on both cores, on one over on both, supersteps."""

    seconds: float
    slower: float
    steps: int


# kron:18, ratings:100000x10000 and grid:700x700, docs/explanation/jobs.md.
KINDS = {
    "BFS": Kind(0.0021, 1.56, 7),
    "PR": Kind(0.040, 1.97, 10),
    "CF": Kind(0.045, 1.89, 20),
    "BFS@road": Kind(0.0047, 1.15, 1400),
}
PAIRS = (
    (("BFS", 63), ("PR", 4)), (("BFS", 54), ("CF", 3)), (("BFS@road", 34), ("PR", 4)),
    (("CF", 4), ("PR", 4)), (("PR", 4), ("PR", 4)), (("BFS", 60), ("BFS", 60)),
)  # fmt: skip
_ACCOUNTS = {name: Account(name, 1.0, 0.3) for name in KINDS}
# Seconds between two slices of a job.
_AWAY = 3e-5
_LAST = 1e-9


@dataclass
class _Job:
    number: int
    stream: int
    kind: str
    left: float = 1.0  # of its work
    workers: int = 0
    begun: float = 0.0
    before: float = 1.0  # what was left when its slice began
    shared: float = 0.0
    beside: str = ""
    stops: bool = False  # with its superstep


class Model:
    """Two cores, the scheduler, and streams of so many jobs of a kind."""

    def __init__(
        self, streams: Sequence[tuple[str, int]], pairs: Pairs, *, pairing: bool, handoff: float, crowding: float
    ) -> None:
        self.scheduler = KernelScheduler(2, QUANTUM, pairs, patience=PATIENCE, pairing=pairing)
        self.handoff, self.crowding = handoff, crowding
        self.now = 0.0
        self.left = [many for _, many in streams]
        self.kinds = [kind for kind, _ in streams]
        self.jobs: dict[int, _Job] = {}
        self.running: dict[int, _Job] = {}
        self._cuts: dict[int, float] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count(1)
        for stream in range(len(streams)):
            self._submit(stream)

    def run(self) -> float:
        """Seconds until all jobs are done."""
        while self._events or self.running:
            ends = [(self.now + self._until_end(job), 0, number) for number, job in self.running.items()]
            cuts = [(max(self.now, when), 1, number) for number, when in self._cuts.items() if number in self.running]
            happens = [(self._events[0][0], 2, 0)] if self._events else []
            tick = self.scheduler.next_tick()
            ticks = [] if tick is None else [(max(tick, self.now + 1e-6), 3, 0)]
            when, what, number = min(ends + cuts + happens + ticks)
            self._work_until(when)
            if what == 0:
                self._ended(self.running.pop(number))
            elif what == 1:
                del self._cuts[number]
                self.running[number].stops = True
            elif what == 2:
                heapq.heappop(self._events)[2]()
            else:
                self._obey(self.scheduler.tick(self.now))
        return self.now

    def _speed(self, job: _Job) -> float:
        """The share of a job that is done in a second; three workers share two cores, and two jobs the memory."""
        kind = KINDS[job.kind]
        alone = 1.0 / kind.seconds / (kind.slower if job.workers == 1 else 1.0)
        crowd = max(1.0, sum(one.workers for one in self.running.values()) / 2)
        return alone / crowd / (self.crowding if len(self.running) > 1 else 1.0)

    def _until_end(self, job: _Job) -> float:
        step = 1.0 / KINDS[job.kind].steps
        rest = job.left % step
        wanted = min(job.left, rest if rest > _LAST else step) if job.stops else job.left
        return wanted / self._speed(job)

    def _work_until(self, when: float) -> None:
        speeds = {number: self._speed(job) for number, job in self.running.items()}
        for number, job in self.running.items():
            job.left = max(0.0, job.left - (when - self.now) * speeds[number])
            for other in self.running.values():
                if other is not job:
                    job.shared, job.beside = job.shared + when - self.now, other.kind
        self.now = when

    def _at(self, when: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), happens))

    def _submit(self, stream: int) -> None:
        job = _Job(next(self._numbers), stream, self.kinds[stream])
        self.jobs[job.number] = job
        self.left[stream] -= 1
        self.scheduler.add(job.number, _ACCOUNTS[job.kind], now=self.now, away=True)
        self._comes_back(job)

    def _comes_back(self, job: _Job) -> None:
        self._at(self.now + _AWAY, lambda: self._obey(self.scheduler.back(job.number, self.now)))

    def _obey(self, commands: Sequence[Any]) -> None:
        for command in commands:
            if isinstance(command, Run):
                job = self.running[command.kernel] = self.jobs[command.kernel]
                job.workers, job.begun, job.before = command.workers, self.now, job.left
                job.shared, job.stops = 0.0, False
            elif isinstance(command, Preempt) and command.kernel in self.running:
                over = self.running[command.kernel].begun + QUANTUM
                self._cuts[command.kernel] = self.now if command.at_once else over

    def _ended(self, job: _Job) -> None:
        """A slice is over: how fast it was is told, as a seat does (cores.py)."""
        self._cuts.pop(job.number, None)
        seconds = self.now - job.begun
        self._obey(self.scheduler.ended(job.number, 0, seconds, self.now, away=True))
        alone, paired = job.workers == 2 and not job.shared, job.workers == 1 and job.shared >= 0.7 * seconds
        if (alone or paired) and seconds > 0:
            beside = _ACCOUNTS[job.beside] if paired else None
            self.scheduler.pairs.measured(_ACCOUNTS[job.kind], beside, (job.before - job.left) / seconds)
        if job.left > _LAST:
            self._comes_back(job)
            return
        self._obey(self.scheduler.remove(job.number, self.now))
        if self.left[job.stream]:
            self._at(self.now + self.handoff, lambda: self._submit(job.stream))


def over_sequence(streams: Sequence[tuple[str, int]], pairing: bool, handoff: float, crowding: float) -> float:
    """The throughput of jobs over that of calls one after the other, once pairs are known."""
    pairs = Pairs()
    for _ in range(5):
        seconds = Model(streams, pairs, pairing=pairing, handoff=handoff, crowding=crowding).run()
    return sum(KINDS[kind].seconds * many for kind, many in streams) / seconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--handoff", type=float, default=0.3, help="milliseconds from a result to the next job")
    parser.add_argument("--crowding", type=float, nargs="+", default=[1.0, 1.1, 1.25], help="how two slow each other")
    given = parser.parse_args(arguments)
    print("modelled: throughput over one after the other, side by side and in turns")
    for streams in PAIRS:
        said = " + ".join(f"{many} {kind}" for kind, many in streams)
        cells = []
        for crowding in given.crowding:
            jobs, turns = (over_sequence(streams, pairing, given.handoff / 1e3, crowding) for pairing in (True, False))
            cells.append(f"crowding {crowding:g}: {jobs:.2f}, {turns:.2f}")
        print(f"{said:<24} {'   '.join(cells)}")


if __name__ == "__main__":
    main()
