"""Bytes between nodes, phase by phase: what the HIVE study's formulas are held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from arcflux.engine.worker import Worker

__all__ = ["Traffic", "told"]


class Traffic:
    """What a worker sends to others, by phases; phases are the same on all workers."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.sent: dict[str, int] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What the block sends belongs to this phase."""
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
    """A line about what was sent; none where nothing was.

    Examples
    --------
    >>> told({"visits": 1600, "records": 800})
    [('sent', '1,600 bytes of visits, 800 bytes of records')]
    """
    said = ", ".join(f"{count:,} bytes of {name}" for name, count in traffic.items() if count)
    return [("sent", said)] if said else []
