"""The plain Python back end: the user's own functions, called vertex by vertex and edge by edge.

Slow, obvious and complete: the oracle that the other back ends are compared with, and the debugger's way in, since
breakpoints and prints in a program work here. Values outside a field's range and NaN are reported with the vertex and
the superstep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered
from arcflux.compile.python_around import EdgeList, Neighbour
from arcflux.compile.python_edges import PlainEdges
from arcflux.compile.python_mail import PlainMail
from arcflux.compile.python_numbers import number as as_number
from arcflux.compile.python_source import rewritten
from arcflux.compile.python_totals import Counted
from arcflux.compile.python_vectors import Matrix, Vector, elementwise
from arcflux.errors import ProgramError
from arcflux.graph import Graph
from arcflux.mail import posting
from arcflux.program import FieldType, Function, Parameter, vertex, vertices
from arcflux.result import Result, Superstep
from arcflux.spmd.interrupt import unless_over

__all__ = ["PlainRun", "fields_of", "given_fields", "run_python"]

# How many tolerances an honest superstep may move what a run with fresher values has left, and below what all is noise.
_SETTLED = 10
_ROUNDING = 1e-9


class _Vertex:
    """What a function sees of a vertex: its fields, its number, its degrees."""

    _run: PlainRun
    _fields: dict[str, Any]
    _assigned: set[str]
    number: int

    def __init__(self, run: PlainRun, number: int, values: dict[str, Any]) -> None:
        values = {name: run.own(name, value, number) for name, value in values.items()}
        self.__dict__.update(values)
        self.__dict__.update(_run=run, _fields=values, _assigned=set(), number=as_number(number))
        self.__dict__.update(in_degree=run.in_degrees[number], out_degree=run.out_degrees[number])

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a vertex has no {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._fields[name] = self._run.stored(name, value, self.number)
        self._assigned.add(name)

    def _out(self, k: int) -> tuple[int, Any]:
        """The number of the k-th out-neighbour, and the edge to it."""
        return self._run.mail.out(int(self.number), k)

    def _common(self, other: _Vertex) -> int:
        """How many vertices are in-neighbours of both."""
        into = self._run.into
        return as_number(len(set(into[self.number]) & set(into[other.number])))  # type: ignore[no-any-return]


class _Named:
    """A bag of names: the parameters, an edge's columns."""

    def __init__(self, **values: Any) -> None:
        own = {name: as_number(value) if type(value) in (int, float) else value for name, value in values.items()}
        self.__dict__.update(own)


class _Members:
    """A set of vertices that is a parameter."""

    def __init__(self, members: Any) -> None:
        self.members = members

    def __contains__(self, v: _Vertex) -> bool:
        return bool(self.members[v.number])


def _parameter(one: Parameter, graph: Graph, members: Any) -> Any:
    """What a parameter is in a program."""
    if one.kind is vertex:
        return int(graph.ids.to_numbers([one.value])[0])
    if isinstance(one.kind, FieldType):
        elements = [as_number(element, one.kind.dtype) for element in one.value]
        return Vector(elements) if one.kind.columns is None else Matrix(elements, one.kind.columns)
    return one.value if one.kind is not vertices else _Members(members)


def _ends(graph: Graph, edges: str | None, u: int, v: int) -> tuple[int, int]:
    """The ends of an edge by which its random numbers differ: an undirected one has the same both ways."""
    if edges == "both" or graph.edges != graph.arcs:
        return min(u, v), max(u, v)
    return (v, u) if edges == "against" else (u, v)


def _of_column(column: Any, i: int) -> Any:
    """What an edge column has: a float of the column's width, or an integer, which takes the type that it meets."""
    return as_number(column[i].item(), column.dtype if column.dtype.kind == "f" else None)


def run_python(
    lowered: Lowered, graph: Graph, limit: int, given: Mapping[str, Any], over: Callable[[], bool] | None = None
) -> Result:
    """Run a program as it is written, and check what it promises; the superstep in which it is `over` is undone."""
    begun = time.perf_counter()
    program = lowered.program
    run = unless_over(lambda: PlainRun(lowered, graph, given), over)
    if run is None:  # start was broken off: fields are as they were before it
        return Result(program.name, graph, given_fields(lowered, graph, given), [], False, time.perf_counter() - begun)
    history = run.supersteps(limit, over)
    converged = not run.active
    if converged and "monotone" in program.promises:
        fresh = PlainRun(lowered, graph, given, fresh=True)
        fresh.supersteps(limit + graph.vertices)
        if "residual" in lowered.functions:
            _settled(fresh)
        else:
            _same(run, fresh)
    fields = fields_of(lowered, run.states)
    seconds = time.perf_counter() - begun
    return Result(
        program.name, graph, fields, history, converged, seconds, references=program.references, totals=run.g.shown(),
        edges=run.edge_state.result(),
    )  # fmt: skip


def fields_of(lowered: Lowered, states: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of all vertices as arrays."""
    return {
        name: np.array([state[name] if length is None else list(state[name]) for state in states], dtype).reshape(
            len(states) if length is None else (len(states), length)
        )
        for name, (dtype, length) in lowered.fields.items()
    }


def given_fields(lowered: Lowered, graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields before `start`: what is given, or 0."""
    shapes = {name: (graph.vertices,) if length is None else (graph.vertices, length)
              for name, (_, length) in lowered.fields.items()}  # fmt: skip
    return {name: given[name] if name in given else np.zeros(shapes[name], dtype)
            for name, (dtype, _) in lowered.fields.items()}  # fmt: skip


def _same(run: PlainRun, fresh: PlainRun) -> None:
    """Whether a run that saw fresher values came to the same end."""
    for v, (a, b) in enumerate(zip(run.states, fresh.states, strict=True)):
        for name, (dtype, _) in run.lowered.fields.items():
            if not np.allclose(a[name], b[name], rtol=1e-6 if dtype.kind == "f" else 0, atol=0, equal_nan=True):
                said = f"with fresher values of u, {name} of vertex {run.said(v)} becomes {b[name]}, not {a[name]}"
                raise run.broken("monotone", said, "leave monotone out, or reduce by min, max, |= or &= alone")


def _settled(fresh: PlainRun) -> None:
    """Whether the end of a run that saw fresher values is one: an honest superstep hardly moves it any more.

    Runs that stop below a tolerance end in different places, so those are not compared.
    """
    fresh.fresh = False
    fresh.active = set(range(fresh.graph.vertices))
    _, residual = fresh.superstep()
    if not residual <= _SETTLED * max(fresh.p.__dict__.get("tolerance", 0.0), _ROUNDING):
        said = f"after the end of a run with fresher values, one superstep more still has a residual of {residual}"
        raise fresh.broken("monotone", said, "leave monotone out")


class PlainRun:
    """One run: the state of every vertex as a dictionary, and who is active.

    A `fresh` one lets vertices see what others became in the same superstep, as a monotone program has to bear. One
    `like` another is a phase of its program: it has the degrees of the whole graph, whatever its own edges, and no
    state until somebody gives it one.
    """

    def __init__(
        self, lowered: Lowered, graph: Graph, given: Mapping[str, Any], fresh: bool = False,
        like: PlainRun | None = None,
    ) -> None:  # fmt: skip
        self.fresh = fresh
        self.lowered = lowered
        self.graph = graph
        self.step = -1
        self.wanted: set[int] = set()
        self.mail = PlainMail(lowered, graph)
        counted = graph if like is None else like.graph
        self.out_degrees = [as_number(degree) for degree in counted.out_degrees.tolist()]
        self.in_degrees = [as_number(degree) for degree in counted.in_degrees.tolist()]
        parameters = lowered.program.parameters
        counts = {"vertices": counted.vertices, "edges": counted.edges, "arcs": counted.arcs}
        self.g: Counted = Counted(lowered, **counts) if like is None else like.g
        own = {name: _parameter(one, graph, given.get(name)) for name, one in parameters.items() if like is None}
        self.p: _Named = _Named(**own) if like is None else like.p
        offsets, neighbours = graph.into if lowered.has_edges else (np.zeros(graph.vertices + 1, int), np.zeros(0, int))
        self.into = [neighbours[int(offsets[v]) : int(offsets[v + 1])].tolist() for v in range(graph.vertices)]
        columns = {name: graph.in_columns[name] for name in lowered.columns}
        self.edges: list[list[Any]] = [
            [
                _Named(
                    _ends=_ends(counted, lowered.program.edges, int(neighbours[i]), v),
                    **{name: _of_column(column, i) for name, column in columns.items()},
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
        self.first_places = [int(place) for place in offsets[:-1]]
        self.edge_state: PlainEdges = PlainEdges(lowered.program, graph, given) if like is None else like.edge_state
        if like is not None:
            return
        zero = {name: dtype.type(0).item() for name, (dtype, _) in lowered.fields.items()}
        firsts = [_Vertex(self, v, zero) for v in range(graph.vertices)]
        for name in given.keys() & lowered.fields.keys():
            for first, value in zip(firsts, given[name].tolist(), strict=True):
                setattr(first, name, value)
        self.states: list[dict[str, Any]] = [v._fields for v in firsts]
        self.begin()

    def begin(self) -> bool:
        """Let `start` say who is active, and change what it writes."""
        firsts = [_Vertex(self, v, state) for v, state in enumerate(self.states)]
        self.active = {v.number for v in firsts if self.started(v)}
        self.g.finish(self.lowered.totals_of("start"))
        self.states = [v._fields for v in firsts]
        # What neighbours see of a vertex: in a sparse program, what it was when it last sent.
        self.sent = self.states
        self.looked: set[int] = set()
        self.mail.deliver()
        if not self.lowered.sparse:
            self.active = self.awake(self.active) if self.lowered.rests else set(range(self.graph.vertices))
        return True

    def awake(self, changed: set[int]) -> set[int]:
        """Who takes part in the next superstep of a program that is not sparse, after these have changed."""
        if self.lowered.rests:
            return changed | self.mail.receivers
        return set(range(self.graph.vertices)) if changed or self.mail.receivers else set()

    def started(self, v: _Vertex) -> Any:
        """Start a vertex; whether it is active."""
        active = self.call("start", v=v)
        self.g.accept()
        return active

    def call(self, name: str, **given: Any) -> Any:
        """What a function of the program returns for these arguments, of which it takes those that it names."""
        function: Function = self.lowered.program.functions[name]
        bound = {**given, "g": self.g, "p": self.p, "step": as_number(self.step)}
        try:
            with posting(self.mail.take) if self.lowered.mails else nullcontext():
                return self.functions[name](*(bound[argument] for argument in function.arguments))
        except (ArithmeticError, ValueError, NameError, AttributeError, TypeError, LookupError) as error:
            raise self.fault(name, given["v"].number if "v" in given else None, error) from error

    @property
    def when(self) -> str:
        """The superstep, in words."""
        return "in start" if self.step < 0 else f"superstep {self.step}"

    def fault(self, name: str, v: int | None, error: Exception) -> ProgramError:
        """The error for what has no result in plain Python, with its line, the vertex and the superstep."""
        code, line = self.functions[name].__code__, 0
        trace = error.__traceback__
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code is code else line
            trace = trace.tb_next
        what = f"{error} at " + ("" if v is None else f"vertex {self.said(v)}, ") + self.when
        remedy = "compiled code goes on with another number: see Numbers in the docs"
        remedy = getattr(error, "remedy", remedy)
        if isinstance(error, UnboundLocalError):
            remedy = "assign it on every path before it is read; in compiled code it is any number"
        elif not isinstance(error, (ArithmeticError, ValueError)):  # of a call such as print, which kernels do not have
            what = f"{type(error).__name__}: {what}"
            remedy = (
                "a vertex has its fields, number, in_degree and out_degree; calls alone on a line are plain Python's"
            )
        program = self.lowered.program
        return program.refusal(program.functions[name].at(line), what, remedy)

    def own(self, name: str, value: Any, number: int) -> Any:
        """A field's value for one who may change it: a vector of its own, or the number as it is."""
        dtype, length = self.lowered.fields[name]
        if length is None:
            return as_number(value, dtype)
        elements = [
            as_number(each, dtype) for each in (value if isinstance(value, (Vector, list)) else [value] * length)
        ]
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
        if dtype.kind == "f" and value != value:
            raise ProgramError(f"{name} becomes NaN at {self._place(number)}", program=self.lowered.program.name)
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise ProgramError(
                f"{name} becomes {value} at {self._place(number)}, outside {dtype}", program=self.lowered.program.name
            )
        return as_number(dtype.type(value).item(), dtype)

    def _place(self, number: int) -> str:
        """Where and when something happens, for an error."""
        return f"vertex {self.said(number)}, {self.when}"

    def said(self, v: int) -> Any:
        """A vertex as the user knows it."""
        return self.graph.ids.to_ids([v])[0]

    def broken(self, promise: str, what: str, remedy: str) -> ProgramError:
        """The error for a promise that does not hold."""
        return ProgramError(f"{promise} is promised, but {what}", program=self.lowered.program.name, remedy=remedy)

    def supersteps(
        self, limit: int, over: Callable[[], bool] | None = None, first: int = 0, at_least: int = 0
    ) -> list[Superstep]:
        """Take supersteps, numbered from `first` on, until no vertex is active."""
        history: list[Superstep] = []
        tolerance = self.p.__dict__.get("tolerance", -1.0) if "residual" in self.lowered.functions else -1.0
        while self.active and len(history) < limit and not (len(history) >= at_least and over and over()):
            self.step = first + len(history)
            begun = time.perf_counter()
            senders = len(self.active)
            before = self.states
            outcome = unless_over(self.superstep, over)
            if outcome is None:
                self.states = before
                break
            changed, residual = outcome
            self.mail.deliver()
            self.active = changed if self.lowered.sparse else self.awake(changed)
            if residual < tolerance or ("stop" in self.lowered.functions and self.call("stop")):
                self.active = set()
            took, totals = time.perf_counter() - begun, self.g.shown()
            history.append(Superstep(self.step, "python", senders, residual, took, len(changed), totals=totals))
        return history

    def superstep(self) -> tuple[set[int], float]:
        """Compute every vertex from the states before; then all change at once."""
        functions, after, changed, residual = self.lowered.functions, {}, set(), 0.0
        largest = self.lowered.program.norm == "max"
        self.edge_state.drop()
        for v in reversed(range(self.graph.vertices)) if self.fresh else range(self.graph.vertices):
            if self.lowered.rests and v not in self.active:
                continue
            old = _Vertex(self, v, self.states[v])
            wants = "wants" not in functions or self.call("wants", v=old)
            if not wants and v not in self.wanted:
                continue
            self.g.drop()
            new, received, touched, moved = self.computed(v, old)
            if "wants" in functions and self.lowered.ordered:
                self.check_wants(v, new, old, wants)
            if not wants:
                continue
            if not touched and (self.lowered.around is None or (v in self.looked and not received)):
                self.check_sparse(v, new, old, moved, received)
            if self.lowered.sparse and not received:
                continue
            self.looked.add(v)
            if moved:
                changed.add(v)
            if "residual" in functions:
                found = self.measured(v, new, old)
                residual = max(residual, found) if largest else residual + found
            self.g.accept()
            after[v] = new._fields
            if self.fresh:
                self.states[v] = new._fields
        self.states = [after.get(v, state) for v, state in enumerate(self.states)]
        if self.lowered.sparse:
            self.sent = [self.states[v] if v in changed else before for v, before in enumerate(self.sent)]
        else:
            self.sent = self.states
        self.g.drop()
        self.g.finish(self.lowered.totals_of("update"))
        self.edge_state.finish()
        return changed, residual

    def computed(self, v: int, old: _Vertex, senders: set[int] | None = None) -> tuple[_Vertex, bool, bool, bool]:
        """What becomes of a vertex by what the active ones send (or `senders`), and what update answers.

        Between them: whether any of them sent, and whether that changed a field.
        """
        new = _Vertex(self, v, self.states[v])
        if "init" in self.lowered.program.functions:
            self.call("init", v=new, old=old)
        if self.lowered.around is not None:
            self.call("around", v=new, old=old, edges=self.edge_list(v))
            self.receive(v, new, old)
            active = self.active if senders is None else senders
            return new, not active.isdisjoint(self.into[v]), False, self.call("update", v=new, old=old)
        before = {name: self.own(name, new._fields[name], v) for name in self.lowered.reductions}
        received = self.gather(v, new, old, self.active if senders is None else senders)
        touched = any(new._fields[name] != value for name, value in before.items())
        self.receive(v, new, old)
        return new, received, touched, self.call("update", v=new, old=old)

    def receive(self, v: int, new: _Vertex, old: _Vertex) -> None:
        """Hand a vertex its mail, if it has any."""
        if v in self.mail:
            self.call("receive", v=new, old=old, **self.mail.of(v))

    def edge_list(self, v: int) -> EdgeList:
        """The in-edges of a vertex, with what its neighbours last sent."""
        states = self.states if self.fresh else self.sent
        pairs = zip(self.into[v], self.edges[v], strict=True)
        self.listed = EdgeList([Neighbour(_Vertex(self, u, states[u]), edge) for u, edge in pairs])
        return self.listed

    def measured(self, v: int, new: _Vertex, old: _Vertex) -> float:
        """The residual of a vertex, which has to be a number from 0 on."""
        found = self.call("residual", v=new, old=old)
        if not found >= 0:
            what = f"it is {found} at vertex {self.said(v)}, superstep {self.step}"
            raise self.broken("residual", what, "return how far v moved, such as abs(v.rank - old.rank)")
        return float(found)

    def check_sparse(self, v: int, new: _Vertex, old: _Vertex, moved: bool, received: bool) -> None:
        """A vertex without messages must not change, but for what init sets anew before every superstep.

        One whose messages say nothing (none is better, or compute passes over all of them) is like one without.
        """
        promise = "sparse" if "sparse" in self.lowered.program.promises else "priority"
        if promise == "priority" and not self.lowered.ordered:
            return
        init = self.lowered.functions.get("init")
        fields = set(self.lowered.fields) - (init.writes if init else set())
        wrong = sorted(name for name in fields if new._fields[name] != old._fields[name])
        if moved or wrong:
            change = f"changes {wrong[0]}" if wrong else "sends"
            why = "by messages that changed nothing" if received else "without a message"
            what = f"vertex {self.said(v)} {change} {why}"
            remedy = "let update see whether a message came, and return False when none did; or leave sparse out"
            raise self.broken(promise, f"{what}, in superstep {self.step}", remedy)

    def check_wants(self, v: int, new: _Vertex, old: _Vertex, wants: bool) -> None:
        """In an order by priority, what a vertex no longer takes must not matter, or the order would show.

        That is a message after it has stopped to want any; or, since it may stop with each, all others that reach it
        in the same superstep. One that never wanted any is the same in every order.
        """
        remedy = "return False only when no message can change v any more, or leave priority out"
        if not wants:
            self.refuse_change(v, old, new, "wants no more messages, but one", remedy)
            return
        self.wanted.add(v)
        for u in self.active.intersection(self.into[v]):
            alone, *_ = self.computed(v, old, {u})
            if not self.call("wants", v=alone):
                said = f"wants no more messages after that of vertex {self.said(u)}, but another"
                self.refuse_change(v, alone, new, said, remedy)

    def refuse_change(self, v: int, kept: _Vertex, changed: _Vertex, said: str, remedy: str) -> None:
        """Refuse what messages that were not wanted would have changed."""
        for name in sorted(self.lowered.reductions):
            if kept._fields[name] != changed._fields[name]:
                change = f"would make {name} {changed._fields[name]}, not {kept._fields[name]}"
                raise self.broken("wants", f"vertex {self.said(v)} {said} {change}, in superstep {self.step}", remedy)

    def gather(self, v: int, new: _Vertex, old: _Vertex, senders: set[int]) -> bool:
        """Compute along every in-edge from a sender; of several `any` the smallest stays, of `first` the first."""
        one_of = [name for name, how in self.lowered.reductions.items() if how.operation == "any"]
        received, taken = False, set()
        senders_of = {group: how for group, how in self.lowered.groups.items() if group[0].startswith("1")}
        best: dict[tuple[str, ...], tuple[Any, ...]] = {}
        for k, (u, edge) in enumerate(zip(self.into[v], self.edges[v], strict=True)):
            if u not in senders:
                continue
            sender, seen = _Vertex(self, u, self.states[u]), edge
            if self.lowered.edge_state is not None:
                place, columns = self.first_places[v] + k, edge.__dict__
                seen = self.edge_state.crossed(self, place, columns, sender, old)
            before = {name: new._fields[name] for name in one_of}
            kept = {group: tuple(new._fields[name] for name in group[1:]) for group in senders_of}
            new._assigned.clear()
            self.call("compute", v=new, u=sender, edge=seen, old=old)
            for name in new._assigned & before.keys():
                if name in taken:
                    setattr(new, name, min(before[name], new._fields[name]))
                taken.add(name)
            for group, how in senders_of.items():
                if not new._assigned.intersection(group):
                    continue
                came = (u, *(new._fields[name] for name in group[1:]))
                if group not in best or (came < best[group] if how == "least" else came > best[group]):
                    best[group] = came
                else:
                    for name, value in zip(group[1:], kept[group], strict=True):
                        setattr(new, name, value)
            received = True
        return received
