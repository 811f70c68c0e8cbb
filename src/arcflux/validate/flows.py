"""Maximum flows, checked by their certificate: a flow, and a cut of the same size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, maybe, real, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["maximum_flow"]

# By how much sums of floats may differ, relative to the value.
_ROUNDING = 1e-9


@takes_graph
@checked(source=None, capacity=maybe(text), value=real)
def maximum_flow(
    graph: Graph, source: Any, sink: Any, capacity: str | None, value: float, side: Any, flow: Any = None
) -> Report:  # fmt: skip
    """Check a maximum flow: no flow is larger than any cut, so a flow as large as some cut is a maximum one.

    Parameters
    ----------
    source, sink
        The ids of its source and sink.
    capacity
        The edge column of capacities; None for 1 each.
    value
        The value of the flow.
    side
        1 for each vertex on the source's side of a cut, else 0.
    flow
        Along each arc, in the order of ``graph.columns``, negative on an undirected edge's arc against the flow;
        None to check only the cut, which shows that no flow is larger.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1], [1, 2], columns={"capacity": [3, 2]})
    >>> bool(af.validate.maximum_flow(g, 0, 2, "capacity", 2, [1, 1, 0], [2, 2]))
    True
    >>> bool(af.validate.maximum_flow(g, 0, 2, "capacity", 3, [1, 1, 0], [3, 2]))
    False
    """
    ends = [int(arguments.numbers_of(graph, [one])[0]) for one in (source, sink)]
    sides = arguments.wholes("side", side, graph.vertices)
    limits = np.ones(graph.arcs, np.int64) if capacity is None else graph.columns[capacity]
    if limits.dtype.kind in "bu":  # unsigned numbers: negation would wrap around
        limits = np.minimum(limits.astype(np.uint64), np.uint64(1 << 62)).astype(np.int64)
    exact = limits.dtype.kind != "f"
    offsets, neighbours = graph.out
    rows = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
    slack = 0.0 if exact else _ROUNDING * max(1e-300, abs(float(value))) + _unit(graph, ends, rows, limits)
    crossing = (sides[rows] == 1) & (sides[neighbours] == 0)
    cut = sum(limits[crossing].tolist())
    parted = sides[ends[0]] == 1 and sides[ends[1]] == 0 and bool(np.isin(sides, (0, 1)).all())
    rules = [
        Rule.overall("sides", "the cut parts source and sink", "another", not parted),
        Rule.overall("cut", "the capacity of the cut is the value", f"{cut!r}", not abs(cut - value) <= slack),
    ]
    if flow is not None:
        rules += _flow_rules(graph, ends, value, np.asarray(flow), rows, limits, slack)
    return Report(f"maximum flow from {source} to {sink}", tuple(rules))


def _unit(graph: Graph, ends: list[int], rows: Any, limits: Any) -> float:
    """A bound on the rounding of all arcs: flows of floats have 60 bits of the largest that the ends allow."""
    most = min(limits[rows == ends[0]].sum(), limits[graph.out.neighbours == ends[1]].sum())
    most = most if 0 < most < np.inf else limits[np.isfinite(limits)].sum()
    return float(len(limits) * max(2.0**-59 * most, 2.0**-999))  # no unit is smaller than 2^-1000


def _flow_rules(
    graph: Graph, ends: list[int], value: float, flow: Any, rows: Any, limits: Any, slack: float
) -> list[Rule]:  # fmt: skip
    if flow.shape != (graph.arcs,):
        raise UsageError(f"flow has shape {flow.shape}", expected=f"({graph.arcs},): a number for each arc")
    neighbours = graph.out.neighbours
    least = 0 if graph.directed else -limits
    wrong = ~((flow >= least) & (flow <= limits))
    used = flow if graph.directed else np.maximum(flow, 0)
    kind = np.int64 if flow.dtype.kind in "iu" else np.float64
    net = np.zeros(graph.vertices, kind)
    np.add.at(net, neighbours, used.astype(kind))
    np.subtract.at(net, rows, used.astype(kind))
    lost = np.abs(net) > slack
    lost[ends] = False
    came = net[ends[1]].item()
    return [
        Rule.checked(
            "capacity", "no arc carries more than its capacity, or less than nothing", np.flatnonzero(wrong),
            lambda a: Offence(arguments.user_id(graph, rows[a]), f"{flow[a]}", f"at most {limits[a]}"), unit="edges",
        ),
        Rule.checked(
            "conservation", "what comes in goes out, but for source and sink", np.flatnonzero(lost),
            lambda v: Offence(arguments.user_id(graph, v), f"{net[v]} more comes in", "0"),
        ),
        Rule.overall("value", "the value reaches the sink", f"{came!r}", not abs(came - value) <= slack),
    ]  # fmt: skip
