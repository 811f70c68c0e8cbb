"""The result of checking a function: its body over plain names, and what it reads, writes and reduces."""

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
    """All names in some nodes."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def is_value(node: ast.AST) -> TypeGuard[ast.expr]:
    """Whether a node is an expression that a field or a message can hold; a tuple or a range is not."""
    ranges = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    return isinstance(node, ast.expr) and not isinstance(node, ast.Tuple) and not ranges


@dataclass(frozen=True)
class Reduction:
    """How compute reduces into a field: the operation, its line, and the fields that are reduced with it."""

    operation: str
    line: int
    group: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated:
    """A built-in of `around` over a generator, ``sum(expression for u in edges if condition)``, by its number.

    what: sum, min, max, any, all, mode, median or topk; each: the type of the values, kind: that of the result; weight
    and condition are optional, and so is default, the result of no values.
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

    `totals`: those that it contributes to, each by the name ``t_lost``, which is the vertex's contribution; `sends`:
    the mails that it sends; `around`: the values of the names that it uses from the module; `helpers`: the functions of
    the module that it calls, directly or indirectly, by their names in the generated module; `generated`: the
    generators of a neighbourhood, inner ones before those that contain them; `loops`: how many loops over edges or
    records there are, including generators.
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
        """Whether a generator over edges is within another, so that a long row takes long."""
        nodes = [node for each in self.generated for part in each.parts for node in ast.walk(part)]
        return any(isinstance(node, ast.Name) and node.id.startswith("each") for node in nodes)

    @property
    def always_writes(self) -> set[str]:
        """The fields that it writes on every path, and whose old values it never reads."""
        written: set[str] = set()
        for node in self.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                written.add(node.targets[0].id)
            elif any(isinstance(part, ast.Return) for part in ast.walk(node)):
                break
        return {name[2:] for name in written if name.startswith("v_") and name not in self.reads}


def with_degrees_swapped(found: Checked) -> Checked:
    """The same function for a graph with reversed edges: in-degrees and out-degrees are swapped."""
    body = [_Swap().visit(node) for node in copy.deepcopy(found.body)]
    types = {_swapped(name): kind for name, kind in found.types.items()}
    generated = [each.changed(lambda part: _Swap().visit(copy.deepcopy(part))) for each in found.generated]
    return replace(found, body=body, reads={_swapped(name) for name in found.reads}, types=types, generated=generated)


# The owners of degrees: v, o (v before), u, and the neighbours of the loops of `around`, u0, u1, ...
_VERTEX = re.compile(r"v|o|u\d*")


def _swapped(name: str) -> str:
    other_degree = {"in_degree": "out_degree", "out_degree": "in_degree"}
    owner, _, rest = name.partition("_")
    return f"{owner}_{other_degree[rest]}" if rest in other_degree and _VERTEX.fullmatch(owner) else name


class _Swap(ast.NodeTransformer):
    """Swaps the names of degrees."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(_swapped(node.id), node.ctx), node)
