"""What the functions of a program see in plain Python: a vertex, an edge's columns, the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arcflux.compile.python.numbers import number as as_number
from arcflux.compile.python.vectors import Matrix, Vector
from arcflux.graph import Graph
from arcflux.program import FieldType, Parameter, vertex, vertices

__all__ = ["Members", "Named", "Vertex", "ends", "of_column", "parameter", "shown"]


def shown(what: str, values: Mapping[str, Any]) -> str:
    """The text that a print or a debugger shows of one of these: its names and their values.

    Examples
    --------
    >>> shown("vertex 3", {"hops": 2, "_run": None})
    '<vertex 3: hops=2>'
    """
    return f"<{what}: {', '.join(f'{name}={value}' for name, value in values.items() if name[0] != '_')}>"


class Vertex:
    """A vertex as a function sees it: its fields, its number, its degrees."""

    _run: Any
    _fields: dict[str, Any]
    _assigned: set[str]
    number: int

    def __init__(self, run: Any, number: int, values: dict[str, Any]) -> None:
        values = dict(values)
        for name in run.vectors:
            values[name] = run.own(name, values[name], number)
        own = self.__dict__
        own.update(values)
        own["_run"], own["_fields"], own["_assigned"] = run, values, set()
        own["number"] = run.numbers[number]
        own["in_degree"], own["out_degree"] = run.in_degrees[number], run.out_degrees[number]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a vertex has no {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._fields[name] = self._run.stored(name, value, self.number)
        self._assigned.add(name)

    def __repr__(self) -> str:
        return shown(f"vertex {self.number}", self._fields)

    def _out(self, k: int) -> tuple[int, Any]:
        """The number of the k-th out-neighbour, and the edge to it."""
        return self._run.mail.out(int(self.number), k)  # type: ignore[no-any-return]

    def _common(self, other: Vertex) -> int:
        """How many vertices are in-neighbours of both."""
        return as_number(len(self._run.near(self.number) & self._run.near(other.number)))  # type: ignore[no-any-return]


class Named:
    """A namespace: the parameters, an edge's columns."""

    _what: str

    def __init__(self, _what: str, **values: Any) -> None:
        own = {name: as_number(value) if type(value) in (int, float) else value for name, value in values.items()}
        self.__dict__.update(own, _what=_what)

    def __repr__(self) -> str:
        return shown(self._what, self.__dict__)


class Members:
    """A set of vertices that is a parameter."""

    def __init__(self, members: Any) -> None:
        self.members = members

    def __contains__(self, v: Vertex) -> bool:
        return bool(self.members[v.number])

    def __repr__(self) -> str:
        return f"<{int(sum(self.members))} vertices>"


def parameter(one: Parameter, graph: Graph, members: Any) -> Any:
    """The value of a parameter in a program."""
    if one.kind is vertex:
        return int(graph.ids.to_numbers([one.value])[0])
    if isinstance(one.kind, FieldType):
        elements = [as_number(element, one.kind.dtype) for element in one.value]
        return Vector(elements) if one.kind.columns is None else Matrix(elements, one.kind.columns)
    return one.value if one.kind is not vertices else Members(members)


def ends(graph: Graph, edges: str | None, u: int, v: int) -> tuple[int, int]:
    """The ends of an edge for its random numbers: an undirected edge has the same ones both ways."""
    if edges == "both" or graph.edges != graph.arcs:
        return min(u, v), max(u, v)
    return (v, u) if edges == "against" else (u, v)


def of_column(column: Any, i: int) -> Any:
    """The value of an edge column: a float of the column's width, or an integer, which takes the type that it meets."""
    return as_number(column[i].item(), column.dtype if column.dtype.kind == "f" else None)
