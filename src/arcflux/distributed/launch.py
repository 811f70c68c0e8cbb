"""Kernels on one rank: each is compiled once for all, by the first, before the others need it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from arcflux import trace
from arcflux.transports.base import Transport

__all__ = ["Launch"]


class Launch:
    """Calls kernels with one worker, and adds up what compiling took. All ranks make their first call of each alike."""

    def __init__(self, transport: Transport, quiet: bool | None = None) -> None:
        """`quiet`: whether nobody hears how far it is; without it, all but the first rank are."""
        self.transport = transport
        self.quiet = transport.rank > 0 if quiet is None else quiet
        self.begun = time.perf_counter()
        self.compiled = 0.0
        self._ready: set[Any] = set()

    def __call__(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel; the first time it is a meeting of all ranks."""
        control = np.zeros(16, np.int64)
        if kernel not in self._ready:
            begun = time.perf_counter()
            self._ready.add(kernel)
            if self.transport.rank > 0:
                self.transport.barrier()
            kernel.ready(0, 1, control, *arguments)
            if self.transport.rank == 0:
                self.transport.barrier()
            self.compiled += time.perf_counter() - begun
        kernel(0, 1, control, *arguments)

    @contextmanager
    def task(self, name: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
        """Tell whoever listens how far the work is; the first rank speaks for all."""
        if self.quiet:
            yield lambda done: None
            return
        with trace.task(name, total, unit) as work:
            yield work.at

    @property
    def seconds(self) -> float:
        """Since this was made, without compiling."""
        return time.perf_counter() - self.begun - self.compiled
