"""How messages combine: the operation that a function of two values says, and the field in which it combines them.

Messages are combined in an *accumulator*: a field that the program writes anyway if one has the type (then the kernel
is that of the native form), else one of its own, which no result shows.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arcflux.dialects.syntax import (
    field_writes,
    first_written,
    names_in,
    replaced,
    stored_names,
    without_early_returns,
)
from arcflux.dialects.translation import Translation
from arcflux.field_type import f64, i64, ref
from arcflux.program import FieldType

__all__ = [
    "Accumulator", "accumulator", "add_compute", "add_init", "combine", "identity", "merged_field", "returned_type",
    "with_message",
]  # fmt: skip

_IDEMPOTENT = ("min", "max", "or", "and")
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "sum", ast.Mult: "product", ast.BitOr: "or", ast.BitAnd: "and"}
_COMBINERS = "a + b, a * b, min(a, b), max(a, b), a | b or a & b"
# What compute may ask for.
_ASKED = ("edge", "g", "old", "p", "step", "u")


@dataclass(frozen=True)
class Accumulator:
    """The field in which messages are combined, by which operation; `own` when no result shows it."""

    name: str
    operation: str
    own: bool = False

    @property
    def target(self) -> ast.Attribute:
        """``v.name``, to read."""
        return ast.Attribute(ast.Name("v", ast.Load()), self.name, ast.Load())

    @property
    def stored(self) -> ast.Attribute:
        """``v.name``, to write."""
        return ast.Attribute(ast.Name("v", ast.Load()), self.name, ast.Store())

    def reduce(self, value: ast.expr) -> ast.stmt:
        """The statement of compute that combines a value into it."""
        operators = {name: kind for kind, name in _OPERATORS.items()}
        if self.operation in operators:
            return ast.AugAssign(self.stored, operators[self.operation](), value)
        call = ast.Call(ast.Name(self.operation, ast.Load()), [self.target, value], [])
        return ast.Assign([self.stored], call)


def combine(made: Translation, name: str) -> str:
    """The operation of a function of two values, such as ``return a + b``."""
    node = made.functions[name]
    arguments = [argument.arg for argument in node.args.args]
    (last, *others) = reversed(made.body(name))
    operation = None
    if not others and len(arguments) == 2 and isinstance(last, ast.Return) and last.value is not None:
        operation = _operation(last.value, set(arguments))
    if operation is None:
        raise made.refusal(node, f"{name} is not a way to combine that kernels know in any order",
                           f"return one of {_COMBINERS}, and nothing besides: it is not called")  # fmt: skip
    return operation


def _operation(value: ast.expr, names: set[str]) -> str | None:
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and isinstance(value.right, ast.Name):
        return _OPERATORS.get(type(value.op)) if {value.left.id, value.right.id} == names else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        given = {a.id for a in value.args if isinstance(a, ast.Name)}
        return value.func.id if given == names and len(value.args) == 2 and not value.keywords else None
    return None


def returned_type(made: Translation, name: str) -> FieldType | None:
    """The type that a function says it returns; None when it says none."""
    node = made.functions[name]
    if node.returns is None:
        return None
    kind = made.evaluate(node.returns)
    if not isinstance(kind, FieldType):
        raise made.refusal(node, f"{name} does not say which type it returns", f"write `def {name}(...) -> af.f64:`")
    return kind


def accumulator(
    made: Translation, operation: str, kind: FieldType | None, writes: Sequence[str], *, reuse: bool
) -> Accumulator:
    """Where messages of a type combine; `writes` are the fields that may serve, if `reuse`.

    Without a type, the first field that is written says it. The numbers of vertices have 64 bits while their least or
    largest is looked for: as fields they may have 32, which do not hold what it begins with.
    """
    fields = made.fields()
    fitting = [name for name in writes if name in fields and (kind is None or fields[name] == kind)]
    kind = kind or (fields[fitting[0]] if reuse and fitting else f64)
    beyond = kind == ref and operation in ("min", "max")
    if reuse and fitting and not beyond:
        return Accumulator(fitting[0], operation)
    kind, name = i64 if beyond else kind, "accumulated"
    while name in fields or made.own_fields.get(name, kind) != kind:
        name += "_"
    made.own_fields[name] = kind
    return Accumulator(name, operation, own=True)


def add_compute(made: Translation, body: list[ast.stmt], into: Accumulator, like: str) -> None:
    """Add `compute`: what the statements of a message return is combined; a `return` without a value sends nothing.

    They say ``old`` for the vertex that receives: what they read of it is what it was before the superstep.
    """
    body = without_early_returns(body)
    asked = sorted(names_in(body) & set(_ASKED))
    combining = [_Combining(into).visit(node) for node in body]
    made.add("compute", ["v", *asked], combining, like)


class _Combining(ast.NodeTransformer):
    """``return x`` becomes the statement that combines x."""

    def __init__(self, into: Accumulator) -> None:
        self.into = into

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(self.into.reduce(node.value), node)


def add_init(made: Translation, into: Accumulator, like: str, first: ast.expr | None = None) -> None:
    """Add `init`: before messages come, the accumulator has `first`, or what combining leaves as it is."""
    kind = {**made.fields(), **made.own_fields}[into.name]
    value = identity(into.operation, kind) if first is None else first
    made.add("init", ["v", *sorted(names_in([value]) & {"g", "p"})], [ast.Assign([into.stored], value)], like)


def with_message(name: str, body: list[ast.stmt], into: Accumulator) -> list[ast.stmt]:
    """Statements that find what was combined under a name of their own, and v's fields as they were before.

    Where the accumulator is not written before the last of them reads the name, it stands for the name itself.
    """
    written = next((k for k, node in enumerate(body) if into.name in field_writes([node])), len(body))
    kept = into.own or into.name in first_written(body)
    if kept and name not in names_in(body[written + 1 :]) and name not in stored_names(body):
        simple = written == len(body) or isinstance(body[written], ast.Assign)
        if simple:
            return replaced(body, lambda node: into.target if isinstance(node, ast.Name) and node.id == name else None)
    lines: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], into.target)]
    if not kept:
        before = ast.Attribute(ast.Name("old", ast.Load()), into.name, ast.Load())
        lines.append(ast.Assign([into.stored], before))
    return [*lines, *body]


def merged_field(node: ast.stmt, operation: str, message: str) -> str | None:
    """The field of a statement that merges a message into it, such as ``v.dist = min(v.dist, message)``.

    Only by an operation that takes the same message twice without harm.
    """
    value: ast.expr | None = None
    target: ast.expr | None = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
        target = node.target
        value = ast.BinOp(ast.Attribute(node.target.value, node.target.attr, ast.Load()), node.op, node.value)
    if value is None or not isinstance(target, ast.Attribute) or operation not in _IDEMPOTENT:
        return None
    own = f"v.{target.attr}"
    same = ast.unparse(target) == own and sorted(_sides(value, operation)) == sorted([own, message])
    return target.attr if same else None


def _sides(value: ast.expr, operation: str) -> list[str]:
    """The two sides of ``min(a, b)`` or ``a | b``, if that is the operation; none otherwise."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == operation:
        return [ast.unparse(part) for part in value.args]
    signs: dict[str, type[ast.operator]] = {"or": ast.BitOr, "and": ast.BitAnd}
    if isinstance(value, ast.BinOp) and isinstance(value.op, signs.get(operation, ast.MatMult)):
        return [ast.unparse(value.left), ast.unparse(value.right)]
    return []


def identity(operation: str, kind: FieldType) -> ast.expr:
    """What an operation leaves as it is, of a type."""
    dtype = kind.dtype
    if dtype.kind == "b":
        return ast.Constant(operation in ("and", "min", "product"))
    if operation in ("sum", "or"):
        return ast.Constant(0.0 if dtype.kind == "f" else 0)
    if operation == "product":
        return ast.Constant(1.0 if dtype.kind == "f" else 1)
    if operation == "and":
        return ast.Constant(int(np.iinfo(dtype).max) if dtype.kind == "u" else -1)
    if dtype.kind == "f":
        infinite: ast.expr = ast.Constant(float("1e999"))
        return infinite if operation == "min" else ast.UnaryOp(ast.USub(), infinite)
    return ast.Constant(int(np.iinfo(dtype).max if operation == "min" else np.iinfo(dtype).min))
