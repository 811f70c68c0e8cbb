"""When bounds of parts move, and to where: the decisions of a run, superstep by superstep, without the moving.

The planning rank has a `Balance`. It gets the times of every superstep, and decides which bounds are better. After the
first supersteps all ranks wait for that if it is `urgent`; otherwise bounds take effect one superstep later, since the
other ranks are in the next one already (see `migrate.py`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.balance.plan import Plan, Prices, alpha, calm, decide
from arcflux.engine.balance.weights import REPEATS, SLACK, Observed

__all__ = ["Balance", "urgent"]

Array = NDArray[Any]

# Planning may take this share of the expected time of the run.
_BUDGET = 0.006
# In the first supersteps, ranks wait for a plan if the slowest part took this many seconds more than the mean: about
# what planning takes with cold caches.
_FIRST, _WAIT = 4, 2e-3


def urgent(step: int, times: Sequence[float]) -> bool:
    """Whether a plan after this superstep is worth waiting for: another superstep like it would lose more time.

    Every rank has these times, so all take the same decision without a message.

    Examples
    --------
    >>> urgent(0, (0.3, 0.1)), urgent(0, (3e-4, 1e-4)), urgent(7, (0.3, 0.1))
    (True, False, False)
    """
    mean = sum(times) / len(times)
    return step < _FIRST and max(times) - mean > max(_WAIT, SLACK * mean)


class Balance:
    """What the planning rank knows of the parts.

    Parameters
    ----------
    in_offsets
        Where the in-edges of each vertex begin.
    nodes
        The node of each part.
    how
        "auto" or "local".
    prices
        What moving costs; its fixed cost is a guess until the first move is timed.
    limit
        The largest number of supersteps.

    Examples
    --------
    One of two devices is three times as slow. Its part becomes smaller.

    >>> balance = Balance(np.arange(0, 80_001, 8), np.array([0, 0]), "auto", Prices(), limit=20)
    >>> bounds = np.array([0, 5000, 10_000])
    >>> balance.note(bounds, (0.3, 0.1))
    >>> better = balance.plan(0)
    >>> bool(better[1] < 4000)
    True
    >>> balance.moved(0.001)
    """

    def __init__(self, in_offsets: Array, nodes: Array, how: str, prices: Prices, limit: int) -> None:
        self.seen = Observed(in_offsets, len(nodes))
        self.nodes, self.how, self.prices, self.limit = np.asarray(nodes), how, prices, limit
        self.fastest = math.inf
        self.computed = self.spent = self.dearest = self.for_bytes = 0.0
        self.made: Plan | None = None
        self.kept: deque[tuple[Array, Sequence[float]]] = deque(maxlen=REPEATS)

    def note(self, bounds: Array, times: Sequence[float]) -> None:
        """A superstep has ended: its bounds, and the seconds of each part."""
        self.kept.append((bounds, times))
        self.computed += max(times)

    def plan(self, step: int) -> Array | None:
        """The bounds that would be better from now on, if any are worth a move."""
        gain_weight = alpha(step + 1, self.limit)
        if not self._due(self.computed * (1 + 1 / (gain_weight * (step + 1)))):
            return None
        seconds = self._learn()
        if calm(self.seen, seconds, self.nodes, self.how, gain_weight):
            return None
        begun, offsets = time.thread_time(), self.seen.in_offsets
        decision = decide(self.bounds, seconds, offsets, self.nodes, self.how, gain_weight, self.prices, self.seen)
        took = time.thread_time() - begun
        self.spent, self.dearest, self.made = self.spent + took, max(self.dearest, took), decision
        self.for_bytes = decision.cost - self.prices.each if decision.moves else 0.0
        return decision.bounds if decision.moves else None

    def _due(self, run: float) -> bool:
        """Whether to plan: enough supersteps have passed since the last plan, the parts' times differ in the last one,
        and planning has taken little of the time that the run is expected to take.

        Until then times are only stored, which takes microseconds.
        """
        times = self.kept[-1][1]
        enough_supersteps = self.seen.waited + len(self.kept) >= self.seen.patience
        return (
            enough_supersteps
            and max(times) * len(times) > (1 + SLACK) * sum(times)
            and self.spent + self.dearest < _BUDGET * run
        )

    def _learn(self) -> float:
        """Update the estimate with the stored times; returns the seconds of all parts in the last superstep."""
        for bounds, times in self.kept:
            self.bounds = np.asarray(bounds)
            self.seen.add(self.bounds, np.asarray(times))
        seconds = float(sum(self.kept[-1][1])) if self.kept else 0.0
        self.kept.clear()
        return seconds

    def moved(self, seconds: float) -> None:
        """Bounds have moved, which took so long; the least such time beyond that of bytes is the fixed cost."""
        self._learn()
        self.fastest = min(self.fastest, max(seconds - self.for_bytes, 0.0))
        self.prices = replace(self.prices, each=self.fastest)
