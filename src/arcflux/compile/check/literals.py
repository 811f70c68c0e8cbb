"""Arithmetic on literals of a program: computed once, as Python does it."""

from __future__ import annotations

import ast
import operator
from typing import Any

__all__ = ["literal"]

_OPERATIONS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
# Powers and shifts by more than this do not fit in 64 bits, and would take Python long.
_LARGE = 1 << 12


def literal(node: ast.expr) -> int | float | bool | None:
    """The value of an operation on numbers alone; None for any other. Operations without a value raise as in Python.

    Examples
    --------
    >>> literal(ast.parse("2 ** -1", mode="eval").body), literal(ast.parse("v_x + 1", mode="eval").body)
    (0.5, None)
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float)) else None
    if isinstance(node, ast.UnaryOp):
        operands = [literal(node.operand)]
    elif isinstance(node, ast.BinOp):
        operands = [literal(node.left), literal(node.right)]
    else:
        return None
    apply = _OPERATIONS.get(type(node.op))
    if apply is None or None in operands:
        return None
    if isinstance(node.op, (ast.Pow, ast.LShift)) and type(operands[1]) is int and operands[1] > _LARGE:
        raise OverflowError("the result is too large")
    value = apply(*operands)
    if isinstance(value, complex):
        raise ValueError("no real number")
    return value  # type: ignore[no-any-return]
