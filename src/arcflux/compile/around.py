"""Split a checked `around`: expressions of one neighbour alone become messages, as they do for compute.

So a neighbourhood costs one gather per value, and messages are all that crosses networks. ``u2_rank / u2_out_degree``
becomes ``m0_2``: the first message, of the current neighbour of the third loop. The names that a generator captures
from around are determined here, too, and become arguments of its calls.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arcflux.compile.check.checked import Checked, Generated, is_value, names_in
from arcflux.compile.check.types import Value, of_dtype, typed

__all__ = ["Around", "split"]

_NEAR = re.compile(r"u(\d+)_(\w+)$")
_OWN = r"(?:i{0}|u{0}|u{0}_\w+|e{0}_\w+|m\d+_{0})$"
# Names besides parameters that have the same value for every vertex and in every superstep.
_SAME_FOR_ALL = ("g_vertices", "g_edges", "g_arcs", "min", "max", "abs", "int", "float", "bool", "math", "dot",
                 "random_of")  # fmt: skip
_EACH = re.compile(r"each\d+$")


@dataclass(frozen=True)
class Around:
    """A neighbourhood over messages: the body of around, its generators, and the names that each of these captures.

    types: of the names of messages in loops, and of all other names in around; intersects: whether it needs the rows of
    neighbours.
    """

    body: list[ast.stmt]
    generated: list[Generated]
    captured: dict[int, list[str]]
    types: dict[str, Value]
    intersects: bool


def split(around: Checked, message: Callable[[ast.expr, Value], Any]) -> Around:
    """Split a neighbourhood; `message` returns the message for an expression over ``u_*``."""
    types = dict(around.types)
    sources = _Sources(types, message)
    body = [ast.fix_missing_locations(sources.visit(node)) for node in copy.deepcopy(around.body)]
    captured: dict[int, list[str]] = {}
    generated = []
    for each in around.generated:
        changed = each.changed(lambda part: _Taking(captured).visit(sources.visit(copy.deepcopy(part))))
        own = re.compile(_OWN.format(each.number))
        free = {name for name in names_in(*changed.parts) if not own.match(name) and _is_plain(name)}
        captured[each.number] = sorted(free)
        generated.append(changed)
    body = [ast.fix_missing_locations(_Taking(captured).visit(node)) for node in body]
    everything = names_in(*body, *(part for each in generated for part in each.parts))
    return Around(body, generated, captured, types, bool(everything & {"common", "shares"}))


def _is_plain(name: str) -> bool:
    """Whether a name has a value: it is neither a function nor an array."""
    return bool(re.match(r"(?:[voplg]_|[ue]\d+_|m\d+_\d+$|u\d+$|v$|step$)", name))


class _Taking(ast.NodeTransformer):
    """Passes the captured names to calls of generators."""

    def __init__(self, captured: dict[int, list[str]]) -> None:
        self.captured = captured

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and _EACH.match(node.func.id):
            captured = self.captured[int(node.func.id.removeprefix("each"))]
            node.args = [ast.Name(name, ast.Load()) for name in captured]
        return node


class _Sources(ast.NodeTransformer):
    """Replaces the largest expressions that depend on one neighbour alone by messages."""

    def __init__(self, types: dict[str, Value], message: Callable[[ast.expr, Value], Any]) -> None:
        self.types = types
        self.message = message

    def visit(self, node: ast.AST) -> Any:
        if is_value(node) and (number := self._neighbour(names_in(node))) is not None:
            source = _OfU().visit(copy.deepcopy(node))
            made = self.message(source, typed(source, self.types))
            name = f"{made.name}_{number}"
            self.types[name] = of_dtype(made.dtype, made.length)
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        return self.generic_visit(node)

    def _neighbour(self, names: set[str]) -> int | None:
        """The number of the loop whose neighbour an expression over these names depends on alone; else None."""
        near = [found for name in names if (found := _NEAR.match(name))]
        numbers = {int(found[1]) for found in near}
        rest = {name for name in names if not _NEAR.match(name)}
        alone = all(name.startswith(("p_", "call")) or name in _SAME_FOR_ALL for name in rest)
        known = any(found[2] != "number" for found in near)
        return numbers.pop() if len(numbers) == 1 and alone and known else None


class _OfU(ast.NodeTransformer):
    """``u2_rank`` becomes ``u_rank``."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        match = _NEAR.match(node.id)
        return ast.Name(f"u_{match[2]}", ast.Load()) if match else node
