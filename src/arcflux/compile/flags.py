"""Contributions to totals under a false flag are removed: a program that switches a total off does not pay for it.

The values of bool parameters are known when a program with totals is lowered, so ``if p.redistribute and ...`` is
decided then. The remaining code may contribute to fewer totals, and read less. Programs without totals are left as they
are: their kernels serve both values.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import replace

from arcflux.compile.check.checked import Checked
from arcflux.program import Program, Total

__all__ = ["known_flags", "settled"]


def known_flags(program: Program) -> dict[str, bool]:
    """The plain names of bool parameters with their values, for a program that has totals; else none."""
    kinds = program.parameters.items() if program.totals else ()
    return {f"p_{name}": bool(one.value) for name, one in kinds if one.kind is bool}


def settled(functions: dict[str, Checked], program: Program) -> dict[str, Checked]:
    """The functions of a program with totals, with everything decided that its flags decide.

    A total without contributions becomes a literal in the program, but not in generators.
    """
    flags = known_flags(program)
    before = set().union(*(one.totals for one in functions.values()))
    if not flags or not before:
        return functions
    left = {name: _decided(one, flags) if one.totals else one for name, one in functions.items()}
    silent = before - set().union(*(one.totals for one in left.values()))
    known = {f"g_{name}": value for name in silent if (value := _nothing(program.totals[name])) is not None}
    some = {name for name, one in left.items() if one.reads & known.keys() and not one.generated}
    return {name: _decided(one, known) if name in some else one for name, one in left.items()}


def _nothing(total: Total) -> float | None:
    """The value of a total without contributions; None if no literal expresses it: an infinity, or a vector."""
    kind = total.type
    if kind.length is not None or total.operation in ("min", "max"):
        return None
    if total.operation == "and":
        return True if kind.name == "flag" else -1 if kind.name == "i64" else (1 << 64) - 1
    return {"flag": False, "f64": 0.0}.get(kind.name, 0)


def _decided(found: Checked, values: Mapping[str, float]) -> Checked:
    """A function with names replaced by values.

    Examples
    --------
    >>> body = ast.parse("if p_on and v_x > 1:\\n    t_lost = t_lost + v_x\\nreturn v_x > 0").body
    >>> left = _decided(Checked("update", body, {"p_on", "v_x"}, totals={"lost"}), {"p_on": False})
    >>> [ast.unparse(node) for node in left.body], left.totals, left.reads
    (['return v_x > 0'], set(), {'v_x'})
    """
    body = _block([_Decided(values).visit(node) for node in copy.deepcopy(found.body)])
    names = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    totals = {name for name in found.totals if f"t_{name}" in names}
    return replace(found, body=body, totals=totals, reads=found.reads & names)


def _block(made: list[ast.stmt | list[ast.stmt]]) -> list[ast.stmt]:
    """Flatten statements that were replaced by several or by none."""
    flat = [one for node in made for one in (node if isinstance(node, list) else [node])]
    return [ast.fix_missing_locations(node) for node in flat] or [ast.Pass()]


class _Decided(ast.NodeTransformer):
    """Replaces names by values, and simplifies what they decide."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.values[node.id]), node) if node.id in self.values else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        known = _truth(node.operand) if isinstance(node.op, ast.Not) else None
        return node if known is None else ast.copy_location(ast.Constant(not known), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        ends = isinstance(node.op, ast.Or)  # the value that decides the expression, whatever the others are
        if any(_truth(value) is ends for value in node.values):
            return ast.copy_location(ast.Constant(ends), node)
        left = [value for value in node.values if _truth(value) is None]
        if not left:
            return ast.copy_location(ast.Constant(not ends), node)
        return left[0] if len(left) == 1 else ast.copy_location(ast.BoolOp(node.op, left), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        known = _truth(node.test)
        return node if known is None else node.body if known else node.orelse

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        test = self.visit(node.test)
        yes, no = (_block([self.visit(one) for one in side]) if side else [] for side in (node.body, node.orelse))
        known = _truth(test)
        return ast.copy_location(ast.If(test, yes, no), node) if known is None else yes if known else no

    def visit_For(self, node: ast.For) -> ast.stmt:
        node.iter, node.body = self.visit(node.iter), _block([self.visit(one) for one in node.body])
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        node.test, node.body = self.visit(node.test), _block([self.visit(one) for one in node.body])
        return node


def _truth(node: ast.expr) -> bool | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, bool) else None
