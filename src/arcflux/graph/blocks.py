"""Arcs by blocks of 65,536 targets and 65,536 sources: the layout for sweeps over all arcs of a large graph.

A pull in the order of targets reads its sources' values from all over memory; where they do not fit the cache, every
arc waits for one. Within a block, sources and targets are both near: values come from the second-level cache, and an
arc takes four bytes, two for each end, as many as before. Blocks of the same targets stand together, sources rising,
and within a block arcs keep their order, so every target meets its arcs in the same order as in the adjacency and sums
come out the same to the last bit. (Zhang et al., "Making caches work for graph analytics", 2017, segment sources.)
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.graph.core import Adjacency, Graph
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim, prefetch
from arcflux.spmd.memory import frozen
from arcflux.spmd.team import Team

__all__ = ["BITS", "Blocks", "blocks", "scattered"]

Array = NDArray[Any]

BITS = 16
_SAMPLE = 1 << 14

# By who built them: ranks build theirs together, so all have them or none, whatever each did alone.
_known: WeakKeyDictionary[Graph, dict[str, Blocks]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True)
class Blocks:
    """The in-arcs of a graph by blocks.

    arcs: uint32[arcs], target and source within their block, 16 bits each; starts: uint64[rows * across + 1], where
    each block begins, those of the same targets together; across: blocks of sources; order: the rows of blocks, those
    with most arcs first, so that the last to be taken are short.
    """

    into: Adjacency
    arcs: Array
    starts: Array
    across: int
    order: Array
    columns: dict[str, Array] = field(default_factory=dict)

    def column(self, name: str, values: Array, team: Team) -> Array:
        """An edge column, given in the order of `into`, in the order of the blocks; kept for the next time."""
        if name not in self.columns:
            dealt = team.lasting(len(values), values.dtype)
            _deal(self.into, self.starts, self.across, values, dealt, team)
            self.columns[name] = frozen(dealt)
        return self.columns[name]


def scattered(graph: Graph) -> bool:
    """Whether most arcs, by a sample, come from far away, so that blocks are worth their while."""
    offsets, neighbours = graph.into
    places = np.linspace(0, len(neighbours) - 1, min(len(neighbours), _SAMPLE)).astype(np.uint64)
    targets = np.searchsorted(offsets, places, side="right") - 1
    far = np.abs(neighbours[places].astype(np.int64) - targets) > 1 << BITS
    return bool(far.mean() > 0.5) if len(places) else False


def blocks(graph: Graph, *, build: bool = True, team: Team | None = None) -> Blocks | None:
    """The blocks of a graph: built once and kept as long as it is; None when there are none and `build` is False."""
    team = team or Team()
    with _lock:
        known = _known.setdefault(graph, {})
        if team.kind not in known and build:
            known[team.kind] = _built(graph, team)
        return known.get(team.kind)


def _built(graph: Graph, team: Team) -> Blocks:
    across = -(-graph.vertices >> BITS) if graph.vertices else 0
    starts = team.lasting(across * across + 1, np.uint64)
    starts[-1] = graph.arcs
    arcs = team.lasting(graph.arcs, np.uint32)
    with trace.task("arrange arcs by blocks", total=graph.arcs, unit="arcs") as task:
        _deal(graph.into, starts, across, None, arcs, team, task)
    order = np.argsort(-np.diff(starts[::across].astype(np.int64)) if across else [], kind="stable")
    return Blocks(graph.into, frozen(arcs), frozen(starts), across, frozen(order.astype(np.uint32)))


def _deal(
    into: Adjacency, starts: Array, across: int, values: Array | None, dealt: Array, team: Team,
    task: trace.Task | None = None,
) -> None:  # fmt: skip
    heads = np.zeros((team.workers, across + 8), np.uint64)
    filling = starts if values is None else None
    team.launch(_deal_rows, across, *into, starts, filling, heads, across, values, dealt, task=task)


@kernel
def _deal_rows(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, starts: Any, filling: Any, heads: Any,
    across: Any, values: Any, dealt: Any,
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
                head[np.uint64(neighbours[i]) >> bits] += one
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
                u = np.uint64(neighbours[i])
                place = head[u >> bits]
                if values is None:
                    dealt[place] = np.uint32(((v - begin) << bits) | (u & low))
                else:
                    dealt[place] = values[i]
                if not place & np.uint64(15):
                    prefetch(dealt, place + np.uint64(16))
                head[u >> bits] = place + one
