"""A graph built by many ranks from the edges of each: no rank ever has all edges.

1. *Names*: each rank finds the different ids in its edges. They are distributed by ranges, between splitters from a
   sample, so that one rank merges each range; the merged ranges, in order, are the ids of the graph.
2. *Bounds*: the in-degrees of all ranks are added up, and cut the vertices into ranges of as many in-edges each.
3. *Arcs*: each goes to the rank that owns its target, which sorts the received arcs as for any graph.

Besides its own edges and its own part, a rank has a few numbers for each vertex.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.build import build, gather
from arcflux.graph.core import Adjacency, Changes, Origin
from arcflux.graph.edges import Edges, Options, checked_columns
from arcflux.graph.ids import Ids, IntegerIds, TextIds, as_ids
from arcflux.graph.number import different, integer_ids, number, vertex_type
from arcflux.graph.split import SplitGraph
from arcflux.partition.arcs import Inward
from arcflux.partition.ranges import bounds
from arcflux.partition.rank_part import HeldParts
from arcflux.partition.rule import smallest
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["split_graph"]

Array = NDArray[Any]
Names = IntegerIds | TextIds

_NAMES, _ARCS = 12, 13
# Ids per rank in the sample that cuts all ids into ranges.
_SAMPLE = 64
# Values per column that every rank has of all ranks.
_VALUES = 1 << 14


def split_graph(
    transport: Transport, source: Any, target: Any, columns: Mapping[str, Any], *, text: bool = False,
    directed: bool = True, symmetrise: bool = False, deduplicate: str | None = None, drop_self_loops: bool = False,
    name: str = "",
) -> SplitGraph:  # fmt: skip
    """The graph of the edges of all ranks, in rank order; collective. Each rank has its part of it.

    `text`: whether ids are text, which a rank without edges cannot tell. Other arguments and the result are those of
    :meth:`arcflux.Graph.from_edges`.

    Examples
    --------
    >>> from arcflux.transports import run_local
    >>> def edges(t):
    ...     return np.array([t.rank, 2]), np.array([2, 3]), {}
    >>> graphs = run_local(2, lambda t: split_graph(t, *edges(t)), ranks_per_node=1)
    >>> [(graph.vertices, graph.edges, graph.ids.to_ids().tolist()) for graph in graphs]
    [(4, 4, [0, 1, 2, 3]), (4, 4, [0, 1, 2, 3])]
    """
    options = Options(directed and not symmetrise, deduplicate, drop_self_loops)
    edges = Edges(*_ends(source, target, text))
    edges.columns = checked_columns(columns, len(edges.source))
    given = len(edges)
    ids, looped = _number(transport, edges, text), 0
    kind = vertex_type(len(ids))
    if drop_self_loops:
        stay = np.flatnonzero(edges.source != edges.target)
        looped = given - len(stay)
        edges = _taken(edges, stay)
    arcs = edges if options.directed else _both_ways(edges)
    cuts = bounds(_offsets(_degrees(transport, arcs.target, len(ids))), transport.size)
    arcs = _routed(transport, arcs, cuts)
    # By target: the builder groups by its source column.
    turned = Edges(arcs.target, arcs.source, columns=arcs.columns, ours=True)
    built = build(turned, len(ids), Options(True, deduplicate))
    first, last = cuts[transport.rank : transport.rank + 2].tolist()
    into = Adjacency(frozen(built.offsets[first : last + 1]), frozen(built.neighbours))
    rows = np.diff(into.offsets)
    in_offsets = _offsets(np.concatenate(transport.gather(rows)))
    out_offsets = in_offsets
    if options.directed:
        out_offsets = _offsets(_degrees(transport, built.neighbours, len(ids)))
    counts = transport.reduce(np.array([given, looped, built.loops]), "sum").tolist()
    left = int(in_offsets[-1]) if options.directed else (int(in_offsets[-1]) + counts[2]) // 2
    graph = SplitGraph(
        in_offsets, out_offsets, edges=left, directed=options.directed, ids=ids, number_type=kind,
        columns={name: _sample_of(transport, column) for name, column in built.columns.items()},
        origin=Origin(name, Changes(counts[0], counts[1], counts[0] - counts[1] - left, symmetrise and directed)),
    )  # fmt: skip
    held = Inward(
        frozen(np.arange(first, last, dtype=kind)), into,
        {name: frozen(column) for name, column in built.columns.items()},
    )  # fmt: skip
    graph.kept["parts", transport.size, "ranges"] = HeldParts(graph, cuts, transport.rank, held)
    return graph


def _ends(source: Any, target: Any, text: bool) -> tuple[Array, Array]:
    """Both ends as ids, of the type that all ranks use."""
    if not text:
        return as_ids(source), as_ids(target)
    given = (end if isinstance(end, np.ndarray) else end.to_numpy(zero_copy_only=False) for end in (source, target))
    source, target = (as_ids(end).astype(object) for end in given)
    return source, target


def _sample_of(transport: Transport, column: Array) -> Array:
    """Some values of the columns of all ranks, equally many of each."""
    own = column[:: max(1, len(column) // (_VALUES // transport.size + 1))]
    return frozen(np.concatenate(transport.gather(np.ascontiguousarray(own))))


# --- names


def _number(transport: Transport, edges: Edges, text: bool) -> Ids:
    """Replace ids by vertex numbers; returns the ids of all ranks."""
    if len(edges):
        own, complete = number(edges, None, None)
    else:
        own, complete = _none(text), True
        edges.source, edges.target = (np.empty(0, np.uint32) for _ in range(2))
    named = None if complete else _flags(edges, len(own))
    found: Names
    if isinstance(own, TextIds):
        found = own
    else:
        found = IntegerIds(own.to_ids(None if named is None else np.flatnonzero(named)))
    ids = _joined(transport, found)
    places = np.zeros(len(own), vertex_type(len(ids)))
    places[slice(None) if named is None else named] = ids.find(
        found.values if isinstance(found, IntegerIds) else found.to_arrow()
    )
    edges.source, edges.target = (gather(places, end) for end in (edges.source, edges.target))
    return ids


def _none(text: bool) -> Names:
    return TextIds(np.zeros(1, np.int64), np.zeros(0, np.uint8)) if text else IntegerIds(np.zeros(0, np.int64))


def _flags(edges: Edges, count: int) -> Array:
    """Which of this many numbers are the end of an edge."""
    flags = np.zeros(count, np.bool_)
    flags[edges.source] = True
    flags[edges.target] = True
    return flags


def _joined(transport: Transport, own: Names) -> Ids:
    """The ids of all ranks, each once, sorted; every rank merges a range of them."""
    cuts = [0, *_cuts(transport, own), len(own)]
    for step in range(transport.size):
        peer = (transport.rank + step) % transport.size
        transport.post(peer, _runs(own, cuts[peer], cuts[peer + 1]), _NAMES)
    came = [transport.collect(peer, _NAMES) for peer in range(transport.size)]
    transport.finish()
    if isinstance(own, IntegerIds):
        found = different(np.concatenate([one.view(np.int64) for one in came]))
        return integer_ids(np.concatenate(transport.gather(found)))
    merged = _merged_text(came)
    lengths = np.concatenate(transport.gather(np.diff(merged.offsets)))
    data = np.concatenate(transport.gather(np.ascontiguousarray(merged.data)))
    return TextIds(np.concatenate([[0], np.cumsum(lengths)]), data)


def _cuts(transport: Transport, own: Names) -> list[int]:
    """Where the ids of this rank are cut into ranges, by splitters that are the same on all ranks."""
    some = np.linspace(0, len(own) - 1, min(_SAMPLE, len(own))).astype(np.int64)
    shares = np.arange(1, transport.size)
    if isinstance(own, IntegerIds):
        sample = np.sort(np.concatenate(transport.gather(own.values[some])))
        splitters = sample[shares * len(sample) // transport.size] if len(sample) else sample
        return np.searchsorted(own.values, splitters).tolist() if len(sample) else [0] * len(shares)
    chosen = [own.data[own.offsets[k] : own.offsets[k + 1]].tobytes() for k in some]
    lengths = np.concatenate(transport.gather(np.array([len(one) for one in chosen], np.int64)))
    data = np.concatenate(transport.gather(np.frombuffer(b"".join(chosen), np.uint8))).tobytes()
    ends = np.cumsum(lengths).tolist()
    sorted_ = sorted(data[end - size : end] for end, size in zip(ends, lengths.tolist(), strict=True))
    names = _Bytes(own)
    return [bisect_left(names, sorted_[share * len(sorted_) // transport.size]) if sorted_ else 0
            for share in shares.tolist()]  # fmt: skip


class _Bytes:
    """Names as a sequence of bytes, copied only when they are read."""

    def __init__(self, names: TextIds) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, place: int) -> bytes:
        offsets = self._names.offsets
        return self._names.data[offsets[place] : offsets[place + 1]].tobytes()


def _runs(own: Names, first: int, last: int) -> list[Array]:
    """A range of ids as a message; for text their number, lengths and bytes."""
    if isinstance(own, IntegerIds):
        return [np.ascontiguousarray(own.values[first:last], np.int64)]
    lengths = np.diff(own.offsets[first : last + 1])
    begin, end = int(own.offsets[first]), int(own.offsets[last])
    return [np.array([last - first]), np.ascontiguousarray(lengths), np.ascontiguousarray(own.data[begin:end])]


def _merged_text(came: list[Array]) -> TextIds:
    import pyarrow as pa

    found = []
    for one in came:
        count = int(one[:8].view(np.int64)[0])
        lengths = one[8 : 8 + 8 * count].view(np.int64)
        found.append(TextIds(np.concatenate([[0], np.cumsum(lengths)]), one[8 + 8 * count :]).to_arrow())
    return TextIds.of(pa.chunked_array(found, pa.large_string()))


# --- arcs


def _degrees(transport: Transport, ends: Array, vertices: int) -> Array:
    """How many arcs of all ranks end at each vertex."""
    return transport.reduce(np.bincount(ends, minlength=vertices).astype(np.uint64), "sum")


def _offsets(degrees: Array) -> Array:
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(degrees, dtype=np.uint64)])


def _taken(edges: Edges, places: Array) -> Edges:
    """Some of the edges."""
    columns = {name: column[places] for name, column in edges.columns.items()}
    return Edges(edges.source[places], edges.target[places], columns=columns)


def _both_ways(edges: Edges) -> Edges:
    """Each edge followed by its reverse; a self-loop once."""
    ends = [np.stack(pair, axis=1).reshape(-1) for pair in
            ((edges.source, edges.target), (edges.target, edges.source))]  # fmt: skip
    stay = np.flatnonzero((ends[0] != ends[1]) | (np.arange(len(ends[0])) & 1 == 0))
    columns = {name: column[stay >> 1] for name, column in edges.columns.items()}
    return Edges(ends[0][stay], ends[1][stay], columns=columns)


def _routed(transport: Transport, arcs: Edges, cuts: Array) -> Edges:
    """The arcs of all ranks whose target this rank owns, in rank order."""
    owner = np.searchsorted(cuts[1:-1], arcs.target, side="right").astype(smallest(transport.size))
    order = np.argsort(owner, kind="stable")
    places = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=transport.size))])
    del owner
    arrays = [array[order] for array in (arcs.source, arcs.target, *arcs.columns.values())]
    for step in range(transport.size):
        peer = (transport.rank + step) % transport.size
        first, last = places[peer : peer + 2].tolist()
        transport.post(peer, [array[first:last] for array in arrays], _ARCS)
    width = sum(array.itemsize for array in arrays)
    came: list[list[Array]] = [[] for _ in arrays]
    for peer in range(transport.size):
        message, at = transport.collect(peer, _ARCS), 0
        count = len(message) // width
        for array, found in zip(arrays, came, strict=True):
            found.append(message[at : at + count * array.itemsize].view(array.dtype))
            at += count * array.itemsize
    transport.finish()
    source, target, *columns = (np.concatenate(found) for found in came)
    return Edges(source, target, columns=dict(zip(arcs.columns, columns, strict=True)))
