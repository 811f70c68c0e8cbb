"""Which locals of a function can be read before they are assigned: under an `if`, or after a loop without a round.

Plain Python raises there, and says where (compile/python/run.py). In kernels such a local begins with 0: machines would
have any number there, with which no index into a vector could be known to be inside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from arcflux.compile.check.types import Value

__all__ = ["beginnings", "unassigned"]

# The names that are assigned for certain; None after a return, where nothing is read.
_Known = frozenset[str] | None


def unassigned(body: list[ast.stmt], given: Iterable[str]) -> set[str]:
    """The names that are read where no assignment is certain to have been made before; those `given` have a value."""
    names: set[str] = set()
    _after(body, frozenset(given), names)
    return names


def beginnings(names: set[str], locals_: Mapping[str, Value]) -> list[ast.stmt]:
    """Assignments of 0 to those locals that have one of these names."""
    zero = {"flag": False, "int": 0, "float": 0.0}
    return [
        ast.Assign([ast.Name(f"l_{name}", ast.Store())], ast.Constant(zero[kind.kind]))
        for name, kind in locals_.items()
        if name in names
    ]


def _after(body: list[ast.stmt], known: _Known, found: set[str]) -> _Known:
    """What is assigned for certain after statements; what they read too soon is added to `found`."""
    for node in body:
        if known is None:
            return None
        known = _after_one(node, known, found)
    return known


def _after_one(node: ast.stmt, known: frozenset[str], found: set[str]) -> _Known:
    if isinstance(node, ast.If):
        found |= _read(node.test) - known
        sides = [_after(side, known, found) for side in (node.body, node.orelse)]
        through = [side for side in sides if side is not None]
        return frozenset.intersection(*through) if through else None
    if isinstance(node, ast.For):
        found |= _read(node.iter) - known
        _after(node.body, known | _stored(node.target), found)
        return known
    if isinstance(node, ast.While):
        found |= _read(node.test) - known
        _after(node.body, known, found)
        return known
    if isinstance(node, ast.AugAssign):
        found |= (_read(node.value) | _stored(node.target)) - known
    else:
        found |= _read(node) - known
    return None if isinstance(node, (ast.Return, ast.Break, ast.Continue)) else known | _stored(node)


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
