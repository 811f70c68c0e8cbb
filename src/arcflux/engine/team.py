"""Ranks of one node as the workers of one team: the kernels for a whole graph, in memory that the node shares.

Every rank runs the same Python, and is one worker of every kernel. Nothing is sent: what one writes, all see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux.spmd.pool import run
from arcflux.spmd.team import Team
from arcflux.trace import Task
from arcflux.transports.base import Transport

__all__ = ["Ranks"]

Array = NDArray[Any]


class Ranks(Team):
    """The ranks of this rank's node."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(1)
        self.transport = transport
        self.workers = len(transport.mates)
        self.leads = transport.place == 0
        self.control = transport.shared(16, np.int64)

    def kept(self, size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
        """Shared; :meth:`result` copies what is wanted of it."""
        return self.transport.shared(size, dtype)

    def lent(self, size: int, dtype: DTypeLike) -> Array:
        """Shared."""
        return self.transport.shared(size, dtype)

    def small(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Array:
        """Shared zeros."""
        return self.transport.shared(shape, dtype)

    def lasting(self, size: int, dtype: DTypeLike) -> Array:
        """Shared for as long as the transport lives."""
        return self.transport.shared(size, dtype)

    def launch(
        self,
        kernel: Any,
        chunks: int,
        *args: Any,
        task: Task | None = None,
        glance: Callable[[NDArray[np.int64]], None] | None = None,
    ) -> None:
        """Be one worker of a kernel, from when all are here until all are done."""
        if self.leads:
            self.control[:] = 0
        self.together()
        among = self.transport.place, self.workers, self.control
        run(kernel, max(2, chunks), *args, task=task, glance=glance, among=among)
        self.together()

    def together(self) -> None:
        """Wait for the mates."""
        self.transport.node_barrier()

    def agreed(self, yes: bool) -> bool:
        """Whether any rank says yes."""
        return bool(self.transport.reduce(np.array([yes], np.uint8), "max")[0])

    def result(self, array: Array) -> Array:
        """A copy of this rank's own."""
        return array.copy()

    def end(self) -> None:
        """What is shared goes with the transport."""
