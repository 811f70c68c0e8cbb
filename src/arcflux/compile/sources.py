"""The source part: expressions of compute over u alone become messages, computed once per vertex, not per edge."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.compile.check.checked import Checked, is_value
from arcflux.compile.check.types import Value, typed

__all__ = ["Message", "Sources"]


@dataclass(frozen=True)
class Message:
    """A value that u sends along its edges: an expression over ``u_*`` names, its type, and its length as a vector."""

    name: str
    source: ast.expr
    dtype: np.dtype[Any]
    length: int | None = None

    @property
    def field(self) -> str | None:
        """The field of u that it is, if it is only a field."""
        name = self.source.id if isinstance(self.source, ast.Name) else ""
        return name[2:] if name.startswith("u_") and name[2:] not in ("out_degree", "in_degree") else None


class Sources(ast.NodeTransformer):
    """Replaces the largest expressions that depend on u alone by messages."""

    def __init__(self, compute: Checked, totals: set[str]) -> None:
        self.types = compute.types
        self.passing = {"step", "control", *totals}
        self.messages: list[Message] = []

    def lowered(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements over messages."""
        return [ast.fix_missing_locations(self.visit(node)) for node in _inline_locals(copy.deepcopy(body))]

    def visit(self, node: ast.AST) -> Any:
        """Replace an expression by its message, or visit its parts."""
        if is_value(node) and self._is_source(_names(node)):
            return ast.Name(self.message(node, typed(node, self.types)).name, ast.Load())
        return self.generic_visit(node)

    def _is_source(self, names: set[str]) -> bool:
        """Whether an expression over these names is worth a message. u's own number is available at every edge.

        A message may be computed when the superstep before ends, so it knows neither `step` nor totals.
        """
        known = any(name.startswith("u_") and name != "u_number" for name in names)
        return known and _depends(names) == {"u"} and not names & self.passing

    def message(self, source: ast.expr, kind: Value) -> Message:
        """The message for this expression over ``u_*``, of this type; the same one for the same expression."""
        text = ast.dump(source)
        for known in self.messages:
            if ast.dump(known.source) == text:
                return known
        new = Message(f"m{len(self.messages)}", source, kind.stored, kind.length)
        self.messages.append(new)
        return new


def _inline_locals(body: list[ast.stmt]) -> list[ast.stmt]:
    """Inline locals that are assigned once, at the top, from u alone.

    Except a number used as an exponent: a negative literal there would make a float of an integer's power.
    """
    powers = [n for node in body for n in ast.walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow)]
    exponents = {n.right.id for n in powers if isinstance(n.right, ast.Name)}
    assigned = [
        n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    known: dict[str, ast.expr] = {}
    statements: list[ast.stmt] = []
    for node in body:
        node = _Substitute(known).visit(node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            names = _names(node.value)
            alone = name.startswith("l_") and assigned.count(name) == 1
            changes_type = name in exponents and isinstance(node.value, ast.Constant)
            if alone and _depends(names) <= {"u"} and "control" not in names and not changes_type:
                known[name] = node.value
                continue
        statements.append(node)
    return statements


class _Substitute(ast.NodeTransformer):
    """Replaces names by known expressions."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return copy.deepcopy(self.known[node.id])
        return node


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _depends(names: set[str]) -> set[str]:
    """What an expression over these names depends on: u, the edge, the vertex, locals; constants depend on nothing."""
    who = {"u": "u", "e": "edge", "r": "edge", "v": "v", "o": "v", "l": "local"}
    return {who[name[0]] for name in names if name[1:2] == "_" and name[0] in who}
