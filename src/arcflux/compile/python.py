"""The plain Python back end: the user's own functions, called vertex by vertex and edge by edge.

Slow, obvious and complete: the oracle that the other back ends are compared with, and the debugger's way in, since
breakpoints and prints in a program work here. Values outside a field's range and NaN are reported with the vertex and
the superstep.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered
from arcflux.compile.python_vectors import Vector, elementwise
from arcflux.errors import ProgramError
from arcflux.graph import Graph
from arcflux.program import Function, vertex
from arcflux.result import Result, Superstep

__all__ = ["run_python"]


class _Vertex:
    """What a function sees of a vertex: its fields, its number, its degrees."""

    _run: _Run
    _fields: dict[str, Any]
    number: int

    def __init__(self, run: _Run, number: int, values: dict[str, Any]) -> None:
        values = {name: run.own(name, value, number) for name, value in values.items()}
        self.__dict__.update(values)
        self.__dict__.update(_run=run, _fields=values, number=number)
        self.__dict__.update(in_degree=run.in_degrees[number], out_degree=run.out_degrees[number])

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._fields[name] = self._run.stored(name, value, self.number)


class _Named:
    """A bag of names: the graph's counts, the parameters, an edge's columns."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def run_python(lowered: Lowered, graph: Graph, limit: int) -> Result:
    """Run a program as it is written."""
    begun = time.perf_counter()
    program = lowered.program
    run = _Run(lowered, graph)
    history = run.supersteps(limit)
    converged = not run.active
    if not converged:
        warnings.warn(f"{program.name} stopped after {len(history)} supersteps before it converged", stacklevel=4)
    fields = {
        name: np.array([state[name] if length is None else list(state[name]) for state in run.states], dtype).reshape(
            graph.vertices if length is None else (graph.vertices, length)
        )
        for name, (dtype, length) in lowered.fields.items()
    }
    return Result(program.name, graph, fields, history, converged, time.perf_counter() - begun)


class _Run:
    """One run: the state of every vertex as a dictionary, and who is active."""

    def __init__(self, lowered: Lowered, graph: Graph) -> None:
        self.lowered = lowered
        self.graph = graph
        self.step = -1
        self.out_degrees = graph.out_degrees.tolist()
        self.in_degrees = graph.in_degrees.tolist()
        self.g = _Named(vertices=graph.vertices, edges=graph.edges, arcs=graph.arcs)
        self.p = _Named(**{
            name: int(graph.ids.to_numbers([value.value])[0]) if value.kind is vertex else value.value
            for name, value in lowered.program.parameters.items()
        })  # fmt: skip
        offsets, neighbours = graph.into
        self.into = [neighbours[int(offsets[v]) : int(offsets[v + 1])].tolist() for v in range(graph.vertices)]
        columns = {name: graph.in_columns[name] for name in lowered.columns}
        self.edges = [
            [
                _Named(**{name: column[i].item() for name, column in columns.items()})
                for i in range(int(offsets[v]), int(offsets[v + 1]))
            ]
            for v in range(graph.vertices)
        ]
        self.functions = {
            name: elementwise(function.call, lowered.program.names)
            for name, function in lowered.program.functions.items()
        }
        zero = {name: dtype.type(0).item() for name, (dtype, _) in lowered.fields.items()}
        firsts = [_Vertex(self, v, zero) for v in range(graph.vertices)]
        self.active = {v.number for v in firsts if self.call("start", v=v)}
        self.states: list[dict[str, Any]] = [v._fields for v in firsts]
        if not lowered.sparse and graph.vertices:
            self.active = set(range(graph.vertices))

    def call(self, name: str, **given: Any) -> Any:
        function: Function = self.lowered.program.functions[name]
        bound = {**given, "g": self.g, "p": self.p, "step": self.step}
        return self.functions[name](*(bound[argument] for argument in function.arguments))

    def own(self, name: str, value: Any, number: int) -> Any:
        """A field's value for one who may change it: a vector of its own, or the number as it is."""
        length = self.lowered.fields[name][1]
        if length is None:
            return value
        elements = list(value) if isinstance(value, Vector) else [value] * length
        return Vector(elements, lambda element: self.stored_number(name, element, number))

    def stored(self, name: str, value: Any, number: int) -> Any:
        """A value as the field keeps it."""
        if self.lowered.fields[name][1] is None:
            return self.stored_number(name, value, number)
        vector = self.own(name, value, number)
        vector.elements = [self.stored_number(name, element, number) for element in vector]
        return vector

    def stored_number(self, name: str, value: Any, number: int) -> Any:
        """A number as the field keeps it; what the field cannot keep is an error here."""
        dtype = self.lowered.fields[name][0]
        said = f"vertex {self.graph.ids.to_ids([number])[0]}, superstep {self.step}"
        if dtype.kind == "f" and value != value:
            raise ProgramError(f"{name} becomes NaN at {said}", program=self.lowered.program.name)
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise ProgramError(f"{name} becomes {value} at {said}, outside {dtype}", program=self.lowered.program.name)
        return dtype.type(value).item()

    def supersteps(self, limit: int) -> list[Superstep]:
        history: list[Superstep] = []
        while self.active and len(history) < limit:
            self.step = len(history)
            begun = time.perf_counter()
            senders = len(self.active)
            changed, residual = self.superstep()
            self.active = changed if self.lowered.sparse else (set(range(self.graph.vertices)) if changed else set())
            history.append(Superstep(self.step, "python", senders, residual, time.perf_counter() - begun, len(changed)))
        return history

    def superstep(self) -> tuple[set[int], float]:
        """Compute every vertex from the states before; then all change at once."""
        functions, after, changed, residual = self.lowered.functions, {}, set(), 0.0
        for v in range(self.graph.vertices):
            old = _Vertex(self, v, self.states[v])
            if "wants" in functions and not self.call("wants", v=old):
                continue
            new = _Vertex(self, v, self.states[v])
            if "init" in functions:
                self.call("init", v=new, old=old)
            received = self.gather(v, new, old)
            if self.lowered.sparse and not received:
                continue
            if self.call("update", v=new, old=old):
                changed.add(v)
            if "residual" in functions:
                residual += self.call("residual", v=new, old=old)
            after[v] = new._fields
        for v, state in after.items():
            self.states[v] = state
        return changed, residual

    def gather(self, v: int, new: _Vertex, old: _Vertex) -> bool:
        """Compute along every in-edge from an active vertex; of several `any` the smallest stays."""
        one_of = [name for name, how in self.lowered.reductions.items() if how.operation == "any"]
        received = False
        for u, edge in zip(self.into[v], self.edges[v], strict=True):
            if u not in self.active:
                continue
            before = {name: new._fields[name] for name in one_of}
            self.call("compute", v=new, u=_Vertex(self, u, self.states[u]), edge=edge, old=old)
            for name in one_of:
                if received and new._fields[name] != before[name]:
                    setattr(new, name, min(before[name], new._fields[name]))
            received = True
        return received
