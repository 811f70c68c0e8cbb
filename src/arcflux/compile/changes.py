"""What the return values of `start` and `update` imply about a vertex, determined from their text.

The value of `update` only decides whether the vertex sends next: a vertex may change and return False, or return True
unchanged. A kernel may skip work only where the value and the change provably go together.
"""

from __future__ import annotations

import ast

from arcflux.compile.lower import Lowered

__all__ = ["quiet", "steady"]


def steady(lowered: Lowered) -> bool:
    """Whether a pull may read the messages of all in-neighbours: those outside the frontier would change nothing.

    Every vertex sends at first, changed vertices send again, and a repeated message changes nothing and has no other
    effect.
    """
    if not lowered.idempotent or not quiet(lowered):
        return False
    returns = [n.value for node in lowered.functions["start"].body for n in ast.walk(node) if isinstance(n, ast.Return)]
    everyone = all(isinstance(value, ast.Constant) and value.value is True for value in returns)
    sent = {n.id[2:] for m in lowered.messages for n in ast.walk(m.source) if isinstance(n, ast.Name)}
    return everyone and sent & set(lowered.reductions) <= _detected_fields(lowered, _answer(lowered))


def quiet(lowered: Lowered) -> bool:
    """Whether a message that leaves v's accumulators unchanged may count as none: it has no other effect."""
    functions = lowered.functions
    silent = not lowered.measures and not any(functions[f].writes for f in ("init", "update") if f in functions)
    return silent and _rests(lowered, _answer(lowered))


def _answer(lowered: Lowered) -> ast.expr | None:
    """The expression that update returns, if that is its only statement."""
    body = lowered.functions["update"].body
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _compared(test: ast.expr | None) -> tuple[str, type[ast.cmpop]] | None:
    """The field and the operator of a comparison such as ``v.x < old.x``, normalised to have v on the left."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    ends = (test.left, test.comparators[0])
    names = [end.id if isinstance(end, ast.Name) else "" for end in ends]
    operator = type(test.ops[0])
    if names[0].startswith("o_"):
        names.reverse()
        operator = {ast.Lt: ast.Gt, ast.Gt: ast.Lt}.get(operator, operator)
    field = names[0][2:]
    return (field, operator) if names == [f"v_{field}", f"o_{field}"] else None


def _detected_fields(lowered: Lowered, test: ast.expr | None) -> set[str]:
    """The fields of which every change that compute can make makes a test true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return set().union(*(_detected_fields(lowered, value) for value in test.values))
    comparison = _compared(test)
    if comparison is None:
        return set()
    field, operator = comparison
    how = lowered.reductions.get(field)
    shows = {"min": ast.Lt, "max": ast.Gt}.get(how.operation) if how else None
    return {field} if operator in (ast.NotEq, shows) else set()


def _rests(lowered: Lowered, test: ast.expr | None) -> bool:
    """Whether a test is false for an unchanged vertex. NaN differs from itself, so floats may compare as unequal."""
    if isinstance(test, ast.BoolOp):
        some = any if isinstance(test.op, ast.And) else all
        return some(_rests(lowered, value) for value in test.values)
    if isinstance(test, ast.Constant):
        return test.value is False
    comparison = _compared(test)
    if comparison is None:
        return False
    field, operator = comparison
    return operator in (ast.Lt, ast.Gt) or (operator is ast.NotEq and lowered.fields[field][0].kind != "f")
