"""A graph with capacities for push-relabel: each arc with its reverse, capacities as integers.

Floating-point capacities become integers in a unit so small that the largest possible flow has 60 bits. So sums are
exact, in any order. No arc needs more than that flow plus one unit, which also stands for an infinite capacity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.maximum_flow.pairs import lay_out, pair
from arcflux.errors import GraphError, WeightError
from arcflux.graph import Graph
from arcflux.spmd.pool import run
from arcflux.validate import arguments

__all__ = ["Network", "arc_flows", "capacities", "network"]

Array = NDArray[Any]
_MOST = 1 << 61
_BITS = 60


@dataclass(frozen=True)
class Network:
    """Each arc with its reverse, without loops.

    offsets: uint64[n + 1]; heads: uint[arcs]; reverse: uint[arcs]; capacity: int64[arcs], `scale` of them being 1;
    bound: no flow is larger, unless it is infinite; slots: where the arcs of a graph are, past the end for loops; None
    where they are as they were.
    """

    offsets: Array
    heads: Array
    reverse: Array
    capacity: Array
    scale: float
    bound: int
    slots: Array | None = None

    @property
    def size(self) -> int:
        """How many vertices there are."""
        return len(self.offsets) - 1


def capacities(graph: Graph, name: str | None) -> Array:
    """The edge column `name`, checked to hold numbers from 0 on, which may be infinite; 1 for each edge with None."""
    if name is None:
        return np.ones(graph.arcs, np.int64)
    if name not in graph.columns:
        others = ", ".join(graph.columns) or "none"
        raise WeightError(
            f"the graph has no edge column {name!r}", expected=f"one of its columns: {others}",
            remedy=f"capacity={next(iter(graph.columns), None)!r}" + (", or None for 1 each" if graph.columns else ""),
        )  # fmt: skip
    column = graph.columns[name]
    wrong = ~(column >= 0)
    if column.dtype.kind not in "iufb" or wrong.any():
        place = int(np.argmax(wrong)) if column.dtype.kind in "iufb" else 0
        ends = " -> ".join(str(arguments.user_id(graph, end)) for end in arguments.arc(graph, place))
        raise WeightError(
            f"the {name} of edge {ends} is {column[place]}", expected="a number, 0 or more; inf for no limit",
            remedy="correct such edges, or name another column",
        )  # fmt: skip
    return column.astype(np.int64) if column.dtype.kind == "b" else column


def network(graph: Graph, capacity: Array, source: int, sink: int) -> Network:
    """The network of a graph; edges of an undirected one can be used either way."""
    bound, scale = _bound(graph, capacity, source, sink)
    units = _units(capacity, bound, scale)
    offsets, neighbours = graph.out
    order = None if graph.sorted else np.lexsort((neighbours, _rows(graph)))
    sorted_heads = neighbours if order is None else neighbours[order]
    slots: Array = np.empty(graph.arcs, np.uint32 if 2 * graph.arcs < 1 << 32 else np.uint64)
    mates, ends = np.empty_like(slots), np.empty(graph.vertices + 1, np.uint64)
    odd = np.zeros(1, np.int64)
    run(pair, 1, offsets, sorted_heads, mates, offsets[:-1].astype(np.uint64), ends, odd)
    if order is None and not odd[0]:
        return Network(offsets, neighbours, mates, units, scale, bound)
    total = int(ends[-1])
    heads, reverse = np.empty(total, neighbours.dtype), np.empty(total, slots.dtype)
    run(lay_out, 1, offsets, sorted_heads, mates, ends.copy(), slots, heads, reverse)
    if order is not None:
        slots[order] = slots.copy()
    laid, there = np.zeros(total, np.int64), slots < total
    laid[slots[there]] = units[there]
    return Network(ends, heads, reverse, laid, scale, bound, slots)


def _bound(graph: Graph, capacity: Array, source: int, sink: int) -> tuple[int, float]:
    """An upper bound of every finite flow, in units, and how many units are 1."""
    offsets, neighbours = graph.out
    out, into = slice(*offsets[source : source + 2].tolist()), neighbours == sink
    leaving = capacity[out][neighbours[out] != source]  # loops carry nothing
    into[slice(*offsets[sink : sink + 2].tolist())] = False
    reaching = capacity[into]
    if capacity.dtype.kind != "f":
        bound = min(sum(leaving.tolist()), sum(reaching.tolist()))
        if bound >= _MOST:
            raise GraphError(
                f"the capacities of the source and of the sink sum to {bound:,} and more",
                expected=f"less than 2^61, {_MOST:,}", remedy="divide all capacities by the same number",
            )  # fmt: skip
        return bound, 1.0
    most = min(float(leaving.sum()), float(reaching.sum()))
    if most in (0.0, math.inf):  # nothing flows, or the flow is bounded elsewhere: no capacity may round to 0 units
        most = float(capacity[np.isfinite(capacity)].sum())
    if most == math.inf:
        raise GraphError("the capacities sum to infinity", remedy="divide all capacities by the same number")
    power = min(_BITS - math.frexp(most)[1], 1000) if most else 0
    # Each capacity is rounded separately, and so is their sum.
    return math.ceil(math.ldexp(most * (1 + 1e-9), power)) + len(capacity), math.ldexp(1.0, power)


def _units(capacity: Array, bound: int, scale: float) -> Array:
    if capacity.dtype.kind == "f":
        with np.errstate(over="ignore"):
            scaled = np.minimum(capacity.astype(np.float64) * scale, float(bound + 1))
        return np.asarray(np.rint(scaled).astype(np.int64))
    return np.asarray(
        np.minimum(capacity, capacity.dtype.type(min(bound + 1, np.iinfo(capacity.dtype).max))).astype(np.int64)
    )


def _rows(graph: Graph) -> Array:
    return np.repeat(np.arange(graph.vertices), np.diff(graph.out.offsets).astype(np.int64))


def arc_flows(graph: Graph, capacity: Array, made: Network, left: Array) -> Array:
    """The flow along each arc of the graph, in the order of its columns, from the network's residual capacities.

    Of an undirected edge the arc against the flow has it negative.
    """
    net, slots = made.capacity - left, made.slots
    if slots is None:
        flow = net
    else:
        flow, there = np.zeros(graph.arcs, np.int64), slots < len(left)
        flow[there] = net[slots[there]]
    if graph.directed:
        flow = np.maximum(flow, 0)
    if made.scale == 1.0 and capacity.dtype.kind != "f":
        return flow
    return np.asarray(np.clip(flow / made.scale, -capacity, capacity))
