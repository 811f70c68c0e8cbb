"""What dialects ask of statements, and how they rewrite them: names, fields, returns; nothing here knows a dialect."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = [
    "field_reads", "field_writes", "first_written", "mentions", "names_in", "place", "renamed", "replaced",
    "silent", "stored_names", "without_early_returns",
]  # fmt: skip


def names_in(body: Sequence[ast.AST]) -> set[str]:
    """All plain names that statements mention."""
    return {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name)}


def mentions(body: Sequence[ast.AST], test: Callable[[ast.AST], bool]) -> ast.AST | None:
    """The first part of statements that passes a test, or None."""
    return next((n for node in body for n in ast.walk(node) if test(n)), None)


def field_reads(body: Sequence[ast.stmt], owner: str) -> set[str]:
    """The members of an argument that statements read."""
    return {name for name, context in _members(body, owner) if isinstance(context, ast.Load)}


def field_writes(body: Sequence[ast.stmt], owner: str = "v") -> list[str]:
    """The members of an argument that statements assign, in order."""
    return list(dict.fromkeys(name for name, context in _members(body, owner) if isinstance(context, ast.Store)))


def _members(body: Sequence[ast.stmt], owner: str) -> list[tuple[str, ast.expr_context]]:
    found = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Attribute)]
    return [(n.attr, n.ctx) for n in found if isinstance(n.value, ast.Name) and n.value.id == owner]


def first_written(body: Sequence[ast.stmt]) -> set[str]:
    """The fields that assignments on every path write before anything reads them."""
    found: set[str] = set()
    for k, node in enumerate(body):
        if any(isinstance(part, ast.Return) for part in ast.walk(node)):
            break
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            name = node.targets[0].attr
            if name not in field_reads(body[:k], "v") and name not in field_reads([ast.Expr(node.value)], "v"):
                found.add(name)
    return found


def stored_names(body: Sequence[ast.stmt]) -> set[str]:
    """The local names that statements assign."""
    names = [n for node in body for n in ast.walk(node) if isinstance(n, ast.Name)]
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def without_early_returns(body: list[ast.stmt]) -> list[ast.stmt]:
    """The same statements with what follows an ``if`` that returns in its ``else``: a return then ends nothing."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Return):
            return body[: k + 1]
        if isinstance(node, ast.If) and any(isinstance(part, ast.Return) for part in ast.walk(node)):
            rest = body[k + 1 :]
            yes = without_early_returns([*node.body, *copy.deepcopy(rest)])
            no = without_early_returns([*node.orelse, *rest])
            return [*body[:k], ast.copy_location(ast.If(node.test, yes or [ast.Pass()], no), node)]
    return body


def silent(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The same statements without calls whose results are not used, such as print: what they read decides nothing."""
    return [node for part in body if (node := _Silencing().visit(copy.deepcopy(part))) is not None]


class _Silencing(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        return None if isinstance(node.value, ast.Call) else node

    def _block(self, node: ast.If | ast.For | ast.While) -> ast.stmt | None:
        self.generic_visit(node)
        if not node.body and not node.orelse:
            return None
        node.body = node.body or [ast.Pass()]
        return node

    visit_If = visit_For = visit_While = _block


def renamed(body: list[ast.stmt], names: Mapping[str, str]) -> list[ast.stmt]:
    """The same statements with other names."""

    def rename(node: ast.AST) -> ast.AST | None:
        return ast.Name(names[node.id], node.ctx) if isinstance(node, ast.Name) and node.id in names else None

    return replaced(body, rename) if names else body


def replaced(body: Sequence[ast.AST], replacement: Callable[[ast.AST], ast.AST | None]) -> list[Any]:
    """Statements with some parts replaced: what `replacement` gives for a part, or the part itself for None.

    The outermost part that has a replacement takes it, with its own line.
    """
    return [_Replacing(replacement).visit(node) for node in body]


class _Replacing(ast.NodeTransformer):
    def __init__(self, replacement: Callable[[ast.AST], ast.AST | None]) -> None:
        self.replacement = replacement

    def visit(self, node: ast.AST) -> ast.AST:
        other = self.replacement(node)
        if other is None:
            return self.generic_visit(node)
        return ast.copy_location(other, node) if isinstance(node, (ast.expr, ast.stmt)) else other


def place(made: ast.AST, line: int) -> None:
    """Give what has no line the line of what stands around it."""
    for node in ast.walk(made):
        if isinstance(node, (ast.expr, ast.stmt, ast.arg)) and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
    ast.fix_missing_locations(made)
