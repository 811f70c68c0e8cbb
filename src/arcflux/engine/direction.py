"""Which way a superstep goes, when nobody said: the rule of the kernels for a whole graph, for parts that agree on it.

Without `wants`: push costs the frontier's edges, pull all arcs, each at the rate measured so far in this run. With it,
pull stops early and Beamer's rule holds.
"""

from __future__ import annotations

from arcflux.compile.frontier import LOOK, MANY, explained
from arcflux.compile.lower import Lowered

__all__ = ["Direction"]

_MEASURED = 20_000


class Direction:
    """The choice of a run; every part has its own, fed with the same numbers.

    `dearer`: what an arc is expected to cost to push over what it costs to pull, until both were measured.
    """

    def __init__(self, lowered: Lowered, asked: str, vertices: int, arcs: int, dearer: float = 3.0) -> None:
        self.lowered = lowered
        self.asked = "pull" if lowered.pull_only or (asked == "auto" and not lowered.sparse) else asked
        self.vertices, self.arcs = vertices, arcs
        self.unexplored = arcs
        self.dearer = dearer
        self.push_rate, self.pull_rate = dearer, 1.0
        self.pushed = self.pulled = self.pull = False
        self.about = 0.0

    def choose(self, size: int, edges: int) -> bool:
        """Whether to pull, when so many vertices send along so many edges."""
        if self.asked != "auto":
            self.pull = self.asked == "pull"
            return self.pull
        if "wants" in self.lowered.functions:
            self.about = float(self.unexplored)
            if self.pull:
                self.pull = size > self.vertices // 18
            else:
                self.pull = edges > max(self.unexplored // MANY, self.vertices // LOOK)
        else:
            self.about = self.push_rate / self.pull_rate
            self.pull = self.push_rate * edges > self.pull_rate * self.arcs
        return self.pull

    def reason(self, pull: bool, edges: int, about: float) -> str:
        """Why a superstep along so many edges went that way, from what `about` was when it was chosen."""
        if self.asked == "auto":
            return explained(self.lowered, pull, edges, self.arcs, about)
        if self.lowered.pull_only:
            return "deterministic"
        return "asked for" if self.lowered.sparse else "every vertex sends: pull needs no atomics"

    def measured(self, edges: int, seconds: float) -> None:
        """A superstep along so many edges took so long."""
        self.unexplored -= edges
        if self.pull:
            self.pull_rate = seconds / max(1, self.arcs)
            self.pulled = True
            if not self.pushed:
                self.push_rate = self.dearer * self.pull_rate
        elif edges > _MEASURED:
            self.push_rate = seconds / edges
            self.pushed = True
            if not self.pulled:
                self.pull_rate = self.push_rate / self.dearer
