"""An executor of vertex programs that shares no code with Arcflux: adjacency lists, dictionaries, and the class as is.

It goes by docs/how-to/program.md; numbers.py has what that says of numbers. It refuses (:class:`IllDefined`) what does
not have one result: floats that would be rounded, a `sparse` that is not true, a fixed point that depends on the order
of messages. What plain Python has to refuse, and kernels go on with, is among the `faults` of the outcome.
"""

from __future__ import annotations

import ast
import inspect
import operator
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from program_fuzzer.graphs import GraphSpec
from program_fuzzer.numbers import faults, of_field, plain, same, weak
from program_fuzzer.post import Mail, Post
from program_fuzzer.reading import (
    EdgeField,
    Kind,
    Table,
    Total,
    VertexSet,
    extremes,
    flat,
    is_sparse,
    read,
    reduced,
    text_of,
)
from program_fuzzer.values import IllDefined, OfSender, OneOf, Vector, copied, fitting
from program_fuzzer.wild import RANGES

__all__ = ["Outcome", "interpret"]

_MOST = 300


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


class _Edge:
    """An edge as functions see it: columns, fields, and the edge the other way."""

    def __init__(self, run: _Run, columns: Any, fields: dict[str, Any], reverse: Any) -> None:
        self.__dict__.update(vars(columns), **fields, run=run, reverse=reverse)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.run.edge_kinds or not self.run.crossing:
            raise IllDefined(f"edge.{name} is assigned")
        self.__dict__[name] = self.run.fit(name, value)


class _Graph:
    """What functions know as g. ``g.lost += x`` has become a call of `contribute`."""

    def __init__(self, totals: dict[str, Total], **counts: Any) -> None:
        self.__dict__.update(counts)
        self.totals, self.known = totals, {name: self._row(each) for name, each in totals.items()}
        self.empty()
        self.brought: list[tuple[str, Any, Any]] = []

    def _row(self, total: Total) -> list[Any]:
        return [total.nothing] * (total.kind.length or 1)

    def __getattr__(self, name: str) -> Any:
        kind = self.totals[name].kind
        row = [of_field(kind.name, x) for x in self.known[name]]
        return row[0] if kind.length is None else Vector(row)

    def empty(self) -> None:
        self.rows = {name: self._row(each) for name, each in self.totals.items()}

    def contribute(self, name: str, index: Any, value: Any) -> None:
        self.brought.append((name, index, copied(value)))

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

    def first_of(self, names: tuple[str, ...], values: tuple[Any, ...], sign: int) -> None:
        """Keep several fields of the message of the first sender, or the last one."""
        row = tuple(self.run.fit(name, value) for name, value in zip(names, values, strict=True))
        came, best = (self.run.sender, row), self.senders.get("".join(names))
        if any(value != value for value in row):
            raise IllDefined("NaN is one of several")
        if best is None or (came < best if sign > 0 else came > best):
            self.senders["".join(names)] = came
            self.__dict__.update(zip(names, row, strict=True))
        self.written.update(names)

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
        self.cls = read(source)
        self.sparse, self.promised = (
            is_sparse(source),
            getattr(self.cls, "sparse", False) or "priority" in vars(self.cls),
        )
        annotations = self.cls.__annotations__
        fields = {
            name for name, kind in annotations.items()
            if isinstance(kind, Total | Mail | EdgeField) or (isinstance(kind, Kind) and not hasattr(self.cls, name))
        }  # fmt: skip
        values = {name: getattr(self.cls, name, None) for name in annotations.keys() - fields} | parameters
        self.parameters = SimpleNamespace(**{name: _parameter(annotations[name], x) for name, x in values.items()})
        self.extremes = extremes(source)
        self.computing, self.sender = False, -1
        self.kinds = {name: kind for name, kind in annotations.items() if isinstance(kind, Kind) and name in fields}
        self._let_out(source)
        self.post = Post({name: each for name, each in annotations.items() if isinstance(each, Mail)}, spec.vertices)
        self.cls.af.desk = self.post
        self.out: list[list[Any]] = [[] for _ in range(spec.vertices)]
        self.edge_kinds = {name: kind.kind for name, kind in annotations.items() if isinstance(kind, EdgeField)}
        self.every = {**self.kinds, **self.edge_kinds}
        self.crossing = False
        self.reverses = spec.reverses() if self.edge_kinds else []
        self.edge_states = {
            name: [_plain(self.fit(name, annotations[name].first)) for _ in self.reverses] for name in self.edge_kinds
        }
        for name in self.edge_kinds.keys() & given.keys():
            order = sorted(enumerate(spec.arcs()), key=lambda arc: arc[1][:2])
            for (place, _), value in zip(order, given[name], strict=True):
                if value is not None:
                    self.edge_states[name][place] = _plain(self.fit(name, _in_a_row(value)))
        self.edges_after: dict[str, dict[int, Any]] = {name: {} for name in self.edge_kinds}
        self.turned = False  # whether an arc of the list stands for its reverse
        self.into: list[list[tuple[int, Any]]] = [[] for _ in range(spec.vertices)]
        self.in_degrees, self.out_degrees = [0] * spec.vertices, [0] * spec.vertices
        for place, (u, v, weight, length) in enumerate(spec.arcs()):
            real = of_field(spec.types[1].replace("float", "f"), length)
            ends = (u, v) if spec.directed else (min(u, v), max(u, v))
            self.into[v].append((u, SimpleNamespace(weight=weak(weight), length=real, place=place, ends=ends)))
        counted = list((whole or spec).arcs())
        for u, v, weight, _ in counted:
            self.in_degrees[v] += 1
            self.out_degrees[u] += 1
            self.out[u].append((v, SimpleNamespace(weight=weak(weight))))
        for row in [*self.into, *self.out]:
            row.sort(key=lambda pair: pair[0])
        totals = {name: kind for name, kind in annotations.items() if isinstance(kind, Total)}
        for each in totals.values():
            if isinstance(each.kind.length, str):
                each.kind = Kind(each.kind.name, getattr(self.parameters, each.kind.length))
        numbers = {
            "vertices": weak(spec.vertices),
            "edges": weak(len((whole or spec).edges)),
            "arcs": weak(len(counted)),
        }
        self.graph = _Graph(totals, **numbers)
        self.around = {"p": self.parameters, "g": self.graph}
        self.written = {
            name: set(re.findall(r"g\.(\w+)(?:\[[^]]*\])? (?:[+|&]=|= )", text_of(source, name)))
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
            said = {name: given[name][number] for name in self.kinds.keys() & given.keys()}
            zero = {name: self._zero(name) if said.get(name) is None else _in_a_row(said[name]) for name in self.kinds}
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

    def _let_out(self, source: str) -> None:
        """What the program does not say: every vertex is active; it has changed when a field has that is reduced.

        With around, when one has that around writes; with mail alone, never.
        """
        if "def start(" not in source:
            self.cls.start = lambda v: True
        if "def update(" not in source:
            names = reduced(source)
            self.cls.update = lambda v, old: any(v.state()[name] != old.state()[name] for name in names)

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
        length = length[0] * length[1] if isinstance(length, tuple) else length
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
    source = flat(source)
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
    except (ArithmeticError, ValueError, TypeError, AttributeError, NameError, LookupError, RecursionError) as error:
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
            for _, edge in (pair for row in run.into for pair in row if edges == "against" and spec.directed):
                edge.ends = edge.ends[::-1]
            run.sparse = run.sparse and edges is not None
            self.sent[node.name] = 0

    def outcome(self, limit: int | None) -> Outcome:
        """What the phases give when `iteration` calls them."""
        self.out, self.limit = Outcome({}, {}), _MOST if limit is None else limit
        run = SimpleNamespace(iterations=0, changed=0)
        for name in self.runs:
            setattr(run, name, lambda until=None, name=name: self._called(run, name, until is not None))
        finished, known = False, {"run": run, **self.first.around}
        asked = inspect.signature(self.iteration).parameters
        self._mark(self.first)
        try:
            while not finished:
                run.iterations += 1
                finished = not self.iteration(*(known[name] for name in asked))
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
        run.sent = list(run.states)
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
    body = body if written & {"compute", "around"} else [*body, *ast.parse(_UPDATE).body[:1]]
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


def _parameter(kind: Any, value: Any) -> Any:
    """A parameter as functions see it."""
    if kind is VertexSet:
        return VertexSet(value)
    return Table(value) if isinstance(value, tuple) else weak(value)


def _plain(value: Any) -> Any:
    return tuple(map(plain, value.elements)) if isinstance(value, Vector) else plain(value)


def _in_a_row(value: Any) -> Any:
    """What is given for a vector, or for a matrix, as a tuple of numbers."""
    if not isinstance(value, list):
        return value
    return tuple(x for each in value for x in (each if isinstance(each, list) else [each]))


def _has_nan(value: Any) -> bool:
    return any(map(_has_nan, value)) if isinstance(value, tuple) else value != value
