"""Many jobs on one loaded graph, in this process: admitted by priority and memory, then taking turns on the cores."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from numbers import Integral
from typing import Any

from arcflux import config, trace
from arcflux.checks import checked, flag, maybe, real, seconds, shown, whole
from arcflux.devices.base import Device
from arcflux.errors import CancelledError, SpaceError, UsageError
from arcflux.graph import Graph
from arcflux.io import load
from arcflux.jobs.cores import QUANTUM, Cores, Seat
from arcflux.jobs.devices import SharedDevice, SharedGpu, shared_devices, state_of
from arcflux.jobs.job import Job, Limits, Progress
from arcflux.jobs.memory import Buffer, Command, MemoryScheduler, Ready
from arcflux.jobs.tasks import Task, task_of
from arcflux.result import Result
from arcflux.spmd.memory import within_memory
from arcflux.spmd.pool import start_thread
from arcflux.spmd.space import available
from arcflux.spmd.turns import taking_turns

__all__ = ["Jobs"]

# The most jobs that have memory and turns at the same time; with more, their states would not fit the cache.
_AT_ONCE = 8
_PRIORITIES = range(-10, 11)
_current = threading.local()


class Jobs:
    """Many jobs on one graph, which is loaded once.

    Parameters
    ----------
    graph
        A graph, or what :func:`arcflux.load` accepts. Without it, each submission names its own.
    threads
        Workers that all jobs share; by default every core.
    memory
        Bytes that jobs may take together beside the graph, by prediction; by default, half of what is
        free. A job that needs more than all of it is refused, others wait until there is room.
    devices
        GPUs or virtual devices to run programs on instead of cores: each job gets its share of their memory.
    at_once
        The most jobs that run at the same time.
    pairing
        Whether two jobs that need different resources run side by side; if not, all take turns.

    Examples
    --------
    >>> import arcflux as af
    >>> with af.Jobs("kron:8", threads=2) as jobs:
    ...     ranks = jobs.submit("pagerank")
    ...     search = jobs.submit(af.algorithms.BFS, source=3, priority=1)
    ...     print(ranks.result().name, search.result()["level"].max())
    PageRank 4
    """

    @checked(graph=None, threads=None, memory=maybe(whole), devices=None, at_once=whole, pairing=flag, quantum=real)
    def __init__(
        self,
        graph: Any = None,
        *,
        threads: int | None = None,
        memory: int | None = None,
        devices: Sequence[Device] | None = None,
        at_once: int = _AT_ONCE,
        pairing: bool = True,
        quantum: float = QUANTUM,
    ) -> None:
        if at_once < 1 or (memory is not None and memory < 1):
            raise UsageError(f"at_once is {at_once}, memory is {memory}", expected="numbers from 1 on")
        _check_devices(devices)
        self.graph: Graph | None = graph if graph is None or isinstance(graph, Graph) else load(graph)
        self.threads, self.at_once = config.threads(threads), at_once
        self.budget = memory or max(1 << 26, int(available() or 1 << 32) // 2)
        self.cores = Cores(self.threads, quantum, pairing)
        self.devices: list[SharedDevice | SharedGpu] = [] if devices is None else shared_devices(devices)
        self._memories = [MemoryScheduler(one.device.memory or self.budget) for one in self.devices]
        self._memories = self._memories or [MemoryScheduler(self.budget)]
        self._jobs: dict[int, Job] = {}
        self._tasks: dict[int, Task] = {}
        self._queue: list[tuple[int, int]] = []
        self._admitted: set[int] = set()
        self._ready: dict[int, int] = {}
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._closed = False
        self._unstarted: list[tuple[Job, SpaceError]] = []
        self._ending = False  # whether a thread ends those
        self._listening = trace.listen(_hear)
        self._listening.__enter__()

    # --- calls of users

    def submit(
        self,
        task: Any,
        *,
        priority: int = 0,
        deadline: float | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        max_supersteps: int | None = None,
        graph: Graph | None = None,
        ended: Callable[[Job], None] | None = None,
        **parameters: Any,
    ) -> Job:
        """Submit a job; returns at once.

        Parameters
        ----------
        task
            The name of an algorithm, or a vertex program; keyword arguments that it knows are its parameters.
        priority
            From -10 to 10: higher ones are admitted first, and get twice the share of the cores for each step.
        deadline
            Seconds from now after which the job is cancelled.
        max_seconds, max_memory, max_supersteps
            Seconds on the cores and bytes of its arrays, beyond which the job ends with an error; supersteps after
            which it ends with the result it has then.
        graph
            Another graph than that of all jobs.
        ended
            Called with the job when it ends, before any thread that waits for it continues.
        """
        _check_request(priority, graph, ended)
        limits = Limits(max_seconds, max_memory, max_supersteps, deadline).checked()
        if (graph := self.graph if graph is None else graph) is None:
            raise UsageError(
                "the jobs have no graph", expected="a graph", remedy="af.Jobs(graph), or submit(..., graph=)"
            )
        kind = task_of(task, graph, parameters)
        need = kind.memory
        if max_memory is not None and max_memory < need - (1 << 20):
            raise UsageError(
                f"{kind.name} takes about {need:,} bytes here, and max_memory is {max_memory:,}",
                expected="a limit above that", remedy=f"max_memory={need}",
            )  # fmt: skip
        job = Job(next(self._numbers), kind.name, dict(parameters), priority, limits)
        job._cancel, job.ended = lambda: self._cancel(job), ended
        with self._lock:
            if self._closed:
                raise UsageError("the jobs are closed", expected="a submission inside `with af.Jobs(...)`")
            self._buffers(kind)  # refuses what cannot run here
            self._jobs[job.number], self._tasks[job.number] = job, kind
            heapq.heappush(self._queue, (-priority, job.number))
            self._admit()
        self._end_unstarted()
        return job

    def __iter__(self) -> Any:
        with self._lock:
            return iter(list(self._jobs.values()))

    def __len__(self) -> int:
        return len(self._jobs)

    def task(self, job: Job) -> Task | None:
        """The task of a job, as long as it is not over."""
        return self._tasks.get(self._own(job).number)

    def forget(self, job: Job) -> None:
        """Remove a job that is over, with its result."""
        with self._lock:
            if self._own(job).is_over:
                self._jobs.pop(job.number, None)

    def _own(self, job: Any) -> Job:
        if isinstance(job, Job) and self._jobs.get(job.number, job) is job:
            return job
        raise UsageError(f"job is {shown(job)}", expected="a job that these jobs were given, by submit")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all jobs are over, or for this many seconds; returns whether they are."""
        most = seconds("timeout", timeout)
        end = None if most is None else time.monotonic() + most
        return all(job.wait(None if end is None else max(0.0, end - time.monotonic())) for job in self)

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more jobs, and wait for the existing ones, or `cancel` them."""
        with self._lock:
            closed, self._closed = self._closed, True
        if cancel:
            for job in self:
                job.cancel()
        self.wait()
        self.cores.close()
        if not closed:
            self._listening.__exit__(None, None, None)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close(cancel=kind is not None)

    @property
    def memory_used(self) -> int:
        """Bytes assigned to admitted jobs."""
        return sum(memory.used for memory in self._memories)

    # --- the stages of a job

    def _buffers(self, task: Task) -> list[Buffer]:
        """The memory that a task needs: of the process, or of each device."""
        if not self.devices:
            if task.memory > self.budget:
                raise SpaceError(
                    f"{task.name} takes about {task.memory:,} bytes here",
                    expected=f"at most {self.budget:,}, for all jobs",
                    remedy=f"af.Jobs(..., memory={task.memory}), or a smaller graph",
                )
            return [Buffer("state", task.memory, load=False)]
        if task.native:
            raise UsageError(
                f"{task.name} has kernels of its own, and the jobs run on devices",
                expected="a vertex program, or an algorithm that is one", remedy="leave devices= of af.Jobs out",
            )  # fmt: skip
        return [state_of(task.graph, task.work, one.device, len(self.devices)) for one in self.devices]

    def _admit(self) -> None:
        """Let the first jobs in the queue request memory, as long as not too many jobs have it."""
        while self._queue and len(self._admitted) < self.at_once and not self._closed_for_good():
            _, number = heapq.heappop(self._queue)
            job = self._jobs.get(number)
            if job is None or job.state != "queued":
                continue
            job.state = "waiting"
            self._admitted.add(number)
            self._ready[number] = len(self._memories)
            for memory, buffer in zip(self._memories, self._buffers(self._tasks[number]), strict=True):
                memory.submit(number, [buffer])
                self._obey(memory.seal(number))

    def _closed_for_good(self) -> bool:
        return self.cores._closed

    def _obey(self, commands: Sequence[Command]) -> None:
        """Execute the memory scheduler's commands: a job that is ready on all devices begins."""
        for command in commands:
            if isinstance(command, Ready):
                self._ready[command.kernel] -= 1
                if not self._ready[command.kernel]:
                    self._start(self._jobs[command.kernel])

    def _start(self, job: Job) -> None:
        task = self._tasks[job.number]
        over = lambda: job.token.cancelled  # noqa: E731
        seat = self.cores.seat(
            job.number, task.account, 2.0**job.priority, limit=job.limits.memory, over=over, seen=job.saw
        )
        job.begin(lambda: _progress(job, seat), lambda: seat.seconds)
        job.work = seat
        try:
            with within_memory(f"a thread of the job {task.name}"):
                start_thread(lambda: self._run(job, task, seat))
        except SpaceError as error:
            seat.stand_up()
            seat.over, seat.seen = bool, None
            self._unstarted.append((job, error))

    def _run(self, job: Job, task: Task, seat: Seat) -> None:
        result, error = None, None
        _current.job = job
        try:
            seat.sit_down()
            with taking_turns(seat):
                result = self._call(job, task, seat)
        except BaseException as raised:  # raised in the caller that asks for the result
            error = raised
        finally:
            _current.job = None
            seat.stand_up()
            seat.over, seat.seen = bool, None
            self._end(job, result, error)

    def _call(self, job: Job, task: Task, seat: Seat) -> Result:
        # A program that may use every core gets no explicit number: the planner knows which run faster on fewer.
        threads = seat.threads if task.native else None if self.threads == config.threads() else self.threads
        options: dict[str, Any] = {} if threads is None else {"threads": threads}
        if job.limits.supersteps is not None:
            options["max_supersteps"] = job.limits.supersteps
        if self.devices:
            options.pop("threads", None)
            buffers = self._buffers(task)
            options["devices"] = [
                one.share(buffer.nbytes if one.device.memory is not None else None)
                for one, buffer in zip(self.devices, buffers, strict=True)
            ]
        return task.call(cancel=job.token, **options)

    def _end(self, job: Job, result: Result | None, error: BaseException | None) -> None:
        with self._lock:
            self._admitted.discard(job.number)
            self._tasks.pop(job.number, None)
            self._ready.pop(job.number, None)
            for memory in self._memories:
                self._obey(memory.executed(job.number))
            job.end(result, error)
            self._admit()
        job.tell()
        self._end_unstarted()

    def _end_unstarted(self) -> None:
        """End the jobs for which there was no thread; each lets others begin, which may have none either."""
        while True:
            with self._lock:
                if self._ending or not self._unstarted:
                    return
                job, error = self._unstarted.pop(0)
                self._ending = True
            try:
                self._end(job, None, error)
            finally:
                self._ending = False

    def _cancel(self, job: Job) -> None:
        with self._lock:
            if job.is_over:
                return
            job.token.cancel()
            if job.state == "running":
                return
            commands = [memory.cancel(job.number) for memory in self._memories] if job.state == "waiting" else []
            self._admitted.discard(job.number)
            self._tasks.pop(job.number, None)
            job.end(None, CancelledError(job.token.reason))
            for some in commands:
                self._obey(some)
            self._admit()
        job.tell()
        self._end_unstarted()


def _progress(job: Job, seat: Seat) -> Progress:
    last = job.history[-1] if job.history else None
    heard: trace.Task | None = getattr(job, "heard", None)
    return Progress(
        last.number + 1 if last is not None else 0, last.frontier if last is not None else 0,
        heard.done if heard is not None else 0, heard.total if heard is not None else 0,
        heard.unit if heard is not None else "", seat.seconds, seat.waited, seat.peak,
    )  # fmt: skip


def _hear(event: trace.Event) -> None:
    """Progress reported by a job's thread belongs to the job."""
    job = getattr(_current, "job", None)
    if job is not None and isinstance(event, trace.Task):
        job.heard = event


def _check_devices(devices: Any) -> None:
    if devices is not None and (not isinstance(devices, Sequence) or isinstance(devices, str)):
        problem = f"devices is {shown(devices)}"
        raise UsageError(problem, expected="a list of devices", remedy="devices=[af.devices.Cuda(0)]")


def _check_request(priority: Any, graph: Any, ended: Any) -> None:
    if isinstance(priority, bool) or not isinstance(priority, Integral) or priority not in _PRIORITIES:
        raise UsageError(f"priority is {shown(priority)}", expected="a whole number from -10 to 10")
    if graph is not None and not isinstance(graph, Graph):
        raise UsageError(f"graph is {shown(graph)}", expected="a graph", remedy="graph=af.load(...)")
    if ended is not None and not callable(ended):
        raise UsageError(f"ended is {shown(ended)}", expected="a function of a job")
