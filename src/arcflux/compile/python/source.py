"""A program's functions for the plain Python back end: rewritten where a line means something else in Python.

Three things differ. ``g.lost += x`` means that v contributes x, while reading ``g.lost`` gives the value of the
superstep before; so it becomes ``g.lost = x``, and `g` treats an assignment as a contribution (totals.py). And Python's
own integers never overflow, and become floats with a negative exponent; so each literal of a program, and each flag in
arithmetic, becomes a number of numbers.py, whatever locals it passes through. Arithmetic on literals alone is computed
by Python, as the compiler does it (literals.py). A local that is assigned a vector field has a copy of its elements,
also when the field changes. The function keeps its file and its lines, for debuggers and errors.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from arcflux.class_source import find_function, names_around
from arcflux.compile.python.around import shared
from arcflux.compile.python.debug_lines import in_debug_line
from arcflux.compile.python.numbers import as_exponent, as_operand, as_value
from arcflux.program import Function

__all__ = ["helper_for_plain_python", "rewritten"]

# Names that no program can have.
_VALUE, _EXPONENT, _OPERAND, _OWN, _SHARED = ".value", ".exponent", ".operand", ".own", ".shared"
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)


def rewritten(function: Function, totals: Iterable[str]) -> FunctionType:
    """A function of a program for plain Python; `totals`: the names that it may contribute to."""
    assert isinstance(function.call, FunctionType)
    arguments = ast.arguments([], [ast.arg(name) for name in function.arguments], None, [], [], None, [])
    return _compiled(function.call, arguments, function.body, function.line, function.names, frozenset(totals))


def helper_for_plain_python(function: FunctionType) -> FunctionType:
    """A function of the module for plain Python."""
    source = find_function(function)
    assert source is not None  # or the program would have been refused
    parameters = copy.deepcopy(source.tree.args)
    parameters.defaults = [ast.Constant(None) for _ in parameters.defaults]
    parameters.kw_defaults = [None if each is None else ast.Constant(None) for each in parameters.kw_defaults]
    body, line = source.tree.body, source.tree.lineno
    compiled = _compiled(function, parameters, body, line, names_around(function), frozenset())
    compiled.__defaults__ = tuple(map(as_value, function.__defaults__)) if function.__defaults__ else None
    compiled.__kwdefaults__ = {name: as_value(x) for name, x in (function.__kwdefaults__ or {}).items()}
    return compiled


def _compiled(
    call: FunctionType, taken: ast.arguments, body: list[ast.stmt], line: int, names: Mapping[str, Any],
    totals: frozenset[str],
) -> FunctionType:  # fmt: skip
    own = {each.arg for each in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]}
    own |= {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for each in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]:
        each.annotation = None
    cells = zip(call.__code__.co_freevars, call.__closure__ or (), strict=True)
    around = {**call.__globals__, **{name: names[name] for name, _ in cells if name in names}}
    rewrite = _Rewrite(names, own, totals, around)
    definition = ast.FunctionDef(call.__name__, taken, [rewrite.visit(node) for node in copy.deepcopy(body)], [], None)
    definition.lineno, definition.end_lineno = int(line), body[-1].end_lineno
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    whole = compile(tree, call.__code__.co_filename, "exec", dont_inherit=True)
    code = next(each for each in whole.co_consts if isinstance(each, CodeType))
    around |= rewrite.constants
    around |= {_VALUE: as_value, _EXPONENT: as_exponent, _OPERAND: as_operand, _OWN: _own, _SHARED: shared}
    return FunctionType(code, around, call.__name__)


class _Rewrite(ast.NodeTransformer):
    """Turns contributions to totals into assignments, and numbers into those of kernels."""

    def __init__(
        self, names: Mapping[str, Any], own: set[str], totals: frozenset[str], around: Mapping[str, Any]
    ) -> None:  # fmt: skip
        self.names, self.own, self.totals, self.around = names, own, totals, around
        self.constants: dict[str, Any] = {}
        self.in_debug_line = False

    # --- lines for the debugger

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A call whose result is not used: but for a send, a line for the debugger."""
        is_send = isinstance(node.value, ast.Call) and ast.unparse(node.value.func).split(".")[-1] == "send"
        self.in_debug_line = not is_send
        done: ast.stmt = self.generic_visit(node)  # type: ignore[assignment]
        self.in_debug_line = False
        return done

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.in_debug_line and isinstance(node.func, ast.Name):
            node.func = self._in_debug_line(node.func, called=True)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._in_debug_line(node, called=False) if self.in_debug_line else node

    def _in_debug_line(self, node: ast.Name, *, called: bool) -> ast.Name:
        value = None if node.id in self.own else in_debug_line(node.id, self.names, called=called)
        if value is None:
            return node
        name = f".{'called' if called else 'shown'}.{node.id}"
        self.constants[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    # --- numbers

    def visit(self, node: ast.AST) -> Any:
        """Any node; one of literals alone is computed as Python does, once if that has a value."""
        if not (isinstance(node, ast.expr) and self._is_constant(node)):
            return super().visit(node)
        try:
            value = as_value(eval(compile(ast.Expression(node), "", "eval"), dict(self.around)))  # noqa: S307 - numbers
        except ArithmeticError:  # reported where it is executed
            return _call(_VALUE, node)
        name = f"{_VALUE}{len(self.constants)}"
        self.constants[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if not isinstance(node.op, _ARITHMETIC):
            return self.generic_visit(node)  # type: ignore[return-value]
        left = self._operand(node.left)
        fixed = isinstance(node.op, ast.Pow) and self._is_constant(node.right)
        right = _call(_EXPONENT, node.right) if fixed else self.visit(node.right)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self.generic_visit(node)  # type: ignore[return-value]
        return ast.copy_location(ast.UnaryOp(node.op, self._operand(node.operand)), node)

    def _operand(self, node: ast.expr) -> ast.expr:
        """An operand of arithmetic: a flag has to become a number."""
        done: ast.expr = self.visit(node)
        plain = isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC)
        return done if plain or self._is_constant(node) else _call(_OPERAND, done)

    def _is_constant(self, node: ast.expr) -> bool:
        """Whether an expression has numbers only: literals, and those of the module."""
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.Name):
            return node.id not in self.own and _is_number(self.names.get(node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in self.own:
            return _is_number(getattr(self.names.get(node.value.id), node.attr, None))
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self._is_constant(node.operand)
        return isinstance(node, ast.BinOp) and self._is_constant(node.left) and self._is_constant(node.right)

    # --- loops

    def visit_For(self, node: ast.For) -> ast.stmt:
        """A loop over ``af.intersect(v, u)``, which by itself is a number."""
        if isinstance(node.iter, ast.Call) and getattr(node.iter.func, "attr", "") == "intersect":
            node.iter.func = ast.copy_location(ast.Name(_SHARED, ast.Load()), node.iter.func)
        return self.generic_visit(node)  # type: ignore[return-value]

    # --- totals

    def _is_total(self, target: ast.expr) -> bool:
        owner = target.value if isinstance(target, ast.Subscript) else target
        return isinstance(owner, ast.Attribute) and ast.unparse(owner.value) == "g" and owner.attr in self.totals

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not self._is_total(node.target):
            return self.generic_visit(node)  # type: ignore[return-value]
        return ast.copy_location(ast.Assign([self.visit(node.target)], self.visit(node.value)), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if not self._is_total(target):
            node.value = _owned(node.value)
            return self.generic_visit(node)  # type: ignore[return-value]
        assert isinstance(node.value, ast.Call)
        others = [each for each in node.value.args if ast.unparse(each) != ast.unparse(target)]
        value = others[0] if len(others) == 1 else ast.copy_location(ast.Call(node.value.func, others, []), node)
        return ast.copy_location(ast.Assign([self.visit(target)], self.visit(value)), node)


def _owned(node: ast.expr) -> ast.expr:
    """The assigned value, with a copy of each field that is assigned as a whole."""
    if isinstance(node, ast.Tuple):
        node.elts = [_owned(each) for each in node.elts]
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = _owned(node.body), _owned(node.orelse)
    elif isinstance(node, ast.Attribute):
        return _call(_OWN, node)
    return node


def _own(value: Any) -> Any:
    """A value that does not change with its origin."""
    return value.copied() if hasattr(value, "copied") else value


def _is_number(found: Any) -> bool:
    return isinstance(found, (int, float, np.integer, np.floating)) and not isinstance(found, bool)


def _call(name: str, node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node], []), node)
