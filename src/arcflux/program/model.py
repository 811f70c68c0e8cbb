"""A program as it was read: its fields, parameters and functions, and what it can be asked."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import Any

from arcflux.class_source import names_around
from arcflux.edge_fields import EdgeField
from arcflux.errors import ProgramError, UsageError, did_you_mean
from arcflux.field_type import REF32, FieldType
from arcflux.mail import Mail
from arcflux.program.contract import PROMISES
from arcflux.program.parameters import Parameter, parameter_value, vertices
from arcflux.program.totals import Total

__all__ = ["Function", "Line", "Program"]


class Line(int):
    """The number of a line, and the file that has it: a program that inherits stands in several."""

    path: str
    text: Sequence[str]

    def __new__(cls, number: int, path: str, text: Sequence[str]) -> Line:
        """A line of the file at `path`, whose lines are `text`."""
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
            changed[name] = Parameter(kind, parameter_value(self.name, name, kind, value))
        made = object.__new__(Program)  # sooner than dataclasses.replace; what was found out about it is found anew
        made.__dict__.update({name: self.__dict__[name] for name in _OWN}, parameters=MappingProxyType(changed))
        return made

    def __hash__(self) -> int:
        return hash((self.name, self.path, self.promises, *self.fields))

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self  # it never changes, and what it names in its module is not its own to copy

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


# Of what a program keeps, what was said, and not found out later.
_OWN = tuple(one.name for one in fields(Program))
