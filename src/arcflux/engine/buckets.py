"""The loop of programs with a priority (delta-stepping): active vertices are processed bucket by bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.bins import Bins, width
from arcflux.engine.loop import Loop
from arcflux.engine.state import State
from arcflux.result import Superstep

__all__ = ["Buckets"]


class Buckets(Loop):
    """A program whose vertices change in place, in the order of their priority."""

    shrinks = False

    def prepare(self) -> None:
        """Build in-edges: the kernel may read in-degrees."""
        self.graph.into  # noqa: B018 - built on first use

    def crew(self, steps: int) -> int:
        """All workers: each has its own bins, which the others cannot see."""
        return self.threads

    def extra(self) -> list[Any]:
        """No arrays: messages are reduced directly into the fields."""
        return []

    def started(self, step: int) -> list[Any]:
        """No arrays in any superstep."""
        return []

    def senders(self) -> NDArray[Any] | None:
        """Vertices that wait in any bucket; None after an interrupted round, which had already taken some out."""
        return None if self.torn else self.bins.waiting()

    def begin(self, state: State) -> None:
        """Put the initially active vertices into bins."""
        graph = self.graph
        delta = width(self.lowered, graph, self.threads)
        self.bins = Bins(graph, state.active, self.threads, delta, self.borrowed)
        self.reason = self.bins.reason
        self.kernel, self.board, self.sums = self.made.ordered, self.bins.board, np.zeros((2 * self.threads, 8))
        columns = [graph.columns[name] for name in self.lowered.columns]
        self.choice = []
        self.rest = [graph.into.offsets, *graph.out, *columns, *state.constants]
        self.finished = not state.active.any()

    def arguments(self, first: int, last: int) -> list[Any]:
        """The kernel's arguments with the bins in their current size: they grow between launches."""
        self.bins.hand_over()
        self.choice = self.bins.arguments
        return super().arguments(first, last)

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a round: the vertices that were taken from the bucket."""
        size, residual, seconds = row[:3]
        return Superstep(k, "push", int(size), residual, seconds, reason=self.reason)

    def done(self, last: list[float] | None) -> bool:
        """Whether no vertex waits in a bucket."""
        return self.bins.finished

    def give_back(self) -> None:
        """Release the bins, which are borrowed memory."""
        del self.bins
        super().give_back()
