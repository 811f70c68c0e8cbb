"""Arcs by blocks of 65,536 targets and 65,536 sources: the layout for sweeps over all arcs of a large graph.

A pull in the order of targets reads its sources' values from all over memory; where they do not fit the cache, every
arc waits for one. Within a block, sources and targets are both near: values come from the second-level cache, and an
arc takes four bytes, two for each end, as many as before. Blocks of the same targets stand together, sources rising,
and within a block arcs keep their order, so every target meets its arcs in the same order as in the adjacency and sums
come out the same to the last bit. (Zhang et al., "Making caches work for graph analytics", 2017, segment sources.)

Where few vertices have most of the arcs, sources may be ranked by their arcs instead: the first block of sources then
has most of them, and the many others are hardly needed. Targets meet their arcs in that order.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.graph.core import Adjacency, Graph
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, prefetch
from arcflux.spmd.memory import frozen
from arcflux.spmd.team import Team

__all__ = ["BITS", "Blocks", "blocks", "scattered", "skewed"]

Array = NDArray[Any]

BITS = 16
_SAMPLE = 1 << 14
# Vertices with more arcs than this are ranked alike.
_RANKED = (1 << 16) - 1

# By who built them (ranks build theirs together, so all have them or none, whatever each did alone), and how.
_known: WeakKeyDictionary[Graph, dict[tuple[str, bool], Blocks]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True)
class Blocks:
    """The in-arcs of a graph by blocks.

    arcs: uint32[arcs], target and source within their block, 16 bits each; starts: uint64[rows * across + 1], where
    each block begins, those of the same targets together; across: blocks of sources; order: the rows of blocks, those
    with most arcs first, so that the last to be taken are short; places: uint32[vertices], where each source stands
    when they are ranked.
    """

    into: Adjacency
    arcs: Array
    starts: Array
    across: int
    order: Array
    places: Array | None = None
    columns: dict[str, Array] = field(default_factory=dict)
    cuts: dict[int, Array] = field(default_factory=dict)

    def column(self, name: str, values: Array, team: Team) -> Array:
        """An edge column, given in the order of `into`, in the order of the blocks; kept for the next time."""
        if name not in self.columns:
            dealt = team.lasting(len(values), values.dtype)
            _deal(self.into, self.starts, self.across, self.places, values, dealt, team)
            self.columns[name] = frozen(dealt)
        return self.columns[name]

    def ready(self, dtype: np.dtype[Any], team: Team) -> None:
        """Compile what moves messages of a type, so that a run is only a run."""
        none = np.empty(0, dtype)
        _move.ready(0, team.workers, np.zeros(16, np.int64), none, self.places, none)

    def ranked(self, messages: Array, moved: Array, team: Team) -> Array:
        """Messages by vertex number, moved to where their sources stand."""
        team.launch(_move, len(self.order), messages, self.places, moved)
        return moved

    def parts(self, halvings: int) -> Array:
        """Where the parts of each block begin, when its targets are halved so many times; kept for the next time."""
        if not halvings:
            return self.starts
        if halvings not in self.cuts:
            steps = np.arange(1 << halvings, dtype=np.uint32) << np.uint32(2 * BITS - halvings)
            ends = self.starts.tolist()
            made = [first + np.searchsorted(self.arcs[first:last], steps) for first, last in pairwise(ends)]
            self.cuts[halvings] = frozen(np.concatenate([*made, ends[-1:]]).astype(np.uint64))
        return self.cuts[halvings]


def scattered(graph: Graph) -> bool:
    """Whether most arcs, by a sample, come from far away, so that blocks are worth their while."""
    offsets, neighbours = graph.into
    places = np.linspace(0, len(neighbours) - 1, min(len(neighbours), _SAMPLE)).astype(np.uint64)
    targets = np.searchsorted(offsets, places, side="right") - 1
    far = np.abs(neighbours[places].astype(np.int64) - targets) > 1 << BITS
    return bool(far.mean() > 0.5) if len(places) else False


def skewed(graph: Graph) -> bool:
    """Whether a block of the vertices with most arcs has a quarter of them all, and four times the share of others.

    Blocks by number hold less than an arc for each of their sources then, so that messages are fetched once for each
    row of blocks, and hardly used.
    """
    across = -(-graph.vertices >> BITS)
    if graph.arcs >= across**2 << BITS:
        return False
    if "skewed" not in graph.kept:
        degrees = np.bincount(np.minimum(graph.out_degrees, _RANKED).astype(np.int64))[::-1]
        most = np.minimum(np.cumsum(degrees), 1 << BITS)
        arcs = int((np.diff(most, prepend=0) * np.arange(len(degrees) - 1, -1, -1)).sum())
        graph.kept["skewed"] = 4 * arcs > graph.arcs * max(1.0, 16 / across)
    return bool(graph.kept["skewed"])


def blocks(graph: Graph, *, build: bool = True, ranked: bool = False, team: Team | None = None) -> Blocks | None:
    """The blocks of a graph: built once and kept as long as it is; None when there are none and `build` is False."""
    team = team or Team()
    with _lock:
        known, how = _known.setdefault(graph, {}), (team.kind, ranked)
        if how not in known and build:
            known[how] = _built(graph, team, ranked)
        return known.get(how)


def _built(graph: Graph, team: Team, ranked: bool) -> Blocks:
    across = -(-graph.vertices >> BITS) if graph.vertices else 0
    starts = team.lasting(across * across + 1, np.uint64)
    starts[-1] = graph.arcs
    arcs = team.lasting(graph.arcs, np.uint32)
    places = _ranks(graph, team) if ranked else None
    with trace.task("arrange arcs by blocks", total=graph.arcs, unit="arcs") as task:
        _deal(graph.into, starts, across, places, None, arcs, team, task)
    order = np.argsort(-np.diff(starts[::across].astype(np.int64)) if across else [], kind="stable")
    return Blocks(graph.into, frozen(arcs), frozen(starts), across, frozen(order.astype(np.uint32)), places)


def _ranks(graph: Graph, team: Team) -> Array:
    """Where each vertex stands when those with most arcs come first."""
    places = team.lasting(graph.vertices, np.uint32)
    if team.leads:
        falling = (_RANKED - np.minimum(graph.out_degrees, _RANKED)).astype(np.uint16)
        places[np.argsort(falling, kind="stable")] = np.arange(graph.vertices, dtype=np.uint32)
    team.together()
    return frozen(places)


def _deal(
    into: Adjacency, starts: Array, across: int, places: Array | None, values: Array | None, dealt: Array, team: Team,
    task: trace.Task | None = None,
) -> None:  # fmt: skip
    heads = np.zeros((team.workers, across + 8), np.uint64)
    filling = starts if values is None else None
    team.launch(_deal_rows, across, *into, starts, filling, heads, across, places, values, dealt, task=task)


@inner
def _place(places: Any, u: Any) -> Any:
    """Where a source stands."""
    return np.uint64(u) if places is None else np.uint64(places[np.uint64(u)])


@kernel
def _deal_rows(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, starts: Any, filling: Any, heads: Any,
    across: Any, places: Any, values: Any, dealt: Any,
) -> None:  # fmt: skip
    """Deal the arcs into each 65,536 targets by their sources' blocks: count, say where blocks begin, deal in order."""
    one, bits, low = np.uint64(1), np.uint64(16), np.uint64(0xFFFF)
    n, wide = np.uint64(offsets.size) - one, np.uint64(across)
    head = heads[worker]
    while True:
        row = np.uint64(claim(control))
        if row >= wide:
            break
        begin, end = row << bits, min((row + one) << bits, n)
        if filling is not None:
            for s in range(wide):
                head[s] = 0
            for i in range(offsets[begin], offsets[end]):
                head[_place(places, neighbours[i]) >> bits] += one
            place = offsets[begin]
            for s in range(wide):
                filling[row * wide + s] = place
                count = head[s]
                head[s] = place
                place += count
        else:
            for s in range(wide):
                head[s] = starts[row * wide + s]
        for v in range(begin, end):
            for i in range(offsets[v], offsets[v + one]):
                u = _place(places, neighbours[i])
                place = head[u >> bits]
                if values is None:
                    dealt[place] = np.uint32(((v - begin) << bits) | (u & low))
                else:
                    dealt[place] = values[i]
                if not place & np.uint64(15):
                    prefetch(dealt, place + np.uint64(16))
                head[u >> bits] = place + one


@kernel
def _move(worker: Any, workers: Any, control: Any, messages: Any, places: Any, moved: Any) -> None:
    """Move what each vertex sends to its place."""
    bits, n = np.uint64(16), np.uint64(places.size)
    while True:
        row = np.uint64(claim(control))
        if row << bits >= n:
            break
        for v in range(row << bits, min((row + np.uint64(1)) << bits, n)):
            moved[np.uint64(places[v])] = messages[v]
