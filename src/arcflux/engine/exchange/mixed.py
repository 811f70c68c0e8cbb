"""The exchange `mixed`: every node has the vertices of high degree (`allreduce`), the others have owners (`owners`)."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.engine.exchange.owners import Owners
from arcflux.engine.exchange.replicating import Replicas
from arcflux.engine.part_worker import PartWorker

__all__ = ["Mixed"]


class Mixed(Owners):
    """Vertices of high degree are reduced over all nodes; for the others, contributors send to owners."""

    name = "mixed"

    def __init__(self, worker: PartWorker, replicated: NDArray[Any]) -> None:
        super().__init__(worker)
        self._replicas = Replicas(worker, replicated, self.meter)

    def _reduce(self, step: int) -> None:
        """Reduce vertices of high degree over all nodes; send what was reduced for other vertices to their owners."""
        self._replicas.reduce(step)
        super()._reduce(step)

    def empty_replicas(self) -> None:
        """Count the values that init gives to replicated vertices on the first node only."""
        self._replicas.leave_to_one()
