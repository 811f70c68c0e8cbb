"""The arrays of a run: the fields of all vertices, which are active at first, and the constants of kernels."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.dense import CHUNK
from arcflux.compile.lower import Lowered, fact
from arcflux.engine.edge_state import EdgeArrays, given_edges
from arcflux.engine.fitting import fitting
from arcflux.engine.totals import Totals
from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.graph.ids import by_id
from arcflux.program import FieldType, Program, vertex
from arcflux.spmd.space import afford, surely_available
from arcflux.spmd.team import Team

__all__ = ["State", "afford_fields", "given_values", "parameter_values", "refuse_missing", "rows"]

Array = NDArray[Any]

# One worker runs `start` for this many vertices in the time in which another worker wakes.
_ALONE = 1 << 17


class State:
    """The state of a run of at most this many `supersteps` per launch. `fields` outlive it: they are the result."""

    def __init__(self, lowered: Lowered, graph: Graph, given: Mapping[str, Array], team: Team, supersteps: int) -> None:
        self.lowered, self.graph = lowered, graph
        self.team = team
        self.given = given
        written = _started(lowered)
        afford_fields(lowered, graph)
        self.fields = {
            name: rows(partial(team.kept, zero=name not in written), graph.vertices, *kind)
            for name, kind in lowered.fields.items()
        }
        if team.leads:
            for name in given.keys() & self.fields.keys():
                self.fields[name][:] = given[name]
        self.active = team.kept(graph.vertices, np.bool_, zero=False)
        counts = [graph.vertices, graph.edges, graph.arcs]
        # Each worker has partial sums of its own in two halves, or each chunk of vertices has.
        self.chunks = -(-graph.vertices // CHUNK)
        self.totals = Totals(lowered, 2 * max(team.workers, self.chunks), supersteps, team.small)
        parameters = parameter_values(lowered.program, graph)
        self.edges = EdgeArrays(lowered.program, graph, given, team.kept, team.leads)
        self.constants = [*self.fields.values(), *counts, *self.totals.constants, *parameters, *self.edges.constants]

    def of(self, lowered: Lowered, graph: Graph) -> State:
        """The same fields, totals and constants for a phase of the program, which has its own view of the graph."""
        view = copy.copy(self)
        view.lowered, view.graph = lowered, graph
        return view

    def start(
        self, made: Any, extra: list[Any], glance: Callable[[Array], None] | None = None, brief: bool = False
    ) -> float:
        """Run `start` on every vertex, watched by `glance` or briefly; returns the seconds spent compiling."""
        graph = self.graph
        arguments = [graph.into.offsets, graph.out.offsets, self.active, *extra, *self.constants]
        compiled = self.compile(made.started, lambda: arguments)
        self.launch_start(made, arguments, glance, brief)
        self.totals.begin(self.lowered.totals_of("start"), self.chunks)
        self.team.together()
        return compiled

    def compile(self, kernel: Any, arguments: Callable[[], list[Any]]) -> float:
        """Compile a kernel for its arguments before the run; returns the seconds it took.

        The types of a program's arguments are the same in each run on a graph, and inspecting them takes longer than
        BFS of a small graph: compiled kernels are remembered with the graph.
        """
        compiled_kernels = self.graph.kept.setdefault(("compiled", self.team.kind, self.lowered.deterministic), set())
        if kernel in compiled_kernels:
            return 0.0
        begun = time.perf_counter()
        kernel.ready(0, self.team.workers, np.zeros(16, np.int64), *arguments())
        compiled_kernels.add(kernel)
        return time.perf_counter() - begun

    def launch_start(
        self, made: Any, arguments: list[Any], glance: Callable[[Array], None] | None = None, brief: bool = False
    ) -> None:
        """Launch `start` on every vertex, on one worker if the graph is so small that others would wake too late."""
        chunks = 1 if brief and self.graph.vertices <= _ALONE else self.chunks
        self.team.launch(made.started, chunks, *arguments, glance=glance, ends=glance is not None, brief=int(brief))

    def reset(self) -> None:
        """Set the fields to their values before `start`: the given ones, or 0."""
        if self.team.leads:
            for name, array in self.fields.items():
                array[:] = self.given.get(name, 0)
            self.edges.reset()
        self.totals.forget()
        self.team.together()


@fact
def _started(lowered: Lowered) -> set[str]:
    """The fields that need no zeros, since `start` always writes them."""
    return lowered.functions["start"].always_writes


def rows(allocate: Any, size: int, dtype: Any, length: int | None) -> Array:
    """An array for this many vertices: of numbers, or of rows for vectors."""
    array: Array = allocate(size * (length or 1), dtype)
    return array if length is None else array.reshape(size, length)


def afford_fields(lowered: Lowered, graph: Graph) -> None:
    """Refuse a run whose fields need more memory than is available: all of them are written."""
    each = sum(dtype.itemsize * (length or 1) for dtype, length in lowered.fields.values())
    if not surely_available(each * graph.vertices):
        afford(
            each * graph.vertices,
            f"{lowered.program.name}: {each:,} bytes for each of {graph.vertices:,} vertices",
            "a smaller graph, shorter vectors or narrower types, or a machine with more memory",
        )


def refuse_missing(program: Program) -> None:
    """Refuse a program without a value for a parameter that is a vertex."""
    for name, parameter in program.constants.items():
        if parameter.kind is vertex and parameter.value is None:
            raise UsageError(f"{program.name} needs {name}=", expected="the id of a vertex")


def parameter_values(program: Program, graph: Graph) -> list[Any]:
    """The values of the parameters: vertices as numbers, arrays as rows."""
    refuse_missing(program)
    values: list[Any] = []
    for parameter in program.constants.values():
        if isinstance(parameter.kind, FieldType):
            values.append(np.array([parameter.value], parameter.kind.dtype))
        elif parameter.kind is vertex:
            values.append(graph.ids.to_number(parameter.value))
        else:
            values.append(parameter.value)
    return values


def given_values(lowered: Lowered, graph: Graph, given: Mapping[str, Any]) -> dict[str, Array]:
    """The initial values of fields as arrays of their types, in vertex order."""
    checked = {}
    if not isinstance(given, Mapping):
        raise UsageError(f"given is a {type(given).__name__}", expected="values by field, such as {'rank': [1.0, 0.5]}")
    for name, listed in given.items():
        fields, of_edges = lowered.program.fields, lowered.program.edge_fields
        if name in of_edges:
            checked[name] = given_edges(lowered.program, graph, name, listed)
            continue
        values = by_id(listed)
        if name not in fields:
            known = [*fields, *of_edges]
            raise UsageError(f"{name!r} is given and no field", expected="one of: " + ", ".join(known),
                             remedy=did_you_mean(name, known))  # fmt: skip
        dtype, length = lowered.fields[name]
        shape = (graph.vertices,) if length is None else (graph.vertices, length)
        if isinstance(values, Mapping):
            some = fitting(name, list(values.values()), dtype, (len(values), *shape[1:]))
            checked[name] = np.zeros(shape, dtype)
            checked[name][graph.ids.to_numbers(list(values))] = some
        else:
            checked[name] = fitting(name, values, dtype, shape)
    return checked | {name: _members(lowered.program, graph, name) for name in lowered.program.memberships}


def _members(program: Program, graph: Graph, name: str) -> Array:
    """Which vertices are in a set that is a parameter."""
    ids = program.parameters[name].value
    if ids is None:
        raise UsageError(f"{program.name} needs {name}=", expected="ids of vertices")
    is_member = np.zeros(graph.vertices, np.bool_)
    if len(ids):
        is_member[graph.ids.to_numbers(list(ids))] = True
    return is_member
