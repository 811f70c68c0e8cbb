"""Programs that are wrong: random ones with a few random changes, as a user mistypes, forgets and mixes up.

Whatever comes of such a program is an error of errors.py that names a line, or a run. Nothing else may reach a user.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable
from typing import Any

__all__ = ["spoiled"]

_NAMES = ("v", "u", "old", "edge", "edges", "g", "p", "step", "run", "af", "math", "nothing", "HALF", "x1", "print")
_ATTRIBUTES = ("number", "in_degree", "rank", "x1", "y0", "weight", "vertices", "t0", "_run", "__class__", "shape")
_TEXTS = (
    "None", "'text'", "v", "u", "edges", "p", "[1, 2]", "(1, 2)", "{}", "lambda x: x", "v.number.real", "1j", "-1",
    "10**30", "math.nan", "af.random(v, step)", "af.mode(u.x1 for u in edges)", "sum(u.number for u in edges)",
    "af.first(u.number)", "af.any(1)", "v.x1[0]", "v.x1[9]", "max(v.x1, u.x1)", "halvings(v)", "halvings()",
    "af.topk(3, (u.number for u in edges))", "af.intersect(v, u)", "len(edges)", "[x for x in edges]", "f'{v.number}'",
    "min((1, 2), (2, 1))", "divmod(1, 0)", "round(0.5, 1)", "int('1')", "abs(v)", "range(3)", "v in p.sources",
    "not v", "v == u", "1 < v.number < 3", "u.number @ 2", "g.t0", "g.lost", "await_", "math.floor", "math.foo(1)",
)  # fmt: skip
_STATEMENTS = (
    "return", "return 1.5", "return None", "pass", "x = x + 1", "v.x1 = 0", "u.x1 = 1", "v.new = 1", "g.t0 += 1",
    "g.t0 = 5",
    "del v.x1", "global HALF", "import os", "raise ValueError('no')", "assert v.number > 0", "with v: pass", "yield 1",
    "try:\n    pass\nfinally:\n    pass", "for u in edges:\n    v.x1 = u.x1", "for i in v:\n    pass",
    "while True:\n    break", "for k in range(1.5):\n    pass", "for k in range(0, 9, 0):\n    pass",
    "def inner():\n    return 1", "class C:\n    pass",
    "a, b = 1", "a, b = v.x1, 2", "v.x1, v.y0 = min((v.x1, v.y0), (u.x1, u.y0))", "v.x1 = af.last(u.x1)", "v.x1 += 'a'",
    "v.x1 = max(u.x1, v.x1)", "v.x1 -= 1", "print(v.number)", "breakpoint", "edges = 3", "v = u", "p.rounds = 1",
    "match v.number:\n    case 1:\n        pass", "x: int = 3", "(y := 3)", "lambda: 0", "v.x1[0] += 1", "v.x1[k] = 0",
)  # fmt: skip
_TYPES = ("af.f64", "af.i8[300]", "af.f32[0]", "af.flag[2]", "af.ref[2]", "int", "float", "str", "af.total(af.f32)",
          "af.total(af.i64, 'mean')", "af.total(af.flag)", "af.vertices", "af.vertex", "af.f64[k]", "af.f64[1, 2]",
          "list", "'af.f64'", "None", "af.total")  # fmt: skip


def spoiled(source: str, draw: random.Random) -> str:
    """The text of a program with one to three changes; it is one that Python can parse."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        for _ in range(20):
            tree = ast.parse(source)
            draw.choice(_CHANGES)(tree, draw)
            try:
                text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                compile(text, "<spoiled>", "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError):
                continue
            if text != source:
                source = text
                break
    return source


def _nodes(tree: ast.AST, kind: Any) -> list[Any]:
    cls = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return [node for node in ast.walk(cls) if isinstance(node, kind)]


def _rename(tree: ast.AST, draw: random.Random) -> None:
    if names := [n for n in _nodes(tree, ast.Name) if isinstance(n.ctx, ast.Load)]:
        draw.choice(names).id = draw.choice(_NAMES)


def _other_attribute(tree: ast.AST, draw: random.Random) -> None:
    if found := _nodes(tree, ast.Attribute):
        draw.choice(found).attr = draw.choice(_ATTRIBUTES)


def _other_expression(tree: ast.AST, draw: random.Random) -> None:
    places = [
        (parent, name, at)
        for function in _nodes(tree, ast.FunctionDef)
        for parent in ast.walk(ast.Module(function.body, []))
        for name, value in ast.iter_fields(parent)
        for at, node in (enumerate(value) if isinstance(value, list) else [(None, value)])
        if isinstance(node, ast.expr) and name not in ("targets", "target")
    ]
    if not places:
        return
    parent, name, at = draw.choice(places)
    new = ast.parse(draw.choice(_TEXTS), mode="eval").body
    if at is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[at] = new


def _other_statement(tree: ast.AST, draw: random.Random) -> None:
    inside = [n for function in _nodes(tree, ast.FunctionDef) for n in ast.walk(function)]
    found = [getattr(n, name, None) for n in inside for name in ("body", "orelse")]
    blocks = [block for block in found if isinstance(block, list) and block]
    if not blocks:
        return
    block = draw.choice(blocks)
    at = draw.randrange(len(block))
    new = ast.parse(draw.choice(_STATEMENTS)).body
    if draw.random() < 0.3:
        block[at : at + 1] = new
    elif draw.random() < 0.3 and len(block) > 1:
        del block[at]
    else:
        block[at:at] = new


def _other_arguments(tree: ast.AST, draw: random.Random) -> None:
    found = _nodes(tree, ast.FunctionDef)
    if not found:
        return
    taken = draw.choice(found).args
    if taken.args and draw.random() < 0.5:
        del taken.args[draw.randrange(len(taken.args))]
    else:
        taken.args.append(ast.arg(draw.choice(_NAMES)))


def _other_name(tree: ast.AST, draw: random.Random) -> None:
    if found := _nodes(tree, ast.FunctionDef | ast.ClassDef)[1:]:
        draw.choice(found).name = draw.choice(["start", "update", "compute", "around", "init", "wants", "residual",
                                               "priority", "stop", "iteration", "forth", "other"])  # fmt: skip


def _other_type(tree: ast.AST, draw: random.Random) -> None:
    if found := _nodes(tree, ast.AnnAssign):
        draw.choice(found).annotation = ast.parse(draw.choice(_TYPES), mode="eval").body


def _other_operator(tree: ast.AST, draw: random.Random) -> None:
    if found := _nodes(tree, ast.BinOp | ast.AugAssign):
        kinds = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.BitOr, ast.LShift, ast.MatMult, ast.Mod]
        draw.choice(found).op = draw.choice(kinds)()


def _twice(tree: ast.AST, draw: random.Random) -> None:
    owners = _nodes(tree, ast.ClassDef)
    owner = draw.choice(owners)
    at = draw.randrange(len(owner.body))
    owner.body.insert(draw.randrange(len(owner.body)), copy.deepcopy(owner.body[at]))


def _without(tree: ast.AST, draw: random.Random) -> None:
    owner = draw.choice(_nodes(tree, ast.ClassDef))
    if len(owner.body) > 1:
        del owner.body[draw.randrange(len(owner.body))]


def _promise(tree: ast.AST, draw: random.Random) -> None:
    owner = draw.choice(_nodes(tree, ast.ClassDef))
    text = draw.choice(["sparse = True", "sparse = 1", "monotone = True", "norm = 'max'", "norm = 3", "fast = True",
                        "x = 5", "def around(v, edges):\n    v.x1 = 1", "def stop(g):\n    return g.t0"])  # fmt: skip
    owner.body[:0] = ast.parse(text).body


_CHANGES: tuple[Callable[[ast.AST, random.Random], None], ...] = (
    _rename, _other_attribute, _other_expression, _other_expression, _other_expression, _other_statement,
    _other_statement, _other_arguments, _other_name, _other_type, _other_operator, _twice, _without, _promise,
)  # fmt: skip
