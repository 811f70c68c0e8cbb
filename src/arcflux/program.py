"""What a user writes: a class with typed vertex fields, parameters, and a few functions; :func:`program` reads it.

Nothing of the class runs as it is, unless with debug=True. Its source is parsed, checked (compile/check.py) and lowered
(compile/lower.py); what cannot become a kernel is refused before anything runs, with the line and what to write
instead.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np

from arcflux.checks import array, real, shown, whole
from arcflux.class_source import ClassSource, find_source, names_around
from arcflux.edge_fields import EdgeField, check_along, declare_edge_field, edge, reversed_fields
from arcflux.errors import ProgramError, UsageError, did_you_mean
from arcflux.field_type import REF32, TYPES, FieldType
from arcflux.mail import Mail, check_mails, declare_mail, mail
from arcflux.phase import PhaseClass, check_phase, check_phases, phase, refuse_namesake
from arcflux.spmd.counter import drawn

__all__ = [
    "EdgeField", "FieldType", "Function", "Mail", "Parameter", "Program", "Total", "any", "dot", "edge", "first",
    "last", "mail", "phase", "program", "random", "read_class", "total", "vertex", "vertices",
]  # fmt: skip

# The functions of a program, and the arguments each may ask for by name.
FUNCTIONS = {
    "start": ("v", "g", "p"),
    "init": ("v", "old", "g", "p", "step"),
    "along": ("edge", "u", "v", "g", "p", "step"),
    "compute": ("v", "u", "edge", "old", "g", "p", "step"),
    "around": ("v", "edges", "old", "g", "p", "step"),
    "receive": ("v", "old", "g", "p", "step"),  # and the names of mails
    "update": ("v", "old", "g", "p", "step"),
    "wants": ("v", "g", "p", "step"),
    "priority": ("v", "g", "p"),
    "residual": ("v", "old", "g", "p", "step"),
    "stop": ("g", "p", "step"),
    "iteration": ("run", "g", "p"),
}
REQUIRED = ("compute",)
PROMISES = ("sparse", "monotone", "sorted_edges")
# What `norm` may be: how the residuals of vertices become one number.
NORMS = ("sum", "max")
# What g knows besides totals.
ABOUT_GRAPH = ("vertices", "edges", "arcs")


@dataclass(frozen=True)
class Total:
    """What a program reduces over all vertices in a superstep, and by which operation."""

    type: FieldType
    operation: str = "sum"

    def __repr__(self) -> str:
        return f"total({self.type})" if self.operation == "sum" else f"total({self.type}, {self.operation!r})"


# The types of totals, and the operations that each can be reduced by.
TOTALLED = {
    "f64": ("sum", "min", "max"),
    "i64": ("sum", "min", "max", "or", "and"),
    "u64": ("sum", "min", "max", "or", "and"),
    "flag": ("or", "and"),
}


def total(kind: FieldType, operation: str = "sum") -> Total:
    """As a declared type: a value over all vertices, such as ``lost: af.total(af.f64)``.

    `operation` is "sum", "min", "max", "or" or "and". `start` and `update` contribute to it (``g.lost += v.rank``); the
    next superstep reads it, as ``g.lost``.

    Examples
    --------
    >>> import arcflux as af
    >>> af.total(af.f64), af.total(af.i64[4], "max")
    (total(f64), total(i64[4], 'max'))
    """
    return Total(kind, operation)


class vertex:
    """As a parameter's type: the id of a vertex, as the user knows it. In a program it stands for a ``v.number``."""


class vertices:
    """As a parameter's type: ids of vertices, as the user knows them. A program asks ``v in p.sources``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its kind (int, float, bool, vertex, vertices, or the type of an array's elements) and its value.

    A run may say another value. That of an array is a tuple, of vertices a tuple of ids.
    """

    kind: Any
    value: Any


class Line(int):
    """The number of a line, and the file that has it: a program that inherits stands in several."""

    path: str
    text: Sequence[str]

    def __new__(cls, number: int, path: str, text: Sequence[str]) -> Line:
        made = super().__new__(cls, number)
        made.path, made.text = path, text
        return made


@dataclass(frozen=True)
class Function:
    """One function of a program: its arguments, its body, and where it is written."""

    name: str
    arguments: tuple[str, ...]
    body: list[ast.stmt] = field(repr=False)
    line: int
    call: Callable[..., Any] = field(repr=False)

    @property
    def names(self) -> Mapping[str, Any]:
        """What it sees around it, as it is now: names of enclosing functions, and of its module."""
        return names_around(self.call)

    def at(self, number: int) -> int:
        """Another line of the same file."""
        return Line(number, self.line.path, self.line.text) if isinstance(self.line, Line) else number


@dataclass(frozen=True)
class Program:
    """A vertex program, ready to be lowered. Calling it gives the same program with other parameters.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.PageRank(damping=0.9).parameters["damping"].value
    0.9
    >>> af.algorithms.BFS
    <Program BFS(source=None): level: i32, parent: ref, sparse>
    """

    name: str
    doc: str
    fields: Mapping[str, FieldType]
    parameters: Mapping[str, Parameter]
    functions: Mapping[str, Function]
    promises: frozenset[str]
    names: Mapping[str, Any] = field(repr=False)
    path: str = ""
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
    text: Sequence[str] = field(default=(), repr=False, compare=False)
    hidden: frozenset[str] = frozenset()
    totals: Mapping[str, Total] = field(default_factory=dict)
    mails: Mapping[str, Mail] = field(default_factory=dict)
    edge_fields: Mapping[str, EdgeField] = field(default_factory=dict)
    mirrored: frozenset[str] = frozenset()
    norm: str = "sum"
    words: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    edges: str | None = "along"
    is_phase: bool = False
    phases: Mapping[str, Program] = field(default_factory=dict, repr=False)
    iteration: Function | None = field(default=None, repr=False)
    most_supersteps: int | None = None

    def __call__(self, **values: Any) -> Program:
        """The same program with other parameters."""
        changed = dict(self.parameters)
        for name, value in values.items():
            if name not in changed:
                known = ", ".join(changed) or "none"
                raise UsageError(f"{self.name} has no parameter {name!r}", expected=f"one of its parameters: {known}",
                                 remedy=did_you_mean(name, changed))  # fmt: skip
            kind = changed[name].kind
            changed[name] = Parameter(kind, _parameter_value(self.name, name, kind, value))
        return replace(self, parameters=MappingProxyType(changed))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()  # a class that names it as its base keeps that in __orig_bases__, and has no other

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={one.value!r}" for name, one in self.parameters.items())
        known = {**self.fields, **self.edge_fields, **self.totals, **self.mails}
        fields = ", ".join(f"{name}: {kind}" for name, kind in known.items() if name not in self.hidden)
        promises = "".join(f", {promise}" for promise in sorted(self.promises))
        promises += f", phases {', '.join(self.phases)}" if self.phases else ""
        return f"<Program {self.name}({values}): {fields}{promises}>"

    def _repr_html_(self) -> str:
        first = self.doc.partition("\n")[0]
        return f"<code>{escape(repr(self)[1:-1])}</code>" + (f"<br>{escape(first)}" if first else "")

    def promising(self, *promises: str) -> Program:
        """The same program with more promises.

        Examples
        --------
        >>> import arcflux as af
        >>> sorted(af.algorithms.PageRank.promising("monotone").promises)
        ['monotone']
        """
        if unknown := set(promises) - set(PROMISES):
            raise UsageError(f"{min(unknown)!r} is no promise", expected=" or ".join(map(repr, PROMISES)))
        return replace(self, promises=self.promises | set(promises))

    def retyped(self, **types: FieldType) -> Program:
        """The same program with other types of fields, such as f32 where it says f64.

        Examples
        --------
        >>> import arcflux as af
        >>> af.algorithms.PageRank.retyped(rank=af.f32).fields["rank"]
        f32
        """
        for name in types:
            if name not in self.fields:
                raise UsageError(f"{self.name} has no field {name!r}", expected="one of: " + ", ".join(self.fields),
                                 remedy=did_you_mean(name, self.fields))  # fmt: skip
        return replace(self, fields=MappingProxyType({**self.fields, **types}))

    def phase_programs(self) -> dict[str, Program]:
        """The phases as programs over the fields and the parameters that this one has now, by name."""
        return {
            name: replace(each, fields=self.fields, parameters=self.parameters) for name, each in self.phases.items()
        }

    @cached_property
    def narrow(self) -> Program:
        """The same program with references of 32 bits, for a graph whose numbers are small enough."""
        return self.retyped(**dict.fromkeys(self.references, REF32)) if self.references else self

    @property
    def constants(self) -> Mapping[str, Parameter]:
        """The parameters that kernels are given: all but sets of vertices, which are a flag of each vertex."""
        return {name: one for name, one in self.parameters.items() if one.kind is not vertices}

    @property
    def declared_types(self) -> list[FieldType]:
        """The types of all fields of vertices and of edges, and of totals."""
        others = [*(one.type for one in self.totals.values()), *(one.type for one in self.edge_fields.values())]
        return [*self.fields.values(), *others]

    @property
    def arrays(self) -> dict[str, FieldType]:
        """The parameters that are arrays."""
        return {name: one.kind for name, one in self.parameters.items() if isinstance(one.kind, FieldType)}

    @property
    def memberships(self) -> list[str]:
        """The parameters that are sets of vertices."""
        return [name for name, one in self.parameters.items() if one.kind is vertices]

    @property
    def references(self) -> frozenset[str]:
        """The fields that hold the numbers of vertices."""
        return frozenset(name for name, kind in self.fields.items() if kind.name == "ref")

    def refusal(self, line: int, what: str, remedy: str) -> ProgramError:
        """The error for something on a line of this program."""
        path, lines = (line.path, line.text) if isinstance(line, Line) else (self.path, self.text)
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        for native, written in self.words.items():
            what, remedy = (re.sub(rf"\b{native}\b", written, said) for said in (what, remedy))
        return ProgramError(what, program=self.name, path=path, line=int(line), text=text, remedy=remedy)


def program(cls: type) -> Program:
    """Make a vertex program of a class; see docs/how-to/program.md for what it may say.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.PageRank.fields
    mappingproxy({'rank': f64})
    """
    if isinstance(cls, Program):
        return cls
    if not isinstance(cls, type):
        raise UsageError(
            f"@af.program stands above {cls!r}", expected="a class", remedy="class Hops: with fields and functions"
        )
    return read_class(cls, find_source(cls, sys._getframe(1)), vars(cls))


def read_class(
    cls: type, source: ClassSource, calls: Mapping[str, Any], hidden: Mapping[str, FieldType] = MappingProxyType({})
) -> Program:
    """The program that the source of a class says; `calls` are its functions, `hidden` fields that no result shows."""
    first = source.first
    read = Program(cls.__name__, inspect.getdoc(cls) or "", {}, {}, {}, frozenset(), {}, source.path, text=source.lines)
    base = _base(read, first, cls)
    fields: dict[str, FieldType] = {}
    totals: dict[str, Total] = {}
    mails: dict[str, Mail] = {}
    edge_fields: dict[str, EdgeField] = {}
    parameters: dict[str, Parameter] = {}
    functions: dict[str, Function] = {}
    phases: dict[str, Program] = {}
    promises: set[str] = set(base.promises) if base else set()
    lines: dict[str, int] = {}
    lengths: dict[str, str] = {}
    norm = base.norm if base else "sum"
    annotations = _annotations(read, source, cls)
    for node in source.tree.body:
        line = node.lineno
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = _function(read, node, calls)
        elif isinstance(node, ast.ClassDef) and isinstance(vars(cls).get(node.name), PhaseClass):
            refuse_namesake(read, source.tree, node)
            phases[node.name] = _phase(read, node, vars(cls)[node.name])
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in annotations:
            name = node.target.id
            lines[name] = Line(line, source.path, source.lines)
            if isinstance(annotations[name], Total):
                totals[name] = _declare_total(read, line, name, annotations[name], cls)
            elif isinstance(annotations[name], Mail):
                mails[name] = declare_mail(read, line, name, annotations[name], hasattr(cls, name), FUNCTIONS)
            elif isinstance(annotations[name], EdgeField):
                edge_fields[name] = declare_edge_field(read, line, name, annotations[name], cls)
            else:
                _declare(read, line, name, annotations[name], cls, fields, parameters)
            if length := _named_length(node.annotation):
                lengths[name] = length
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["norm"]:
            norm = _checked_norm(read, line, vars(cls)["norm"])
            lines["norm"] = Line(line, source.path, source.lines)
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in PROMISES for t in node.targets):
            said = {t.id for t in node.targets if isinstance(t, ast.Name)}
            promises = (promises - said) | {name for name in said if getattr(cls, name)}
        elif not (isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))):
            raise read.refusal(
                line,
                "only fields, parameters, promises and functions belong in a program",
                f"a field is `name: af.f64`, a parameter `name: float = 0.5`, a promise one of {', '.join(PROMISES)}",
            )
    # af.f32[k] means the parameter k, as af.f32["k"] does, and not the value that k has in the class.
    for name, length in lengths.items():
        if name in fields and length in parameters:
            fields[name] = replace(fields[name], length=length)
        if name in totals and length in parameters:
            totals[name] = replace(totals[name], type=replace(totals[name].type, length=length))
        if name in edge_fields and length in parameters:
            edge_fields[name] = replace(edge_fields[name], type=replace(edge_fields[name].type, length=length))
    fields.update(hidden)
    made = replace(
        read,
        hidden=frozenset(hidden),
        fields=MappingProxyType(fields),
        parameters=MappingProxyType(parameters),
        functions=MappingProxyType({name: each for name, each in functions.items() if name != "iteration"}),
        promises=frozenset(promises),
        names=source.names,
        lines=MappingProxyType(lines),
        totals=MappingProxyType(totals),
        mails=MappingProxyType(mails),
        edge_fields=MappingProxyType(edge_fields),
        norm=norm,
        phases=MappingProxyType(phases),
        iteration=functions.get("iteration"),
    )
    made = _inherited(made, base) if base else made
    made = _with_phases(made, first) if made.phases or made.iteration else _with_defaults(made)
    check_mails(made, FUNCTIONS["receive"])
    _check_parts(made, first, made.fields, made.parameters, made.functions)
    return _with_mirrored(made) if made.edge_fields else made


def _with_mirrored(made: Program) -> Program:
    """A program that knows which edge fields any of its phases reads of the reverse edge: these are kept twice."""
    functions = [each for one in (made, *made.phases.values()) for each in one.functions.values()]
    mirrored = reversed_fields(functions) & made.edge_fields.keys()
    phases = {name: replace(each, mirrored=mirrored) for name, each in made.phases.items()}
    return replace(made, mirrored=mirrored, phases=MappingProxyType(phases))


# What a program has from the one that it inherits from, unless it says otherwise.
_INHERITED = ("fields", "parameters", "totals", "mails", "edge_fields", "functions", "lines", "phases")


def _base(read: Program, first: int, cls: type) -> Program | None:
    """The program that a class inherits from; None for one that inherits nothing."""
    bases = cls.__dict__.get("__orig_bases__", ())
    if type(cls) is type and cls.__bases__ == (object,) and len(bases) < 2:
        return bases[0] if bases else None
    other = next((base.__name__ for base in cls.__bases__ if base is not object), type(cls).__name__)
    several = len(bases) > 1 and all(isinstance(base, Program) for base in bases)
    reason = "from several programs" if several else f"from {other}, which is no program"
    raise read.refusal(
        first, f"{cls.__name__} inherits {reason}", f"write `class {cls.__name__}:`, or inherit from one program"
    )


def _inherited(made: Program, base: Program) -> Program:
    """A program with all of its base that it does not have itself."""
    for name, line in made.lines.items():
        here, there = (
            next((each for each in _INHERITED[:4] if name in getattr(one, each)), "") for one in (made, base)
        )
        if there and here != there:
            what = f"{name} is one of the {here} here, and one of the {there} of {base.name}"
            raise made.refusal(line, what, "choose another name")
    if base.phases:  # its update is none that anybody wrote
        own = {name: each for name, each in base.functions.items() if name == "start"}
        base = replace(base, functions=MappingProxyType(own))
    merged: dict[str, Any] = {
        each: MappingProxyType({**getattr(base, each), **getattr(made, each)}) for each in _INHERITED
    }
    return replace(made, doc=made.doc or base.doc, iteration=made.iteration or base.iteration, **merged)


def _with_defaults(made: Program) -> Program:
    """A program whose start and update stand for what they are when nobody writes them.

    Without start every vertex is active at first; without update v has changed when a field has that compute reduces,
    or around writes; where mail alone wakes vertices, none stays awake.
    """
    functions = dict(made.functions)
    along = functions.get("compute") or functions.get("around") or (functions.get("receive") if made.mails else None)
    if along is None:
        return made
    line = along.line
    if "start" not in functions:
        functions["start"] = _written("def start(v):\n    return True\n", line)
    if "update" not in functions:
        rests = along.name == "receive"
        functions["update"] = _written("def update(v):\n    return False\n" if rests else _changed(made, along), line)
    order = [name for name in FUNCTIONS if name in functions]
    if len(functions) > len(made.functions):
        functions = {name: functions[name] for name in order}
    edges = None if along.name == "receive" else made.edges
    return replace(made, functions=MappingProxyType(functions), edges=edges)


def _changed(made: Program, along: Function) -> str:
    """The text of an update that answers whether a field has changed that compute reduces, or around writes."""
    reduced = {
        node.attr: None for statement in along.body for target in _targets(statement) for node in ast.walk(target)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "v" and node.attr in made.fields
    }  # fmt: skip
    loops, tests = "", []
    for name in reduced:
        length = made.fields[name].length
        if length is None:
            tests.append(f"v.{name} != old.{name}")
        else:
            until = f"p.{length}" if isinstance(length, str) else length
            loops += (
                f"    for k in range({until}):\n        if v.{name}[k] != old.{name}[k]:\n            return True\n"
            )
    return f"def update(v, old, p):\n{loops}    return {' or '.join(tests) or False}\n"


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement, or one within it, assigns to."""
    found: list[ast.expr] = []
    for node in ast.walk(statement):
        found += (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
    return found


def _written(text: str, line: int) -> Function:
    """A function that Arcflux writes for a program, as if it stood on a line of it."""
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = int(line)  # type: ignore[attr-defined]
    names: dict[str, Any] = {}
    exec(compile(text, "<written by arcflux>", "exec"), names)
    return Function(tree.name, tuple(one.arg for one in tree.args.args), tree.body, line, names[tree.name])


def _phase(read: Program, node: ast.ClassDef, given: PhaseClass) -> Program:
    """A phase as a program of its own, which has its fields and parameters from the one around it."""
    functions: dict[str, Function] = {}
    promises: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            functions[part.name] = _function(read, part, vars(given.cls))
        elif isinstance(part, ast.Assign) and all(isinstance(t, ast.Name) and t.id in PROMISES for t in part.targets):
            promises |= {t.id for t in part.targets if isinstance(t, ast.Name) and getattr(given.cls, t.id)}
        elif not (isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))):
            raise read.refusal(
                part.lineno,
                f"only promises and functions belong in the phase {node.name}",
                "declare fields and parameters in the program: all phases share them",
            )
    check_phase(read, node, functions, given.edges)
    return replace(
        read, name=f"{read.name}.{node.name}", functions=MappingProxyType(functions), promises=frozenset(promises),
        edges=given.edges,
    )  # fmt: skip


def _with_phases(made: Program, first: int) -> Program:
    """A program whose phases are programs over its fields, and which is itself on no edges: what starts them."""
    check_phases(made, first)
    phases = {}
    for name, each in made.phases.items():
        norm = made.norm if "residual" in each.functions else "sum"
        known = replace(
            each, fields=made.fields, parameters=made.parameters, totals=made.totals, edge_fields=made.edge_fields,
            norm=norm, names=made.names, is_phase=True,
        )  # fmt: skip
        line = next(iter(each.functions.values())).line
        start = each.functions.get("start", _written("def start(v):\n    return True\n", line))
        phases[name] = _with_defaults(replace(known, functions=MappingProxyType({"start": start, **each.functions})))
    starts = {
        "start": made.functions.get("start", _written("def start(v):\n    return True\n", first)),
        "update": _written("def update(v):\n    return False\n", first),
    }
    measured = any("residual" in each.functions for each in phases.values())
    return replace(
        made, functions=MappingProxyType(starts), phases=MappingProxyType(phases), edges=None,
        norm="sum" if measured else made.norm,
    )  # fmt: skip


def _check_parts(
    read: Program, first: int, fields: Mapping[str, FieldType], parameters: Mapping[str, Parameter],
    functions: Mapping[str, Function],
) -> None:  # fmt: skip
    """Whether a program has all that it needs; what phases need is checked where they are read."""
    for each in (read, *read.phases.values()):
        check_along(each, each.functions, each.promises, each.edges)
    if "compute" in functions and "around" in functions:
        raise read.refusal(
            functions["around"].line, "compute and around stand in one program",
            "compute takes edges one by one, around all at once: keep one of them",
        )  # fmt: skip
    for name in () if read.phases else REQUIRED:
        if name not in functions and "around" not in functions and not ("receive" in functions and read.mails):
            raise read.refusal(
                first, f"the function {name} is missing", f"add `def {name}({', '.join(FUNCTIONS[name][:2])}): ...`"
            )
    if not fields:
        raise read.refusal(first, "the program has no vertex field", "declare one, such as `rank: af.f64`")
    totals = {name: declared.type for name, declared in read.totals.items()}
    of_edges = {name: declared.type for name, declared in read.edge_fields.items()}
    for name, kind in {**fields, **read.arrays, **totals, **of_edges}.items():
        if isinstance(kind.length, str) and (kind.length not in parameters or parameters[kind.length].kind is not int):
            raise read.refusal(
                first,
                f"the length of {name} is {kind.length!r}, which is no int parameter",
                f"add `{kind.length}: int = 8`, or write the length as a number",
            )


def _annotations(read: Program, source: ClassSource, cls: type) -> Mapping[str, Any]:
    """The types that a class declares, also those that `from __future__ import annotations` has left as text."""
    around = dict(source.names)
    try:
        return inspect.get_annotations(cls, globals=around, locals={**source.scope, **vars(cls)}, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise read.refusal(
            source.first, f"a declared type means nothing here: {error}",
            "a field is `name: af.f64` after `import arcflux as af`; a parameter is `name: float = 0.5`",
        ) from error  # fmt: skip


def _function(read: Program, node: ast.FunctionDef, calls: Mapping[str, Any]) -> Function:
    line = Line(node.lineno, read.path, read.text)
    if node.name not in FUNCTIONS:
        raise read.refusal(line, f"a program has no function {node.name!r}", "use one of: " + ", ".join(FUNCTIONS))
    if node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
        raise read.refusal(line, f"{node.name} takes plain arguments only", "no decorators, defaults or stars")
    arguments = tuple(argument.arg for argument in node.args.args)
    for argument in arguments:
        if argument not in FUNCTIONS[node.name] and node.name != "receive":  # which also asks for mails, by name
            raise read.refusal(
                line,
                f"{node.name} cannot have an argument {argument!r}",
                f"arguments are bound by name; {node.name} may ask for: {', '.join(FUNCTIONS[node.name])}",
            )
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return Function(node.name, arguments, body, line, calls[node.name])


def _declare(
    read: Program, line: int, name: str, kind: Any, cls: type, fields: dict[str, FieldType],
    parameters: dict[str, Parameter],
) -> None:  # fmt: skip
    """Add a field or a parameter."""
    if isinstance(kind, FieldType) and not (kind.length is not None and hasattr(cls, name)):
        if hasattr(cls, name):
            raise read.refusal(line, f"the field {name} has a value", "fields get their first value in start")
        if kind.columns is not None:
            raise read.refusal(
                line, f"{name} is a matrix, and fields are numbers or vectors",
                f"write `{name}: af.{kind.name}[{kind.length}]` and v.{name}[{kind.columns} * i + j], or give it a "
                "value: parameters may be matrices",
            )  # fmt: skip
        if name in ("number", "in_degree", "out_degree"):
            raise read.refusal(line, f"{name} is there for every vertex", "choose another name for the field")
        fields[name] = kind
    elif kind in (int, float, bool, vertex, vertices) or isinstance(kind, FieldType):
        given = getattr(cls, name, None)
        if given is None and kind not in (vertex, vertices):
            raise read.refusal(line, f"the parameter {name} has no default", f"write `{name}: {kind.__name__} = ...`")
        if given is not None:
            try:
                given = _parameter_value(read.name, name, kind, given)
            except UsageError as error:
                raise read.refusal(line, error.what, f"give it a default that is {error.expected}") from None
        parameters[name] = Parameter(kind, given)
    else:
        raise read.refusal(
            line,
            f"{name} is declared as {getattr(kind, '__name__', kind)!r}",
            f"a field is one of {', '.join('af.' + t for t in TYPES)}; a parameter is int, float, bool, af.vertex or "
            "af.vertices, or an array with a value: `name: af.f64[4] = (1, 0, 0, 0)`",
        )


def _named_length(annotation: ast.expr) -> str:
    """The name in ``af.f32[k]`` or ``af.total(af.f64[k])`` that stands for a length; "" without one."""
    if isinstance(annotation, ast.Call) and annotation.args:
        annotation = annotation.args[0]
    return (
        annotation.slice.id if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Name) else ""
    )


def _declare_total(read: Program, line: int, name: str, declared: Total, cls: type) -> Total:
    """A total, if it can be one."""
    if hasattr(cls, name):
        raise read.refusal(line, f"the total {name} has a value", "a total gets its first value in start")
    if name in ABOUT_GRAPH:
        raise read.refusal(line, f"g.{name} is known of every graph", f"choose another name, such as {name}_total")
    if name in FUNCTIONS:
        raise read.refusal(line, f"{name} is a function of programs", "choose another name for the total")
    if not isinstance(declared.type, FieldType):
        raise read.refusal(
            line, f"a total of {shown(declared.type)}, which is no type of numbers", f"write `{name}: af.total(af.f64)`"
        )
    kind, operation = declared.type, declared.operation
    if kind.name not in TOTALLED:
        wide = {"f": "f64", "u": "u64"}.get(kind.dtype.kind, "i64")
        raise read.refusal(
            line, f"a total of {kind.name}: over many vertices it would not fit",
            f"write `{name}: af.total(af.{wide})`; what is added may have any type",
        )  # fmt: skip
    if operation not in TOTALLED[kind.name]:
        known = " or ".join(f'"{one}"' for one in TOTALLED[kind.name])
        counts = "; to count vertices, af.total(af.i64) and += 1" if kind.name == "flag" else ""
        remedy = f"a total of {kind.name} is reduced by {known}{counts}"
        raise read.refusal(line, f"a total of {kind.name} by {shown(operation)}", remedy)
    return declared


def _checked_norm(read: Program, line: int, norm: Any) -> str:
    """How residuals become one number."""
    if norm not in NORMS:
        raise read.refusal(line, f"norm is {shown(norm)}", 'write norm = "max" or norm = "sum"')
    return str(norm)


def _parameter_value(program: str, name: str, kind: type, value: Any) -> Any:
    said = f"{program}'s parameter {name}"
    if kind is vertex:
        return array(said, value)
    if kind is vertices:
        return _ids(said, value)
    if isinstance(kind, FieldType):
        return _elements(said, kind, value)
    if kind is bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise UsageError(f"{said} is {shown(value)}", expected="a bool")
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return {int: whole, float: real}[kind](said, number)


def _ids(said: str, value: Any) -> tuple[Any, ...]:
    """The ids of a set of vertices."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise UsageError(f"{said} is {shown(value)}", expected="ids of vertices, such as [3, 17]")
    return tuple(value.tolist() if isinstance(value, np.ndarray) else value)


def _elements(said: str, kind: FieldType, value: Any) -> tuple[Any, ...]:
    """The elements of an array, which have to fit its type."""
    wanted = f"{kind.length} numbers of {kind.name}"
    rows = 1
    if kind.columns is not None:
        rows = int(kind.length or 0) // kind.columns
        wanted = f"{rows} rows of {kind.columns} numbers of {kind.name}"
    try:
        found = np.asarray(value if isinstance(value, np.ndarray) else list(value))
    except (TypeError, ValueError):
        raise UsageError(f"{said} is {shown(value)}", expected=wanted) from None
    kinds = {"b": "b", "f": "biuf"}.get(kind.dtype.kind, "biu")
    right = found.shape == ((kind.length,) if kind.columns is None else (rows, kind.columns))
    right = right or (isinstance(kind.length, str) and found.ndim == 1 and found.size > 0)
    if found.dtype.kind not in kinds or not right:
        raise UsageError(f"{said} is {shown(value)}", expected=wanted)
    fitted = found.astype(kind.dtype)
    if kind.dtype.kind in "iu" and not np.array_equal(fitted, found):
        raise UsageError(f"{said} is {shown(value)}", expected=wanted)
    return tuple(fitted.ravel().tolist())


def any(value: Any) -> Any:
    """In compute: ``v.parent = af.any(u.number)`` keeps one of the messages, whichever comes first."""
    return value


def first(value: Any) -> Any:
    """In compute: ``v.label = af.first(u.label)`` keeps the message of the sender with the smallest number.

    Several fields are kept together: ``v.a, v.b = af.first((u.a, u.b))``. Without a message, all stay what they were.
    """
    return value


def last(value: Any) -> Any:
    """In compute: ``v.label = af.last(u.label)`` keeps the message of the sender with the largest number."""
    return value


def random(of: Any, step: int, k: int = 0, seed: int = 0) -> float:
    """A random float in [0, 1) for a vertex (``v``, ``u``, ``old``), an edge, or any whole number.

    It depends on what it is for, and nothing else: the number of the vertex (or of both ends of the edge), `step`, `k`
    (several for one vertex in one superstep) and `seed`. So it is the same on any number of threads, parts and devices,
    in any direction, and with ``debug=True``. An undirected edge has one, whichever way it is crossed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.random(3, step=0), af.random(3, step=0, k=1)
    (0.16211838321222405, 0.4900055522210829)
    """
    ends = getattr(of, "_ends", None) or (of.number if hasattr(of, "number") else of,)
    return drawn(seed, ends, step, k)


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of two vector fields' elements."""
    return sum(x * y for x, y in zip(a, b, strict=True))
