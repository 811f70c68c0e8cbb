"""Type the expressions of a program, over plain names: the half of checking without statements.

Every kind of expression has a method named after its node (``_binop`` for ``ast.BinOp``) that returns the expression
over plain names and its type; a kind without one is refused. Numbers that the module defines become literals.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from arcflux.compile.check.checked import Checked
from arcflux.compile.check.indices import Span, span
from arcflux.compile.check.literals import literal
from arcflux.compile.check.types import (
    BITS,
    FLAG,
    FLOAT,
    INT,
    Value,
    joined,
    of_call,
    of_dtype,
    of_number,
    of_operation,
    of_power,
    of_sign,
)
from arcflux.errors import ProgramError, UsageError, did_you_mean
from arcflux.program import ABOUT_GRAPH, FieldType, Function, Program, dot, first, last, random, vertex, vertices
from arcflux.program import any as arcflux_any

__all__ = ["MISSING", "READS", "UNCHANGING", "Expressions", "at", "length_of", "resolved", "sign"]

Node = TypeVar("Node", bound=ast.AST)
Typed = tuple[ast.expr, Value]

READS = {"v": "a vertex", "old": "the vertex before the superstep", "u": "the neighbour"}
_PREFIX = {"v": "v", "u": "u", "old": "o", "edge": "e", "g": "g", "p": "p"}
_MEMBER = {"edge": "weight", "g": "vertices", "p": "damping"}  # examples in remedies
# Members of a vertex besides its fields.
UNCHANGING = ("number", "in_degree", "out_degree")
_SIMPLE = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_SIGNS: dict[type[ast.operator], str] = {
    ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip
_LOOPED = ("sum", "len", "sorted", "list")
_OF_CHANCE = ("random", "secrets")
_BUILT_IN = ("abs", "min", "max", "int", "float", "bool", "range", "round", "divmod")
# Functions of math that every back end has.
_MATH = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "degrees",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "gamma", "hypot", "isfinite", "isinf", "isnan",
    "lgamma", "log", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
}  # fmt: skip
# How many arguments functions take that do not take one.
_TWO = ("math.atan2", "math.copysign", "math.fmod", "math.hypot", "math.pow")
_NO_EXPRESSIONS = {
    "Lambda": "a function within a function", "ListComp": "a list", "List": "a list", "Tuple": "a tuple",
    "Dict": "a dictionary", "Set": "a set", "JoinedStr": "text", "GeneratorExp": "a generator", "NamedExpr": ":=",
    "Await": "await", "Yield": "yield", "Slice": "a slice",
}  # fmt: skip
# What to write instead of some of them.
_INSTEAD = {
    "Tuple": "give each value a name, or an element of a vector: v.x[0], v.x[1] = a, b",
    "Slice": "write a loop: for k in range(3), or the whole vector",
    "ListComp": "write a generator over edges without the brackets, or a loop",
    "List": "use a vector: a field or a parameter of type af.f64[3]",
    "Lambda": "write a function of the module, and call it",
    "NamedExpr": "assign on a line of its own: y = u.x",
    "Dict": "use a vector: a field or a parameter of type af.f64[3], or locals",
    "Set": "use flags, or a parameter of type af.vertices",
    "JoinedStr": "use numbers; print(...) on a line of its own works with debug=True",
}
# What to write instead of calls known from Python and NumPy.
_CALLED_ELSEWHERE = {
    "pow": "write a ** b",
    "sorted": "write af.median, af.topk(3, ...), min or max of a generator over edges, in around",
    "mean": "write sum(u.x for u in edges) / v.in_degree in around; or v.x += u.x in compute, divided in update",
    "median": "write af.median(u.x for u in edges), in around",
    "enumerate": "count by a local: k = 0 before the loop, k += 1 in it",
    "zip": "write one loop, and name fields of what it goes through",
    "isinstance": "leave it out: every value has one type, that of its field",
    "print": "write it on a line of its own, and run with debug=True",
} | dict.fromkeys(("set", "Counter"), "write af.mode(u.label for u in edges) in around for the most frequent one, or "
                  "af.intersect(v, u) for common neighbours")  # fmt: skip
# What other systems call the number of a vertex.
_NUMBER_ELSEWHERE = ("id", "index", "vid", "vertex", "node")
MISSING = object()
# Workers have a few dozen vectors on their stacks at once (spmd/long_lanes.py).
_LONGEST = 4096


def written_fields(body: list[ast.stmt]) -> set[str]:
    """The fields of v that statements assign, whole or by element."""
    stores = [
        node for statement in body for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)
    ]
    targets = [node.value if isinstance(node, ast.Subscript) else node for node in stores]
    return {
        target.attr
        for target in targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "v"
    }


class Expressions:
    """The expressions of one function; what they read is recorded in `out`."""

    debug = False

    def __init__(
        self, program: Program, function: Function, columns: dict[str, np.dtype[Any]], helpers: Any = None
    ) -> None:
        self.program = program
        self.function = function
        self.columns = columns
        self.helpers = helpers
        self.context = function.name  # the function of the program, also within a helper that it calls
        self.owners = {name: name for name in function.arguments}  # what arguments stand for
        self.names = function.names
        self.out = Checked(function.name, [])
        self.spans: dict[str, Span] = {}  # of integer locals
        self.endless: set[str] = set()  # those whose span grows in a loop
        self.unassigned: set[str] = set()  # those that may be read before they are assigned
        self.kept_names: dict[tuple[int, int], int] = {}  # of values before they are assigned

    def refuse(self, node: ast.AST, what: str, remedy: str) -> ProgramError:
        """The error for a node of this function."""
        line = getattr(node, "lineno", None)
        return self.program.refusal(self.function.line if line is None else self.function.at(line), what, remedy)

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression used as a condition: here `and` and `or` also accept numbers."""
        if isinstance(node, ast.BoolOp):
            return at(node, ast.BoolOp(node.op, [self.truth(value) for value in node.values]))
        return self.single(node)

    def single(self, node: ast.expr) -> ast.expr:
        """An expression with a single value."""
        done, kind = self.expression(node)
        if kind.length is not None:
            raise self.refuse(node, "a vector is neither true nor false", "compare one of its elements")
        return done

    def expression(self, node: ast.expr) -> Typed:
        """An expression over plain names, and its type."""
        visit: Callable[[Any], Typed] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            what = _NO_EXPRESSIONS.get(type(node).__name__, type(node).__name__)
            remedy = _INSTEAD.get(type(node).__name__, "use numbers, fields and arithmetic")
            raise self.refuse(node, f"{what} cannot be compiled here", remedy)
        done, kind = visit(node)
        return at(node, done), kind

    def _constant(self, node: ast.Constant) -> Typed:
        if isinstance(node.value, bool):
            return node, FLAG
        if isinstance(node.value, int):
            return self.outside(node, str(node.value), node.value)
        if isinstance(node.value, float):
            return node, FLOAT
        raise self.refuse(
            node, f"{node.value!r} is not a number", "use numbers; None and text have no place in a kernel"
        )

    def _name(self, node: ast.Name) -> Typed:
        if node.id == "step" and "step" in self.owners:
            self.out.reads.add("step")
            return ast.Name("step", ast.Load()), INT
        if node.id in self.out.locals:
            return ast.Name(f"l_{node.id}", ast.Load()), self.out.locals[node.id]
        if node.id in self.owners:
            raise self.refuse(
                node,
                f"{node.id} by itself has no value",
                f"name a field of it, such as {node.id}.{_MEMBER.get(node.id, 'number')}",
            )
        return self.outside(node, node.id, self.around(node.id))

    def around(self, name: str) -> Any:
        """The value of a name in the module of the program, or MISSING. It is recorded: it may change between runs."""
        self.out.around[name] = resolved(self.names, name)
        return self.out.around[name]

    def outside(self, node: ast.AST, name: str, value: Any) -> Typed:
        """A name of the module: a number is replaced by its value."""
        if value is MISSING:
            raise self.refuse(
                node, f"nothing is known by the name {name}", "assign it first, or list it as an argument"
            )
        if isinstance(value, (bool, np.bool_)):
            return ast.Constant(bool(value)), FLAG
        if isinstance(value, (int, np.integer)):
            if not -(1 << 63) <= value < 1 << 64:
                raise self.refuse(node, f"{name} does not fit in 64 bits", "use a smaller number, or a float")
            return ast.Constant(int(value)), of_number(int(value))
        if isinstance(value, (float, np.floating)):
            return _float(float(value)), FLOAT
        if isinstance(value, np.ndarray):
            raise self.refuse(
                node, f"{name} is an array of the module, which a kernel cannot see",
                "make it a vertex field, an edge column, or a parameter",
            )  # fmt: skip
        raise self.refuse(
            node, f"{name} is a {type(value).__name__}, not a number", "only numbers of the module can be used"
        )

    def _attribute(self, node: ast.Attribute) -> Typed:
        if not isinstance(node.value, ast.Name):
            of_list = "edges" in self.owners and ast.unparse(node).startswith("edges[")
            remedy = (
                "name fields directly, as in v.rank"
                if not of_list
                else "write for u in edges, and name fields directly: u.x"
            )
            raise self.refuse(node, f"{ast.unparse(node)} cannot be compiled here", remedy)
        owner, name = node.value.id, node.attr
        if owner in self.owners:
            return self.member(node, self.owners[owner], name)
        if owner in _PREFIX:
            raise self.refuse(
                node,
                f"{owner} is not an argument of {self.function.name}",
                f"add it: def {self.function.name}(..., {owner})",
            )
        home = self.around(owner)
        if home is MISSING:
            raise self.refuse(node, f"nothing is known by the name {owner}", "list it as an argument, or import it")
        value = self.around(f"{owner}.{name}") if isinstance(home, (type, ModuleType)) else MISSING
        if isinstance(value, (int, float, np.number, np.bool_)):
            return self.outside(node, f"{owner}.{name}", value)
        raise self.refuse(
            node,
            f"{owner}.{name} is not a number",
            "use numbers of modules and classes, such as math.pi, or an IntEnum",
        )

    def member(self, node: ast.AST, owner: str, name: str) -> Typed:
        """The value of an argument's member, such as ``u.rank``."""
        # In compute, v's fields that only update writes do not change: they have the values from before the superstep,
        # like all fields in along.
        writer = self.writer_before_update(name) if self.context == "compute" and owner == "v" else ""
        same = owner == "v" and (self.context == "along" or (self.context == "compute" and not writer))
        plain = f"{_PREFIX['old' if same else owner]}_{name}"
        kind = self.member_type(node, owner, name)
        self.out.reads.add(plain)
        self.out.types[plain] = kind
        if writer:
            by_edges = "other edges are changing at the same time"
            change = by_edges if writer == "compute" else "init writes in every superstep"
            raise self.refuse(
                node,
                f"compute reads v.{name}, which {change}",
                f"read old.{name} (list old as an argument), or reduce: v.{name} = min(v.{name}, ...)",
            )
        return ast.Name(plain, ast.Load()), kind

    def writer_before_update(self, name: str) -> str:
        """Which of compute and init writes a field of v, if any."""
        for each in ("compute", "init"):
            function = self.program.functions.get(each)
            if function is not None and name in written_fields(function.body):
                return each
        return ""

    def member_type(self, node: ast.AST, owner: str, name: str) -> Value:
        """The type of a member, which has to exist."""
        if owner in READS:
            return INT if name in UNCHANGING else self.known_field(node, name)
        if owner == "edge":
            if name not in self.columns:
                known = ", ".join(self.columns) or "none"
                raise self.refuse(node, f"the graph has no edge column {name!r}", f"its columns: {known}")
            kind = of_dtype(self.columns[name])
            return INT if kind.kind == "int" else kind
        if owner == "g":
            if name in ABOUT_GRAPH:
                return INT
            kind = self.known_total(node, name)
            if self.function.name == "start" and not self.program.is_phase:
                raise self.refuse(
                    node, f"start reads g.{name}, which is known once start was called for every vertex",
                    f"read g.{name} in init, compute or update: in the first superstep it is what start contributed",
                )  # fmt: skip
            return kind
        parameter = self.program.parameters.get(name)
        if parameter is None:
            known = ", ".join(self.program.parameters) or "none"
            raise self.refuse(node, f"there is no parameter {name!r}", f"declare `{name}: float = ...`; known: {known}")
        if parameter.kind is vertices:
            raise self.refuse(node, f"p.{name} is a set of vertices", f"write v in p.{name}")
        if isinstance(parameter.kind, FieldType):
            return of_dtype(parameter.kind.dtype, length_of(self.program, parameter.kind))
        return {int: INT, vertex: INT, float: FLOAT, bool: FLAG}[parameter.kind]

    def _subscript(self, node: ast.Subscript) -> Typed:
        several = self.values_of_call(node.value) if isinstance(node.value, ast.Call) else None
        if several is not None:
            return self.expression(several[self.constant_index(node, len(several))])
        done, kind = self.expression(node.value)
        columns = self.columns_of(node.value)
        if columns is not None and kind.length is not None:
            return ast.Subscript(done, self.place_in_matrix(node, kind.length, columns), ast.Load()), kind.scalar()
        if kind.length is None:
            raise self.refuse(node, "a single value cannot be indexed", "leave the index out")
        return ast.Subscript(done, self.index(node, kind), ast.Load()), kind.scalar()

    def constant_index(self, node: ast.Subscript, several: int) -> int:
        """A constant index into several values."""
        index = literal(node.slice)
        if type(index) is not int or not 0 <= index < several:
            raise self.refuse(
                node, f"{ast.unparse(node.value)} gives {several} values", f"index with 0 to {several - 1}"
            )
        return index

    def columns_of(self, node: ast.expr) -> int | None:
        """The number of columns of the matrix that an expression names; None if it is no matrix."""
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            return None
        kind = self.program.arrays.get(node.attr) if self.owners.get(node.value.id) == "p" else None
        return kind.columns if kind is not None else None

    def place_in_matrix(self, node: ast.Subscript, length: int, columns: int) -> ast.expr:
        """The position of an element in a matrix, which is stored row by row."""
        if not (isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2):
            text = ast.unparse(node.value)
            raise self.refuse(node, f"{text} is a matrix", f"index with two numbers: {text}[i, j]")
        ends, places = (length // columns, columns), []
        for index, end in zip(node.slice.elts, ends, strict=True):
            one = at(node, ast.Subscript(node.value, index, ast.Load()))
            places.append(self.index(one, Value("int", None, end)))
        row, column = places
        return at(node, ast.BinOp(ast.BinOp(row, ast.Mult(), ast.Constant(columns)), ast.Add(), column))

    def index(self, node: ast.Subscript, kind: Value) -> ast.expr:
        """An index into a vector, which must always be inside it: kernels do not check."""
        done, of_index = self.expression(node.slice)
        if of_index.kind != "int" or of_index.length is not None:
            raise self.refuse(node, "an index that is no whole number", "index with an integer")
        assert isinstance(kind.length, int)
        low, high = self.span(done)
        if low < 0 or high >= kind.length:
            raise self.refuse(
                node,
                f"the index {ast.unparse(node.slice)} can be outside of 0 to {kind.length - 1}",
                f"index with a number, with k of for k in range({kind.length}), or with ... % {kind.length}",
            )
        return done

    def span(self, done: ast.expr) -> Span:
        """The smallest and the largest value of a typed expression."""
        types = {**self.out.types, **{f"l_{name}": kind for name, kind in self.out.locals.items()}}
        return span(done, self.spans, self.program, types)

    def _binop(self, node: ast.BinOp) -> Typed:
        (left, a), (right, b) = self.expression(node.left), self.expression(node.right)
        if a.length is not None and b.length is not None and a.length != b.length:
            raise self.refuse(node, f"{a} and {b} have different lengths", "combine vectors of one length")
        if isinstance(node.op, BITS):
            if "float" in (a.kind, b.kind):
                raise self.refuse(node, f"{sign(node.op)} of a float", "use whole numbers or flags")
        elif not isinstance(node.op, _SIMPLE):
            raise self.refuse(node, f"{sign(node.op)} cannot be compiled here", "use af.dot(a, b) for vectors")
        done = ast.BinOp(left, node.op, right)
        known = self.folded(node, done)
        if known is not None:
            return known
        bits = literal(right) if isinstance(node.op, (ast.LShift, ast.RShift)) else None
        if bits is not None and not 0 <= bits < 64:
            raise self.refuse(node, f"a shift by {bits}", "shift by 0 to 63 bits")
        return done, of_power(done, a, b) if isinstance(node.op, ast.Pow) else of_operation(node.op, a, b)

    def folded(self, node: ast.expr, done: ast.expr) -> Typed | None:
        """An expression of numbers alone becomes its value, as Python computes it; None for other expressions."""
        try:
            value = literal(done)
        except (ArithmeticError, ValueError) as error:
            raise self.refuse(node, f"{ast.unparse(node)}: {error}", "write the number that is meant") from None
        return None if value is None else self.outside(node, ast.unparse(node), value)

    def _unaryop(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, self.truth(node.operand)), FLAG
        done, kind = self.expression(node.operand)
        if isinstance(node.op, ast.Invert) and kind.length is not None:
            raise self.refuse(node, "~ of a vector", "use ^ with the bits to turn")
        if isinstance(node.op, ast.Invert) and kind.kind == "float":
            raise self.refuse(node, "~ of a float", "use whole numbers")
        made = ast.UnaryOp(node.op, done)
        return self.folded(node, made) or (made, of_sign(kind))

    def _boolop(self, node: ast.BoolOp) -> Typed:
        values = [self.expression(value) for value in node.values]
        word = "and" if isinstance(node.op, ast.And) else "or"
        for value, (_, kind) in zip(node.values, values, strict=True):
            if kind.kind != "flag" or kind.length is not None:
                text = ast.unparse(value)
                raise self.refuse(
                    node, f"{text} is {kind}, and `{word}` gives flags where its value is used",
                    f"write {text} != 0, or choose: a if a != 0 else b",
                )  # fmt: skip
        return ast.BoolOp(node.op, [done for done, _ in values]), FLAG

    def _compare(self, node: ast.Compare) -> Typed:
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self.membership(node, node.left, node.comparators[0])
        if any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            raise self.refuse(node, "in and is cannot be compiled here", "compare with == or !=")
        parts = [self.single(part) for part in (node.left, *node.comparators)]
        return ast.Compare(parts[0], node.ops, parts[1:]), FLAG

    def membership(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> Typed:
        """``v in p.sources``: a flag of each vertex."""
        owner = self.owners.get(left.id, "") if isinstance(left, ast.Name) else ""
        home = self.owners.get(right.value.id, "") if isinstance(right, ast.Attribute) and isinstance(
            right.value, ast.Name) else ""  # fmt: skip
        name = right.attr if isinstance(right, ast.Attribute) else ""
        if home != "p" or name not in self.program.memberships:
            raise self.refuse(
                node, "in and is cannot be compiled here",
                "compare with == or !=; v in p.sources needs a parameter `sources: af.vertices`",
            )  # fmt: skip
        if owner not in READS:
            raise self.refuse(node, f"{ast.unparse(left)} is no vertex", f"write v in p.{name}")
        # Like v's number, the set does not change during a run.
        plain = f"{_PREFIX['old' if self.context in ('along', 'compute') and owner == 'v' else owner]}_{name}"
        self.out.reads.add(plain)
        self.out.types[plain] = of_dtype(np.dtype(np.bool_))
        done: ast.expr = ast.Name(plain, ast.Load())
        return (ast.UnaryOp(ast.Not(), done) if isinstance(node.ops[0], ast.NotIn) else done), FLAG

    def _ifexp(self, node: ast.IfExp) -> Typed:
        (yes, a), (no, b) = self.expression(node.body), self.expression(node.orelse)
        if a.length != b.length or ("flag" in (a.kind, b.kind) and a.kind != b.kind):
            raise self.refuse(node, f"one branch is {a}, the other {b}", "give both branches the same type")
        return ast.IfExp(self.truth(node.test), yes, no), joined(a, b)

    def known_field(self, node: ast.AST, name: str) -> Value:
        """The type of a vertex field, which has to exist."""
        kind = self.program.fields.get(name)
        if kind is None:
            known = ", ".join(self.program.fields)
            remedy = did_you_mean(name, self.program.fields, f"declare it, or use one of: {known}")
            if name in _NUMBER_ELSEWHERE:
                remedy = (
                    "v.number is the number of a vertex; a parameter `source: af.vertex` is the one with a given id"
                )
            raise self.refuse(node, f"there is no vertex field {name!r}", remedy)
        return of_dtype(kind.dtype, length_of(self.program, kind))

    def known_total(self, node: ast.AST, name: str) -> Value:
        """The type of a total, which has to exist."""
        declared = self.program.totals.get(name)
        if declared is None:
            known = ", ".join([*ABOUT_GRAPH, *self.program.totals])
            raise self.refuse(
                node, f"g has no {name!r}", f"g has {known}; to add it up, declare `{name}: af.total(af.f64)`"
            )
        return of_dtype(declared.type.dtype, length_of(self.program, declared.type))

    # --- calls

    def called(self, node: ast.expr) -> str:
        """The name of a built-in function of kernels; '' for anything else."""
        if isinstance(node, ast.Name):
            function = self.around(node.id)
            if function is MISSING:
                return node.id if node.id in _BUILT_IN else ""
            return _imported(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = getattr(self.around(node.value.id), "__name__", "")
            if home == "arcflux" and node.attr in ("any", "dot", "first", "last", "random"):
                return node.attr
            if home in ("math", "numpy") and node.attr in _MATH:
                return f"math.{node.attr}"
        return ""

    def helper(self, node: ast.expr) -> FunctionType | None:
        """The function of the module that is called; None for any other."""
        name = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if not name.replace(".", "").replace("_", "").isalnum() or name.split(".")[0] in self.owners:
            return None
        function = self.around(name)
        function = getattr(function, "py_func", function)
        own = (getattr(function, "__module__", None) or "").split(".")[0] != "arcflux"
        return function if isinstance(function, FunctionType) and (own or "." not in name) else None

    def values_of_call(self, node: ast.Call) -> list[ast.expr] | None:
        """The values of a call with several: divmod, or a helper that returns a tuple; None for any other."""
        if self.called(node.func) == "divmod":
            if len(node.args) != 2 or node.keywords:
                raise self.refuse(node, "divmod takes two numbers", "write q, r = divmod(a, b)")
            a, b = node.args
            return [at(node, ast.BinOp(a, op, b)) for op in (ast.FloorDiv(), ast.Mod())]
        function = None if self.called(node.func) else self.helper(node.func)
        several = self.helpers.values_of(self, node, function) if function is not None else 1
        return None if several == 1 else [at(node, Element(node, k)) for k in range(several)]

    def _element(self, node: Element) -> Typed:
        function = self.helper(node.value.func)
        done: Typed = self.helpers.call(self, node.value, function, node.place)
        return done

    def _call(self, node: ast.Call) -> Typed:
        name = self.called(node.func)
        function = None if name else self.helper(node.func)
        if function is not None:
            done: Typed = self.helpers.call(self, node, function, None)
            return done
        if name == "random":
            return self.random(node)
        if name == "divmod":
            raise self.refuse(node, "divmod gives two values", "write q, r = divmod(a, b)")
        if not name or name == "range" or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            text = ast.unparse(node.func)
            reason = "a program cannot call itself" if text == self.function.name else f"{text} cannot be called here"
            if text in _LOOPED and len(node.args) == 1 and not isinstance(node.args[0], ast.GeneratorExp):
                raise self.refuse(node, reason, "of a vector, write a loop: for k in range(3)")
            raise self.refuse(node, reason, self.instead(text))
        if name in ("any", "first", "last"):
            raise self.refuse(node, f"af.{name} stands for a reduction", f"in compute, write v.field = af.{name}(...)")
        arguments = [self.expression(a) for a in node.args]
        return self.known_call(node, name, [a for a, _ in arguments], [k for _, k in arguments])

    def instead(self, said: str) -> str:
        """What to write instead of a call that kernels do not have."""
        module, _, name = said.rpartition(".")
        if module.split(".")[-1] in _OF_CHANCE or (module and "random" in module.split(".")):
            return "write af.random(v, step), a number in [0, 1) that is the same on any number of workers"
        if (name or said) in _CALLED_ELSEWHERE:
            return _CALLED_ELSEWHERE[name or said]
        return (
            "known: abs, min, max, round, int, float, bool, math.*, af.dot, af.random, functions of the module, in "
            "compute af.any, in around af.mode, af.median, af.topk and af.intersect"
        )

    def random(self, node: ast.Call) -> Typed:
        """``af.random(v, step, k=0, seed=0)``: a function of whole numbers."""
        arguments = dict(zip(("of", "step", "k", "seed"), node.args, strict=False))
        named = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        if len(node.args) > 4 or named.keys() - {"step", "k", "seed"} or named.keys() & arguments.keys():
            raise self.refuse(node, "af.random takes v, step, k and seed", "write af.random(v, step, k=1, seed=p.seed)")
        arguments |= named
        if "of" not in arguments or "step" not in arguments:
            raise self.refuse(node, "af.random without a vertex and a superstep", "write af.random(v, step)")
        words = {name: self.word(arguments[name]) for name in ("step", "k", "seed") if name in arguments}
        seed, step, k = (words.get(name, ast.Constant(0)) for name in ("seed", "step", "k"))
        of = arguments["of"]
        owner = self.owners.get(of.id, "") if isinstance(of, ast.Name) else ""
        if owner == "edge":
            order = ("v", "u") if self.program.edges == "against" else ("u", "v")
            ends = [self.member(node, end, "number")[0] for end in order]
            counts = [self.member(node, "g", name)[0] for name in ("edges", "arcs")]
            both: ast.expr = ast.Compare(counts[0], [ast.NotEq()], [counts[1]])  # an undirected edge is two arcs
            if self.program.edges == "both":
                both = ast.Constant(True)
            return ast.Call(ast.Name("random_between", ast.Load()), [seed, *ends, both, step, k], []), FLOAT
        number = self.member(node, owner, "number")[0] if owner in READS else self.word(of)
        return ast.Call(ast.Name("random_of", ast.Load()), [seed, number, step, k], []), FLOAT

    def word(self, node: ast.expr) -> ast.expr:
        """An integer argument of a random number."""
        done, kind = self.expression(node)
        if kind.kind != "int" or kind.length is not None:
            raise self.refuse(node, f"af.random of {ast.unparse(node)}, which is {kind}", "give it whole numbers")
        return done

    def known_call(self, node: ast.Call, name: str, done: list[ast.expr], kinds: list[Value]) -> Typed:
        """A call of a built-in function, and its type."""
        if name == "dot":
            if len(kinds) != 2 or kinds[0].length is None or kinds[0].length != kinds[1].length:
                raise self.refuse(
                    node, "af.dot takes two vectors of one length", "write af.dot(u.factors, old.factors)"
                )
        elif any(kind.length is not None for kind in kinds) and name not in ("min", "max", "abs"):
            raise self.refuse(node, f"{name} of a vector", "use it on elements, in a for loop")
        elif len({kind.length for kind in kinds if kind.length is not None}) > 1:
            raise self.refuse(node, f"{name} of vectors of different lengths", "combine vectors of one length")
        elif name in ("min", "max"):
            if len(kinds) < 2:
                raise self.refuse(node, f"{name} of one value", f"write {name}(a, b)")
        elif len(kinds) != (2 if name in _TWO else 1) and (kinds or name not in ("int", "float", "bool")):
            raise self.refuse(node, f"{name} of {len(kinds)} values", _with_one_less(name))
        function: ast.expr = ast.Name(name, ast.Load())
        if name.startswith("math."):
            function = ast.Attribute(ast.Name("math", ast.Load()), name.removeprefix("math."), ast.Load())
        return ast.Call(function, done, []), of_call(name, kinds)


class Element(ast.expr):
    """One of the values that a call of a helper returns."""

    def __init__(self, value: ast.Call, place: int) -> None:
        super().__init__()
        self.value, self.place = value, place


def resolved(names: Mapping[str, Any], name: str) -> Any:
    """The value of a name, also of one within a module such as ``tools.clip``; MISSING if there is none."""
    first, *rest = name.split(".")
    found = names.get(first, MISSING)
    for word in rest:
        found = getattr(found, word, MISSING)
    return found


def _imported(found: Any) -> str:
    """The kernels' name of a function that was imported by itself, as by ``from math import sqrt``."""
    if found is not None and any(found is one for one in (arcflux_any, dot, first, last, random)):
        return str(found.__name__)
    known = getattr(found, "__module__", "") == "math" and getattr(found, "__name__", "") in _MATH
    return f"math.{found.__name__}" if known else ""


def _with_one_less(name: str) -> str:
    """What to write instead of a call with a wrong number of arguments."""
    if name == "round":
        return "write round(100 * x) / 100 for two places"
    if name == "math.log":
        return "write math.log(x) / math.log(base), or math.log2, math.log10"
    return f"write {name}(a, b)" if name in _TWO else f"write {name}(a)"


def length_of(program: Program, kind: FieldType) -> int | None:
    """The length of a field, with the program's parameters; None for a single value."""
    length = int(program.parameters[kind.length].value) if isinstance(kind.length, str) else kind.length
    if length is not None and not 0 < length <= _LONGEST:
        declared = {**program.fields, **program.edge_fields, **program.totals, **program.arrays}
        name = next((name for name, one in declared.items() if kind in (one, getattr(one, "type", None))), "")
        where = f", in line {int(program.lines[name])} of {program.path}: {name}" if name in program.lines else ""
        raise UsageError(
            f"{program.name} has a vector of length {length}{where}", expected=f"1 to {_LONGEST} elements",
            remedy="keep what is longer on edges, in mail, or on several vertices",
        )  # fmt: skip
    return length


def at(node: ast.AST, made: Node) -> Node:
    """`made` with the line of `node`."""
    return ast.fix_missing_locations(ast.copy_location(made, node))


def sign(op: ast.operator) -> str:
    """The source text of an operator."""
    return _SIGNS.get(type(op), type(op).__name__)


def _float(value: float) -> ast.expr:
    """A literal, or the name of one of the three floats that have none."""
    if math.isfinite(value):
        return ast.Constant(value)
    name = "nan" if math.isnan(value) else "inf"
    special: ast.expr = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
    return ast.UnaryOp(ast.USub(), special) if value < 0 else special
