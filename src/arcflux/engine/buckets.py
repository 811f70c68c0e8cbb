"""The loop of programs with a priority: vertices are taken bucket by bucket."""

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
    """A program whose vertices change in place, in the order of a priority."""

    shrinks = False

    def prepare(self) -> None:
        """Have in-edges, of which the kernel may ask the number."""
        self.graph.into  # noqa: B018 - built on first use

    def crew(self, steps: int) -> int:
        """All: bins belong to workers, and what one has put into its own the others would not see."""
        return self.threads

    def extra(self) -> list[Any]:
        """Nothing: messages are reduced into the fields themselves."""
        return []

    def started(self, step: int) -> list[Any]:
        """Nothing, whatever the superstep."""
        return []

    def senders(self) -> NDArray[Any] | None:
        """Those that wait in any bucket; not known after a round that was broken off, which had taken some out."""
        return None if self.torn else self.bins.waiting()

    def begin(self, state: State) -> None:
        """Put the first vertices into bins."""
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
        """With the bins as they now are: they grow between launches."""
        self.bins.hand_over()
        self.choice = self.bins.arguments
        return super().arguments(first, last)

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """A round: the vertices that were taken from the bucket."""
        size, residual, seconds = row[:3]
        return Superstep(k, "push", int(size), residual, seconds, reason=self.reason)

    def done(self, last: list[float] | None) -> bool:
        """Whether no vertex waits."""
        return self.bins.finished

    def give_back(self) -> None:
        """The bins are among what was borrowed."""
        del self.bins
        super().give_back()
