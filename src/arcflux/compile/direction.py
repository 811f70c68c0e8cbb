"""The direction of a superstep, if the caller did not choose: one rule, for fused kernels and for parts.

Without `wants`: push costs the frontier's edges, pull all arcs, each at the rate measured so far in this run; before
there is a measurement, an edge is expected to cost `push_over_pull` times as much to push as to pull. With `wants`,
pull stops early (Beamer, Asanovic, Patterson 2012), and both costs are estimated in inspected edges. Push inspects the
frontier's edges; a vertex that it finds takes an atomic and an entry in the queue, and as many are found per edge as in
the superstep before. Pull inspects every vertex, and the edges of unexplored ones until one comes from the frontier. A
share f of the unexplored edges does, so of d edges of a vertex about d / (1 + d f / 2) are inspected.

The rule is a text: kernels contain it as statements, and :class:`Direction` executes the same text between supersteps.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

from arcflux.compile.lower import Lowered
from arcflux.compile.sparse import beamer

__all__ = ["ABOUT", "CHOICE", "LOOKS_AROUND", "MEASURED", "RATES", "Direction", "pulls", "reason_text"]

# Costs in inspected edges: of a vertex that push finds, and of one that pull passes.
FOUND, PASSED = 9, 0.4
# A push along fewer edges than this measures the barrier rather than an edge.
LEAST_MEASURED = 20_000
# The reason for pulling if a vertex visits its whole list of edges.
LOOKS_AROUND = "around takes all edges of a vertex at once"
# By whether Beamer's rule holds: the choice of direction, and the number that explains it.
CHOICE = {
    False: "push_rate * edges > pull_rate * g_arcs",
    True: (
        f"edges * (1.0 + {FOUND} * size / max(1, sent)) > {PASSED} * g_vertices"
        " + max(0, unexplored) / (1.0 + 0.5 * edges * g_arcs / (max(1, unexplored) * max(1, g_vertices)))"
    ),
}
ABOUT = {False: "push_rate / pull_rate", True: "np.float64(unexplored)"}
# The initial rates, and those after a superstep along `leaving` edges whose slowest worker took so long; a superstep
# that one worker did `alone`, without atomics, says nothing about the others.
RATES = """\
push_rate, pull_rate = push_over_pull, 1.0
pushed, pulled = False, False
"""
MEASURED = f"""\
if pull:
    pull_rate = slowest / max(1, g_arcs)
    pulled = True
    if not pushed:
        push_rate = push_over_pull * pull_rate
elif leaving > {LEAST_MEASURED} and not alone:
    push_rate = slowest / leaving
    pushed = True
    if not pulled:
        pull_rate = push_rate / push_over_pull
"""


def reason_text(lowered: Lowered, pull: bool, edges: int, arcs: int, about: float) -> str:
    """Why a superstep went the way it did, from the number recorded with its choice."""
    if not beamer(lowered):
        return f"{edges:,} edges to push or {arcs:,} to pull, an edge costing {about:.1f}x as much to push"
    if pull:
        return f"the frontier is large: {edges:,} edges, {max(0, int(about)):,} unexplored"
    return f"the frontier is small: {edges:,} edges, {max(0, int(about)):,} unexplored"


def _function(arguments: str, body: str) -> Callable[..., Any]:
    """A Python function made of a text of the rule."""
    names: dict[str, Any] = {}
    exec(f"def made({arguments}):\n{indent(body, '    ')}", names)
    made: Callable[..., Any] = names["made"]
    return made


_chooses = {
    kind: _function("size, edges, sent, unexplored, push_rate, pull_rate, g_vertices, g_arcs", f"return {rule}")
    for kind, rule in CHOICE.items()
}
_measured = _function(
    "pull, leaving, slowest, g_arcs, push_over_pull, push_rate, pull_rate, pushed, pulled, alone=False",
    f"{MEASURED}return push_rate, pull_rate, pushed, pulled",
)


def pulls(edges: float, unexplored: float, vertices: int, arcs: int, early: bool, push_over_pull: float) -> bool:
    """Whether a superstep along this many edges would be pulled after pushes, before any measurement; for predictions.

    `early`: whether vertices stop wanting messages, so that a pull ends early. It assumes that every edge finds a
    vertex.
    """
    return bool(_chooses[early](edges, edges, edges, unexplored, push_over_pull, 1.0, vertices, arcs))


class Direction:
    """The choice of a run; every part has its own, fed with the same numbers.

    `push_over_pull`: the expected cost of pushing an arc relative to pulling it, until both were measured.
    """

    def __init__(self, lowered: Lowered, asked: str, vertices: int, arcs: int, push_over_pull: float = 3.0) -> None:
        self.lowered, self.asked, self.vertices, self.arcs = lowered, asked, vertices, arcs
        self.fixed = "pull" if lowered.pull_only or (asked == "auto" and not lowered.sparse) else asked
        self.fixed = "pull" if lowered.around is not None else self.fixed
        self.unexplored = arcs
        self.sent = 0
        self.push_over_pull = push_over_pull
        self.push_rate, self.pull_rate = push_over_pull, 1.0
        self.pushed = self.pulled = self.pull = False
        self.about = 0.0
        self._beamer = beamer(lowered)

    def begin(self) -> None:
        """Before the first superstep of a run or of another call of a phase: no edge is explored."""
        self.unexplored, self.sent = self.arcs, 0

    def choose(self, size: int, edges: int) -> bool:
        """Whether to pull, if this many vertices send along this many edges."""
        if self.fixed != "auto":
            self.pull = self.fixed == "pull"
            return self.pull
        self.about = float(self.unexplored) if self._beamer else self.push_rate / self.pull_rate
        self.pull = _chooses[self._beamer](
            size, edges, self.sent or size, self.unexplored, self.push_rate, self.pull_rate, self.vertices, self.arcs
        )
        return self.pull

    def reason(self, pull: bool, edges: int, about: float) -> str:
        """Why a superstep along this many edges went that way, given `about` from when it was chosen."""
        if not self.lowered.has_edges:
            return "no edges"
        if self.fixed == "auto":
            return reason_text(self.lowered, pull, edges, self.arcs, about)
        if self.lowered.around is not None:
            return LOOKS_AROUND
        if self.lowered.pull_only:
            return self.lowered.pull_reason
        return "every vertex sends: pull needs no atomics" if self.asked == "auto" else "asked for"

    def measured(self, edges: int, seconds: float) -> None:
        """Record that a superstep along this many edges took so long."""
        self.unexplored -= edges
        self.sent = edges
        self.push_rate, self.pull_rate, self.pushed, self.pulled = _measured(
            self.pull, edges, seconds, self.arcs, self.push_over_pull,
            self.push_rate, self.pull_rate, self.pushed, self.pulled,
        )  # fmt: skip
