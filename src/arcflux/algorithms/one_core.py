"""Sequential traversals: depth-first searches, queues, stacks. Every worker does the same one.

Linear-time work of one core is not distributed: each worker has the whole graph, traverses it, and gets the same
answer.
"""

from __future__ import annotations

from typing import Any

from arcflux.engine.worker import Cores, Worker
from arcflux.errors import UsageError
from arcflux.spmd.pool import run

__all__ = ["walk"]


def walk(worker: Worker, kernel: Any, *arguments: Any) -> None:
    """Run a kernel on one core of a worker, in arrays of its own."""
    if not isinstance(worker.device, Cores):
        raise UsageError(
            f"{kernel.__name__} has no kernels for a device of kind {worker.device.kind!r}", expected="cores",
            remedy="leave devices= out",
        )  # fmt: skip
    run(kernel, 1, *arguments, threads=1)
