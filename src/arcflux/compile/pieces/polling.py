"""Loops of a user's program that may be long poll, now and then, whether the run should end.

Nothing would stop ``for k in range(10**18)`` or ``while True`` in a kernel: a thread in compiled code cannot be
interrupted. So every iteration of a loop that may be long counts down, over all such loops of a function, and at zero
the control array is checked (spmd/polling.py). An interrupted loop makes the whole superstep worthless; the run ends
with the one before. Loops with few iterations, known when the program is compiled, are left as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from arcflux.parsing import parse

__all__ = ["is_polled", "polls", "with_polling"]

# A loop of at most this many iterations, including those of the loops inside it, ends soon enough by itself.
_SHORT = 4096


def is_polled(body: list[ast.stmt], lengths: Mapping[str, int]) -> bool:
    """Whether statements have a loop that may be long; `lengths` are names with known numbers."""
    return any(_is_long(node, lengths) for node in body)


def polls(body: list[ast.stmt], lengths: Mapping[str, int]) -> bool:
    """Whether statements have such a loop, or call a helper that has one."""
    looked_at = (n for node in body for n in ast.walk(node) if isinstance(n, ast.Name))
    return is_polled(body, lengths) or any(name.id == "control" for name in looked_at)


def with_polling(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function with such loops, in which these poll whether the run should end.

    Examples
    --------
    >>> print(ast.unparse(with_polling(ast.parse("for l_k in range(p_n): l_x += 1").body)))
    turns = patience(control)
    for l_k in range(p_n):
        turns -= 1
        if turns < 0:
            if halted(control):
                break
            turns = patience(control)
        l_x += 1
    """
    statements = [*parse("turns = patience(control)").body, *(_Polling().visit(node) for node in body)]
    return [ast.fix_missing_locations(node) for node in statements]


_LOOK = """
turns -= 1
if turns < 0:
    if halted(control):
        break
    turns = patience(control)
"""


class _Polling(ast.NodeTransformer):
    """Adds a poll to every loop that may be long."""

    def visit_For(self, node: ast.For) -> ast.For:
        long = _is_long(node, {})
        self.generic_visit(node)
        if long:
            node.body = [*parse(_LOOK).body, *node.body]
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body = [*parse(_LOOK).body, *node.body]
        return node


def _is_long(node: ast.stmt, lengths: Mapping[str, int]) -> bool:
    return _rounds([node], lengths) > _SHORT


def _rounds(body: list[ast.stmt], lengths: Mapping[str, int]) -> float:
    """The most iterations of the loops of statements, one after another; infinity if unknown."""
    total = 0.0
    for node in body:
        if isinstance(node, ast.While):
            return float("inf")
        if isinstance(node, ast.For):
            if _is_row(node.iter) and any(_goes_through_edges(n) for part in node.body for n in ast.walk(part)):
                return float("inf")
            count = _count(node.iter, lengths)
            total += count * max(1.0, _rounds(node.body, lengths)) if count else 0.0
        elif isinstance(node, ast.If):
            total += max(_rounds(node.body, lengths), _rounds(node.orelse, lengths))
    return total


def _count(node: ast.expr, lengths: Mapping[str, int]) -> float:
    """How many numbers a range has."""
    assert isinstance(node, ast.Call)
    if _is_row(node):  # every vertex visits its edges once anyway
        return 1.0
    bounds = [_number(bound, lengths) for bound in node.args]
    whole = [bound for bound in bounds if bound is not None]
    if len(whole) < len(bounds) or (len(whole) == 3 and whole[2] == 0):
        return float("inf")
    numbers = range(*whole)
    return float(max(0, -((numbers.start - numbers.stop) // numbers.step)))


def _is_row(node: ast.expr) -> bool:
    """Whether a loop is over the edges of a vertex, or its mail."""
    return re.fullmatch(r"range\(row, row_end\)|range\(first_(\w+), end_\1\)", ast.unparse(node)) is not None


def _goes_through_edges(node: ast.AST) -> bool:
    """Whether a node, or what it calls, is a loop over edges."""
    if isinstance(node, ast.Name):
        return re.match(r"each\d+$", node.id) is not None
    return isinstance(node, ast.For) and _is_row(node.iter)


def _number(node: ast.expr, lengths: Mapping[str, int]) -> int | None:
    """The number that an expression is when the program is compiled."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, lengths)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return lengths.get(node.id) if isinstance(node, ast.Name) else None
