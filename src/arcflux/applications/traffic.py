"""Bytes between nodes by phase, to compare with the HIVE study's formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from arcflux.engine.worker import Worker

__all__ = ["Traffic", "told"]


class Traffic:
    """The bytes that a worker sends, by phase; phases are the same on all workers."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.sent: dict[str, int] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what the block sends in this phase."""
        before = self.worker.sent
        yield
        self.sent[name] = self.sent.get(name, 0) + self.worker.sent - before

    def total(self) -> dict[str, int]:
        """The bytes of all workers in each phase; collective."""
        if not self.sent:
            return {}
        summed = self.worker.sum(np.array(list(self.sent.values()), np.int64))
        return dict(zip(self.sent, summed.tolist(), strict=True))


def told(traffic: Mapping[str, int]) -> list[tuple[str, str]]:
    """A line about the bytes that were sent; none if there were none.

    Examples
    --------
    >>> told({"visits": 1600, "records": 800})
    [('sent', '1,600 bytes of visits, 800 bytes of records')]
    """
    said = ", ".join(f"{count:,} bytes of {name}" for name, count in traffic.items() if count)
    return [("sent", said)] if said else []
