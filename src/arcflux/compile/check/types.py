"""The types of a program's values: flag, int or float; of a field's width, or weak; scalar, or a vector.

Literals, parameters, degrees, counts and edge columns' integers are weak: they take the type of the field they meet, so
``u.rank / u.out_degree`` of an f32 rank is an f32, and a program's memory traffic is what its fields say. The rules for
operators and calls are only here, so that the types of check/ are those that lower.py stores.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

__all__ = ["BITS", "FLAG", "FLOAT", "INT", "Value", "joined", "of_call", "of_dtype", "of_number", "of_operation",
           "of_power",
           "of_sign", "typed"]  # fmt: skip

_RANK = {"flag": 0, "int": 1, "float": 2}


@dataclass(frozen=True)
class Value:
    """The type of an expression. `dtype` None is weak; `length` None is a scalar."""

    kind: str
    dtype: np.dtype[Any] | None = None
    length: int | None = None

    @property
    def stored(self) -> np.dtype[Any]:
        """The type of an array that holds such values."""
        default = {"flag": np.bool_, "int": np.int64, "float": np.float64}
        return self.dtype if self.dtype is not None else np.dtype(default[self.kind])

    def scalar(self) -> Value:
        """The type of one element."""
        return Value(self.kind, self.dtype)

    def __str__(self) -> str:
        return (self.kind if self.dtype is None else str(self.dtype)) + (f"[{self.length}]" if self.length else "")


FLAG, INT, FLOAT = Value("flag"), Value("int"), Value("float")

BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_GIVES = {
    "int": INT, "float": FLOAT, "bool": FLAG, "round": INT, "math.floor": INT, "math.ceil": INT, "math.trunc": INT,
    "math.isnan": FLAG, "math.isinf": FLAG, "math.isfinite": FLAG,
}  # fmt: skip


def of_dtype(dtype: np.dtype[Any], length: int | None = None) -> Value:
    """The type of a field or a column."""
    kind = {"b": "flag", "i": "int", "u": "int", "f": "float"}[dtype.kind]
    return Value(kind, dtype, length)


def of_number(value: Any) -> Value:
    """The type of a number literal: weak, unless only u64 can hold it."""
    if type(value) is int and value >= 1 << 63:
        return of_dtype(np.dtype(np.uint64))
    return {bool: FLAG, int: INT, float: FLOAT}[type(value)]


def joined(a: Value, b: Value) -> Value:
    """The type of an arithmetic combination of two scalars or vectors (whose lengths the caller has compared).

    Examples
    --------
    >>> str(joined(of_dtype(np.dtype("f4")), FLOAT)), str(joined(of_dtype(np.dtype("i4")), FLOAT))
    ('float32', 'float')
    """
    kind = max(a.kind, b.kind, key=_RANK.__getitem__)
    strong = [t.dtype for t in (a, b) if t.dtype is not None and t.kind == kind]
    dtype = None if not strong else strong[0] if len(strong) == 1 else np.result_type(*strong)
    if kind == "int" and dtype is not None and dtype.kind == "f":  # NumPy's type for u64 and a signed integer
        dtype = np.dtype(np.int64)
    return Value(kind, dtype, a.length if a.length is not None else b.length)


def of_operation(op: ast.operator, a: Value, b: Value) -> Value:
    """The type of ``a op b``: a quotient is a float, and flags count as numbers except in bit operations."""
    kind = joined(a, b)
    if isinstance(op, ast.Div) and kind.kind != "float":
        return Value("float", None, kind.length)
    return kind if isinstance(op, BITS) and kind.kind == "flag" else of_sign(kind)


def of_power(node: ast.BinOp, a: Value, b: Value) -> Value:
    """The type of ``a ** b``: of integers an integer, unless the exponent is a negative literal."""
    stands = node.right.value if isinstance(node.right, ast.Constant) else 0
    negative = isinstance(stands, (int, float)) and stands < 0
    return of_operation(ast.Div() if negative else node.op, a, b)


def of_sign(a: Value) -> Value:
    """The type of ``-a`` and ``+a``, and of sums: a flag becomes a number, and integers have 64 bits.

    Examples
    --------
    >>> str(of_sign(of_dtype(np.dtype("i4")))), str(of_sign(of_dtype(np.dtype("u8")))), str(of_sign(FLAG))
    ('int64', 'uint64', 'int')
    """
    if a.kind == "float" or a.dtype == np.uint64:
        return a
    signed = a.dtype is not None and a.dtype.kind == "i"
    return Value("int", np.dtype(np.int64) if signed else None, a.length)


def of_call(name: str, given: list[Value]) -> Value:
    """The type of a built-in function's result for arguments of these types."""
    if name == "dot":
        return of_sign(joined(*given)).scalar()
    if name in ("min", "max"):
        return reduce(joined, given)
    if name == "abs":
        return of_sign(given[0]) if given else INT
    if name in _GIVES:
        return _GIVES[name]
    return Value("float", given[0].dtype if given and given[0].kind == "float" else None)


def typed(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """The type of an expression over plain names, as checked; names without a type are counts."""
    if isinstance(node, ast.Name):
        return names.get(node.id, INT)
    if isinstance(node, ast.Attribute):  # math.inf, math.nan
        return FLOAT
    if isinstance(node, ast.Constant):
        return of_number(node.value)
    if isinstance(node, (ast.Compare, ast.BoolOp)):
        return FLAG
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return FLAG
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        return names[node.func.id]
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in names:  # a helper
            return names[node.func.id]
        return of_call(ast.unparse(node.func), [typed(a, names) for a in node.args])
    parts = [typed(part, names) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    if isinstance(node, ast.BinOp):
        return of_power(node, *parts) if isinstance(node.op, ast.Pow) else of_operation(node.op, *parts)
    if isinstance(node, ast.UnaryOp):
        return of_sign(*parts)
    return joined(*parts[1:]) if isinstance(node, ast.IfExp) else parts[0].scalar()
