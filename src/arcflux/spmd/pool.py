"""Persistent threads that run a kernel together, while the calling thread watches: progress, and Ctrl-C.

The workers spend their time inside compiled code without the GIL. The caller only waits, so Python's signal handlers
run; on Ctrl-C the kernel's chunk counter is set past its end, the workers finish the chunk in hand, and the exception
goes on. Threads do not survive a fork, so pools are kept by process id.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.trace import Task

__all__ = ["STOP", "run"]

# Where a launch's control array says that it should end early.
STOP = 1
# A chunk number that no kernel reaches: a counter set to it makes every worker stop at its next claim.
_FAR = 1 << 62
_GLANCE = 0.1

_idle: dict[tuple[int, int], list[_Pool]] = {}
_lock = threading.Lock()


class _Job:
    """One launch: a call that every worker makes once, and how far they are."""

    def __init__(self, call: Callable[[int], None], workers: int) -> None:
        self.call = call
        self.left = workers
        self.errors: list[BaseException] = []
        self.done = threading.Event()
        self._lock = threading.Lock()

    def work(self, worker: int) -> None:
        try:
            self.call(worker)
        except BaseException as error:  # handed to the caller, who raises it
            self.errors.append(error)
        with self._lock:
            self.left -= 1
            if not self.left:
                self.done.set()


class _Pool:
    """Threads that wait for jobs."""

    def __init__(self, workers: int) -> None:
        self.inboxes: list[SimpleQueue[_Job]] = [SimpleQueue() for _ in range(workers)]
        for worker, inbox in enumerate(self.inboxes):
            threading.Thread(
                target=self._serve, args=(worker, inbox), name=f"arcflux-worker-{worker}", daemon=True
            ).start()

    @staticmethod
    def _serve(worker: int, inbox: SimpleQueue[_Job]) -> None:
        while True:
            inbox.get().work(worker)

    def start(self, call: Callable[[int], None]) -> _Job:
        job = _Job(call, len(self.inboxes))
        for inbox in self.inboxes:
            inbox.put(job)
        return job


def run(
    kernel: Any,
    chunks: int,
    *args: Any,
    threads: int | None = None,
    task: Task | None = None,
    glance: Callable[[NDArray[np.int64]], None] | None = None,
    among: tuple[int, int, NDArray[np.int64]] | None = None,
) -> None:
    """Run ``kernel(worker, workers, control, *args)`` on all workers; return when `chunks` chunks are done.

    `control[0]` is the counter from which workers claim chunks (:func:`arcflux.spmd.machine.claim`); a kernel must
    stop when what it claimed is not below its number of chunks. `control[STOP]` is set when it should end early.
    `task`, when given, moves on in proportion to the counter; `glance` is called with `control` now and then.
    `among`, when given, says that this process has one of many workers: which, of how many, and their control.
    """
    workers = max(1, min(config.threads(threads), chunks)) if among is None else 1
    first, everyone, control = among or (0, workers, np.zeros(16, np.int64))
    ready = getattr(kernel, "ready", None)
    if ready:
        ready(first, everyone, control, *args)
    begun = task.done if task else 0
    if workers == 1 and chunks <= 1 and glance is None:
        kernel(first, everyone, control, *args)
    else:
        pool = _take(workers)
        job = pool.start(lambda worker: kernel(first + worker, everyone, control, *args))
        try:
            while not job.done.wait(_GLANCE):
                if task:
                    task.at(begun + int((task.total - begun) * min(1.0, int(control[0]) / chunks)))
                if glance:
                    glance(control)
        except BaseException:
            control[0], control[STOP] = _FAR, 1
            _wait_out(job)
            raise
        finally:
            _give_back(pool, workers)
        if job.errors:
            raise job.errors[0]


def _wait_out(job: _Job) -> None:
    """Wait for the workers to notice, however often the user presses Ctrl-C: they still use the caller's arrays."""
    while not job.done.is_set():
        with suppress(KeyboardInterrupt):
            job.done.wait()


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
    """After a fork: the parent's threads are not here, and its lock may be held by one of them for ever."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
