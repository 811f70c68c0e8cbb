"""Translate `iteration` into statements of a kernel, if the order of its calls is fixed.

`iteration` is plain Python. If it calls phases for one superstep each, and decides by totals, counts, parameters and
literals, a kernel can take the same decisions, so that many iterations are one launch. Only expressions with bitwise
the same value in both are translated: no integers that could overflow 64 bits, and no division, which raises in Python
where IEEE 754 continues. Any other iteration stays in Python, with a launch for each call.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.source import inside
from arcflux.program import ABOUT_GRAPH, Function

__all__ = ["FixedOrder", "fixed_order"]

# The most bits of counts of vertices, edges and supersteps; of integers that a float holds exactly; of any integer.
_COUNT, _EXACT, _MOST = 40, 53, 62
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_COUNTED = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


@dataclass(frozen=True)
class FixedOrder:
    """An iteration as statements of a kernel, which calls at most this many phases.

    They set `going` and break out of a loop where the iteration returns. They read `changed`, `iterations`, and totals
    in row `k`.
    """

    statements: list[str]
    calls: int


class _NotFixed(Exception):
    """The iteration does something that only Python can do."""


@dataclass(frozen=True)
class _Value:
    """An expression of a kernel: a flag, a float, or an integer of this many bits."""

    text: str
    kind: str
    bits: int = 0


def fixed_order(first: Lowered, phases: Sequence[str], call: Callable[[int], list[str]]) -> FixedOrder | None:
    """The iteration of a program, of which `first` is the start; None if Python has to execute it.

    `call` returns the statements that call one of the `phases`.
    """
    iteration = first.program.iteration
    assert iteration is not None
    reader = _Reader(first, iteration, phases, call)
    try:
        statements, calls, returns = reader.block(iteration.body, {})
    except _NotFixed:
        return None
    # An iteration that calls no phase executes no superstep, so a kernel would never check whether the run is over.
    return FixedOrder(statements, calls) if returns and reader.fewest(iteration.body, 0)[0] > 0 else None


class _Reader:
    def __init__(
        self, first: Lowered, iteration: Function, phases: Sequence[str], call: Callable[[int], list[str]]
    ) -> None:
        self.first, self.phases, self.call = first, list(phases), call
        self.arguments = iteration.arguments

    def block(self, body: list[ast.stmt], known: dict[str, _Value]) -> tuple[list[str], int, bool]:
        """The statements, the most calls among them, and whether each path through them returns."""
        lines: list[str] = []
        calls = 0
        for statement in body:
            if isinstance(statement, ast.Return):
                value, called = self.after_call(statement.value, known, lines)
                _need(value.kind == "flag")
                return [*lines, f"going = {value.text}", "break"], calls + called, True
            if isinstance(statement, ast.If):
                test, called = self.after_call(statement.test, known, lines)
                calls += called
                yes, no = (self.block(part, dict(known)) for part in (statement.body, statement.orelse))
                lines += [f"if {_truth(test)}:", *inside(yes[0] or ["pass"])]
                lines += ["else:", *inside(no[0])] if no[0] else []
                calls += max(yes[1], no[1])
                if yes[2] and no[2]:
                    return lines, calls, True
            else:
                calls += self.simple(statement, known, lines)
        return lines, calls, False

    def fewest(self, body: list[ast.stmt], before: float) -> tuple[float, float]:
        """The fewest calls on any path that returns within these statements, and on any path past them."""
        returned = math.inf
        for statement in body:
            if isinstance(statement, ast.If):
                before += self.calls_in(statement.test)
                ways = [self.fewest(part, before) for part in (statement.body, statement.orelse)]
                returned = min(returned, ways[0][0], ways[1][0])
                before = min(ways[0][1], ways[1][1])
            else:
                before += self.calls_in(statement)
                if isinstance(statement, ast.Return):
                    return min(returned, before), math.inf
        return returned, before

    def calls_in(self, node: ast.AST) -> int:
        """The number of calls of phases in a statement or an expression."""
        return sum(isinstance(one, ast.Call) and _of(one.func, "run") in self.phases for one in ast.walk(node))

    def simple(self, statement: ast.stmt, known: dict[str, _Value], lines: list[str]) -> int:
        """A call, a local that is assigned once, or nothing; returns the number of calls."""
        if isinstance(statement, ast.Pass):
            return 0
        if isinstance(statement, ast.Expr):
            if isinstance(statement.value, ast.Constant):  # a docstring
                return 0
            _need(self.called(statement.value, lines))
            return 1
        _need(isinstance(statement, ast.Assign) and len(statement.targets) == 1)
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        _need(isinstance(target, ast.Name))
        assert isinstance(target, ast.Name)
        _need(target.id not in known and target.id not in self.arguments)
        value, called = self.after_call(statement.value, known, lines)
        lines.append(f"l_{target.id} = {value.text}")
        known[target.id] = _Value(f"l_{target.id}", value.kind, value.bits)
        return called

    def after_call(self, node: ast.expr | None, known: dict[str, _Value], lines: list[str]) -> tuple[_Value, int]:
        """An expression, after the call of a phase if it begins with one; and the number of calls."""
        _need(node is not None)
        assert node is not None
        begins = _begin(node)
        called = self.called(begins, lines)
        return self.value(node, known, begins if called else None), int(called)

    def called(self, node: ast.expr, lines: list[str]) -> bool:
        """If this is the call of a phase for one superstep, add its statements."""
        if not (isinstance(node, ast.Call) and _of(node.func, "run") in self.phases):
            return False
        _need(not node.args and not node.keywords)
        lines += self.call(self.phases.index(_of(node.func, "run")))
        return True

    def value(self, node: ast.expr, known: dict[str, _Value], call: ast.expr | None) -> _Value:
        """An expression in which the value of `call` is known: how many vertices the phase has changed."""
        if node is call:
            return _Value("changed", "whole", _COUNT)
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.Name):
            _need(node.id in known)
            return known[node.id]
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.UnaryOp):
            return _unary(node.op, self.value(node.operand, known, call))
        if isinstance(node, ast.BinOp):
            return _counted(node.op, self.value(node.left, known, call), self.value(node.right, known, call))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            a, b = (self.value(each, known, call) for each in (node.left, node.comparators[0]))
            return _compared(node.ops[0], a, b)
        _need(isinstance(node, ast.BoolOp))
        assert isinstance(node, ast.BoolOp)
        values = [self.value(each, known, call) for each in node.values]
        _need(all(each.kind == "flag" for each in values))
        return _Value(f"({(' and ' if isinstance(node.op, ast.And) else ' or ').join(v.text for v in values)})", "flag")

    def attribute(self, node: ast.Attribute) -> _Value:
        """The value of an attribute of run, g or p."""
        name, program = node.attr, self.first.program
        _need(isinstance(node.value, ast.Name) and node.value.id in self.arguments)  # not a name of the module
        if _of(node, "run") in ("changed", "iterations"):
            return _Value(name, "whole", _COUNT)
        if _of(node, "g") in ABOUT_GRAPH:
            return _Value(f"g_{name}", "whole", _COUNT)
        if _of(node, "g") in self.first.totals:
            total = self.first.totals[name]
            _need(total.length is None and total.dtype.kind in "fib")
            kind = {"f": "float", "i": "whole", "b": "flag"}[total.dtype.kind]
            return _Value(f"totals_{name}[k]", kind, 64)
        _need(_of(node, "p") in program.constants)
        kind = {int: "whole", float: "float"}.get(program.constants[name].kind, "")
        _need(kind != "")
        return _Value(f"p_{name}", kind, 64)


def _need(yes: bool) -> None:
    if not yes:
        raise _NotFixed


def _begin(node: ast.expr) -> ast.expr:
    """The part of an expression that Python always evaluates first."""
    while True:
        if isinstance(node, ast.Compare | ast.BinOp):
            node = node.left
        elif isinstance(node, ast.BoolOp):
            node = node.values[0]
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        else:
            return node


def _of(node: ast.expr, owner: str) -> str:
    """The attribute of a name, such as `moved` of g; "" for other expressions."""
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner
    return node.attr if is_attribute else ""  # type: ignore[attr-defined]


def _literal(value: object) -> _Value:
    if isinstance(value, bool):
        return _Value(str(value), "flag")
    if isinstance(value, int):
        _need(value.bit_length() <= _MOST)
        return _Value(f"np.int64({value})", "whole", value.bit_length())
    _need(isinstance(value, float) and math.isfinite(value))
    return _Value(repr(value), "float")


def _truth(value: _Value) -> str:
    return value.text if value.kind == "flag" else f"{value.text} != 0"


def _unary(op: ast.unaryop, value: _Value) -> _Value:
    if isinstance(op, ast.Not):
        return _Value(f"(not {_truth(value)})" if value.kind == "flag" else f"({value.text} == 0)", "flag")
    _need(isinstance(op, ast.USub) and value.kind != "flag" and value.bits <= _MOST)
    return _Value(f"(-{value.text})", value.kind, value.bits)


def _counted(op: ast.operator, a: _Value, b: _Value) -> _Value:
    sign = _COUNTED.get(type(op), "")
    _need(sign != "" and "flag" not in (a.kind, b.kind))
    text = f"({a.text} {sign} {b.text})"
    if "float" in (a.kind, b.kind):  # an integer is converted to a float in the same way
        return _Value(text, "float")
    bits = a.bits + b.bits if sign == "*" else max(a.bits, b.bits) + 1
    _need(bits <= _MOST)
    return _Value(text, "whole", bits)


def _compared(op: ast.cmpop, a: _Value, b: _Value) -> _Value:
    """Python compares an integer with a float exactly, a kernel both as floats: the same if neither is rounded."""
    sign = _COMPARED.get(type(op), "")
    _need(sign != "" and "flag" not in (a.kind, b.kind))
    _need(a.kind == b.kind or max(each.bits for each in (a, b) if each.kind == "whole") <= _EXACT)
    return _Value(f"({a.text} {sign} {b.text})", "flag")
