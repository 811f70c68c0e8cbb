"""Run a kernel over all rows of a graph, and merge the first arcs that it counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arcflux import trace
from arcflux.graph.core import Adjacency
from arcflux.spmd.pool import run
from arcflux.validate.report import SHOWN, Offence, Rule

__all__ = ["ArcTally", "sweep"]

_SLICES = 128


class ArcTally:
    """Arcs that break each of some rules: their number in each slice of the rows, and the places of the first ones.

    Examples
    --------
    >>> broken = ArcTally(rules=1)
    >>> broken.tally[3, 0], broken.first[3, 0, 0] = 1, 77
    >>> broken.count(0), broken.places(0)
    (1, [77])
    """

    def __init__(self, rules: int) -> None:
        self.tally = np.zeros((_SLICES, rules), np.int64)
        self.first = np.zeros((_SLICES, rules, SHOWN), np.int64)

    def count(self, rule: int) -> int:
        """How many arcs break a rule."""
        return int(self.tally[:, rule].sum())

    def places(self, rule: int) -> list[int]:
        """The places of the first arcs that break a rule."""
        kept = np.minimum(self.tally[:, rule], SHOWN)
        found = [int(place) for s in np.flatnonzero(kept) for place in self.first[s, rule, : kept[s]]]
        return found[:SHOWN]

    def rule(self, rule: int, name: str, sentence: str, tell: Callable[[int], Offence]) -> Rule:
        """The count as a rule of a report; `tell` makes an offence of an arc's place."""
        return Rule.checked(name, sentence, self.places(rule), tell, count=self.count(rule), unit="edges")


def sweep(purpose: str, kernel: Any, rows: Adjacency, *args: Any, threads: int | None = None) -> None:
    """Run ``kernel(..., bounds, offsets, neighbours, *args)`` over the rows, on all cores."""
    from arcflux.graph.build import row_bounds

    with trace.task(purpose, total=len(rows.neighbours), unit="arcs") as task:
        run(kernel, _SLICES, row_bounds(rows.offsets, _SLICES), *rows, *args, threads=threads, task=task)
