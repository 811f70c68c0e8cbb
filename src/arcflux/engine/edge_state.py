"""The fields of edges in a run: their arrays, the current half of each, and their initial values.

They are in in-edge order, one copy per node, for all phases and parts (compile/pieces/crossing.py says which function
reads which half).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.check.expressions import length_of
from arcflux.compile.lower import Lowered
from arcflux.edge_values import EdgeValues
from arcflux.engine.fitting import fitting
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.graph.arcs import in_places, reverse_places
from arcflux.graph.ids import by_id
from arcflux.program import Program
from arcflux.spmd.memory import frozen

__all__ = ["EdgeArrays", "given_edges"]

Array = NDArray[Any]

_NONE = frozen(np.zeros(1, np.uint32))


class EdgeArrays:
    """The edge fields of a run; empty for a program without any.

    arrays: name -> dtype[arcs], or [2 * arcs] where the reverse edge is read, and one more axis for vectors; parity:
    which half is current, 0 or 1; constants: the kernel arguments, ``x_turn`` last.
    """

    def __init__(
        self, program: Program, graph: Graph, given: Mapping[str, Array], allocate: Callable[..., Array], leads: bool
    ) -> None:
        self.program, self.graph, self.given = program, graph, given
        self.parity = 0
        self.turn = np.zeros(1, np.int64)
        self.arrays: dict[str, Array] = {}
        self.constants: list[Array] = []
        if not program.edge_fields:
            return
        graph.into  # noqa: B018 - fields stand in the order of in-edges, once for a node
        for name, one in program.edge_fields.items():
            length = length_of(program, one.type)
            size = graph.arcs * (2 if name in program.mirrored else 1)
            array = allocate(size * (length or 1), one.type.dtype, zero=False)
            self.arrays[name] = array if length is None else array.reshape(size, length)
        if leads:
            self.reset()
        against = any(each.edges == "against" for each in (program, *program.phases.values()))
        self.reverse = reverse_places(graph) if program.mirrored else _NONE
        self.place = in_places(graph) if against else _NONE
        self.constants = [*self.arrays.values(), self.reverse, self.place, self.turn]

    def reset(self) -> None:
        """Set all fields to their values before the first superstep."""
        self.parity = 0
        for name, array in self.arrays.items():
            array[:] = self.program.edge_fields[name].first
            if name in self.given:
                array[: self.graph.arcs] = self.given[name]

    @property
    def undone(self) -> dict[str, Array]:
        """What a torn superstep has to restore, by names that no vertex field has; two-half fields need no copy."""
        return {f"edge.{name}": one for name, one in self.arrays.items() if name not in self.program.mirrored}

    def begin(self, lowered: Lowered, step: int) -> None:
        """Before a kernel executes supersteps of a program, or of one of its phases, from `step` on."""
        turns = lowered.edge_state is not None and lowered.edge_state.turns
        self.turn[0] = (self.parity - step) & 1 if turns else self.parity

    def advance(self, lowered: Lowered, supersteps: int) -> None:
        """After a kernel has executed this many supersteps."""
        if lowered.edge_state is not None and lowered.edge_state.turns:
            self.parity = (self.parity + supersteps) & 1

    def current(self, name: str, later: bool = False) -> Array:
        """A field of all edges in in-edge order: its current values, or (`later`) those that a superstep writes."""
        array, arcs = self.arrays[name], self.graph.arcs
        if name not in self.program.mirrored:
            return array
        half = self.parity ^ int(later)
        return array[half * arcs : (half + 1) * arcs]

    def result(self) -> EdgeValues:
        """The edge fields as a result shows them."""
        return EdgeValues(self.graph, {name: self._shaped(name) for name in self.arrays})

    def _shaped(self, name: str) -> Array:
        kind, values = self.program.edge_fields[name].type, np.array(self.current(name))
        return values if kind.columns is None else values.reshape(len(values), -1, kind.columns)


def given_edges(program: Program, graph: Graph, name: str, listed: Any) -> Array:
    """Initial values of an edge field in in-edge order, from an array in out-edge order or from a mapping."""
    values, kind = by_id(listed), program.edge_fields[name].type
    length, first = length_of(program, kind), program.edge_fields[name].first
    shape: tuple[int, ...] = () if length is None else (length,)
    shown = shape if length is None or kind.columns is None else (length // kind.columns, kind.columns)
    if isinstance(values, Mapping):
        by_source = np.full((graph.arcs, *shape), first, kind.dtype)
        some = fitting(name, list(values.values()), kind.dtype, (len(values), *shown)).reshape(len(values), *shape)
        for ends, value in zip(values, some, strict=True):
            by_source[_arcs_between(graph, name, ends)] = value
    else:
        by_source = fitting(name, values, kind.dtype, (graph.arcs, *shown)).reshape(graph.arcs, *shape)
    by_target = np.empty_like(by_source)
    by_target[in_places(graph)] = by_source
    return by_target


def _arcs_between(graph: Graph, name: str, ends: Any) -> Array:
    """The positions in `out` of the arcs from one vertex to another."""
    if not isinstance(ends, tuple) or len(ends) != 2:
        raise UsageError(f"{name} is given for {ends!r}", expected="the ids of both ends of an edge: (source, target)")
    u, v = (int(number) for number in graph.ids.to_numbers(list(ends)))
    begin, end = (int(graph.out.offsets[place]) for place in (u, u + 1))
    positions = begin + np.flatnonzero(graph.out.neighbours[begin:end] == v)
    if not len(positions):
        raise UsageError(f"{name} is given for an edge from {ends[0]} to {ends[1]}, which there is not",
                         expected="edges of the graph")  # fmt: skip
    return positions
