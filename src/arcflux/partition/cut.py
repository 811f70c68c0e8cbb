"""The arcs of one part, taken out of the graph: views of its arrays where they stand together there, else copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.build import gather, regroup
from arcflux.graph.core import Adjacency, Graph
from arcflux.partition import kernels
from arcflux.partition.arcs import Inward, Outward
from arcflux.partition.rule import Rule
from arcflux.spmd.memory import empty, frozen
from arcflux.spmd.pool import run

__all__ = ["in_slice", "out_slice", "outward", "select_arcs", "where"]

Array = NDArray[Any]


def in_slice(graph: Graph, owned: Array, begin: int, end: int) -> Inward:
    """All in-arcs of the vertices from `begin` on and before `end`, without copying anything."""
    into = Adjacency(graph.into.offsets[begin : end + 1], graph.into.neighbours)
    return Inward(owned, into, dict(graph.in_columns))


def out_slice(graph: Graph, begin: int, end: int) -> Outward:
    """All out-arcs of the vertices from `begin` on and before `end`; the rows of all others are empty."""
    offsets = graph.out.offsets
    inside = np.clip(offsets, offsets[begin], offsets[end])
    return Outward(Adjacency(frozen(inside), graph.out.neighbours), dict(graph.columns))


def select_arcs(graph: Graph, rows: Array, part: int, k: int, rule: Rule, owner: Array, *, keep_empty: bool) -> Inward:
    """Those in-arcs of the vertices `rows` that are at `part`, with a row for those that have one, or for all."""
    chunks = -(-len(rows) // kernels.CHUNK)
    wanted = np.arange(k) == part
    given = graph.into, frozen(rows), frozen(wanted), rule.tables(owner, graph)
    counts = empty(len(rows), np.uint64)
    run(kernels.count_arcs, chunks, *given, counts)
    starts = np.zeros(len(rows) + 1, np.uint64)
    np.cumsum(counts, out=starts[1:])
    arcs = int(starts[-1])
    sources = empty(arcs, graph.into.neighbours.dtype)
    origin = empty(arcs, np.uint32 if graph.arcs <= 1 << 32 else np.uint64) if graph.columns else None
    run(kernels.copy_arcs, chunks, *given, frozen(starts), sources, origin)
    columns = {name: frozen(gather(column, origin)) for name, column in graph.in_columns.items() if origin is not None}
    if not keep_empty:
        some = counts > 0
        rows, starts = rows[some], np.append(starts[:-1][some], starts[-1])
    return Inward(frozen(rows), Adjacency(frozen(starts), frozen(sources)), columns)


def where(graph: Graph, sources: Array, targets: Array, rule: Rule, owner: Array) -> Array:
    """The part of each arc that is given by its ends."""
    found = empty(len(sources), owner.dtype)
    ends = (frozen(np.asarray(end, graph.out.neighbours.dtype)) for end in (sources, targets))
    run(kernels.parts_of_arcs, -(-len(found) // kernels.LIST), *ends, rule.tables(owner, graph), found)
    return found


def outward(arcs: Inward, vertices: int) -> Outward:
    """The same arcs by source: a row for each of all `vertices`, targets in their order."""
    targets, into, in_columns = arcs
    begin, end = int(into.offsets[0]), int(into.offsets[-1])
    local = into.offsets - into.offsets[0] if begin else into.offsets
    offsets, rows, origin = regroup(local, into.neighbours[begin:end], vertices, carry=bool(in_columns))
    if len(targets) and int(targets[-1]) - int(targets[0]) == len(targets) - 1:
        rows += targets[0]
    else:
        rows = gather(targets, rows)
    columns = {
        name: frozen(gather(column[begin:end], origin)) for name, column in in_columns.items() if origin is not None
    }
    return Outward(Adjacency(frozen(offsets), frozen(rows)), columns)
