"""From the class of a dialect to a program: the same statements, on the same lines, under the native form's names.

A dialect splits a superstep into other functions than ours, and says with a function of two values how messages
combine. Translation works on the syntax tree before anything is checked, so that a dialect has no kernels of its own,
and what is refused is refused on the user's line. Messages are combined in an *accumulator*: a field that the program
writes anyway if one has the type (then the kernel is that of the native form), else one of its own, which no result
shows.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from arcflux.class_source import ClassSource, find_source
from arcflux.errors import UsageError
from arcflux.program import FieldType, Program, f64, read_class

__all__ = [
    "Accumulator", "Translation", "combine", "field_reads", "field_writes", "first_written", "identity", "merged_field",
    "renamed", "stored_names", "without_early_returns",
]  # fmt: skip

_IDEMPOTENT = ("min", "max", "or", "and")
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "sum", ast.Mult: "product", ast.BitOr: "or", ast.BitAnd: "and"}
_COMBINERS = "a + b, a * b, min(a, b), max(a, b), a | b or a & b"


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

    def reduce(self, value: ast.expr) -> ast.stmt:
        """The statement of compute that combines a value into it."""
        stored = ast.Attribute(ast.Name("v", ast.Load()), self.name, ast.Store())
        operators = {name: kind for kind, name in _OPERATORS.items()}
        if self.operation in operators:
            return ast.AugAssign(stored, operators[self.operation](), value)
        call = ast.Call(ast.Name(self.operation, ast.Load()), [self.target, value], [])
        return ast.Assign([stored], call)


@dataclass
class Translation:
    """The class of a dialect: its source, its functions, and the native functions that are made of them.

    functions: name -> the function as it is written; rest: fields, parameters, promises; own_fields: those that no
    result shows; words: what errors call a native function.
    """

    cls: type
    source: ClassSource
    dialect: str
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    rest: list[ast.stmt] = field(default_factory=list)
    own_fields: dict[str, FieldType] = field(default_factory=dict)
    native: list[ast.FunctionDef] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, given: Any, frame: FrameType, dialect: str, known: Mapping[str, Sequence[str]], required: Sequence[str]
    ) -> Translation:
        """Read a class; `known` are the functions of the dialect, with the arguments that each may ask for."""
        if not isinstance(given, type):
            raise UsageError(f"@af.{dialect} stands above {given!r}", expected="a class")
        made = cls(given, find_source(given, frame), dialect)
        for node in made.source.tree.body:
            if not isinstance(node, ast.FunctionDef):
                made.rest.append(node)
                continue
            if node.name not in known:
                raise made.refusal(node, f"a program of af.{dialect} has no function {node.name!r}",
                                   "use one of: " + ", ".join(known))  # fmt: skip
            for argument in node.args.args:
                if argument.arg not in known[node.name]:
                    raise made.refusal(node, f"{node.name} cannot have an argument {argument.arg!r}",
                                       f"{node.name} may ask for: {', '.join(known[node.name])}")  # fmt: skip
            made.functions[node.name] = node
        for name in required:
            if name not in made.functions:
                arguments = ", ".join(known[name][:2])
                raise made.refusal(made.source.tree, f"the function {name} is missing",
                                   f"add `def {name}({arguments}): ...`")  # fmt: skip
        return made

    def refusal(self, node: ast.AST, what: str, remedy: str) -> Exception:
        """The error for something on a line of the class."""
        about = Program(self.cls.__name__, "", {}, {}, {}, frozenset(), {}, self.source.path, text=self.source.lines)
        return about.refusal(getattr(node, "lineno", self.source.first), what, remedy)

    def body(self, name: str) -> list[ast.stmt]:
        """A copy of the statements of a function, without its docstring."""
        node = copy.deepcopy(self.functions[name])
        return node.body[1:] if ast.get_docstring(node) is not None else node.body

    def arguments(self, *names: str) -> list[str]:
        """The arguments that some functions ask for, each once."""
        asked = [a.arg for name in names if name in self.functions for a in self.functions[name].args.args]
        return list(dict.fromkeys(asked))

    def add(self, name: str, arguments: Sequence[str], body: list[ast.stmt], like: str) -> None:
        """Add a native function; what has no line of its own stands on that of the function it is made of."""
        (made,) = ast.parse(f"def {name}({', '.join(arguments)}): pass").body
        assert isinstance(made, ast.FunctionDef)
        for node in ast.walk(made):
            ast.copy_location(node, self.functions[like])
        made.body = body or made.body
        _place(made, self.functions[like].lineno)
        self.native.append(made)
        self.words[name] = like

    def keep(self, *names: str) -> None:
        """Take over functions that the native form has, too, if they are there."""
        self.native += [self.functions[name] for name in names if name in self.functions]

    # --- how messages combine

    def fields(self) -> dict[str, FieldType]:
        """The vertex fields that the class declares."""
        found = {}
        for node in self.rest:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                kind = self.evaluate(node.annotation)
                if isinstance(kind, FieldType):
                    found[node.target.id] = kind
        return found

    def evaluate(self, node: ast.expr) -> Any:
        """What an annotation means where the class stands; None for what means nothing yet."""
        around = {**self.source.names, **self.source.scope, **vars(self.cls)}
        try:
            return eval(compile(ast.Expression(node), self.source.path, "eval"), around)  # noqa: S307 - the user's own
        except (NameError, AttributeError, TypeError):
            return None

    def accumulator(self, operation: str, message: str, writes: Sequence[str], *, reuse: bool) -> Accumulator:
        """Where messages of the function `message` combine; `writes` are the fields that may serve, if `reuse`."""
        node, fields = self.functions[message], self.fields()
        kind = f64 if node.returns is None else self.evaluate(node.returns)
        if not isinstance(kind, FieldType):
            raise self.refusal(node, f"{message} does not say which type it returns",
                               f"write `def {message}(...) -> af.f64:`")  # fmt: skip
        fitting = [name for name in writes if name in fields and (node.returns is None or fields[name] == kind)]
        if reuse and fitting:
            return Accumulator(fitting[0], operation)
        name = "accumulated"
        while name in fields:
            name += "_"
        self.own_fields[name] = kind
        return Accumulator(name, operation, own=True)

    def add_compute(self, message: str, into: Accumulator) -> None:
        """Add `compute`: what `message` returns is combined; a `return` without a value sends nothing.

        What it reads of v is what v was before the superstep.
        """
        arguments = self.arguments(message)
        body = without_early_returns(renamed(self.body(message), {"v": "old"}))
        asked = {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name)} & {*arguments, "old"}
        combining = [_Combining(into).visit(node) for node in body]
        self.add("compute", ["v", *sorted(asked - {"v"})], combining, message)

    def add_init(self, into: Accumulator, like: str) -> None:
        """Add `init`: before messages come, the accumulator has what combining leaves as it is."""
        stored = ast.Attribute(ast.Name("v", ast.Load()), into.name, ast.Store())
        kind = {**self.fields(), **self.own_fields}[into.name]
        self.add("init", ["v"], [ast.Assign([stored], identity(into.operation, kind))], like)

    def with_message(self, name: str, body: list[ast.stmt], into: Accumulator) -> list[ast.stmt]:
        """Statements that find what was combined under a name of their own, and v's fields as they were before."""
        lines: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], into.target)]
        if not into.own and into.name not in first_written(body):
            before = ast.Attribute(ast.Name("old", ast.Load()), into.name, ast.Load())
            lines.append(ast.Assign([ast.Attribute(ast.Name("v", ast.Load()), into.name, ast.Store())], before))
        return [*lines, *body]

    # --- the program

    def program(self, promises: Sequence[str] = ()) -> Program:
        """The program that was made, read as any other."""
        tree = copy.copy(self.source.tree)
        tree.body = [*self.rest, *self.native]
        calls = _compiled(self.cls, self.native, self.source)
        made = read_class(self.cls, replace(self.source, tree=tree), calls, dict(self.own_fields))
        made = replace(made, words=self.words)
        return made.promising(*promises) if promises else made


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
                           f"return one of {_COMBINERS}")  # fmt: skip
    return operation


def _operation(value: ast.expr, names: set[str]) -> str | None:
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and isinstance(value.right, ast.Name):
        return _OPERATORS.get(type(value.op)) if {value.left.id, value.right.id} == names else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        given = {a.id for a in value.args if isinstance(a, ast.Name)}
        return value.func.id if given == names and len(value.args) == 2 and not value.keywords else None
    return None


def field_reads(body: Sequence[ast.stmt], owner: str) -> set[str]:
    """The members of an argument that statements read."""
    return {name for name, context in _members(body, owner) if isinstance(context, ast.Load)}


def field_writes(body: Sequence[ast.stmt], owner: str = "v") -> list[str]:
    """The members of an argument that statements assign, in order."""
    return list(dict.fromkeys(name for name, context in _members(body, owner) if isinstance(context, ast.Store)))


def _members(body: Sequence[ast.stmt], owner: str) -> list[tuple[str, ast.expr_context]]:
    found = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Attribute)]
    return [(n.attr, n.ctx) for n in found if isinstance(n.value, ast.Name) and n.value.id == owner]


def without_early_returns(body: list[ast.stmt]) -> list[ast.stmt]:
    """The same statements with what follows an ``if`` that returns in its ``else``: a return then ends nothing."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Return):
            return body[: k + 1]
        if isinstance(node, ast.If) and any(isinstance(part, ast.Return) for part in ast.walk(node)):
            rest = body[k + 1 :]
            yes = without_early_returns([*node.body, *copy.deepcopy(rest)])
            no = without_early_returns([*node.orelse, *rest])
            return [*body[:k], ast.copy_location(ast.If(node.test, yes or [ast.Pass()], no), node)]
    return body


class _Combining(ast.NodeTransformer):
    """``return x`` becomes the statement that combines x."""

    def __init__(self, into: Accumulator) -> None:
        self.into = into

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(self.into.reduce(node.value), node)


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


def first_written(body: Sequence[ast.stmt]) -> set[str]:
    """The fields that assignments on every path write before anything reads them."""
    found: set[str] = set()
    for k, node in enumerate(body):
        if any(isinstance(part, ast.Return) for part in ast.walk(node)):
            break
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            name = node.targets[0].attr
            if name not in field_reads(body[:k], "v") and name not in field_reads([ast.Expr(node.value)], "v"):
                found.add(name)
    return found


def stored_names(body: Sequence[ast.stmt]) -> set[str]:
    """The local names that statements assign."""
    names = [n for node in body for n in ast.walk(node) if isinstance(n, ast.Name)]
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def renamed(body: list[ast.stmt], names: Mapping[str, str]) -> list[ast.stmt]:
    """The same statements with other names."""
    return [_Renaming(names).visit(node) for node in body]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def identity(operation: str, kind: FieldType) -> ast.expr:
    """What an operation leaves as it is, of a type."""
    dtype = kind.dtype
    if dtype.kind == "b":
        return ast.Constant(operation in ("and", "min"))
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


def _place(made: ast.AST, line: int) -> None:
    """Give what has no line the line of what stands around it."""
    for node in ast.walk(made):
        if isinstance(node, (ast.expr, ast.stmt, ast.arg)) and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
    ast.fix_missing_locations(made)


def _compiled(cls: type, functions: list[ast.FunctionDef], source: ClassSource) -> dict[str, FunctionType]:
    """The native functions as Python's own, for runs in plain Python; they see what the class's functions see."""
    own = [function for function in vars(cls).values() if isinstance(function, FunctionType)]
    cells = {
        name: cell
        for function in own
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    }
    # Within a function that has names of enclosing functions, the compiler takes them for such; the cells are theirs.
    outer = "def outer():\n" + "".join(f"    {name} = None\n" for name in cells) + "    pass\n"
    (around,) = ast.parse(outer).body
    assert isinstance(around, ast.FunctionDef)
    around.body += functions
    code = compile(ast.Module([around], []), source.path, "exec").co_consts[0]
    made = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            closure = tuple(cells[name] for name in inner.co_freevars)
            made[inner.co_name] = FunctionType(inner, own[0].__globals__, inner.co_name, None, closure)
    return made
