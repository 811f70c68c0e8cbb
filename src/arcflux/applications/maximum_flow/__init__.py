"""Maximum flow and minimum cut: how much can flow from a source to a sink, and the edges that limit it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.maximum_flow.network import arc_flows, capacities, network
from arcflux.applications.maximum_flow.rounds import solver_of
from arcflux.applications.maximum_flow.solver import Solver
from arcflux.applications.traffic import told
from arcflux.checks import flag, maybe, text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph

__all__ = ["Flow", "maximum_flow", "minimum_cut"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Flow(af.Result):
    """The result of :func:`maximum_flow` and :func:`minimum_cut`: the field `side`, 1 on the source's side of the cut.

    value: of the flow, which is the capacity of the cut; flow: along each arc, in the order of ``graph.columns``, or
    None; capacity: the column; sent: bytes between nodes, by what they were for; rounds: of push-relabel, or how many
    vertices discharged.
    """

    value: float = 0.0
    flow: Array | None = field(default=None, repr=False)
    source: Any = None
    sink: Any = None
    capacity: str | None = None
    sent: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 0

    def cut(self) -> tuple[Array, Array, Array]:
        """The edges from the source's side to the sink's: the ids of their ends, and their capacities.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 1, 1], [1, 2, 2], columns={"capacity": [9, 2, 3]})
        >>> [part.tolist() for part in af.minimum_cut(g, 0, 2).cut()]
        [[1, 1], [2, 2], [2, 3]]
        """
        graph, side = self.graph, self.values["side"]
        offsets, neighbours = graph.out
        rows = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
        crossing = np.flatnonzero((side[rows] == 1) & (side[neighbours] == 0))
        ends = graph.ids.to_ids(rows[crossing]), graph.ids.to_ids(neighbours[crossing].astype(np.int64))
        return *ends, capacities(graph, self.capacity)[crossing]

    def highlights(self) -> list[tuple[str, str]]:
        """The value, and the cut."""
        held = int(self.values["side"].sum())
        ends, _, _ = self.cut()
        shown = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.6g}"
        said = f"{len(ends):,} edges, {held:,} of {self.graph.vertices:,} vertices on the source's side"
        return [("flow", shown), ("cut", said), *told(self.sent)]


@graph_call(source=None, capacity=maybe(text), flows=flag, method=text)
def maximum_flow(
    graph: Graph, source: Any, sink: Any, capacity: str | None = "capacity", *, flows: bool = True,
    method: str = "highest", **where: Any,
) -> Flow:  # fmt: skip
    """The largest flow from a source to a sink, by push-relabel (Goldberg, Tarjan 1988).

    Parameters
    ----------
    source, sink
        The ids of two vertices.
    capacity
        The edge column of capacities: numbers from 0 on, inf for no limit; None for 1 each.
    flows
        False for the value and the cut alone, which is quicker: excess need not go back to the source.
    method
        "highest": the active vertex of the highest label comes first, on one core; every node solves the same network,
        and sends nothing. "rounds": all active vertices at once, on all cores (Baumstark, Blelloch, Shun 2015); a node
        has the vertices of a share, pushes are messages, labels are told to all. It is the slower one, as a rule.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    An undirected edge can be used either way; parallel edges add up; loops carry nothing. Integers are exact. Floats
    are kept to 60 bits of the largest flow that source and sink allow. Of several minimum cuts it is the one with the
    fewest vertices on the sink's side. Value and cut are the same with both methods; with each of them, the flow is the
    same on any number of workers.

    ``result.flow`` has the flow along each arc, in the order of ``graph.columns``; of an undirected edge the arc
    against the flow has it negative. A flow that is infinite is a :class:`~arcflux.errors.GraphError`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], columns={"capacity": [3, 2, 2, 4]})
    >>> found = af.maximum_flow(g, 0, 3)
    >>> found.value, found.flow.tolist(), found["side"].tolist()
    (4, [2, 2, 2, 2], [1, 1, 0, 0])
    """
    return _flow("maximum_flow", graph, source, sink, capacity, flows, method, where)


@graph_call(source=None, capacity=maybe(text), method=text)
def minimum_cut(
    graph: Graph, source: Any, sink: Any, capacity: str | None = "capacity", *, method: str = "highest", **where: Any
) -> Flow:  # fmt: skip
    """The cheapest edges whose removal leaves no way from source to sink: :func:`maximum_flow` without the flows.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("cliques:4x4,weights=1-1")
    >>> cut = af.minimum_cut(g, 3, 11, capacity="weight")
    >>> cut.value, len(cut.cut()[0])
    (2, 2)
    """
    return _flow("minimum_cut", graph, source, sink, capacity, False, method, where)


def _flow(
    name: str, graph: Graph, source: Any, sink: Any, capacity: str | None, flows: bool, method: str,
    where: dict[str, Any],
) -> Flow:  # fmt: skip
    solver = solver_of(method)
    numbers = [_number(graph, "source", source), _number(graph, "sink", sink)]
    if numbers[0] == numbers[1]:
        raise UsageError(f"source and sink are both {source!r}", expected="two different vertices")
    column = capacities(graph, capacity)
    made = network(graph, column, *numbers)
    done = launch(graph, where, lambda worker: _work(solver(worker, made), numbers[0], numbers[1], flows))
    units, reaches, left, rounds, sent = done.answer
    if units > made.bound:
        raise GraphError(
            f"the flow from {source!r} to {sink!r} is infinite", expected="a finite capacity on every way between them"
        )
    result = Flow(
        name, graph, {"side": (~reaches).astype(np.int8)}, [], True, done.seconds, done.compile_seconds,
        flow=None if left is None else arc_flows(graph, column, made, left), source=source, sink=sink,
        capacity=capacity, sent=sent, rounds=rounds, validator=_validated,
    )  # fmt: skip
    value = units if column.dtype.kind != "f" else math.fsum(result.cut()[2].tolist())
    return done.finish(result.with_changes(value=value))  # type: ignore[return-value]


def _number(graph: Graph, name: str, given: Any) -> int:
    if given is None or isinstance(given, (list, tuple, dict, set)) or np.ndim(given):
        raise UsageError(f"{name} is {given!r}", expected="the id of one vertex")
    return int(graph.ids.to_numbers([given])[0])


def _work(solver: Solver, source: int, sink: int, flows: bool) -> tuple[int, Array, Any, int, dict[str, int]]:
    """The value in units, which vertices reach the sink, residual capacities (or None), rounds, and bytes sent."""
    with solver.worker.task("maximum flow", 2, "phases") as task:
        solver.flow(solver.saturate(source, sink), sink)
        value, reaches = solver.arrived(sink), solver.reaches()
        task.at(1)
        left = None
        if flows:
            solver.flow(sink, source)  # excess that cannot reach the sink goes back
            left = solver.rows_left()
        task.at(2)
    return value, reaches, left, solver.rounds, solver.traffic.total()


def _validated(result: Any) -> Any:
    ends = result.source, result.sink, result.capacity
    return af.validate.maximum_flow(result.graph, *ends, result.value, result.values["side"], result.flow)
