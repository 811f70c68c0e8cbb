"""Fields of edges: how a program declares them, and what it has to have around the function that writes them.

``message: af.edge(af.f64[2], 1.0)`` is a field of every edge, at first 1.0; `along` writes it, edge by edge, and
compute reads it. What `along` may say stands in compile/check/edge_names.py, what a superstep does with it in
compile/pieces/crossing.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from arcflux.checks import is_integer, shown
from arcflux.errors import ProgramError
from arcflux.field_type import FieldType

__all__ = ["REVERSE", "EdgeField", "check_along", "declare_edge_field", "edge", "reversed_fields"]

# What every edge has besides its columns and fields.
REVERSE = "reverse"


@dataclass(frozen=True)
class EdgeField:
    """A field that every edge has, and the value of all its elements before the first superstep."""

    type: FieldType
    first: Any = 0

    def __repr__(self) -> str:
        return f"edge({self.type})" if self.first == 0 else f"edge({self.type}, {self.first!r})"


class Written(Protocol):
    """A function of a program, as far as it matters here."""

    @property
    def line(self) -> int:
        """Where it stands."""

    @property
    def body(self) -> list[ast.stmt]:
        """What it says."""


class Refusing(Protocol):
    """A program that is being read, as far as it matters here."""

    @property
    def edge_fields(self) -> Mapping[str, EdgeField]:
        """The fields of edges that it declares."""

    def refusal(self, line: int, what: str, remedy: str) -> ProgramError:
        """The error for something on a line of it."""


def edge(kind: FieldType, first: Any = 0) -> EdgeField:
    """As a declared type: a field of every edge, such as ``message: af.edge(af.f64[2], 1.0)``.

    `first` is what all its elements are before the first superstep, unless a run is ``given`` others. A field may be a
    number, a flag, a vector, or a matrix: ``af.edge(af.f64[2, 3])``. The function `along` writes it, for every edge.

    Examples
    --------
    >>> import arcflux as af
    >>> af.edge(af.f64), af.edge(af.f32[2, 3], 0.5)
    (edge(f64), edge(f32[2, 3], 0.5))
    """
    return EdgeField(kind, first)


def declare_edge_field(read: Refusing, line: int, name: str, declared: EdgeField, cls: type) -> EdgeField:
    """A field of edges, if it can be one."""
    kind = declared.type
    if not isinstance(kind, FieldType):
        raise read.refusal(
            line, f"a field of edges of {shown(kind)}, which is no type of numbers", f"write `{name}: af.edge(af.f64)`"
        )
    if hasattr(cls, name):
        raise read.refusal(
            line, f"the edge field {name} has a value in the class",
            f"write its first value into the declaration: `{name}: af.edge(af.{kind}, 1.0)`",
        )  # fmt: skip
    if name == REVERSE:
        raise read.refusal(line, "edge.reverse is the edge the other way", "choose another name for the field")
    if kind.name == "ref":
        raise read.refusal(
            line, f"the edge field {name} would refer to vertices, which results could not show by their ids",
            f"write `{name}: af.edge(af.i64)`, which keeps their numbers",
        )  # fmt: skip
    if not _fits(kind, declared.first):
        raise read.refusal(
            line, f"the first value of the edge field {name} is {shown(declared.first)}, which is no {kind.name}",
            f"write one number of that type for all elements, or give values for each edge: given={{{name!r}: ...}}",
        )  # fmt: skip
    return declared


def _fits(kind: FieldType, first: Any) -> bool:
    """Whether a number is one that a field can have."""
    if isinstance(first, (bool, np.bool_)):
        return kind.dtype.kind == "b"
    if is_integer(first):
        if kind.dtype.kind == "b":
            return int(first) == 0
        return kind.dtype.kind == "f" or np.iinfo(kind.dtype).min <= int(first) <= np.iinfo(kind.dtype).max
    return isinstance(first, (float, np.floating)) and kind.dtype.kind == "f"


def check_along(read: Refusing, functions: Mapping[str, Written], promises: Iterable[str], edges: str | None) -> None:
    """Whether a program, or a phase, has what its `along` needs, and nothing that it cannot be with."""
    along = functions.get("along")
    if read.edge_fields and "around" in functions:
        raise read.refusal(
            functions["around"].line, "around sees columns of edges, and no fields of them",
            "write compute instead of around; along is called for each edge before it",
        )  # fmt: skip
    if along is None:
        return
    if not read.edge_fields:
        raise read.refusal(
            along.line, "along writes fields of edges, and the program declares none",
            "declare one, such as `message: af.edge(af.f64)`",
        )  # fmt: skip
    if edges is None or edges == "both":
        where = "no edges" if edges is None else "both directions of edges, where an edge would be crossed twice"
        raise read.refusal(
            along.line, f"along stands in a phase on {where}", 'write it into a phase on edges="along" or "against"'
        )
    if "priority" in functions:
        raise read.refusal(
            functions["priority"].line, "with priority there are no supersteps, and along is called once in each",
            "leave priority out",
        )  # fmt: skip
    if "monotone" in promises:
        raise read.refusal(
            along.line, "monotone lets u be newer than the superstep, and along has to see u as it was",
            "leave monotone out",
        )  # fmt: skip


def reversed_fields(functions: Iterable[Written]) -> frozenset[str]:
    """The names that functions read of an edge's reverse, as in ``edge.reverse.message``."""
    return frozenset(
        node.attr
        for function in functions
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == REVERSE
    )
