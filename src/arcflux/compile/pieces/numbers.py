"""Scalar arithmetic as types.py defines it: rewrites what compiled code would do differently, or does not define.

Numba makes a float of u64 and a signed integer when they meet, computes narrow unsigned integers as unsigned and counts
loops in them, negates narrow ones in their width, which int() keeps, and leaves shifts by 64 or more, floats that no
integer can hold, and the smallest integer divided by -1 to the processor, which traps there. It tells LLVM that signed
sums and products never overflow, and LLVM relies on that; unsigned ones wrap around, and have the same bits.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from arcflux.compile.check.types import Value

__all__ = [
    "binary_operation", "called", "compared", "floating", "low_bits", "promoted", "saturated", "wide", "wrapping",
]  # fmt: skip

_BITS = 64
_CONVERTED = {
    "int": "truncated", "math.trunc": "truncated", "math.floor": "floored", "math.ceil": "raised", "round": "rounded",
}  # fmt: skip


def promoted(done: ast.expr, own: Value, kind: Value) -> ast.expr:
    """An operand of type `own`, converted for an operation of type `kind`."""
    if own.length is not None or kind.length is not None:
        return done
    if kind.dtype == np.float32 and (own.dtype is None or own.kind != "float"):  # takes the type of the narrow float
        return _as("float32", done)
    if own.kind == "flag" and kind.kind != "flag":
        return _as("uint64" if kind.dtype == np.uint64 else "int64", done)
    if kind.kind != "int" or own.kind != "int" or own.dtype == kind.dtype:
        return done
    if kind.dtype == np.uint64:
        return done if own.dtype == np.uint64 else _as("uint64", done)
    return _as("int64", done) if own.dtype is not None and own.dtype.kind == "u" else done


def wide(done: ast.expr, own: Value) -> ast.expr:
    """An operand of type `own` that is to be negated: with 64 bits, if it is an integer."""
    narrow = own.kind == "int" and own.dtype is not None and own.dtype.itemsize < 8
    return _as("int64", done) if narrow and own.length is None else done


def wrapping(op: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr:
    """``left op right`` of signed integers, modulo 2 ** 64."""
    return _as("int64", ast.BinOp(_unsigned(left), op, _unsigned(right)))


def _unsigned(node: ast.expr) -> ast.expr:
    """A signed integer as an unsigned one with the same bits."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _as("uint64", ast.Constant(node.value % (1 << _BITS)))
    within = node.args[0] if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.int64" else None
    if isinstance(within, ast.BinOp) and ast.unparse(within.left).startswith("np.uint64("):
        return within
    return _as("uint64", _as("int64", node))


def binary_operation(op: ast.operator, left: ast.expr, right: ast.expr, kind: Value) -> ast.expr:
    """``left op right`` of converted operands, of type `kind`."""
    literal = _literal(right)
    if isinstance(op, (ast.LShift, ast.RShift)) and not (literal is not None and 0 <= literal < _BITS):
        last = ast.Constant(_BITS - 1)
        last_bits = _as("uint64", last) if kind.dtype == np.uint64 else last
        return ast.BinOp(left, op, ast.BinOp(right, ast.BitAnd(), last_bits))
    if isinstance(op, ast.Pow) and kind.kind == "int":
        if literal is not None and 0 <= literal <= 2:
            return {0: ast.Constant(1), 1: left}.get(literal) or binary_operation(ast.Mult(), left, left, kind)
        call = ast.Call(ast.Name("power", ast.Load()), [_unsigned(left), right], [])
        return call if kind.dtype == np.uint64 else _as("int64", call)
    if isinstance(op, ast.Pow) and kind.length is None:
        # A negative number that later replaces a name on the left, -8.0 ** x, would be -(8.0 ** x).
        left = _as(kind.stored.name, left)
    if isinstance(op, ast.Pow) and (literal is None or literal < 0) and kind.dtype != np.float32:
        return ast.BinOp(left, op, _as("float64", right))  # Numba's own loop for whole exponents divides 1 by 0.0
    if isinstance(op, (ast.Add, ast.Sub, ast.Mult)) and kind.kind == "int" and kind.dtype != np.uint64:
        return wrapping(op, left, right)
    signed = kind.kind == "int" and kind.dtype != np.uint64 and kind.length is None
    if isinstance(op, (ast.FloorDiv, ast.Mod)) and signed and (literal is None or literal == -1):
        name = "quotient" if isinstance(op, ast.FloorDiv) else "modulo"
        return ast.Call(ast.Name(name, ast.Load()), [_as("int64", left), _as("int64", right)], [])
    return ast.BinOp(left, op, right)


def floating(op: ast.operator, left: ast.expr, right: ast.expr, kind: Value) -> ast.expr:
    """``left op right`` in floats, such as ``2 ** -1``, rounded if the type is narrow."""
    done = ast.BinOp(_as("float64", left), op, _as("float64", right))
    return _as("float32", done) if kind.dtype == np.float32 else done


def compared(op: ast.cmpop, left: ast.expr, right: ast.expr, a: Value, b: Value) -> ast.expr:
    """``left op right`` of operands of types `a` and `b`: u64 and a signed integer are compared as whole numbers."""
    unsigned, signed = (a, b) if a.dtype == np.uint64 else (b, a)
    if unsigned.dtype != np.uint64 or signed.kind != "int" or (signed.dtype is not None and signed.dtype.kind == "u"):
        return ast.Compare(left, [op], [right])
    operands = [left, right] if a is unsigned else [right, left]
    call = ast.Call(ast.Name("compared", ast.Load()), operands, [])
    ends = (call, ast.Constant(0)) if a is unsigned else (ast.Constant(0), call)
    return ast.Compare(ends[0], [op], [ends[1]])


def called(name: str, done: ast.Call, own: list[Value], kind: Value) -> ast.expr:
    """A call of a built-in function on scalars: arguments of types `own`, a result of type `kind`."""
    if not own:  # int(), float(), bool()
        return ast.Constant({"int": 0, "float": 0.0, "flag": False}[kind.kind])
    if name in _CONVERTED and own[0].kind == "float":
        return ast.Call(ast.Name(_CONVERTED[name], ast.Load()), done.args, [])
    if name == "float" and own[0].kind == "flag":  # Numba cannot convert a flag to a float
        return _as("float64", done.args[0])
    if name in _CONVERTED:  # already an integer; Numba's own int() keeps a narrow type
        return _as("int64", done.args[0])
    if name.startswith("random_"):
        done.args = [a if each.kind == "flag" else _unsigned(a) for a, each in zip(done.args, own, strict=True)]
        return done
    if name == "math.fmod":
        ends = [_as("float64", a) for a in done.args]
        return _as(kind.stored.name, ast.Call(ast.Name("remainder", ast.Load()), ends, []))
    if name.startswith("math.") and kind.kind == "float":
        done.args = [a if each.kind == "float" else _as("float64", a) for a, each in zip(done.args, own, strict=True)]
        if kind.dtype == np.float32 and any(each.dtype != np.float32 for each in own):
            return _as("float32", done)
    if name == "abs":
        done.args = [wide(a, each) for a, each in zip(done.args, own, strict=True)]
    if name == "range":  # Numba counts in the type of the bounds, unsigned if they are
        done.args = [
            a if each.dtype in (None, np.int64) else _as("int64", a) for a, each in zip(done.args, own, strict=True)
        ]
    if name in ("min", "max"):
        done.args = [promoted(a, each, kind) for a, each in zip(done.args, own, strict=True)]
    return done


def low_bits(done: ast.expr, dtype: np.dtype[Any], length: int | None) -> ast.expr:
    """What a narrow integer field stores of a number, or of lanes of 64 bits."""
    if length is None:
        return _as(dtype.name, done)
    if dtype.kind == "u":
        return ast.BinOp(done, ast.BitAnd(), _lanes(np.iinfo(dtype).max, length))
    unused = _lanes(_BITS - 8 * dtype.itemsize, length)
    return ast.BinOp(ast.BinOp(done, ast.LShift(), unused), ast.RShift(), unused)


def saturated(value: str, dtype: np.dtype[Any], length: int | None) -> str:
    """The nearest number of a narrow integer type to a number of 64 bits, or to each of a vector."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if length is None:
        return f"min(max({value}, np.int64({least})), np.int64({most}))"
    return f"smaller(larger({value}, as_int64({least}, {length})), as_int64({most}, {length}))"


def _literal(node: ast.expr) -> int | None:
    """The value of an integer literal, also after its conversion."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _lanes(value: int, length: int) -> ast.expr:
    return ast.Call(ast.Name("as_int64", ast.Load()), [ast.Constant(value), ast.Constant(length)], [])


def _as(kind: str, node: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), kind, ast.Load()), [node], [])
