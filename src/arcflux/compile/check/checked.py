"""What checking finds out about a function: its body over plain names, and what it reads, writes and reduces."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from arcflux.compile.check.types import Value

__all__ = ["Checked", "Generated", "Reduction", "is_value", "names_in", "with_degrees_swapped"]


def names_in(*nodes: ast.AST) -> set[str]:
    """All names that stand in some nodes."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def is_value(node: ast.AST) -> TypeGuard[ast.expr]:
    """Whether a node is an expression that a field or a message can hold; a tuple or a range is none."""
    ranges = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    return isinstance(node, ast.expr) and not isinstance(node, ast.Tuple) and not ranges


@dataclass(frozen=True)
class Reduction:
    """How compute writes a field: its operation, the line that says so, and the fields that are reduced with it."""

    operation: str
    line: int
    group: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated:
    """A built-in of `around` over a generator, ``sum(expression for u in edges if condition)``, by its number.

    what: sum, min, max, any, all, mode, median or topk; each: the type of the values, kind: that of the result; weight
    and condition may be missing, and so may default, the result of no values.
    """

    number: int
    what: str
    each: Value
    kind: Value
    value: ast.expr
    weight: ast.expr | None = None
    condition: ast.expr | None = None
    default: ast.expr | None = None

    @property
    def parts(self) -> list[ast.expr]:
        """Its expressions."""
        return [part for part in (self.value, self.weight, self.condition, self.default) if part is not None]

    def changed(self, change: Callable[[ast.expr], ast.expr]) -> Generated:
        """The same with its expressions changed."""
        some: dict[str, Any] = {name: getattr(self, name) for name in ("value", "weight", "condition", "default")}
        changes: dict[str, Any] = {name: change(part) for name, part in some.items() if part is not None}
        return replace(self, **changes)


@dataclass
class Checked:
    """A function over plain names, with the types of its locals and of what it reads.

    `totals` are those that it contributes to, each by the name ``t_lost``, which is the vertex's contribution; `sends`
    are the mails that it sends; `around` is what names of the module around the program meant; `helpers` are the
    functions of the module that it calls, and those that they call, by their names in the generated module.
    `generated` are the generators of a neighbourhood, inner ones before those that they stand in, and `loops` says how
    many lists of edges, or of records, were gone through, generators included.
    """

    name: str
    body: list[ast.stmt]
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    edge_writes: set[str] = field(default_factory=set)
    locals: dict[str, Value] = field(default_factory=dict)
    types: dict[str, Value] = field(default_factory=dict)
    reductions: dict[str, Reduction] = field(default_factory=dict)
    totals: set[str] = field(default_factory=set)
    sends: set[str] = field(default_factory=set)
    around: dict[str, Any] = field(default_factory=dict)
    helpers: dict[str, Any] = field(default_factory=dict)
    generated: list[Generated] = field(default_factory=list)
    loops: int = 0

    @property
    def nests(self) -> bool:
        """Whether a generator over edges stands within another, so that a long row takes long."""
        nodes = [node for each in self.generated for part in each.parts for node in ast.walk(part)]
        return any(isinstance(node, ast.Name) and node.id.startswith("each") for node in nodes)

    @property
    def always_writes(self) -> set[str]:
        """The fields that it writes on every path, and whose values before it never asks for."""
        found: set[str] = set()
        for node in self.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.add(node.targets[0].id)
            elif any(isinstance(part, ast.Return) for part in ast.walk(node)):
                break
        return {name[2:] for name in found if name.startswith("v_") and name not in self.reads}


def with_degrees_swapped(found: Checked) -> Checked:
    """The same function for a graph whose edges are turned round: what came in goes out there."""
    body = [_Swap().visit(node) for node in copy.deepcopy(found.body)]
    types = {_swapped(name): kind for name, kind in found.types.items()}
    generated = [each.changed(lambda part: _Swap().visit(copy.deepcopy(part))) for each in found.generated]
    return replace(found, body=body, reads={_swapped(name) for name in found.reads}, types=types, generated=generated)


# Whose degrees they are: v, o (v before), u, and the neighbours of the loops of `around`, u0, u1, ...
_VERTEX = re.compile(r"v|o|u\d*")


def _swapped(name: str) -> str:
    turned = {"in_degree": "out_degree", "out_degree": "in_degree"}
    owner, _, rest = name.partition("_")
    return f"{owner}_{turned[rest]}" if rest in turned and _VERTEX.fullmatch(owner) else name


class _Swap(ast.NodeTransformer):
    """Gives names of degrees the other meaning."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(_swapped(node.id), node.ctx), node)
