"""Helper functions: functions of the module that a program calls, checked once for each combination of argument types.

``clip(u.x, 0, 1)`` becomes ``call0_clip(u_x, 0, 1)``, a function of the generated module whose locals are typed by this
call; LLVM inlines it. A helper may take ``v``, ``u``, ``old``, ``edge``, ``g`` or ``p``, too, and read their members:
these become arguments of the call, so that every analysis of an expression's dependences sees them. A helper that
returns a tuple is checked once for each element.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from arcflux.class_source import FunctionSource, find_function, names_around
from arcflux.compile.check.checked import Checked
from arcflux.compile.check.expressions import at
from arcflux.compile.check.functions import Statements
from arcflux.compile.check.indices import ANY, Span
from arcflux.compile.check.loops import always_returns
from arcflux.compile.check.types import Value, joined
from arcflux.compile.pieces.polling import is_polled
from arcflux.program import Function, Line

__all__ = ["Helper", "Helpers"]


@dataclass
class Helper(Checked):
    """A helper as it is called: its parameters, by plain names with their types, and its result type."""

    function: FunctionType = field(default=None, repr=False)  # type: ignore[assignment]
    code: Any = None
    parameters: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    polls: bool = False

    @property
    def names(self) -> Mapping[str, Any]:
        """The names around the function."""
        return names_around(self.function)

    @property
    def also(self) -> list[str]:
        """The plain names that it takes besides its own parameters."""
        return [*sorted(self.reads), *(["control"] if self.polls else [])]


@dataclass(frozen=True)
class Argument:
    """The arguments of a call: by parameter an argument of the function, or an expression with type and span."""

    owners: dict[str, str]
    values: dict[str, tuple[ast.expr, Value, Span]]


class Helpers:
    """All helpers of a program that is being checked, by function and types of arguments."""

    def __init__(self) -> None:
        self.known: dict[Any, Helper] = {}
        self.under_way: list[Any] = []

    def call(
        self, caller: Statements, node: ast.Call, function: FunctionType, element: int | None
    ) -> tuple[ast.expr, Value]:
        """A call of a helper over plain names, and its type (of an element, if it returns a tuple)."""
        source = self.source(caller, node, function)
        bindings = _bound(caller, node, function, source)
        arity = self.values_of(caller, node, function)
        if element is None and arity != 1:
            raise caller.refuse(
                node, f"{function.__name__} returns {arity} values", f"write a, b = {function.__name__}(...)"
            )
        kinds = tuple((name, kind, where) for name, (_, kind, where) in bindings.values.items())
        key = (function.__code__, id(function), element, kinds, tuple(bindings.owners.items()), caller.context)
        if key not in self.known:
            self.known[key] = self.read(caller, node, function, source, bindings, element)
        helper = self.known[key]
        caller.out.reads |= helper.reads
        caller.out.types |= {name: helper.types[name] for name in helper.reads if name in helper.types}
        caller.out.types |= {name: helper.types[name] for name in helper.types if name.startswith("call")}
        assert helper.result is not None
        caller.out.types[helper.name] = helper.result
        caller.out.helpers |= {**helper.helpers, helper.name: helper}
        arguments = [done for done, _, _ in bindings.values.values()]
        arguments += [ast.Name(name, ast.Load()) for name in helper.also]
        return ast.Call(ast.Name(helper.name, ast.Load()), arguments, []), helper.result

    def values_of(self, caller: Statements, node: ast.Call, function: FunctionType) -> int:
        """How many values a helper returns."""
        values = returned_values(self.source(caller, node, function).tree)
        if not values:
            raise caller.refuse(
                node, f"{function.__name__} returns different numbers of values", "return as many on every path"
            )
        return values

    def source(self, caller: Statements, node: ast.Call, function: FunctionType) -> FunctionSource:
        """The source of a helper, which has to be a plain function."""
        name = function.__name__
        if name == "<lambda>":
            raise caller.refuse(node, f"{ast.unparse(node.func)} is a lambda", "write it as a function, with def")
        helper_source = find_function(function)
        if helper_source is None:
            raise caller.refuse(
                node, f"the source of {name} cannot be found", "write it in the file or the notebook of the program"
            )
        parameters = helper_source.tree.args
        if not _compiles(helper_source.tree):
            raise caller.refuse(node, f"{name} has a decorator", "leave it out, or call a plain function")
        if parameters.vararg or parameters.kwarg:
            raise caller.refuse(node, f"{name} takes any number of arguments", "give it a fixed number of them")
        if function.__code__ in self.under_way:
            raise caller.refuse(
                node, f"{name} calls itself, and kernels have no recursion", "write a loop, such as while"
            )
        return helper_source

    def read(
        self, caller: Statements, node: ast.Call, function: FunctionType, source: FunctionSource, given: Argument,
        element: int | None,
    ) -> Helper:  # fmt: skip
        """Check a helper for the arguments of a call."""
        self.under_way.append(function.__code__)
        reader = HelperReader(caller.program, _as_function(function, source), caller.columns, self)
        try:
            helper = reader.read(caller, function, given, element)
        finally:
            self.under_way.pop()
        helper.name = f"call{len(self.known)}_{function.__name__}"
        helper.polls = is_polled(helper.body, {}) or any(inner.polls for inner in helper.helpers.values())
        return helper


def _compiles(tree: ast.FunctionDef) -> bool:
    """Whether it has no decorators but Numba's, which kernels do not need."""
    return all(ast.unparse(one).split("(")[0].split(".")[-1] in ("njit", "jit") for one in tree.decorator_list)


def _as_function(function: FunctionType, source: FunctionSource) -> Function:
    tree = source.tree
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    names = tuple(argument.arg for argument in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs])
    return Function(function.__name__, names, body, Line(tree.lineno, source.path, source.lines), function)


def returned_values(tree: ast.FunctionDef) -> int:
    """How many values a function returns: 1, or the length of its tuples; 0 if returns differ."""
    counts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            counts.add(len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1)
    return counts.pop() if len(counts) == 1 else 0 if counts else 1


def _bound(caller: Statements, node: ast.Call, function: FunctionType, source: FunctionSource) -> Argument:
    """The argument of each parameter: by position, by name, or by default."""
    parameters = source.tree.args
    places = [argument.arg for argument in [*parameters.posonlyargs, *parameters.args]]
    names = [*places, *(argument.arg for argument in parameters.kwonlyargs)]
    written: dict[str, ast.expr] = {}
    if len(node.args) > len(places) or any(isinstance(a, ast.Starred) for a in node.args):
        raise caller.refuse(node, f"{function.__name__} takes {len(places)} arguments", _call_of(function, names))
    written |= dict(zip(places, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in written:
            raise caller.refuse(
                node, f"{function.__name__} cannot be given {keyword.arg or '**'} here", _call_of(function, names)
            )
        written[keyword.arg] = keyword.value
    defaults = dict(zip(places[::-1], (function.__defaults__ or ())[::-1], strict=False))
    defaults |= function.__kwdefaults__ or {}
    bound = Argument({}, {})
    for name in names:
        if name not in written and name not in defaults:
            raise caller.refuse(node, f"{function.__name__} needs {name}", _call_of(function, names))
        one = written.get(name)
        if isinstance(one, ast.Name) and caller.owners.get(one.id, "step") != "step" and caller.mail(one) is None:
            bound.owners[name] = caller.owners[one.id]
            continue
        done, kind = caller.expression(one) if one is not None else caller.outside(node, name, defaults[name])
        where = caller.span(done) if kind.kind == "int" and kind.length is None else ANY
        bound.values[name] = (done, kind, where)
    return bound


def _call_of(function: FunctionType, names: list[str]) -> str:
    return f"call it as {function.__name__}({', '.join(names)})"


class HelperReader(Statements):
    """Checks a helper: like a function of the program, but its parameters are locals, and it only returns."""

    element: int | None = None
    made: Helper

    def read(self, caller: Statements, function: FunctionType, given: Argument, element: int | None) -> Helper:
        """The helper over plain names, with its parameters bound to the arguments of a call."""
        self.context, self.debug, self.element = caller.context, caller.debug, element
        self.owners = dict(given.owners)
        kinds = {f"l_{name}": kind for name, (_, kind, _) in given.values.items()}
        self.made = Helper(function.__name__, [], function=function, code=function.__code__, parameters=kinds)
        self.out = self.made
        for name, (_, kind, where) in given.values.items():
            self.out.locals[name] = kind
            self.spans[f"l_{name}"] = where if self.assigned(name) == 0 else ANY
        self.out.body = self.whole_body()
        if not always_returns(self.function.body):
            raise self.refuse(
                self.function.body[-1], f"{self.function.name} can end without a return", "return a value on every path"
            )
        return self.made

    def assigned(self, name: str, *, loops: bool = True) -> int:
        """How often a local is assigned, counting the call itself for a parameter."""
        names = super().assigned(name, loops=loops)
        return names + int(names > 0 and f"l_{name}" in self.made.parameters)

    def returned(self, node: ast.Return) -> ast.stmt:
        """A return: its type is that of all returns together."""
        value = node.value
        if value is None:
            raise self.refuse(node, f"{self.function.name} returns no value", "return a number, a flag or a vector")
        if self.element is not None:
            if not isinstance(value, ast.Tuple) or self.element >= len(value.elts):
                raise self.refuse(node, "returns of different numbers of values", "return as many on every path")
            value = value.elts[self.element]
        done, kind = self.expression(value)
        before = self.made.result
        if before is not None and (before.length != kind.length or (before.kind == "flag") != (kind.kind == "flag")):
            raise self.refuse(
                node, f"{self.function.name} returns {kind} here and {before} before", "return one type on every path"
            )
        self.made.result = kind if before is None else joined(before, kind)
        return at(node, ast.Return(done))

    def field_target(self, target: ast.expr) -> tuple[str, ast.expr | None]:
        """Refused: a helper assigns no fields."""
        raise self.refuse(
            target, f"{self.function.name} is a helper, which only returns a value",
            f"return the value, and write v.field = {self.function.name}(...) in the program",
        )  # fmt: skip
