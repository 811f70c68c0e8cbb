"""An executor of vertex programs that shares no code with Arcflux: adjacency lists, dictionaries, and the class as is.

It goes by docs/how-to/program.md; numbers.py has what that says of numbers. It refuses (:class:`IllDefined`) what does
not have one result: floats that would be rounded, a `sparse` that is not true, a fixed point that depends on the order
of messages. What plain Python has to refuse, and kernels go on with, is among the `faults` of the outcome.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from program_fuzzer.graphs import GraphSpec
from program_fuzzer.numbers import KNOWN, counted, either, exponent, faults, of_field, plain, same, weak
from program_fuzzer.post import Mail, Post
from program_fuzzer.post import counted as mail_length
from program_fuzzer.values import IllDefined, OfSender, OneOf, Vector, choosing, exact, fitting
from program_fuzzer.wild import RANGES

__all__ = ["Outcome", "interpret", "is_sparse"]

_MOST = 300
_KINDS = ("f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "flag", "ref")
_NAMES = {"number", "in_degree", "out_degree"}
_COUNTS = {"vertices", "edges", "arcs"}


@dataclass
class Outcome:
    """What a run has to give. `choices` has for each vertex what an `af.any` may have left there."""

    fields: dict[str, list[Any]]
    choices: dict[str, list[set[Any]]]
    supersteps: int = 0
    converged: bool = True
    frontiers: list[int] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    totals: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    edges: dict[str, list[Any]] = field(default_factory=dict)
    ends: list[Outcome] = field(default_factory=list)

    def cut(self, supersteps: int) -> list[Outcome]:
        """What a program with phases may give that is cut short after so many supersteps.

        They may be several: the start of a phase may write, and then no vertex be active.
        """
        return [end for end in self.ends if end.supersteps == supersteps]


class _Kind:
    """The type of a field, as the class says it."""

    def __init__(self, name: str, length: int | str | None = None) -> None:
        self.name, self.length = name, length

    def __getitem__(self, length: int | str) -> _Kind:
        return _Kind(self.name, length)


class _EdgeField:
    """A field of edges, as the class declares it."""

    def __init__(self, kind: _Kind, first: Any = 0) -> None:
        self.kind, self.first = kind, bool(first) if kind.name == "flag" else first


class _Edge:
    """An edge as functions see it: columns, fields, and the edge the other way."""

    def __init__(self, run: _Run, columns: Any, fields: dict[str, Any], reverse: Any) -> None:
        self.__dict__.update(vars(columns), **fields, run=run, reverse=reverse)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.run.edge_kinds or not self.run.crossing:
            raise IllDefined(f"edge.{name} is assigned")
        self.__dict__[name] = self.run.fit(name, value)


class _Total:
    """A total, as the class declares it."""

    def __init__(self, kind: _Kind, how: str = "sum") -> None:
        self.kind, self.how = kind, how

    @property
    def nothing(self) -> Any:
        """What none contributes."""
        if self.kind.name == "flag":
            return self.how == "and"
        low, high = (-math.inf, math.inf) if self.kind.name == "f64" else RANGES[self.kind.name]
        return {"sum": 0, "or": 0, "and": -1, "min": high, "max": low}[self.how]

    def taken(self, before: Any, value: Any) -> Any:
        """What it becomes by one contribution."""
        value = plain(fitting(self.kind.name, value))
        choose = {"min": min, "max": max}.get(self.how)
        if choose is not None:
            return choose(before, value)
        found = {"sum": operator.add, "or": operator.or_, "and": operator.and_}[self.how](before, value)
        return exact("f64", float(found)) if self.kind.name == "f64" else found


class _Graph:
    """What functions know as g. ``g.lost += x`` has become a call of `contribute`."""

    def __init__(self, totals: dict[str, _Total], **counts: Any) -> None:
        self.__dict__.update(counts)
        self.totals, self.known = totals, {name: self._row(each) for name, each in totals.items()}
        self.empty()
        self.brought: list[tuple[str, Any, Any]] = []

    def _row(self, total: _Total) -> list[Any]:
        return [total.nothing] * (total.kind.length or 1)

    def __getattr__(self, name: str) -> Any:
        kind = self.totals[name].kind
        row = [of_field(kind.name, x) for x in self.known[name]]
        return row[0] if kind.length is None else Vector(row)

    def empty(self) -> None:
        self.rows = {name: self._row(each) for name, each in self.totals.items()}

    def contribute(self, name: str, index: Any, value: Any) -> None:
        self.brought.append((name, index, value))

    def count(self) -> None:
        """What the vertex has contributed counts."""
        for name, index, value in self.brought:
            row = self.rows[name]
            whole = value.elements if isinstance(value, Vector) else [value] * len(row)
            for k in range(len(row)) if index is None else [int(index)]:
                row[k] = self.totals[name].taken(row[k], whole[k])
        self.brought = []

    def end(self, written: set[str]) -> None:
        """All vertices have contributed."""
        self.known.update({name: row for name, row in self.rows.items() if name in written})
        self.empty()

    def shown(self) -> dict[str, Any]:
        return {n: tuple(r) if self.totals[n].kind.length is not None else r[0] for n, r in self.known.items()}


class _Vertex:
    """A vertex as functions see it. `written` are the fields that were assigned; `ways` what an any may leave."""

    def __init__(self, run: _Run, number: int, state: dict[str, Any], ways: dict[str, set[Any]]) -> None:
        own = self.__dict__
        own.update(run=run, number=weak(number), written=set(), taken=set(), senders={}, ways=dict(ways))
        own.update(in_degree=weak(run.in_degrees[number]), out_degree=weak(run.out_degrees[number]))
        own.update({name: self._own(name, run.kept(name, value)) for name, value in state.items()})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.run.kinds:
            raise IllDefined(f"{name} is assigned")
        if isinstance(value, OfSender):
            self._first(name, value.value, value.sign)
            return
        own, one = self.__dict__, isinstance(value, OneOf)
        value = self._own(name, self.run.fit(name, value.value if isinstance(value, OneOf) else value))
        self.written.add(name)
        if one:
            again = name in self.taken
            if again and (value != value or own[name] != own[name]):
                raise IllDefined("NaN is one of several")
            self.taken.add(name)
            self.ways[name] = {value} | (self.ways[name] if again else set())
            own[name] = min(value, own[name]) if again else value
        else:
            self.ways.pop(name, None)
            own[name] = value

    def _first(self, name: str, value: Any, sign: int) -> None:
        """Keep the message of the first sender, or the last one; of several of it the least, or the largest."""
        value = self.run.fit(name, value)
        came, best = (self.run.sender, value), self.senders.get(name)
        if value != value:
            raise IllDefined("NaN is one of several")
        if best is None or (came < best if sign > 0 else came > best):
            self.senders[name], self.__dict__[name] = came, value
        self.written.add(name)
        self.ways.pop(name, None)

    def _own(self, name: str, value: Any) -> Any:
        """A vector tells when an element of it is assigned."""
        if isinstance(value, Vector):
            value.told = lambda: self.written.add(name)
        return value

    def state(self) -> dict[str, Any]:
        found = {name: self.__dict__[name] for name in self.run.kinds}
        return {name: tuple(map(plain, x.elements)) if isinstance(x, Vector) else plain(x) for name, x in found.items()}


class _Near(_Vertex):
    """A neighbour, which is also the pair of itself and its edge."""

    def __init__(self, run: _Run, number: int, state: dict[str, Any], ways: dict[str, set[Any]], edge: Any) -> None:
        super().__init__(run, number, state, ways)
        self.__dict__.update(edge=edge)

    def __iter__(self) -> Iterator[Any]:
        return iter((self, self.edge))


class _Run:
    """One run: states as dictionaries, in-edges as lists."""

    def __init__(
        self, source: str, spec: GraphSpec, parameters: dict[str, Any], given: dict[str, list[Any]],
        whole: GraphSpec | None = None,
    ) -> None:  # fmt: skip
        """`whole` is the graph of which `spec` is a view; such a run is a phase, and has no state yet."""
        self.spec = spec
        self.cls = _read(source)
        self.sparse, self.promised = (
            is_sparse(source),
            getattr(self.cls, "sparse", False) or "priority" in vars(self.cls),
        )
        annotations = self.cls.__annotations__
        values = {
            name: getattr(self.cls, name, None)
            for name, kind in annotations.items()
            if not isinstance(kind, _Kind | _Total | Mail | _EdgeField)
        }
        self.parameters = SimpleNamespace(**{name: weak(value) for name, value in {**values, **parameters}.items()})
        self.extremes = _extremes(source)
        self.computing, self.sender = False, -1
        self.kinds = {name: kind for name, kind in annotations.items() if isinstance(kind, _Kind)}
        self.post = Post({name: each for name, each in annotations.items() if isinstance(each, Mail)}, spec.vertices)
        self.cls.af.desk = self.post
        self.out: list[list[int]] = [[] for _ in range(spec.vertices)]
        self.edge_kinds = {name: kind.kind for name, kind in annotations.items() if isinstance(kind, _EdgeField)}
        self.every = {**self.kinds, **self.edge_kinds}
        self.crossing = False
        self.reverses = spec.reverses() if self.edge_kinds else []
        self.edge_states = {
            name: [_plain(self.fit(name, annotations[name].first)) for _ in self.reverses] for name in self.edge_kinds
        }
        self.edges_after: dict[str, dict[int, Any]] = {name: {} for name in self.edge_kinds}
        self.turned = False  # whether an arc of the list stands for its reverse
        self.into: list[list[tuple[int, Any]]] = [[] for _ in range(spec.vertices)]
        self.in_degrees, self.out_degrees = [0] * spec.vertices, [0] * spec.vertices
        for place, (u, v, weight, length) in enumerate(spec.arcs()):
            real = of_field(spec.types[1].replace("float", "f"), length)
            self.into[v].append((u, SimpleNamespace(weight=weak(weight), length=real, place=place)))
        counted = list((whole or spec).arcs())
        for u, v, _, _ in counted:
            self.in_degrees[v] += 1
            self.out_degrees[u] += 1
            self.out[u].append(v)
        for row in self.into:
            row.sort(key=lambda pair: pair[0])
        totals = {name: kind for name, kind in annotations.items() if isinstance(kind, _Total)}
        numbers = {
            "vertices": weak(spec.vertices),
            "edges": weak(len((whole or spec).edges)),
            "arcs": weak(len(counted)),
        }
        self.graph = _Graph(totals, **numbers)
        self.around = {"p": self.parameters, "g": self.graph}
        self.written = {
            name: set(re.findall(r"g\.(\w+)(?:\[[^]]*\])? (?:[+|&]=|= )", _text_of(source, name)))
            for name in ("start", "update")
        }
        self.arguments = {n: list(inspect.signature(f).parameters) for n, f in vars(self.cls).items() if callable(f)}
        self.step = 0
        self.states: list[dict[str, Any]] = []
        self.ways: list[dict[str, set[Any]]] = []
        if whole is not None:
            return
        firsts = []
        for number in range(spec.vertices):
            zero = {name: given[name][number] if name in given else self._zero(name) for name in self.kinds}
            firsts.append(_Vertex(self, number, zero, {}))
        self.active = {int(v.number) for v in firsts if self.call("start", v=v)}
        self.graph.count()
        self.graph.end(self.written["start"])
        self.states = [v.state() for v in firsts]
        self.ways = [{} for _ in firsts]
        self.sent = list(self.states)
        mailed = self.post.deliver()
        if not self.sparse:
            self.active = self.active | mailed if self.rests else set(range(spec.vertices))

    @property
    def rests(self) -> bool:
        """Whether only those take part that have mail, or stayed awake."""
        return bool(self.post.mails) and not self.has("around")

    def _zero(self, name: str) -> Any:
        return False if self.kinds[name].name == "flag" else 0

    def fit(self, name: str, value: Any) -> Any:
        """A value as a field keeps it; a vector is the field's own."""
        kind = self.every[name]
        if kind.length is None:
            return self._fitted(name, value)
        length = getattr(self.parameters, kind.length) if isinstance(kind.length, str) else kind.length
        row = value.elements if isinstance(value, Vector) else list(value) if isinstance(value, tuple | list) else None
        row = [value] * length if row is None else row
        if len(row) != length:
            raise IllDefined(f"{len(row)} elements for {length}")
        return Vector([self._fitted(name, x) for x in row], lambda x: self._fitted(name, x))

    def _fitted(self, name: str, value: Any) -> Any:
        """A number as a field keeps it: its low bits, but of the least or largest message the nearest number."""
        kind = self.every[name].name
        nearest = self.computing and name in self.extremes and kind in RANGES and not isinstance(value, float)
        found = fitting(kind, value)
        return of_field(kind, min(max(int(value), RANGES[kind][0]), RANGES[kind][1])) if nearest else found

    def kept(self, name: str, value: Any) -> Any:
        """What a field holds; a vector is the field's own."""
        kind = self.every[name].name
        if self.every[name].length is None or not isinstance(value, tuple):
            return of_field(kind, value) if self.every[name].length is None else self.fit(name, value)
        return Vector([of_field(kind, x) for x in value], lambda x: self._fitted(name, x))

    def has(self, name: str) -> bool:
        return name in self.arguments

    def call(self, name: str, **given: Any) -> Any:
        known = {**given, **self.around, "step": weak(self.step)}
        self.computing = name == "compute"
        return getattr(self.cls, name)(*(known[a] for a in self.arguments[name]))

    def view(self, v: int) -> _Vertex:
        return _Vertex(self, v, self.states[v], self.ways[v])

    def computed(self, v: int, senders: set[int]) -> tuple[_Vertex, _Vertex, set[str], bool, bool, bool]:
        """New and old v, what init wrote, whether a message came, whether all changed nothing, what update says."""
        old, new = self.view(v), self.view(v)
        if self.has("init"):
            self.call("init", v=new, old=old)
        inited = set(new.written)
        received, empty = False, new.state()
        if self.has("around"):
            near = [_Near(self, u, self.sent[u], {}, edge) for u, edge in self.into[v]]
            self.call("around", v=new, old=old, edges=near)
            self._receive(v, new, old)
            said = self.call("update", v=new, old=old)
            return new, old, inited, any(u in senders for u, _ in self.into[v]), False, said
        for u, edge in self.into[v] if self.has("compute") else ():
            if u in senders:
                received, self.sender = True, u
                seen = self.crossed(edge, u, v) if self.edge_kinds else edge
                self.call("compute", v=new, u=self.view(u), edge=seen, old=old)
        self._receive(v, new, old)
        now = new.state()
        quiet = all(same(now[name], empty[name]) for name in now)
        said = self.call("update", v=new, old=old)
        if not isinstance(said, bool):
            raise IllDefined("update returns no flag")
        return new, old, inited, received, quiet, said

    def _receive(self, v: int, new: _Vertex, old: _Vertex) -> None:
        if any(to == v for to, _, _ in self.post.arrived):
            self.call("receive", v=new, old=old, **self.post.of(v))

    def crossed(self, columns: Any, u: int, v: int) -> _Edge:
        """An edge as compute sees it, after along."""
        place = self.reverses[columns.place] if self.turned else columns.place
        twin = self.reverses[place]
        fields, others = (
            {name: self.kept(name, values[at]) for name, values in self.edge_states.items()} for at in (place, twin)
        )
        edge = _Edge(self, columns, fields, SimpleNamespace(**others) if twin >= 0 else None)
        if self.has("along"):
            self.crossing = True
            self.call("along", edge=edge, u=self.view(u), v=self.view(v))
            self.crossing = False
            for name in self.edge_kinds:
                self.edges_after[name][place] = _plain(vars(edge)[name])
        return edge

    def superstep(self) -> tuple[set[int], float]:
        """Everybody computes from the states before; who changed, and the sum of residuals."""
        after, ways, changed, residual = list(self.states), list(self.ways), set(), 0.0
        added = max if getattr(self.cls, "norm", "sum") == "max" else operator.add
        for v in range(self.spec.vertices):
            if self.has("wants") and not self.call("wants", v=self.view(v)):
                continue
            if self.rests and v not in self.active:
                continue
            self.graph.brought = []
            new, old, inited, received, quiet, said = self.computed(v, self.active)
            if self.promised and (quiet or not received) and not self.has("around"):
                self._check_sparse(new, old, inited, said)
            if self.sparse and not received:
                continue
            if said:
                changed.add(v)
            if self.has("residual"):
                residual = added(residual, self._measured(new, old))
            self.graph.count()
            after[v], ways[v] = new.state(), new.ways
        self.states, self.ways = after, ways
        if self.has("around"):
            self.sent = [after[v] if v in changed or not self.sparse else before for v, before in enumerate(self.sent)]
        self.graph.end(self.written["update"])
        for name, values in self.edges_after.items():
            for place, value in values.items():
                self.edge_states[name][place] = value
            values.clear()
        return changed, residual

    def _check_sparse(self, new: _Vertex, old: _Vertex, inited: set[str], said: bool) -> None:
        """Without a message, or by messages that change nothing, a vertex changes nothing but what init writes."""
        before, now = old.state(), new.state()
        if said or not all(same(now[name], before[name]) for name in set(self.kinds) - inited):
            raise IllDefined("a vertex of a sparse program changes without a message")

    def _measured(self, new: _Vertex, old: _Vertex) -> float:
        found = float(self.call("residual", v=new, old=old))
        if not found >= 0:
            raise IllDefined("a residual is negative")
        return found

    def supersteps(self, limit: int | None) -> Outcome:
        tolerance = getattr(self.parameters, "tolerance", None) if self.has("residual") else None
        out = Outcome({}, {})
        while self.active and (limit is None or out.supersteps < limit):
            if out.supersteps >= _MOST:
                raise IllDefined("it does not end")
            self.step = out.supersteps
            out.frontiers.append(len(self.active))
            changed, residual = self.superstep()
            out.residuals.append(residual)
            everybody = set(range(self.spec.vertices))
            mailed = self.post.deliver()
            self.active = changed if self.sparse else everybody if changed or mailed else set()
            self.active = changed | mailed if self.rests else self.active
            if (tolerance is not None and residual < tolerance) or (self.has("stop") and self.call("stop")):
                self.active = set()
            out.totals.append(self.graph.shown())
            out.supersteps += 1
        self.tell(out, not self.active)
        return out

    def tell(self, out: Outcome, finished: bool) -> None:
        """Say what there is in the end."""
        out.converged = finished and not any(_has_nan(x) for state in self.states for x in state.values())
        out.fields = {name: [state[name] for state in self.states] for name in self.kinds}
        order = sorted(enumerate(self.spec.arcs()), key=lambda arc: arc[1][:2])
        out.edges = {name: [values[place] for place, _ in order] for name, values in self.edge_states.items()}
        for name in {name for each in self.ways for name in each}:
            out.choices[name] = [
                ways.get(name, {state[name]}) for ways, state in zip(self.ways, self.states, strict=True)
            ]

    def one_by_one(self, order: random.Random) -> list[dict[str, Any]]:
        """The end of a run in which vertices change in place, in any order."""
        waiting = set(self.active)
        for _ in range(_MOST * 200):
            if not waiting:
                return self.states
            u = order.choice(sorted(waiting))
            waiting.discard(u)
            for v in [v for v in range(self.spec.vertices) if any(sender == u for sender, _ in self.into[v])]:
                if self.has("wants") and not self.call("wants", v=self.view(v)):
                    continue
                new, _, _, _, _, said = self.computed(v, {u})
                self.states[v] = new.state()
                if said:
                    waiting.add(v)
        raise IllDefined("it does not end")


def interpret(
    source: str, spec: GraphSpec, parameters: dict[str, Any], given: dict[str, list[Any]], limit: int | None
) -> Outcome:
    """What a program gives; given are fields before `start`, `limit` the most supersteps."""
    faults.clear()
    try:
        if "@af.phase" in source:
            out = _Phases(source, spec, parameters, given).outcome(limit)
            out.faults = list(faults)
            return out
        run = _Run(source, spec, parameters, given)
        out = run.supersteps(limit)
        out.faults = list(faults)
        if out.converged and (getattr(run.cls, "monotone", False) or run.has("priority")) and spec.vertices < 100:
            again = _Run(source, spec, parameters, given).one_by_one(random.Random(1))
            if again != run.states:
                raise IllDefined("the end depends on the order of messages")
    except (ArithmeticError, ValueError, TypeError, AttributeError, NameError, RecursionError) as error:
        raise IllDefined(repr(error)) from error
    return out


class _CutShort(Exception):
    """There is no room for another superstep."""


class _Phases:
    """A program with phases: each phase is a program of its own, on its view of the graph, over one list of states."""

    def __init__(self, source: str, spec: GraphSpec, parameters: dict[str, Any], given: dict[str, list[Any]]) -> None:
        module = ast.parse(source)
        cls = next(node for node in module.body if isinstance(node, ast.ClassDef))
        fields = [node for node in cls.body if isinstance(node, ast.AnnAssign | ast.Assign)]
        functions = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
        if "iteration" not in functions:
            raise IllDefined("there is no iteration")
        names: dict[str, Any] = {}
        exec(ast.unparse(functions["iteration"]), names)
        self.iteration, self.runs, self.sent = names["iteration"], {}, {}
        start = [functions["start"]] if "start" in functions else ast.parse(_START).body
        first = _alone(module, cls, [*fields, *start, *ast.parse(_UPDATE).body])
        self.first = _Run(first, spec, parameters, given)
        for node in (node for node in cls.body if isinstance(node, ast.ClassDef)):
            edges = "along" if isinstance(node.decorator_list[0], ast.Attribute) else _edges(node)
            text = _alone(module, cls, [*fields, *([] if "def start" in ast.unparse(node) else _start()), *node.body])
            self.runs[node.name] = run = _Run(text, _view(spec, edges), parameters, {}, spec)
            run.parameters, run.graph = self.first.parameters, self.first.graph
            run.around = self.first.around
            run.edge_states = self.first.edge_states
            run.reverses = self.first.reverses
            run.turned = edges == "against" and not spec.directed
            run.sparse = run.sparse and edges is not None
            self.sent[node.name] = 0

    def outcome(self, limit: int | None) -> Outcome:
        """What the phases give when `iteration` calls them."""
        self.out, self.limit = Outcome({}, {}), _MOST if limit is None else limit
        run = SimpleNamespace(iterations=0, changed=0)
        for name in self.runs:
            setattr(run, name, lambda until=None, name=name: self._called(run, name, until is not None))
        finished = False
        self._mark(self.first)
        try:
            while not finished:
                run.iterations += 1
                finished = not self.iteration(run)
                if run.iterations > _MOST:
                    raise IllDefined("it does not end")
        except _CutShort:
            pass
        self.first.tell(self.out, finished)
        return self.out

    def _mark(self, run: _Run) -> None:
        """Keep what there is, as the end of a run that is cut short here."""
        out = self.out
        end = Outcome({}, {}, out.supersteps, False, list(out.frontiers), list(out.residuals), list(out.totals))
        run.tell(end, False)
        out.ends.append(end)

    def _called(self, host: Any, name: str, quiet: bool) -> int:
        run, first, out = self.runs[name], self.first, self.out
        room, changed_vertices = self.limit - out.supersteps, 0
        if room <= 0:
            raise _CutShort
        run.states, run.ways, run.step = first.states, first.ways, self.sent[name]
        views = [run.view(v) for v in range(run.spec.vertices)]
        active = {int(v.number) for v in views if run.call("start", v=v)}
        run.graph.count()
        run.graph.end(run.written["start"])
        run.states, run.ways = [v.state() for v in views], [v.ways for v in views]
        run.active = active if run.sparse else set(range(run.spec.vertices))
        tolerance = getattr(run.parameters, "tolerance", None) if run.has("residual") else None
        for _ in range(room if quiet else 1):
            if not run.active:
                break
            run.step = self.sent[name]
            out.frontiers.append(len(run.active))
            changed, residual = run.superstep()
            out.residuals.append(residual)
            out.totals.append(run.graph.shown())
            out.supersteps, self.sent[name] = out.supersteps + 1, self.sent[name] + 1
            changed_vertices += len(changed)
            self._mark(run)
            run.active = changed if run.sparse else run.active if changed else set()
            run.active = set() if tolerance is not None and residual < tolerance else run.active
        first.states, first.ways, host.changed = run.states, run.ways, changed_vertices
        self._mark(run)
        if quiet and run.active:
            raise _CutShort
        return changed_vertices


_START = "def start(v):\n    return True"
_UPDATE = "def compute(v, u):\n    pass\ndef update(v):\n    return False"


def _start() -> list[ast.stmt]:
    return ast.parse(_START).body


def _edges(node: ast.ClassDef) -> str | None:
    return ast.literal_eval(node.decorator_list[0].keywords[0].value)


def _alone(module: ast.Module, cls: ast.ClassDef, body: list[ast.stmt]) -> str:
    """The source of a program of these parts; one on no edges has a compute that nobody calls."""
    written = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    body = body if "compute" in written else [*body, *ast.parse(_UPDATE).body[:1]]
    others = [node for node in module.body if node is not cls]
    one = ast.ClassDef(cls.name, [], [], body, [ast.parse("af.program").body[0].value])
    return ast.unparse(ast.fix_missing_locations(ast.Module([*others, one], [])))


def _view(spec: GraphSpec, edges: str | None) -> GraphSpec:
    """The graph as a phase sees it."""
    if edges == "against" and spec.directed:
        return replace(spec, edges=tuple((b, a) for a, b in spec.edges))
    if edges is None:
        return replace(spec, edges=(), weight=(), length=())
    return replace(spec, directed=False) if edges == "both" else spec


def _plain(value: Any) -> Any:
    return tuple(map(plain, value.elements)) if isinstance(value, Vector) else plain(value)


def _has_nan(value: Any) -> bool:
    return any(map(_has_nan, value)) if isinstance(value, tuple) else value != value


def _read(source: str) -> Any:
    """The class of a program, with names that stand for Arcflux's."""
    kinds = {name: _Kind(name) for name in _KINDS}
    af = SimpleNamespace(**kinds, program=lambda cls: cls, vertex=object, total=_Total, edge=_EdgeField)
    af.any = OneOf
    af.first, af.last = (lambda value: OfSender(value, 1)), (lambda value: OfSender(value, -1))
    af.random = _random
    af.mail, af.send = Mail, lambda to, **mail: af.desk.send(to, mail)
    af.neighbour = lambda v, k: weak(sorted(v.run.out[v.number])[k])
    af.mode, af.median, af.topk, af.intersect = _mode, _median, _topk, _intersect
    af.dot = lambda a, b: sum((a * b).elements)
    names: dict[str, Any] = {"af": af, **KNOWN, "either": either, "len": mail_length, "__name__": "oracle"}
    names |= {name: _of_lists(choosing(KNOWN[name])) for name in ("min", "max")}
    text = "\n".join(line for line in source.splitlines() if not line.startswith("import "))
    text = text.replace("in af.intersect(v, u):", "in shared(edges, u):")
    names["shared"] = _shared
    names |= {"number": weak, "exponent": exponent, "counted": counted}
    names["range"] = lambda *given: [weak(k) for k in range(*given)]
    names["sum"] = lambda values: sum(values, weak(0))
    names["abs"] = lambda x: abs(counted(x))
    module = ast.parse(text)
    numbers = {ast.unparse(n.targets[0]): ast.literal_eval(n.value) for n in module.body if isinstance(n, ast.Assign)}
    module.body = [_Choices(numbers).visit(n) if not isinstance(n, ast.Assign) else n for n in module.body]
    tree = ast.fix_missing_locations(module)
    exec(compile(tree, "<oracle>", "exec", dont_inherit=True), names)
    found = next(value for value in names.values() if isinstance(value, type) and value.__module__ == "oracle")
    found.af = af
    return found


def _random(of: Any, step: int, k: int = 0, seed: int = 0) -> Any:
    """SplitMix64's output of seed, number, step and k, one after another, in 64 bits; 53 of them are the result."""
    key = 0
    for word in (seed, of.number, step, k):
        key = (key + (int(word) + 1) * 0x9E3779B97F4A7C15) % (1 << 64)
        key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
        key = (key ^ key >> 27) * 0x94D049BB133111EB % (1 << 64)
        key ^= key >> 31
    return KNOWN["float"](key // 2048 / 2.0**53)


def _of_lists(choose: Any) -> Any:
    """`min` or `max`, also of what a generator gives."""

    def chosen(*given: Any, default: Any = None) -> Any:
        if len(given) > 1:
            return choose(*given)
        row = list(given[0])
        return choose(*row, row[0]) if row else default

    return chosen


def _mode(values: Any, default: Any) -> Any:
    """By counting each value anew."""
    row = [pair if isinstance(pair, tuple) else (pair, 1) for pair in values]
    sums = {value: sum(weight for other, weight in row if other == value) for value, _ in row}
    return min(value for value in sums if sums[value] == max(sums.values())) if row else default


def _median(values: Any, default: Any) -> Any:
    row = sorted(values)
    half = len(row) // 2
    return default if not row else (row[half] * 0.5 + row[~half] * 0.5)


def _topk(k: int, values: Any, default: Any) -> list[Any]:
    return [*sorted(values, reverse=True), *([default] * k)][:k]


def _intersect(v: _Vertex, u: _Vertex) -> Any:
    both = [{int(w) for w, _ in one.run.into[one.number]} for one in (v, u)]
    return weak(len(both[0] & both[1]))


def _shared(edges: list[_Near], u: _Near) -> list[_Near]:
    """Those of the edges whose ends lead to u, too; of parallel ones the first."""
    into = {int(w) for w, _ in u.run.into[u.number]}
    first = {int(w.number): w for w in reversed(edges) if int(w.number) in into}
    return [w for w in edges if first.get(int(w.number)) is w]


class _Choices(ast.NodeTransformer):
    """``a if test else b`` has the type of both, and numbers that stand there are like any other, also in locals.

    Numbers alone are computed as Python does; an exponent of them that is below 0 makes a float. `known` are the
    numbers of the module. A flag that is counted with is 0 or 1.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit(self, node: ast.AST) -> Any:
        return _named("number", self._checked(node)) if self._is_constant(node) else super().visit(node)

    def _checked(self, node: ast.AST, low: float = -math.inf, high: float = math.inf) -> ast.AST:
        """Numbers alone: those that have no value, or are not as they should be, are refused before anything runs."""
        try:
            value = eval(ast.unparse(node), dict(self.known))  # noqa: S307
        except (ArithmeticError, ValueError) as error:
            raise IllDefined(repr(error)) from error
        if isinstance(value, complex) or value < low or value > high:
            raise IllDefined(f"{value!r} is refused")
        return node

    def _is_constant(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.Name):
            return node.id in self.known
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self._is_constant(node.operand)
        return isinstance(node, ast.BinOp) and self._is_constant(node.left) and self._is_constant(node.right)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        if node.name != "iteration":
            node.body = [self.visit(each) for each in node.body]
            node.args.defaults = [self.visit(each) for each in node.args.defaults]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        fixed = self._is_constant(node.right)
        bits = isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
        left = self.visit(node.left) if bits else _named("counted", self.visit(node.left))
        right = (
            _named("exponent", self._checked(node.right))
            if fixed and isinstance(node.op, ast.Pow)
            else self.visit(node.right)
        )
        if fixed and isinstance(node.op, ast.LShift | ast.RShift):
            self._checked(node.right, 0, 63)
        return ast.BinOp(left, node.op, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.visit(node.operand)
        return ast.UnaryOp(node.op, inner if isinstance(node.op, ast.Not) else _named("counted", inner))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        return self._contributed(node.target, node.value) if _of_g(node.target) else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if not _of_g(target):
            return node
        assert isinstance(node.value, ast.Call)
        return self._contributed(target, node.value.args[1])

    def _contributed(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        """``g.t[k] += x`` as a call."""
        owner = target.value if isinstance(target, ast.Subscript) else target
        assert isinstance(owner, ast.Attribute)
        index = target.slice if isinstance(target, ast.Subscript) else ast.Constant(None)
        contribute = ast.Attribute(owner.value, "contribute", ast.Load())
        return ast.Expr(ast.Call(contribute, [ast.Constant(owner.attr), index, value], []))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        nothing = ast.arguments([], [], None, [], [], None, [])
        sides: list[ast.expr] = [ast.Lambda(nothing, side) for side in (node.body, node.orelse)]
        return ast.Call(ast.Name("either", ast.Load()), [node.test, *sides], [])


def _named(name: str, node: ast.AST) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [node], [])


def _of_g(target: ast.expr) -> bool:
    """Whether something of g is assigned."""
    owner = target.value if isinstance(target, ast.Subscript) else target
    return isinstance(owner, ast.Attribute) and ast.unparse(owner.value) == "g"


def _text_of(source: str, function: str) -> str:
    """The lines of a function."""
    return source.split(f"def {function}(")[1].split("    def ")[0]


def _extremes(source: str) -> set[str]:
    """The fields into which compute reduces the least or the largest message."""
    compute = source.partition("def compute")[2].split("def ")[0]
    return set(re.findall(r"v\.(\w+)(?:\[[^]]*\])? = (?:min|max)\(v\.", compute))


def is_sparse(source: str) -> bool:
    """Whether only changed vertices send: it is said, follows from a priority, or is plain from the program."""
    functions = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    if "    sparse = True" in source or "priority" in functions:
        return True
    if "compute" not in functions or "receive" in functions or re.search(r"def along|edge\.e\d|\.reverse\.", source):
        return False
    compute = functions["compute"]
    old = {n.attr for n in ast.walk(compute) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "old"} - _NAMES
    step = any(isinstance(n, ast.Name) and n.id == "step" for n in ast.walk(compute))
    step = step or any(_of_g(n) and n.attr not in _COUNTS for n in ast.walk(compute) if isinstance(n, ast.Attribute))
    steady = not old and not step and "wants" not in functions and not _reduces_otherwise(compute)
    return steady and not any(_writes(functions[name]) for name in ("init", "update") if name in functions)


def _writes(function: ast.FunctionDef) -> bool:
    targets = (n for n in ast.walk(function) if isinstance(n, ast.Attribute | ast.Subscript))
    return any(isinstance(n.ctx, ast.Store) and not _of_g(n) for n in targets)


def _reduces_otherwise(compute: ast.FunctionDef) -> bool:
    """Whether a reduction is none of min, max, or, and."""
    for node in ast.walk(compute):
        if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            if not isinstance(node.op, ast.BitOr | ast.BitAnd):
                return True
        elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ("any", "first", "last"):
                return True
    return False
