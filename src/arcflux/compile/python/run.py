"""The plain Python back end: the user's own functions, called vertex by vertex and edge by edge.

Slow, simple and complete: the reference for the other back ends, and the way to debug, since breakpoints and prints in
a program work here. Values outside a field's range and NaN are reported with the vertex and the superstep.
"""

from __future__ import annotations

import gc
import time
from bdb import BdbQuit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered
from arcflux.compile.python.around import EdgeList, Neighbour
from arcflux.compile.python.edges import PlainEdges
from arcflux.compile.python.mail import PlainMail
from arcflux.compile.python.messages import gather
from arcflux.compile.python.numbers import Unfit, keeper
from arcflux.compile.python.numbers import number as as_number
from arcflux.compile.python.promises import check_order, check_same_end, check_settled, check_sparse, check_wants
from arcflux.compile.python.source import rewritten
from arcflux.compile.python.totals import Counted
from arcflux.compile.python.vectors import Vector, elementwise
from arcflux.compile.python.vertex import Named, Vertex, ends, of_column, parameter
from arcflux.errors import ArcfluxError, ProgramError
from arcflux.graph import Graph
from arcflux.mail import posting
from arcflux.result import Result, Superstep
from arcflux.spmd.interrupt import unless_over

__all__ = ["PlainRun", "fields_of", "given_fields", "run_python", "without_garbage_collection"]


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Without garbage collection, which takes a quarter of the time of a run in plain Python, and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@without_garbage_collection()
def run_python(
    lowered: Lowered, graph: Graph, limit: int, given: Mapping[str, Any], over: Callable[[], bool] | None = None
) -> Result:
    """Run a program in plain Python, and check its promises; a superstep that is `over` is undone."""
    begun = time.perf_counter()
    program = lowered.program
    run = unless_over(lambda: PlainRun(lowered, graph, given), over)
    if run is None:  # start was interrupted: fields are as they were before it
        return Result(program.name, graph, given_fields(lowered, graph, given), [], False, time.perf_counter() - begun)
    first = run.states

    def outcome(converged: bool) -> Result:
        fields, seconds = fields_of(lowered, run.states), time.perf_counter() - begun
        return Result(
            program.name, graph, fields, run.history, converged, seconds, references=program.references,
            totals=run.g.shown(), edges=run.edge_state.result(),
        )  # fmt: skip

    try:
        run.supersteps(limit, over)
    except KeyboardInterrupt as error:  # not deferred, so that a debugger sees it
        error.__dict__["result"] = outcome(converged=False)
        raise
    converged = not run.active
    if converged and lowered.ordered:
        check_order(run, first)
    if converged and "monotone" in program.promises:
        fresh = PlainRun(lowered, graph, given, fresh=True)
        fresh.supersteps(limit + graph.vertices)
        if "residual" in lowered.functions:
            check_settled(fresh)
        else:
            check_same_end(run, fresh)
    return outcome(converged)


def fields_of(lowered: Lowered, states: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of all vertices as arrays."""
    return {
        name: np.array([state[name] if length is None else list(state[name]) for state in states], dtype).reshape(
            len(states) if length is None else (len(states), length)
        )
        for name, (dtype, length) in lowered.fields.items()
    }


def given_fields(lowered: Lowered, graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields before `start`: as given, or 0."""
    shapes = {name: (graph.vertices,) if length is None else (graph.vertices, length)
              for name, (_, length) in lowered.fields.items()}  # fmt: skip
    return {name: given[name] if name in given else np.zeros(shapes[name], dtype)
            for name, (dtype, _) in lowered.fields.items()}  # fmt: skip


class PlainRun:
    """One run: the state of every vertex as a dictionary, and the active vertices.

    In a `fresh` run vertices see changes of the same superstep, which a monotone program must allow. A run `like`
    another is a phase of its program: it has the degrees of the whole graph, whatever its own edges, and no state until
    it is given one.
    """

    def __init__(
        self, lowered: Lowered, graph: Graph, given: Mapping[str, Any], fresh: bool = False,
        like: PlainRun | None = None,
    ) -> None:  # fmt: skip
        self.fresh = fresh
        self.lowered = lowered
        self.graph = graph
        self.begin_superstep(-1)
        self.wanted: set[int] = set()
        self.senders: set[int] = set()
        self.sparse, self.rests = lowered.sparse, lowered.rests
        self.vectors = [name for name, (_, length) in lowered.fields.items() if length is not None]
        self.keepers = {name: keeper(dtype) for name, (dtype, _) in lowered.fields.items()}
        # For a few programs only: `any`, and `first` and `last`.
        self.one_of = [name for name, how in lowered.reductions.items() if how.operation == "any"]
        self.senders_of = {group: how for group, how in lowered.groups.items() if group[0].startswith("1")}
        self.seen: dict[int, Vertex] = {}
        self.history: list[Superstep] = []
        self.mail, self.mails = PlainMail(lowered, graph), bool(lowered.mails)
        counted = graph if like is None else like.graph
        self.numbers = [as_number(v) for v in range(graph.vertices)]
        self.out_degrees = [as_number(degree) for degree in counted.out_degrees.tolist()]
        self.in_degrees = [as_number(degree) for degree in counted.in_degrees.tolist()]
        parameters = lowered.program.parameters
        counts = {"vertices": counted.vertices, "edges": counted.edges, "arcs": counted.arcs}
        self.g: Counted = Counted(lowered, **counts) if like is None else like.g
        own = {name: parameter(one, graph, given.get(name)) for name, one in parameters.items() if like is None}
        self.p: Named = Named("parameters", **own) if like is None else like.p
        offsets, neighbours = graph.into if lowered.has_edges else (np.zeros(graph.vertices + 1, int), np.zeros(0, int))
        self.into = [neighbours[int(offsets[v]) : int(offsets[v + 1])].tolist() for v in range(graph.vertices)]
        columns = {name: graph.in_columns[name] for name in lowered.columns}
        self.edges: list[list[Any]] = [
            [
                Named(
                    "edge",
                    _ends=ends(counted, lowered.program.edges, int(neighbours[i]), v),
                    **{name: of_column(column, i) for name, column in columns.items()},
                )
                for i in range(int(offsets[v]), int(offsets[v + 1]))
            ]
            for v in range(graph.vertices)
        ]
        helpers = {id(one.function): one for one in lowered.helpers.values()}
        self.functions = {
            name: elementwise(rewritten(function, lowered.totals), function.names, helpers)
            for name, function in lowered.program.functions.items()
        }
        self.bound = {name: (function, itemgetter("step", "step", *lowered.program.functions[name].arguments))
                      for name, function in self.functions.items()}  # fmt: skip
        self.sets: dict[int, set[int]] = {}
        self.first_places = [int(place) for place in offsets[:-1]]
        self.edge_state: PlainEdges = PlainEdges(lowered.program, graph, given) if like is None else like.edge_state
        if like is not None:
            return
        zero = {name: keep(0) for name, keep in self.keepers.items()}
        firsts = [Vertex(self, v, zero) for v in range(graph.vertices)]
        for name in given.keys() & lowered.fields.keys():
            for first, value in zip(firsts, given[name].tolist(), strict=True):
                setattr(first, name, value)
        self.states: list[dict[str, Any]] = [v._fields for v in firsts]
        self.begin()

    def begin(self) -> bool:
        """Call `start` on every vertex: it returns which are active."""
        firsts = [Vertex(self, v, state) for v, state in enumerate(self.states)]
        self.active = {v.number for v in firsts if self.started(v)}
        self.g.finish(self.lowered.totals_of("start"))
        self.states = [v._fields for v in firsts]
        # The values that neighbours see: in a sparse program, those of a vertex's last message.
        self.sent = self.states
        self.seen.clear()
        self.looked: set[int] = set()
        self.mail.deliver()
        if not self.sparse:
            self.active = self.awake(self.active) if self.rests else set(range(self.graph.vertices))
        return True

    def begin_superstep(self, step: int) -> None:
        """Begin a superstep; programs see its number."""
        self.step, self._now = step, as_number(step)

    def awake(self, changed: set[int]) -> set[int]:
        """Which vertices take part in the next superstep of a program that is not sparse, after these have changed."""
        if self.rests:
            return changed | self.mail.receivers
        return set(range(self.graph.vertices)) if changed or self.mail.receivers else set()

    def started(self, v: Vertex) -> Any:
        """Start a vertex; returns whether it is active."""
        active = self.call("start", v=v)
        self.g.accept()
        return active

    def call(self, name: str, **given: Any) -> Any:
        """Call a function of the program with those of these arguments that it names."""
        given["g"], given["p"], given["step"] = self.g, self.p, self._now
        function, arguments = self.bound[name]
        try:
            if not self.mails:
                return function(*arguments(given)[2:])
            with posting(self.mail.take):
                return function(*arguments(given)[2:])
        except (ArcfluxError, MemoryError, BdbQuit):  # already has a message, or is meant to end the run
            raise
        except Exception as error:
            raise self.fault(name, given["v"].number if "v" in given else None, error) from error

    @property
    def when(self) -> str:
        """The superstep, in words."""
        return "in start" if self.step < 0 else f"superstep {self.step}"

    def fault(self, name: str, v: int | None, error: Exception) -> ProgramError:
        """The error for an operation without a result in plain Python, with its line, the vertex and the superstep."""
        code, line = self.functions[name].__code__, 0
        trace = error.__traceback__
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code is code else line
            trace = trace.tb_next
        what = f"{error} at " + ("" if v is None else f"vertex {self.said(v)}, ") + self.when
        remedy = "compiled code goes on with another number: see Numbers in the docs"
        remedy = getattr(error, "remedy", remedy)
        if isinstance(error, UnboundLocalError):
            remedy = "assign it on every path before it is read; in compiled code it is 0"
        elif not isinstance(error, (ArithmeticError, ValueError)):  # of a call such as print, which kernels do not have
            what = f"{type(error).__name__}: {what}"
            remedy = (
                "a vertex has its fields, number, in_degree and out_degree; calls alone on a line are plain Python's"
            )
        program = self.lowered.program
        return program.refusal(program.functions[name].at(line), what, remedy)

    def own(self, name: str, value: Any, number: int) -> Any:
        """A field's value for a function that may change it: a copy of a vector, or the number."""
        dtype, length = self.lowered.fields[name]
        if length is None:
            return as_number(value, dtype)
        if isinstance(value, Vector):
            elements = list(value.elements)
        else:
            elements = [as_number(each, dtype) for each in (value if isinstance(value, list) else [value] * length)]
        return Vector(elements, lambda element: self.stored_number(name, element, number))

    def stored(self, name: str, value: Any, number: int) -> Any:
        """A value as the field stores it."""
        if name not in self.vectors:
            return self.stored_number(name, value, number)
        vector = self.own(name, value, number)
        vector.elements = [self.stored_number(name, element, number) for element in vector]
        return vector

    def stored_number(self, name: str, value: Any, number: int) -> Any:
        """A number as the field stores it; a number that does not fit is an error here."""
        try:
            return self.keepers[name](value)
        except Unfit as unfit:
            what = f"{name} becomes {unfit.value} at {self._place(number)}{unfit.outside}"
            raise ProgramError(what, program=self.lowered.program.name) from None

    def _place(self, number: int) -> str:
        """The vertex and the superstep, for an error."""
        return f"vertex {self.said(number)}, {self.when}"

    def said(self, v: int) -> Any:
        """The user's id of a vertex."""
        return self.graph.ids.to_ids([v])[0]

    def broken(self, promise: str, what: str, remedy: str) -> ProgramError:
        """The error for a promise that does not hold."""
        return ProgramError(f"{promise} is promised, but {what}", program=self.lowered.program.name, remedy=remedy)

    def supersteps(
        self, limit: int, over: Callable[[], bool] | None = None, first: int = 0, at_least: int = 0
    ) -> list[Superstep]:
        """Execute supersteps, numbered from `first` on, until no vertex is active."""
        history = self.history = []
        tolerance = self.p.__dict__.get("tolerance", -1.0) if "residual" in self.lowered.functions else -1.0
        while self.active and len(history) < limit and not (len(history) >= at_least and over and over()):
            self.begin_superstep(first + len(history))
            begun = time.perf_counter()
            senders = len(self.active)
            self.senders |= self.active
            before = self.states
            try:
                outcome = unless_over(self.superstep, over)
            except KeyboardInterrupt:
                self.states = before
                raise
            if outcome is None:
                self.states = before
                break
            changed, residual = outcome
            self.mail.deliver()
            self.active = changed if self.sparse else self.awake(changed)
            stops = unless_over(lambda: self.call("stop"), over) if "stop" in self.lowered.functions else False
            if residual < tolerance or stops:
                self.active = set()
            took, totals = time.perf_counter() - begun, self.g.shown()
            history.append(Superstep(self.step, "python", senders, residual, took, len(changed), totals=totals))
            if stops is None:  # interrupted, after a superstep that is complete
                break
        return history

    def superstep(self) -> tuple[set[int], float]:
        """Compute every vertex from the old states; then all change at once."""
        functions, after, changed, residual = self.lowered.functions, {}, set(), 0.0
        self.seen.clear()
        largest = self.lowered.program.norm == "max"
        self.edge_state.drop()
        for v in reversed(range(self.graph.vertices)) if self.fresh else range(self.graph.vertices):
            if self.rests and v not in self.active:
                continue
            old = Vertex(self, v, self.states[v])
            wants = "wants" not in functions or self.call("wants", v=old)
            if not wants and v not in self.wanted:
                continue
            self.g.drop()
            new, received, touched, moved = self.computed(v, old)
            if "wants" in functions and self.lowered.ordered:
                check_wants(self, v, new, old, wants)
            if not wants:
                continue
            if not touched and (self.lowered.around is None or (v in self.looked and not received)):
                check_sparse(self, v, new, old, moved, received)
            if self.sparse and not received:
                continue
            self.looked.add(v)
            if moved:
                changed.add(v)
            if "residual" in functions:
                measured = self.measured(v, new, old)
                residual = max(residual, measured) if largest else residual + measured
            self.g.accept()
            after[v] = new._fields
            if self.fresh:
                self.states[v] = new._fields
                self.seen.pop(v, None)
        self.states = [after.get(v, state) for v, state in enumerate(self.states)]
        if self.sparse:
            self.sent = [self.states[v] if v in changed else before for v, before in enumerate(self.sent)]
        else:
            self.sent = self.states
        self.g.drop()
        self.g.finish(self.lowered.totals_of("update"))
        self.edge_state.finish()
        return changed, residual

    def computed(self, v: int, old: Vertex, senders: set[int] | None = None) -> tuple[Vertex, bool, bool, bool]:
        """The new state of a vertex from the messages of active vertices (or `senders`), and the value of update.

        Between them: whether any of them sent, and whether that changed a field.
        """
        new = Vertex(self, v, self.states[v])
        if "init" in self.lowered.program.functions:
            self.call("init", v=new, old=old)
        if self.lowered.around is not None:
            self.call("around", v=new, old=old, edges=self.edge_list(v))
            self.receive(v, new, old)
            active = self.active if senders is None else senders
            return new, not active.isdisjoint(self.into[v]), False, self.call("update", v=new, old=old)
        before = {name: self.own(name, new._fields[name], v) for name in self.lowered.reductions}
        received = gather(self, v, new, old, self.active if senders is None else senders)
        touched = any(new._fields[name] != value for name, value in before.items())
        self.receive(v, new, old)
        return new, received, touched, self.call("update", v=new, old=old)

    def receive(self, v: int, new: Vertex, old: Vertex) -> None:
        """Pass a vertex its mail, if it has any."""
        if v in self.mail:
            self.call("receive", v=new, old=old, **self.mail.of(v))

    def edge_list(self, v: int) -> EdgeList:
        """The in-edges of a vertex, with the last messages of its neighbours."""
        states = self.states if self.fresh else self.sent
        pairs = zip(self.into[v], self.edges[v], strict=True)
        self.listed = EdgeList([Neighbour(self.view(u, states), edge) for u, edge in pairs])
        return self.listed

    def near(self, v: int) -> set[int]:
        """The in-neighbours of a vertex."""
        if v not in self.sets:
            self.sets[v] = set(self.into[v])
        return self.sets[v]

    def view(self, u: int, states: list[dict[str, Any]]) -> Vertex:
        """A neighbour as all others see it in this superstep; it is read-only."""
        vertex = self.seen.get(u)
        if vertex is None:
            vertex = self.seen[u] = Vertex(self, u, states[u])
        return vertex

    def measured(self, v: int, new: Vertex, old: Vertex) -> float:
        """The residual of a vertex, which must not be negative."""
        residual = self.call("residual", v=new, old=old)
        if not residual >= 0:
            what = f"it is {residual} at vertex {self.said(v)}, superstep {self.step}"
            raise self.broken("residual", what, "return how far v moved, such as abs(v.rank - old.rank)")
        return float(residual)
