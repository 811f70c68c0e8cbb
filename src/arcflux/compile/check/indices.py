"""Interval analysis of integer expressions, so that an index into a vector is known to be inside it.

A kernel does not check indices, and an index outside would read or write other memory. So check/ accepts only those
that are inside for every vertex and superstep: numbers, parameters, loop variables, remainders, and arithmetic on them.
Arithmetic has 64 bits: results beyond them wrap around and may be anything, and so may numbers that change their sign
when a u64 meets others (types.py).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

import numpy as np

from arcflux.compile.check.types import INT, Value, typed
from arcflux.program import FieldType, Program

__all__ = ["ANY", "Span", "hull", "range_span", "span"]

Span = tuple[float, float]
ANY: Span = (-math.inf, math.inf)
# Counts, such as of vertices, edges and supersteps, stay far below this limit of memory and time.
_COUNTS: Span = (0, 1 << 48)
_COUNTED = ("g_vertices", "g_edges", "g_arcs", "step")


def span(node: ast.expr, names: Mapping[str, Span], program: Program, types: Mapping[str, Value]) -> Span:
    """The smallest and the largest value of an expression over plain names.

    `names`: the spans of locals; `types`: the types of all names.
    """
    kind = typed(node, types)
    if kind.kind != "int":
        return ANY
    return _within(_found(node, names, program, types, kind), kind)


def _found(
    node: ast.expr, names: Mapping[str, Span], program: Program, types: Mapping[str, Value], kind: Value
) -> Span:
    """The span of an expression of type `kind`, as if numbers had any number of bits."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value), int(node.value)
    if isinstance(node, ast.Name):
        return names.get(node.id) or _of_name(node.id, program)
    parts = [
        _within(span(part, names, program, types), kind)
        for part in ast.iter_child_nodes(node)
        if isinstance(part, ast.expr)
    ]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -parts[0][1], -parts[0][0]
    if isinstance(node, ast.BinOp):
        return _of_operation(node.op, *parts)
    if isinstance(node, ast.IfExp):
        return hull(*parts[1:])
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
        choose = min if ast.unparse(node.func) == "min" else max
        return choose(low for low, _ in parts[1:]), choose(high for _, high in parts[1:])
    return ANY


def _within(found: Span, kind: Value) -> Span:
    """A span if all of it fits in 64 bits, signed or for a u64 unsigned; otherwise all 64-bit values."""
    low, high = (0, (1 << 64) - 1) if kind.dtype == np.uint64 else (-(1 << 63), (1 << 63) - 1)
    return found if low <= found[0] and found[1] <= high else (low, high)


def range_span(bounds: list[Span]) -> Span:
    """The span of the signed values of a ``range`` with such bounds."""
    bounds = [_within(bound, INT) for bound in bounds]
    begin = (0, 0) if len(bounds) == 1 else bounds[0]
    end = bounds[min(1, len(bounds) - 1)]
    if len(bounds) == 3 and bounds[2][0] <= 0:
        return (end[0] + 1, begin[1]) if bounds[2][1] < 0 else ANY
    return begin[0], end[1] - 1


def _of_name(name: str, program: Program) -> Span:
    owner, _, rest = name.partition("_")
    if owner == "p":
        value = program.parameters[rest].value
        kind = program.parameters[rest].kind
        if isinstance(kind, FieldType) and kind.dtype.kind in "iu":
            return int(np.iinfo(kind.dtype).min), int(np.iinfo(kind.dtype).max)
        return (value, value) if program.parameters[rest].kind is int else ANY
    if name in _COUNTED or rest in ("number", "in_degree", "out_degree"):
        return _COUNTS
    kind = program.fields.get(rest) if owner in "vou" else None
    if kind is not None and kind.dtype.kind in "iu":
        return int(np.iinfo(kind.dtype).min), int(np.iinfo(kind.dtype).max)
    return ANY


def _of_operation(op: ast.operator, a: Span, b: Span) -> Span:
    if isinstance(op, ast.Add):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(op, ast.Sub):
        return a[0] - b[1], a[1] - b[0]
    if isinstance(op, ast.Mult) and all(map(math.isfinite, (*a, *b))):
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)
    if isinstance(op, ast.Mod) and b[0] > 0:
        return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1
    if isinstance(op, ast.FloorDiv) and b[0] > 0 and all(map(math.isfinite, (*a, *b))):
        corners = [x // y for x in a for y in b]
        return min(corners), max(corners)
    if isinstance(op, ast.BitAnd) and max(a[0], b[0]) >= 0:
        return 0, min(side[1] for side in (a, b) if side[0] >= 0)
    return ANY


def hull(*spans: Span) -> Span:
    """The smallest span that contains all of these."""
    return min(low for low, _ in spans), max(high for _, high in spans)
