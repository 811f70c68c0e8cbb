"""Statements on vector fields, as the CPU's kernels compute them: whole vectors are values (spmd/lanes.py).

``v_grad = old_grad + p_rate * m0`` only gets conversions: where a scalar or a vector of another type meets a vector,
``as_float32(p_rate, 16)`` makes both lanes of the type that types.py defines. ``v_grad[k] = e`` becomes ``v_grad =
put(v_grad, k, e)``, ``dot(a, b)`` ``total(a * b)``, and a parameter that is a length its value, so that LLVM unrolls
``for k in range(p.k)`` and knows which element every index means. A value written to a narrow float field is rounded at
once, as it will be stored. Long vectors are in memory, where each name has its own: an assignment from another name
copies.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType

import numpy as np

from arcflux.compile.check.literals import literal
from arcflux.compile.check.types import Value, joined, of_sign, typed
from arcflux.compile.pieces.numbers import binary_operation, called, compared, floating, low_bits, promoted, wide
from arcflux.parsing import parse_expression

__all__ = ["LONGEST_VALUE", "in_lanes"]

# The most elements of a vector that kernels have as a value, not in memory (spmd/long_lanes.py).
LONGEST_VALUE = 256

_PAIRS = {"min": "smaller", "max": "larger"}


def in_lanes(
    body: list[ast.stmt], names: Mapping[str, Value], numbers: Mapping[str, int],
    helpers: Mapping[str, Sequence[Value]] = MappingProxyType({}), result: Value | None = None,
    arrays: Mapping[str, int | None] = MappingProxyType({}),
) -> list[ast.stmt]:  # fmt: skip
    """Copies of statements, in which vectors are values.

    `names`: the types of all plain names; `numbers`: names of known numbers; `helpers`: the types of their arguments;
    `result`: the type of the returned value, if it matters; `arrays`: parameters with elements.

    Examples
    --------
    >>> import numpy as np
    >>> from arcflux.compile.check.types import FLOAT, of_dtype
    >>> vector = of_dtype(np.dtype("f4"), 8)
    >>> body = ast.parse("v_x = o_x + p_rate * m0").body
    >>> ast.unparse(in_lanes(body, {"v_x": vector, "o_x": vector, "m0": vector, "p_rate": FLOAT}, {})[0])
    'v_x = o_x + as_float32(p_rate, 8) * m0'
    """
    rewrite = _InLanes(names, numbers, helpers, result, arrays)
    return [ast.fix_missing_locations(rewrite.visit(node)) for node in copy.deepcopy(body)]


def _lanes(kind: Value) -> str:
    """The name of the type that elements of a vector have in a kernel."""
    if kind.kind == "float":
        return str(kind.stored)
    if kind.kind == "flag":
        return "boolean"
    return "uint64" if str(kind.stored) == "uint64" else "int64"


class _InLanes(ast.NodeTransformer):
    """Rewrites statements."""

    def __init__(
        self, names: Mapping[str, Value], numbers: Mapping[str, int], helpers: Mapping[str, Sequence[Value]],
        result: Value | None, arrays: Mapping[str, int | None],
    ) -> None:  # fmt: skip
        self.names = names
        self.numbers = numbers
        self.helpers = helpers
        self.result = result
        self.arrays = arrays

    def whole(self, node: ast.expr, wanted: Value) -> ast.expr:
        """An expression as lanes of the wanted type and length."""
        kind = typed(node, self.names)
        done: ast.expr = self.visit(node)
        if kind.length is not None and _lanes(kind) == _lanes(wanted):
            return done
        return _called(f"as_{_lanes(wanted)}", done, ast.Constant(wanted.length))

    # --- statements

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        kind = typed(target, self.names)
        if isinstance(target, ast.Subscript):
            return ast.Assign([_stored(target.value)], self._with(target, self._kept(node.value, kind)))
        if not ast.unparse(target).startswith(("v_", "e_")):
            value = self._met(node.value, kind) if kind.length is None else self.whole(node.value, kind)
            return ast.Assign([target], _own(value, kind))
        return ast.Assign([target], _own(self._kept(node.value, kind), kind))

    def _kept(self, node: ast.expr, kind: Value) -> ast.expr:
        """A value as a field of type `kind` stores it: a narrow float is rounded, a narrow integer has its low bits."""
        value = self._met(node, kind) if kind.length is None else self.whole(node, kind)
        if kind.dtype == np.float32 and kind.length is None:
            return _narrow(value)
        narrow = kind.kind == "int" and kind.dtype is not None and kind.dtype.itemsize < 8
        if not narrow or typed(node, self.names).dtype == kind.dtype:
            return value
        assert kind.dtype is not None
        number = literal(node)
        if number is not None and np.iinfo(kind.dtype).min <= number <= np.iinfo(kind.dtype).max:
            return value
        return low_bits(value, kind.dtype, kind.length)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A reduction into v: of a whole vector, or of one value."""
        assert isinstance(node.value, ast.Call)
        target, value = node.value.args
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            kinds = [typed(one, self.names) for one in target.elts]
            values: list[ast.expr] = [self._element(one, kind) for one, kind in zip(value.elts, kinds, strict=True)]
            return ast.Expr(ast.Call(node.value.func, [target, ast.Tuple(values, ast.Load())], []))
        kind = typed(target, self.names)
        done = self._met(value, kind) if kind.length is None else self.whole(value, kind)
        return ast.Expr(ast.Call(node.value.func, [self.visit(target), done], []))

    def _element(self, node: ast.expr, kind: Value) -> ast.expr:
        """An element of a tuple, in the type of its field: all are compared as they are stored."""
        done = self._kept(node, kind)
        return done if typed(node, self.names).dtype == kind.dtype else ast.Call(_type(kind), [done], [])

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if self.result is None or node.value is None:
            self.generic_visit(node)
            return node
        return ast.Return(self._given(node.value, self.result))

    def _given(self, node: ast.expr, kind: Value) -> ast.expr:
        """An argument of a helper, or its returned value, in the declared type."""
        if kind.length is not None:
            return self.whole(node, kind)
        own, done = typed(node, self.names), self._met(node, kind)
        return done if own.kind == kind.kind else ast.Call(_type(kind), [done], [])

    def _with(self, target: ast.Subscript, value: ast.expr) -> ast.expr:
        return _called("put", target.value, self.visit(target.slice), value)

    # --- expressions

    def _met(self, node: ast.expr, kind: Value) -> ast.expr:
        """An operand as it is used, or a value as it is stored."""
        return promoted(self.visit(node), typed(node, self.names), kind)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.arrays:
            places = ast.Tuple([_first(), self.visit(node.slice)], ast.Load())
            return ast.Subscript(node.value, places, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.arrays:
            return _called("load", node, _first(), ast.Constant(self.arrays[node.id]))
        return ast.Constant(self.numbers[node.id]) if node.id in self.numbers else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        kind = typed(node, self.names)
        if kind.length is None:
            if isinstance(node.op, ast.Pow) and kind.kind == "float" and typed(node.left, self.names).kind != "float":
                return floating(node.op, self.visit(node.left), self.visit(node.right), kind)
            return binary_operation(node.op, self._met(node.left, kind), self._met(node.right, kind), kind)
        left = self.whole(node.left, kind)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 2:
            return ast.BinOp(left, ast.Mult(), left)
        return ast.BinOp(left, node.op, self.whole(node.right, kind))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        kind = typed(node, self.names)
        if kind.length is None:
            done = self.visit(node.operand) if kind.kind == "flag" else self._met(node.operand, kind)
            return ast.UnaryOp(node.op, wide(done, typed(node.operand, self.names)))
        done = self.whole(node.operand, kind)
        return ast.UnaryOp(node.op, done) if isinstance(node.op, ast.USub) else done

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        ends = [node.left, *node.comparators]
        kinds = [typed(end, self.names) for end in ends]
        done = [self.visit(end) for end in ends]
        pairs = [compared(op, *done[k : k + 2], *kinds[k : k + 2]) for k, op in enumerate(node.ops)]
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        kind = typed(node, self.names)
        sides = (node.body, node.orelse)
        yes, no = (self._met(side, kind) if kind.length is None else self.whole(side, kind) for side in sides)
        return ast.IfExp(self.visit(node.test), yes, no)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        if name in self.helpers:
            kinds = self.helpers[name]
            own = [self._given(a, kind) for a, kind in zip(node.args, kinds, strict=False)]
            return ast.Call(node.func, [*own, *node.args[len(kinds) :]], [])
        if name in self.names:  # a function within the kernel's module
            return node
        if name == "dot":
            kind = of_sign(reduce(joined, (typed(a, self.names) for a in node.args)))
            return _called(
                "total", ast.BinOp(self.whole(node.args[0], kind), ast.Mult(), self.whole(node.args[1], kind))
            )
        kind = typed(node, self.names)
        if kind.length is None:
            done = ast.Call(node.func, [self.visit(a) for a in node.args], [])
            return called(name, done, [typed(a, self.names) for a in node.args], kind)
        arguments = [self.whole(a, kind) for a in node.args]
        if name == "abs":
            return _called("magnitude", *arguments)
        return reduce(lambda a, b: _called(_PAIRS[name], a, b), arguments)


def _own(value: ast.expr, kind: Value) -> ast.expr:
    """A value that is assigned to a name: a copy, if it is another name's memory."""
    long = kind.length is not None and kind.length > LONGEST_VALUE
    return _called("copied", value) if long and isinstance(value, ast.Name | ast.IfExp) else value


def _called(name: str, *given: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(given), [])


def _type(kind: Value) -> ast.expr:
    return parse_expression(f"np.{kind.stored.type.__name__}")


def _first() -> ast.expr:
    return parse_expression("np.uint64(0)")


def _narrow(node: ast.expr) -> ast.expr:
    return ast.Call(parse_expression("np.float32"), [node], [])


def _stored(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Name)
    return ast.Name(node.id, ast.Store())
