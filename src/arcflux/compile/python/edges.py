"""Fields of edges in plain Python: the ``edge`` of `along` and compute, and the old values of the reverse edge.

Values are in in-edge order, as in kernels. Compute sees at once what `along` writes in a superstep, all others see it
after the superstep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arcflux.compile.check.expressions import length_of
from arcflux.compile.python.numbers import Unfit, keeper
from arcflux.compile.python.numbers import number as as_number
from arcflux.compile.python.vectors import Matrix, Vector
from arcflux.compile.python.vertex import shown
from arcflux.edge_values import EdgeValues
from arcflux.errors import ProgramError
from arcflux.graph import Graph
from arcflux.graph.arcs import in_places, reverse_places
from arcflux.program import Program

__all__ = ["PlainEdges"]


class Fields:
    """The fields of an edge from before the superstep; each is built when it is read."""

    _edges: Any
    _arc: int
    _said: Callable[[], str]

    def __init__(self, edges: Any, arc: int, said: Callable[[], str]) -> None:
        self.__dict__.update(_edges=edges, _arc=arc, _said=said)

    def __getattr__(self, name: str) -> Any:
        if name not in self._edges.kinds:
            raise AttributeError(f"an edge has no {name!r}")
        value = self.__dict__[name] = self._edges.own(name, self._edges.values[name][self._arc], self._said)
        return value

    def __repr__(self) -> str:
        return shown("edge", {**self.__dict__, **{name: getattr(self, name) for name in self._edges.kinds}})


class Edge(Fields):
    """An edge as a function sees it: its columns, its fields, and the reverse edge."""

    def __init__(self, columns: Mapping[str, Any], edges: Any, arc: int, said: Callable[[], str]) -> None:
        super().__init__(edges, arc, said)
        self.__dict__.update(columns)
        if edges.twins:
            self.__dict__["reverse"] = Fields(edges, edges.twins[arc], said)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._edges.stored(name, value, self._said)


class PlainEdges:
    """The fields of all edges of a run; phases of a program share them."""

    def __init__(self, program: Program, graph: Graph, given: Mapping[str, Any]) -> None:
        self.program, self.graph = program, graph
        self.kinds = {
            name: (one.type.dtype, length_of(program, one.type), one.type.columns)
            for name, one in program.edge_fields.items()
        }
        self.keepers = {name: keeper(dtype) for name, (dtype, _, _) in self.kinds.items()}
        self.values: dict[str, list[Any]] = {name: self._first(name, given) for name in self.kinds}
        self.after: dict[str, dict[int, Any]] = {name: {} for name in self.kinds}
        against = any(each.edges == "against" for each in (program, *program.phases.values()))
        self.place = in_places(graph).tolist() if against and self.kinds else []
        self.twins = reverse_places(graph).tolist() if program.mirrored else []

    def _first(self, name: str, given: Mapping[str, Any]) -> list[Any]:
        dtype, length, _ = self.kinds[name]
        if name in given:
            rows: list[Any] = given[name].tolist()
            return [as_number(x, dtype) if length is None else [as_number(y, dtype) for y in x] for x in rows]
        first = as_number(dtype.type(self.program.edge_fields[name].first).item(), dtype)
        return [first if length is None else [first] * length for _ in range(self.graph.arcs)]

    def crossed(self, run: Any, place: int, columns: Mapping[str, Any], u: Any, v: Any) -> Edge:
        """The edge at a position of the rows that a run sees, after `along` if there is one."""
        arc = self.place[place] if run.lowered.program.edges == "against" else place
        source, target = (v, u) if run.lowered.program.edges == "against" else (u, v)

        def said() -> str:
            return f"the edge from {run.said(source.number)} to {run.said(target.number)}, {run.when}"

        edge = Edge(columns, self, arc, said)
        if "along" in run.lowered.functions:
            run.call("along", edge=edge, u=u, v=v)
            for name in run.lowered.functions["along"].edge_writes:
                self.after[name][arc] = self._plain(name, getattr(edge, name))
        return edge

    def own(self, name: str, value: Any, said: Callable[[], str]) -> Any:
        """A field's value for a function that may change it."""
        _, length, columns = self.kinds[name]
        if length is None:
            return value
        elements = list(value) if isinstance(value, (Vector, list)) else [value] * length

        def store(element: Any) -> Any:
            return self._stored_number(name, element, said)

        return Vector(elements, store) if columns is None else Matrix(elements, columns, store)

    def stored(self, name: str, value: Any, said: Callable[[], str]) -> Any:
        """A value as the field stores it."""
        if self.kinds[name][1] is None:
            return self._stored_number(name, value, said)
        vector = self.own(name, value, said)
        vector.elements = [self._stored_number(name, element, said) for element in vector.elements]
        return vector

    def _stored_number(self, name: str, value: Any, said: Callable[[], str]) -> Any:
        """A number as the field stores it; a number that does not fit is an error here."""
        try:
            return self.keepers[name](value)
        except Unfit as unfit:
            what = f"{name} becomes {unfit.value} at {said()}{unfit.outside}"
            raise ProgramError(what, program=self.program.name) from None

    def _plain(self, name: str, value: Any) -> Any:
        return value if self.kinds[name][1] is None else list(value.elements)

    def drop(self) -> None:
        """Discard what a superstep that is undone has written."""
        self.after = {name: {} for name in self.kinds}

    def finish(self) -> None:
        """End the superstep: the written values become current."""
        for name, after in self.after.items():
            for arc, value in after.items():
                self.values[name][arc] = value
        self.drop()

    def result(self) -> EdgeValues:
        """The edge fields as a result shows them."""
        made = {}
        for name, (dtype, length, columns) in self.kinds.items():
            shape = (len(self.values[name]),) if length is None else (len(self.values[name]), length)
            array = np.array(self.values[name], dtype).reshape(shape)
            made[name] = array if columns is None else array.reshape(len(array), -1, columns)
        return EdgeValues(self.graph, made)
