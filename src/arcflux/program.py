"""What a user writes: a class with typed vertex fields, parameters, and a few functions; :func:`program` reads it.

Nothing of the class runs as it is, unless with debug=True. Its source is parsed, checked (compile/check.py) and lowered
(compile/lower.py); what cannot become a kernel is refused before anything runs, with the line and what to write
instead.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np

from arcflux.checks import array, real, shown, whole
from arcflux.class_source import ClassSource, find_source, names_around
from arcflux.errors import ProgramError, UsageError, did_you_mean

__all__ = ["FieldType", "Function", "Parameter", "Program", "any", "dot", "program", "vertex"]

# The functions of a program, and the arguments each may ask for by name.
FUNCTIONS = {
    "start": ("v", "g", "p"),
    "init": ("v", "old", "g", "p", "step"),
    "compute": ("v", "u", "edge", "old", "g", "p", "step"),
    "update": ("v", "old", "g", "p", "step"),
    "wants": ("v", "g", "p", "step"),
    "priority": ("v", "g", "p"),
    "residual": ("v", "old", "g", "p", "step"),
    "aggregate": ("v", "g"),
}
# The parameter that is the sum of `aggregate` over all vertices at the end of the superstep before. In the first one it
# is what the run was given for it. (An aggregator of Pregel: Malewicz et al. 2010, section 3.3.)
AGGREGATED = "aggregated"
REQUIRED = ("start", "compute", "update")
PROMISES = ("sparse", "monotone")


@dataclass(frozen=True)
class FieldType:
    """The type of a vertex field: a scalar, or with a length a vector.

    Examples
    --------
    >>> import arcflux as af
    >>> af.f32[8]
    f32[8]
    """

    name: str
    dtype: np.dtype[Any]
    length: int | str | None = None

    def __getitem__(self, length: int | str) -> FieldType:
        if not (isinstance(length, str) and length.isidentifier()) and not (isinstance(length, int) and length > 0):
            raise UsageError(
                f"a vector of length {length!r}", expected="a positive whole number, or the name of a parameter"
            )
        return replace(self, length=length)

    def __repr__(self) -> str:
        return self.name if self.length is None else f"{self.name}[{self.length}]"


TYPES = {
    name: FieldType(name, np.dtype(kind))
    for name, kind in {
        "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "flag": np.bool_, "ref": np.int64,
    }.items()
}  # fmt: skip


f32, f64, flag = TYPES["f32"], TYPES["f64"], TYPES["flag"]
ref = TYPES["ref"]  # the number of another vertex, or -1: results show its id
REF32 = FieldType("ref", np.dtype(np.int32))  # where numbers are small enough
i8, i16, i32, i64 = (TYPES[name] for name in ("i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (TYPES[name] for name in ("u8", "u16", "u32", "u64"))


class vertex:
    """As a parameter's type: the id of a vertex, as the user knows it. In a program it stands for a ``v.number``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its kind (int, float, bool or vertex) and its value unless the run says otherwise."""

    kind: type
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

    def __call__(self, **values: Any) -> Program:
        """The same program with other parameters."""
        changed = dict(self.parameters)
        for name, value in values.items():
            if name not in changed:
                known = ", ".join(changed) or "none"
                raise UsageError(f"{self.name} has no parameter {name!r}", expected=f"one of its parameters: {known}",
                                 remedy=did_you_mean(name, changed))  # fmt: skip
            changed[name] = Parameter(changed[name].kind, _parameter_value(self.name, name, changed[name].kind, value))
        return replace(self, parameters=MappingProxyType(changed))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        raise ProgramError(
            f"a program is no class to inherit from, and {self.name} is one",
            program=self.name,
            remedy=f"write all of it in a class of its own; {self.name}(name=value) has other values of parameters",
        )

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={one.value!r}" for name, one in self.parameters.items())
        fields = ", ".join(f"{name}: {kind}" for name, kind in self.fields.items())
        promises = "".join(f", {promise}" for promise in sorted(self.promises))
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

    @property
    def references(self) -> frozenset[str]:
        """The fields that hold the numbers of vertices."""
        return frozenset(name for name, kind in self.fields.items() if kind.name == "ref")

    def refusal(self, line: int, what: str, remedy: str) -> ProgramError:
        """The error for something on a line of this program."""
        path, lines = (line.path, line.text) if isinstance(line, Line) else (self.path, self.text)
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
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
    source = find_source(cls, sys._getframe(1))
    first = source.first
    read = Program(cls.__name__, inspect.getdoc(cls) or "", {}, {}, {}, frozenset(), {}, source.path, text=source.lines)
    _refuse_bases(read, first, cls)
    fields: dict[str, FieldType] = {}
    parameters: dict[str, Parameter] = {}
    functions: dict[str, Function] = {}
    promises: set[str] = set()
    lines: dict[str, int] = {}
    lengths: dict[str, str] = {}
    annotations = _annotations(read, source, cls)
    for node in source.tree.body:
        line = node.lineno
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = _function(read, node, cls)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in annotations:
            name = node.target.id
            lines[name] = line
            _declare(read, line, name, annotations[name], cls, fields, parameters)
            if isinstance(node.annotation, ast.Subscript) and isinstance(node.annotation.slice, ast.Name):
                lengths[name] = node.annotation.slice.id
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in PROMISES for t in node.targets):
            promises |= {t.id for t in node.targets if isinstance(t, ast.Name) and getattr(cls, t.id)}
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
    _check_parts(read, first, fields, parameters, functions)
    return replace(
        read,
        fields=MappingProxyType(fields),
        parameters=MappingProxyType(parameters),
        functions=MappingProxyType(functions),
        promises=frozenset(promises),
        names=source.names,
        lines=MappingProxyType(lines),
    )


def _check_parts(
    read: Program, first: int, fields: dict[str, FieldType], parameters: dict[str, Parameter],
    functions: dict[str, Function],
) -> None:  # fmt: skip
    """Whether a program has all that it needs."""
    for name in REQUIRED:
        if name not in functions:
            raise read.refusal(
                first, f"the function {name} is missing", f"add `def {name}({', '.join(FUNCTIONS[name][:2])}): ...`"
            )
    if not fields:
        raise read.refusal(first, "the program has no vertex field", "declare one, such as `rank: af.f64`")
    for name, kind in fields.items():
        if isinstance(kind.length, str) and (kind.length not in parameters or parameters[kind.length].kind is not int):
            raise read.refusal(
                first,
                f"the length of {name} is {kind.length!r}, which is no int parameter",
                f"add `{kind.length}: int = 8`, or write the length as a number",
            )


def _refuse_bases(read: Program, first: int, cls: type) -> None:
    """A program is a plain class: what it inherited would not be in its source."""
    if cls.__bases__ != (object,) or type(cls) is not type:
        base = next((base.__name__ for base in cls.__bases__ if base is not object), type(cls).__name__)
        raise read.refusal(
            first, f"a program inherits nothing, and {cls.__name__} is made from {base}",
            f"write `class {cls.__name__}:` with all fields and functions in it",
        )  # fmt: skip


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


def _function(read: Program, node: ast.FunctionDef, cls: type) -> Function:
    line = Line(node.lineno, read.path, read.text)
    if node.name not in FUNCTIONS:
        raise read.refusal(line, f"a program has no function {node.name!r}", "use one of: " + ", ".join(FUNCTIONS))
    if node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
        raise read.refusal(line, f"{node.name} takes plain arguments only", "no decorators, defaults or stars")
    arguments = tuple(argument.arg for argument in node.args.args)
    for argument in arguments:
        if argument not in FUNCTIONS[node.name]:
            raise read.refusal(
                line,
                f"{node.name} cannot have an argument {argument!r}",
                f"arguments are bound by name; {node.name} may ask for: {', '.join(FUNCTIONS[node.name])}",
            )
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return Function(node.name, arguments, body, line, vars(cls)[node.name])


def _declare(
    read: Program, line: int, name: str, kind: Any, cls: type, fields: dict[str, FieldType],
    parameters: dict[str, Parameter],
) -> None:  # fmt: skip
    """Add a field or a parameter."""
    if isinstance(kind, FieldType):
        if hasattr(cls, name):
            raise read.refusal(line, f"the field {name} has a value", "fields get their first value in start")
        if name in ("number", "in_degree", "out_degree"):
            raise read.refusal(line, f"{name} is there for every vertex", "choose another name for the field")
        fields[name] = kind
    elif kind in (int, float, bool, vertex):
        given = getattr(cls, name, None)
        if given is None and kind is not vertex:
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
            f"a field is one of {', '.join('af.' + t for t in TYPES)}; a parameter is int, float, bool or af.vertex",
        )


def _parameter_value(program: str, name: str, kind: type, value: Any) -> Any:
    said = f"{program}'s parameter {name}"
    if kind is vertex:
        return array(said, value)
    if kind is bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise UsageError(f"{said} is {shown(value)}", expected="a bool")
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return {int: whole, float: real}[kind](said, number)


def any(value: Any) -> Any:
    """In compute: ``v.parent = af.any(u.number)`` keeps one of the messages, whichever comes first."""
    return value


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of two vector fields' elements."""
    return sum(x * y for x, y in zip(a, b, strict=True))
