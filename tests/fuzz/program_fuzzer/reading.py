"""The class of a program as the oracle reads it: executed as it stands, with names that stand for Arcflux's.

What differs from plain Python is written anew before: numbers that stand in the program, conditional values, totals.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from types import SimpleNamespace
from typing import Any

from program_fuzzer.numbers import KNOWN, counted, either, exponent, plain, weak
from program_fuzzer.post import Mail
from program_fuzzer.post import counted as mail_length
from program_fuzzer.values import IllDefined, OfSender, OneOf, choosing, copied, exact, fitting
from program_fuzzer.wild import RANGES

__all__ = [
    "EdgeField",
    "Kind",
    "Table",
    "Total",
    "VertexSet",
    "extremes",
    "flat",
    "is_sparse",
    "read",
    "reduced",
    "text_of",
]

_KINDS = ("f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "flag", "ref")
_NAMES = {"number", "in_degree", "out_degree"}
_COUNTS = {"vertices", "edges", "arcs"}


class Kind:
    """The type of a field, as the class says it."""

    def __init__(self, name: str, length: int | str | tuple[int, int] | None = None) -> None:
        self.name, self.length = name, length

    def __getitem__(self, length: int | str | tuple[int, int]) -> Kind:
        return Kind(self.name, length)


class Table(tuple[Any, ...]):
    """A parameter of several numbers; of a matrix ``p.rates[i, j]``."""

    def __getitem__(self, index: Any) -> Any:
        return weak(tuple(self[index[0]])[index[1]] if isinstance(index, tuple) else super().__getitem__(index))


class VertexSet:
    """A parameter of several vertices."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = set(numbers)

    def __contains__(self, vertex: Any) -> bool:
        return int(vertex.number) in self.numbers


class EdgeField:
    """A field of edges, as the class declares it."""

    def __init__(self, kind: Kind, first: Any = 0) -> None:
        self.kind, self.first = kind, bool(first) if kind.name == "flag" else first


class Total:
    """A total, as the class declares it."""

    def __init__(self, kind: Kind, how: str = "sum") -> None:
        self.kind, self.how = kind, how

    @property
    def nothing(self) -> Any:
        """What none contributes."""
        if self.kind.name == "flag":
            return self.how == "and"
        low, high = (-math.inf, math.inf) if self.kind.name == "f64" else RANGES[self.kind.name]
        return {"sum": 0, "or": 0, "and": -1, "min": high, "max": low}[self.how]

    def taken(self, before: Any, value: Any) -> Any:
        """What it becomes by one contribution."""
        value = plain(fitting(self.kind.name, value))
        choose = {"min": min, "max": max}.get(self.how)
        if choose is not None:
            return choose(before, value)
        found = {"sum": operator.add, "or": operator.or_, "and": operator.and_}[self.how](before, value)
        return exact("f64", float(found)) if self.kind.name == "f64" else found


def read(source: str) -> Any:
    """The class of a program, with names that stand for Arcflux's."""
    kinds = {name: Kind(name) for name in _KINDS}
    af = SimpleNamespace(**kinds, program=lambda cls: cls, vertex=object, total=Total, edge=EdgeField)
    af.vertices = VertexSet
    af.any = OneOf
    af.first, af.last = (lambda value: OfSender(value, 1)), (lambda value: OfSender(value, -1))
    af.random = _random
    af.mail, af.send = Mail, lambda to, **mail: af.desk.send(to, mail)
    af.neighbour = lambda v, k: weak(v.run.out[v.number][k][0])
    af.out_edge = lambda v, k: v.run.out[v.number][k][1]
    af.mode, af.median, af.topk, af.intersect = _mode, _median, _topk, _intersect
    af.dot = lambda a, b: sum((a * b).elements)
    names: dict[str, Any] = {"af": af, **KNOWN, "either": either, "len": mail_length, "__name__": "oracle"}
    names |= {name: _of_lists(choosing(KNOWN[name])) for name in ("min", "max")}
    text = "\n".join(line for line in source.splitlines() if not line.startswith("import "))
    text = text.replace("in af.intersect(v, u):", "in shared(edges, u):")
    names["shared"] = _shared
    names |= {"number": weak, "exponent": exponent, "counted": counted, "copied": copied}
    names["range"] = lambda *given: [weak(k) for k in range(*given)]
    names["sum"] = lambda values: sum(values, weak(0))
    names["abs"] = lambda x: abs(counted(x))
    names["divmod"] = lambda a, b: (counted(a) // b, counted(a) % b)
    module = _matrices(ast.parse(text))
    numbers = {ast.unparse(n.targets[0]): ast.literal_eval(n.value) for n in module.body if isinstance(n, ast.Assign)}
    module.body = [_Choices(numbers).visit(n) if not isinstance(n, ast.Assign) else n for n in module.body]
    tree = ast.fix_missing_locations(module)
    exec(compile(tree, "<oracle>", "exec", dont_inherit=True), names)
    found = next(value for value in names.values() if isinstance(value, type) and value.__module__ == "oracle")
    found.af = af
    return found


def flat(source: str) -> str:
    """The source of a program that inherits, as one class: its own lines, and what only its base says."""
    if "class Fuzzed(" not in source:
        return source
    module = ast.parse(source)
    base, cls = (node for node in module.body if isinstance(node, ast.ClassDef))
    own = {_name_of(node) for node in cls.body}
    cls.body = [node for node in base.body if _name_of(node) not in own] + cls.body
    cls.bases = []
    module.body.remove(base)
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    return ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])  # type: ignore[attr-defined]


def _matrices(module: ast.Module) -> ast.Module:
    """With vectors of edges in place of matrices: ``edge.m[i, j]`` is element i * columns + j."""
    wide: dict[str, int] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign) and (
            found := re.match(r"af\.edge\(af\.\w+\[(\d+), (\d+)\]", ast.unparse(node.annotation))
        ):
            wide[ast.unparse(node.target)] = int(found[2])
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Tuple)
            and isinstance(node.value, ast.Attribute)
        ):
            row, column = map(ast.unparse, node.slice.elts)
            if node.value.attr in wide:
                node.slice = ast.parse(f"({row}) * {wide[node.value.attr]} + ({column})", mode="eval").body
    return module


def _random(of: Any, step: int, k: int = 0, seed: int = 0) -> Any:
    """SplitMix64's output of seed, number, step and k, one after another, in 64 bits; 53 of them are the result.

    That of an edge has two numbers, and begins with the increment.
    """
    key, numbers = (0x9E3779B97F4A7C15, of.ends) if hasattr(of, "ends") else (0, [getattr(of, "number", of)])
    for word in (seed, *numbers, step, k):
        key = (key + (int(word) + 1) * 0x9E3779B97F4A7C15) % (1 << 64)
        key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
        key = (key ^ key >> 27) * 0x94D049BB133111EB % (1 << 64)
        key ^= key >> 31
    return KNOWN["float"](key // 2048 / 2.0**53)


def _of_lists(choose: Any) -> Any:
    """`min` or `max`, also of what a generator gives."""

    def chosen(*given: Any, default: Any = None) -> Any:
        if len(given) > 1:
            return choose(*given)
        row = list(given[0])
        return choose(*row, row[0]) if row else default

    return chosen


def _mode(values: Any, default: Any) -> Any:
    """By counting each value anew."""
    row = [pair if isinstance(pair, tuple) else (pair, 1) for pair in values]
    sums = {value: sum(weight for other, weight in row if other == value) for value, _ in row}
    return min(value for value in sums if sums[value] == max(sums.values())) if row else default


def _median(values: Any, default: Any) -> Any:
    row = sorted(values)
    half = len(row) // 2
    return default if not row else (row[half] * 0.5 + row[~half] * 0.5)


def _topk(k: int, values: Any, default: Any) -> list[Any]:
    return [*sorted(values, reverse=True), *([default] * k)][:k]


def _intersect(v: Any, u: Any) -> Any:
    both = [{int(w) for w, _ in one.run.into[one.number]} for one in (v, u)]
    return weak(len(both[0] & both[1]))


def _shared(edges: list[Any], u: Any) -> list[Any]:
    """Those of the edges whose ends lead to u, too; of parallel ones the first."""
    into = {int(w) for w, _ in u.run.into[u.number]}
    first = {int(w.number): w for w in reversed(edges) if int(w.number) in into}
    return [w for w in edges if first.get(int(w.number)) is w]


class _Choices(ast.NodeTransformer):
    """``a if test else b`` has the type of both, and numbers that stand there are like any other, also in locals.

    Numbers alone are computed as Python does; an exponent of them that is below 0 makes a float. `known` are the
    numbers of the module. A flag that is counted with is 0 or 1.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit(self, node: ast.AST) -> Any:
        return _named("number", self._checked(node)) if self._is_constant(node) else super().visit(node)

    def _checked(self, node: ast.AST, low: float = -math.inf, high: float = math.inf) -> ast.AST:
        """Numbers alone: those that have no value, or are not as they should be, are refused before anything runs."""
        try:
            value = eval(ast.unparse(node), dict(self.known))  # noqa: S307
        except (ArithmeticError, ValueError) as error:
            raise IllDefined(repr(error)) from error
        if isinstance(value, complex) or value < low or value > high:
            raise IllDefined(f"{value!r} is refused")
        return node

    def _is_constant(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.Name):
            return node.id in self.known
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self._is_constant(node.operand)
        return isinstance(node, ast.BinOp) and self._is_constant(node.left) and self._is_constant(node.right)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        if node.name != "iteration":
            node.body = [self.visit(each) for each in node.body]
            node.args.defaults = [self.visit(each) for each in node.args.defaults]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        fixed = self._is_constant(node.right)
        bits = isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
        left = self.visit(node.left) if bits else _named("counted", self.visit(node.left))
        right = (
            _named("exponent", self._checked(node.right))
            if fixed and isinstance(node.op, ast.Pow)
            else self.visit(node.right)
        )
        if fixed and isinstance(node.op, ast.LShift | ast.RShift):
            self._checked(node.right, 0, 63)
        return ast.BinOp(left, node.op, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.visit(node.operand)
        return ast.UnaryOp(node.op, inner if isinstance(node.op, ast.Not) else _named("counted", inner))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        return self._contributed(node.target, node.value) if _of_g(node.target) else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and re.match(r"af\.(first|last)\(", ast.unparse(node.value)):
            call: Any = node.value
            names = tuple(ast.unparse(one).removeprefix("v.") for one in target.elts)
            sign = 1 if call.func.attr == "first" else -1
            return ast.Expr(ast.Call(ast.Attribute(ast.Name("v", ast.Load()), "first_of", ast.Load()),
                                     [ast.Constant(names), call.args[0], ast.Constant(sign)], []))  # fmt: skip
        if not _of_g(target):
            node.value = _named("copied", node.value) if isinstance(target, ast.Name) else node.value
            return node
        assert isinstance(node.value, ast.Call)
        return self._contributed(target, node.value.args[1])

    def _contributed(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        """``g.t[k] += x`` as a call."""
        owner = target.value if isinstance(target, ast.Subscript) else target
        assert isinstance(owner, ast.Attribute)
        index = target.slice if isinstance(target, ast.Subscript) else ast.Constant(None)
        contribute = ast.Attribute(owner.value, "contribute", ast.Load())
        return ast.Expr(ast.Call(contribute, [ast.Constant(owner.attr), index, value], []))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        nothing = ast.arguments([], [], None, [], [], None, [])
        sides: list[ast.expr] = [ast.Lambda(nothing, side) for side in (node.body, node.orelse)]
        return ast.Call(ast.Name("either", ast.Load()), [node.test, *sides], [])


def _named(name: str, node: ast.AST) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [node], [])


def _of_g(target: ast.expr) -> bool:
    """Whether something of g is assigned."""
    owner = target.value if isinstance(target, ast.Subscript) else target
    return isinstance(owner, ast.Attribute) and ast.unparse(owner.value) == "g"


def text_of(source: str, function: str) -> str:
    """The lines of a function, which a program that was made small may lack."""
    return source.partition(f"def {function}(")[2].split("    def ")[0]


def extremes(source: str) -> set[str]:
    """The fields into which compute reduces the least or the largest message."""
    compute = source.partition("def compute")[2].split("def ")[0]
    return set(re.findall(r"v\.(\w+)(?:\[[^]]*\])? = (?:min|max)\(v\.", compute))


def is_sparse(source: str) -> bool:
    """Whether only changed vertices send: it is said, follows from a priority, or is plain from the program."""
    functions = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    if "    sparse = True" in source or "priority" in functions:
        return True
    if "compute" not in functions or "receive" in functions or re.search(r"def along|edge\.e\d|\.reverse\.", source):
        return False
    compute = functions["compute"]
    old = {n.attr for n in ast.walk(compute) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "old"} - _NAMES
    step = any(isinstance(n, ast.Name) and n.id == "step" for n in ast.walk(compute))
    step = step or any(_of_g(n) and n.attr not in _COUNTS for n in ast.walk(compute) if isinstance(n, ast.Attribute))
    steady = not old and not step and "wants" not in functions and not _reduces_otherwise(compute)
    return steady and not any(_writes(functions[name]) for name in ("init", "update") if name in functions)


def _writes(function: ast.FunctionDef) -> bool:
    targets = (n for n in ast.walk(function) if isinstance(n, ast.Attribute | ast.Subscript))
    return any(isinstance(n.ctx, ast.Store) and not _of_g(n) for n in targets)


def _reduces_otherwise(compute: ast.FunctionDef) -> bool:
    """Whether a reduction is none of min, max, or, and."""
    for node in ast.walk(compute):
        if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            if not isinstance(node.op, ast.BitOr | ast.BitAnd):
                return True
        elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ("any", "first", "last"):
                return True
    return False


def reduced(source: str) -> set[str]:
    """The fields that compute reduces into, or around writes."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    inner = [n for function in functions if function.name in ("compute", "around") for n in ast.walk(function)]
    found = [n for n in inner if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store)]
    return {n.value.attr if isinstance(n, ast.Subscript) else n.attr for n in found}  # type: ignore[attr-defined]
