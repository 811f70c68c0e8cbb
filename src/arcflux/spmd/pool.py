"""Persistent threads that run a kernel together, while the calling thread watches: progress, and Ctrl-C.

The workers spend their time inside compiled code without the GIL. The caller only waits, so Python's signal handlers
run; on Ctrl-C it sets the kernel's chunk counter past its end, the workers finish their current chunk, and the
exception propagates. On a second Ctrl-C the workers are abandoned, with the arrays that they use, and new threads take
their place. Threads do not survive a fork, so pools are kept by process id.

Waking a thread takes longer than a small graph's supersteps. So the caller of a `brief` launch is a worker itself, and
handles signals after it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.spmd.interrupt import raise_if_cancelled
from arcflux.spmd.memory import free_reserve, hold_reserve, require
from arcflux.spmd.turns import current_turns
from arcflux.trace import Task

__all__ = ["BRIEF", "BRIEF_VISITS", "PATIENCE", "SERIAL_VISITS", "STOP", "TORN", "abandoned", "run", "start_thread"]

# Control words: a launch should end early; and a loop of a user's program was interrupted for that, so that the current
# superstep must be discarded.
STOP = 1
TORN = 3
# Control words: after how many ticks a brief launch of many supersteps should end with the current one, 0 for never;
# and, in the next word, when its first superstep began.
BRIEF = 4
# Visiting so many arcs and vertices takes some tenths of a second at most, for which Ctrl-C may wait.
BRIEF_VISITS = 1 << 25
# Visiting so many takes less time than waking a thread.
SERIAL_VISITS = 1 << 16
# A chunk number that no kernel reaches: a counter set to it makes every worker stop at its next claim.
_FAR = 1 << 62
_GLANCE = 0.1
# Seconds for workers to end after a stop, before they are interrupted once more.
PATIENCE = 1.0
# Bytes of address space of a new thread, about: its stack, and its initial data.
_THREAD = 10 << 20

_idle: dict[tuple[int, int], list[_Pool]] = {}
_abandoned: list[_Job] = []
_lock = threading.Lock()


class _Job:
    """One launch: a call that every worker makes once, and how many have ended.

    Nothing here allocates after the start: memory may be what is missing. `compiled`: the call is a kernel, which does
    not allocate either; if it fails for want of memory, it has not begun.
    """

    __slots__ = ("_lock", "call", "compiled", "done", "error", "handed", "left")

    def __init__(self, call: Callable[[int], None], workers: int, compiled: bool) -> None:
        self.call = call
        self.compiled = compiled
        self.left = workers
        self.handed = 0
        self.error: BaseException | None = None
        self.done = threading.Event()
        self._lock = threading.Lock()

    def work(self, worker: int) -> None:
        try:
            self.call(worker)
        except MemoryError as error:
            if self.compiled and free_reserve():
                return self.work(worker)
            self.error = error
        except BaseException as error:  # the caller raises it
            self.error = self.error or error
        with self._lock:
            self.left -= 1
            if not self.left:
                self.done.set()


class _Pool:
    """Threads that wait for jobs: all of them, or none if the system cannot start so many."""

    def __init__(self, workers: int) -> None:
        require(workers * _THREAD, f"{workers} threads")
        self.inboxes: list[SimpleQueue[_Job | None]] = [SimpleQueue() for _ in range(workers)]
        try:
            for worker, inbox in enumerate(self.inboxes):
                threading.Thread(
                    target=self._serve, args=(worker, inbox), name=f"arcflux-worker-{worker}", daemon=True
                ).start()
        except (RuntimeError, MemoryError):
            self.end()
            raise

    @staticmethod
    def _serve(worker: int, inbox: SimpleQueue[_Job | None]) -> None:
        while (job := inbox.get()) is not None:
            job.work(worker)
            del job  # otherwise its arrays would live until the next job

    def end(self) -> None:
        """Let the threads end after their current jobs."""
        for inbox in self.inboxes:
            inbox.put(None)

    def start(self, job: _Job) -> None:
        """Send a job to all threads that do not have it: an exception may have interrupted this.

        Python handles signals after a call, so a counted thread has the job.
        """
        while job.handed < len(self.inboxes):
            inbox = self.inboxes[job.handed]
            job.handed += 1
            inbox.put(job)


def run(
    kernel: Any,
    chunks: int,
    *args: Any,
    threads: int | None = None,
    task: Task | None = None,
    glance: Callable[[NDArray[np.int64]], None] | None = None,
    ends: bool = False,
    among: tuple[int, int, NDArray[np.int64]] | None = None,
    brief: int = 0,
    shrinks: bool = False,
) -> None:
    """Run ``kernel(worker, workers, control, *args)`` on all workers; return when `chunks` chunks are done.

    `control[0]` is the counter from which workers claim chunks (:func:`arcflux.spmd.machine.claim`); a kernel must stop
    when its claim is not below its number of chunks. `control[STOP]` is set when it should end early. `task` advances
    in proportion to the counter; `glance` is called with `control` now and then, and once at the end. A cancelled token
    ends the work, unless there is a `glance` that `ends` it itself. `among`: this process is one of many workers: its
    number, their number, and their control array. `brief`, unless 0: the launch takes some tenths of a second at most,
    so the calling thread need not watch, and works; it is short, or it ends with the superstep in which so many ticks
    are over, and the kernel is compiled. `shrinks`: fewer workers will do, where several runs share the cores
    (turns.py).
    """
    workers = max(1, min(config.threads(threads), chunks)) if among is None else 1
    first, everyone, control = among or (0, workers, np.zeros(16, np.int64))
    ready = getattr(kernel, "ready", None)
    if ready and not brief:
        ready(first, everyone, control, *args)
    if not ends:
        raise_if_cancelled()
    if workers == 1 and chunks <= 1 and glance is None:
        kernel(first, everyone, control, *args)
        return
    turns = current_turns() if among is None else None
    if turns is None:
        watching = task, glance, ends, brief if among is None else 0
        _launch(kernel, chunks, args, workers, (first, everyone, control), watching)
        return
    workers = turns.take(workers, control, shrinks)
    try:
        _launch(kernel, chunks, args, workers, (0, workers, control), (task, glance, ends, brief))
    finally:
        turns.leave()


def _launch(
    kernel: Any,
    chunks: int,
    args: tuple[Any, ...],
    workers: int,
    among: tuple[int, int, NDArray[np.int64]],
    watching: tuple[Task | None, Callable[[NDArray[np.int64]], None] | None, bool, int],
) -> None:
    """Run a compiled kernel on so many workers of this process; see :func:`run`."""
    first, everyone, control = among
    task, glance, ends, brief = watching
    begun = task.done if task else 0
    hold_reserve()
    if brief:
        control[BRIEF] = control[BRIEF] or brief
        _run_briefly(kernel, workers, control, args)
        if glance:
            glance(control)
        return
    pool = _take(workers)
    job = _Job(lambda worker: kernel(first + worker, everyone, control, *args), workers, hasattr(kernel, "ready"))
    pool.start(job)
    try:
        while not job.done.wait(_GLANCE):
            if task:
                task.at(begun + int((task.total - begun) * min(1.0, int(control[0]) / chunks)))
            if glance:
                glance(control)
            if not ends:
                raise_if_cancelled()
    except BaseException:
        told, control[0], control[STOP] = control[STOP], _FAR, 1
        _wait_out(job, PATIENCE if told else None)
        raise
    finally:
        if job.done.is_set():
            _give_back(pool, workers)
        else:
            _abandon(pool, job)
    if glance:
        glance(control)
    if job.error is not None:
        raise job.error


def start_thread(call: Callable[[], None]) -> None:
    """Run a call that raises nothing on a thread: an idle one, if there is one."""
    pool = _take(1)

    def work(_: int) -> None:
        try:
            call()
        finally:
            _give_back(pool, 1)

    pool.start(_Job(work, 1, False))


def _run_briefly(kernel: Any, workers: int, control: NDArray[np.int64], args: tuple[Any, ...]) -> None:
    """Run a kernel with the calling thread as its first worker.

    The other workers would wait forever for a missing first worker, so it enters the kernel even after a signal.
    """
    if workers == 1:
        kernel(0, 1, control, *args)
        return
    pool, entered = _take(workers - 1), False
    job = _Job(lambda worker: kernel(worker + 1, workers, control, *args), workers - 1, True)
    try:
        pool.start(job)
        entered = True
        kernel(0, workers, control, *args)
    except BaseException:
        control[0], control[STOP] = _FAR, 1
        if not entered:
            pool.start(job)
            kernel(0, workers, control, *args)
        raise
    finally:
        job.done.wait()
        _give_back(pool, workers - 1)
    if job.error is not None:
        raise job.error


def _wait_out(job: _Job, patience: float | None) -> None:
    """Wait until the workers stop, since they still use the caller's arrays; until Ctrl-C is pressed again."""
    until = None if patience is None else time.monotonic() + patience
    try:
        while not job.done.wait(_GLANCE) and (until is None or time.monotonic() < until):
            pass
    except KeyboardInterrupt:
        return


def _abandon(pool: _Pool, job: _Job) -> None:
    """Leave a job to its workers, which keep its arrays alive as long as they run."""
    pool.end()
    _abandoned[:] = [job, *(other for other in _abandoned if not other.done.is_set())]


def abandoned() -> bool:
    """Whether abandoned workers still run: then the process has to exit without cleaning up."""
    return any(not job.done.is_set() for job in _abandoned)


def _take(workers: int) -> _Pool:
    with _lock:
        pools = _idle.get((os.getpid(), workers))
        if pools:
            return pools.pop()
    return _Pool(workers)


def _give_back(pool: _Pool, workers: int) -> None:
    with _lock:
        _idle.setdefault((os.getpid(), workers), []).append(pool)


def _forget_parent() -> None:
    """After a fork: the parent's threads do not exist here, and one of them may hold its lock forever."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _abandoned.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
