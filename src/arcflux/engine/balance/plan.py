"""Whether the bounds of parts should move, and which vertices move then (Lux, section 5, steps 1 to 6).

`plan` is called between supersteps with the seconds of every part. It is a pure function: it moves nothing itself, and
knows neither the engine nor a transport. Every rank needs the same plan, so one rank makes it and sends the bounds to
the others, which compute with `moves` what each sends and receives. The engine asks in two steps: whether it is `calm`,
and otherwise what to `decide`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.balance.weights import SLACK, Observed
from arcflux.errors import UsageError

__all__ = ["HOW", "Move", "Plan", "Prices", "alpha", "calm", "decide", "moves", "plan"]

Array = NDArray[Any]

# If a part takes so much less time than the mean, a third of the usual gain is enough.
IDLE = 0.1
HOW = ("auto", "local", "off")


@dataclass(frozen=True)
class Prices:
    """What moving costs: bytes of an in-edge and of a vertex, bytes a second between nodes and within one; and a fixed
    number of seconds for each move.

    Between nodes it is what `arcflux calibrate` measured, else a gigabyte a second, as of 10-gigabit Ethernet.
    """

    arc_bytes: float = 4.0
    vertex_bytes: float = 8.0
    network: float = 1e9
    link: float = 1e10
    each: float = 0.0


@dataclass(frozen=True)
class Move:
    """Vertices from `begin` to before `end` move, with their in-edges, from one part to another."""

    source: int
    target: int
    begin: int
    end: int
    arcs: int
    far: bool


@dataclass(frozen=True)
class Plan:
    """The decision after a superstep.

    bounds: of the parts from now on; moves: the vertices that change their part; phase: "global", "local" or "none";
    gain: the expected reduction of seconds per superstep; cost: the seconds of moving, once; predicted: the seconds of
    each part in the next superstep; seconds: how long planning took.
    """

    bounds: Array
    moves: tuple[Move, ...]
    phase: str
    gain: float
    cost: float
    predicted: Array
    reason: str
    seconds: float


def alpha(done: int, limit: int | None = None) -> float:
    """One over the supersteps that are expected to follow: as many as were done, at least 8, at most to the limit.

    Examples
    --------
    >>> alpha(20), alpha(20, limit=24), alpha(1)
    (0.05, 0.25, 0.125)
    """
    left = max(done, 8) if limit is None else min(max(done, 8), limit - done)
    return 1.0 / max(left, 1)


def moves(old: Array, new: Array, in_offsets: Array, node_of_part: Array) -> tuple[Move, ...]:
    """The ranges of vertices that change their part between two lists of bounds, in vertex order.

    Examples
    --------
    >>> offsets = np.arange(0, 21, 2)
    >>> moves(np.array([0, 5, 10]), np.array([0, 7, 10]), offsets, np.array([0, 1]))
    (Move(source=1, target=0, begin=5, end=7, arcs=4, far=True),)
    """
    knots = np.unique(np.concatenate((old, new)))
    before = np.searchsorted(old, knots[:-1], side="right") - 1
    after = np.searchsorted(new, knots[:-1], side="right") - 1
    changes = []
    for k in np.flatnonzero(before != after).tolist():
        begin, end, source, target = int(knots[k]), int(knots[k + 1]), int(before[k]), int(after[k])
        arcs = int(in_offsets[end]) - int(in_offsets[begin])
        changes.append(Move(source, target, begin, end, arcs, bool(node_of_part[source] != node_of_part[target])))
    return tuple(changes)


def plan(
    bounds: Array,
    times: Array,
    in_offsets: Array,
    node_of_part: Array,
    *,
    how: str = "auto",
    alpha: float = 0.125,
    prices: Prices | None = None,
    seen: Observed | None = None,
) -> Plan:
    """Decide by the seconds that every part took, and by those of earlier supersteps in `seen`.

    Parameters
    ----------
    bounds
        Part i has the vertices from ``bounds[i]`` to before ``bounds[i + 1]``.
    times
        Seconds of each part in the superstep that has just ended.
    in_offsets
        Where the in-edges of each vertex begin: one more than there are vertices.
    node_of_part
        The node of each part. Local moves stay among neighbouring parts of one node.
    how
        "auto": between nodes if that is worth it, else within each node; "local": within nodes only; "off".
    alpha
        What one second of moving may save in each superstep; about 1 / (supersteps to come), see :func:`alpha`.
    prices
        What moving costs.
    seen
        Remembers, and has to be the same object each time; without it, this superstep is all that is known.

    Examples
    --------
    >>> offsets = np.arange(0, 80_001, 8)  # 10,000 vertices with 8 in-edges each
    >>> made = plan(np.array([0, 5000, 10_000]), np.array([0.3, 0.1]), offsets, np.array([0, 0]))
    >>> made.phase, len(made.moves), bool(made.bounds[1] < 4000)
    ('local', 1, True)
    """
    begun = time.perf_counter()
    old, nodes = np.asarray(bounds, np.int64), np.asarray(node_of_part)
    took = np.asarray(times, np.float64)
    if how not in HOW:
        raise UsageError(f"rebalance is {how!r}", expected=" or ".join(map(repr, HOW)))
    if not alpha > 0:
        raise UsageError(f"alpha is {alpha!r}", expected="a number above 0")
    if nodes.shape != took.shape:
        raise UsageError(f"{nodes.size} parts have a node and {took.size} have a time", expected="one of each per part")
    seen = Observed(in_offsets, took.size) if seen is None else seen
    if how == "off":
        return _Case(old, took, in_offsets, nodes, alpha, prices or Prices(), seen, begun).stay("rebalancing is off")
    seen.add(old, took)
    reason = calm(seen, float(took.sum()), nodes, how, alpha)
    if reason:
        return _Case(old, took, in_offsets, nodes, alpha, prices or Prices(), seen, begun).stay(reason)
    return decide(old, float(took.sum()), in_offsets, nodes, how, alpha, prices or Prices(), seen)


def calm(seen: Observed, seconds: float, nodes: Array, how: str, alpha: float) -> str:
    """Why no plan is needed after a superstep whose parts took this many seconds together; "" if one is.

    It costs little, since it estimates nothing.
    """
    if not seen.ready:
        return "the last plan brought too little: to be seen for some supersteps"
    times = seen.shares * seconds
    for group in _runs(nodes) if how == "local" else [slice(0, len(times))]:
        mean = float(times[group].mean())
        most, least = float(times[group].max()), float(times[group].min())
        enough = max(SLACK * mean, alpha * seen.effort)
        if most - mean > enough or (mean - least > IDLE * mean and mean - least > enough):
            return ""
    return "parts are balanced, or differ by less than planning takes"


def decide(
    bounds: Array, seconds: float, in_offsets: Array, nodes: Array, how: str, alpha: float, prices: Prices,
    seen: Observed,
) -> Plan:  # fmt: skip
    """What :func:`plan` decides when it is not calm; the times in `seen` are scaled to this many seconds together."""
    begun = time.perf_counter()
    expected = seen.seconds(bounds)
    times = expected * (seconds / expected.sum())
    return _Case(bounds, times, in_offsets, nodes, alpha, prices, seen, begun).decided(how)


def _runs(nodes: Array) -> list[slice]:
    """Neighbouring parts of the same node: among them, bounds move without a byte between nodes.

    Usually a whole node, since nodes mostly have neighbouring parts; otherwise each range stands for a node.
    """
    cuts = [0, *(np.flatnonzero(np.diff(nodes)) + 1).tolist(), nodes.size]
    return [slice(begin, end) for begin, end in pairwise(cuts)]


@dataclass(frozen=True)
class _Case:
    """The measurements at the end of one superstep, and the plan of each phase."""

    old: Array
    times: Array
    in_offsets: Array
    nodes: Array
    alpha: float
    prices: Prices
    seen: Observed
    begun: float
    _found: dict[bytes, tuple[Array, tuple[Move, ...]]] = field(default_factory=dict)

    def stay(self, reason: str) -> Plan:
        """The plan that moves nothing."""
        return self._made("none", self.old, 0.0, 0.0, reason, self.times)

    def decided(self, how: str) -> Plan:
        """Between nodes if that pays, else within each node."""
        decision = (self.between_nodes() if how == "auto" else None) or self.within_nodes()
        self.seen.planned(self.seen.hope(decision.predicted) if decision.moves else None)
        return decision

    def between_nodes(self) -> Plan | None:
        """The global phase: new bounds for all parts, when nodes differ by more than moving costs (steps 2 and 3)."""
        level = self._level(slice(None))
        gain = max(self._level(run) for run in self.runs) - level
        if gain <= self.seen.slack * level:
            return None
        new = self.seen.weights.pivots(1 / self.seen.rates)
        gain = self._reachable(gain, new, slice(None))
        cost = sum(self._bytes(move) for move in self._moves(new) if move.far) / self.prices.network
        cost += self.prices.each
        if gain <= self.seen.slack * level or not self.alpha * cost < gain:
            return None
        return self._made("global", new, gain, cost, f"nodes differ: {_comparison(gain, self.alpha, cost)}")

    def within_nodes(self) -> Plan:
        """The local phase: new bounds between parts of a node, for each node that gains by it (steps 4 and 5)."""
        new = self.old.copy()
        gains, costs, refused = [0.0], [0.0], ""
        for run in self.runs:
            level = self._level(run)
            gain = float(self.times[run].max()) - level
            idle = level - float(self.times[run].min()) > IDLE * level
            least = self.seen.slack * level / (3 if idle else 1)
            if run.stop - run.start < 2 or gain <= least:
                continue
            tried = self.old.copy()
            begin, end = int(self.old[run.start]), int(self.old[run.stop])
            tried[run.start : run.stop + 1] = self.seen.weights.pivots(1 / self.seen.rates[run], begin, end)
            gain = self._reachable(gain, tried, run)
            cost = sum(self._bytes(move) for move in self._moves(tried)) / self.prices.link
            cost += self.prices.each
            if gain <= least:
                refused = "no better bounds are known"
            elif not self.alpha * cost < gain:
                refused = f"not worth moving: {_comparison(gain, self.alpha, cost)}"
            else:
                new[run.start : run.stop + 1] = tried[run.start : run.stop + 1]
                gains.append(gain)
                costs.append(cost)
        if np.array_equal(new, self.old):
            return self.stay(refused or "nothing can move within a node")
        gain, cost = max(gains), max(costs)
        return self._made("local", new, gain, cost, f"parts of a node differ: {_comparison(gain, self.alpha, cost)}")

    @cached_property
    def runs(self) -> list[slice]:
        return _runs(self.nodes)

    def _reachable(self, gain: float, new: Array, parts: slice) -> float:
        """How much of a gain these bounds achieve: less than all of it when single vertices are heavy."""
        return min(gain, float(self.times[parts].max() - self._predicted(new)[parts].max()))

    def _level(self, parts: slice) -> float:
        """The seconds that each of these parts would take if they were balanced.

        That is the mean of their times if devices are equal, as in the paper; otherwise it is weighted by speed.
        """
        speed = 1 / self.seen.rates[parts]
        return float((self.times[parts] * speed).sum() / speed.sum())

    def _predicted(self, new: Array) -> Array:
        return self._about(new)[0]

    def _moves(self, new: Array) -> tuple[Move, ...]:
        return self._about(new)[1]

    def _about(self, new: Array) -> tuple[Array, tuple[Move, ...]]:
        """The predicted times of bounds and the moves to them, computed once."""
        key = new.tobytes()
        if key not in self._found:
            scale = self.times.sum() / self.seen.seconds(self.old).sum()
            moved = moves(self.old, new, self.in_offsets, self.nodes)
            self._found[key] = np.array(self.seen.seconds(new) * scale), moved
        return self._found[key]

    def _bytes(self, move: Move) -> float:
        return self.prices.arc_bytes * move.arcs + self.prices.vertex_bytes * (move.end - move.begin)

    def _made(
        self, phase: str, new: Array, gain: float, cost: float, reason: str, predicted: Array | None = None
    ) -> Plan:
        moved = () if new is self.old else self._moves(new)
        expected = self._predicted(new) if predicted is None else predicted
        return Plan(new, moved, phase, gain, cost, expected, reason, time.perf_counter() - self.begun)


def _comparison(gain: float, alpha: float, cost: float) -> str:
    return f"{gain:.2e} s a superstep against {alpha:.3g} of {cost:.2e} s"
