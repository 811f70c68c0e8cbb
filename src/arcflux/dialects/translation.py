"""From the class of a dialect to a program: the same statements, on the same lines, under the native form's names.

A dialect splits a superstep into other functions than ours, and says with a function of two values how messages
combine. Translation works on the syntax tree before anything is checked, so that a dialect has no kernels of its own,
and what is refused is refused on the user's line.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, FunctionType, MappingProxyType
from typing import Any

from arcflux.class_source import ClassSource, find_source
from arcflux.dialects.syntax import place
from arcflux.errors import UsageError
from arcflux.field_type import FieldType
from arcflux.parsing import parse
from arcflux.phase import PhaseClass
from arcflux.program import FUNCTIONS, Program, read_class

__all__ = ["Translation"]


@dataclass
class _Group:
    """Native functions that stand together, in the program or in a phase; words: what errors call each of them."""

    native: list[ast.FunctionDef] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    edges: str | None = "along"

    def in_order(self) -> Sequence[ast.FunctionDef]:
        """The functions in the order that programs have them in, so that kernels are those of the native form."""
        return sorted(self.native, key=lambda node: list(FUNCTIONS).index(node.name))


@dataclass
class Translation:
    """The class of a dialect: its source, its functions, and the native functions that are made of them.

    functions: name -> the function as it is written; rest: fields, parameters, promises; own_fields: those that no
    result shows.
    """

    cls: type
    source: ClassSource
    dialect: str
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    rest: list[ast.stmt] = field(default_factory=list)
    own_fields: dict[str, FieldType] = field(default_factory=dict)
    made: _Group = field(default_factory=_Group)
    phases: dict[str, _Group] = field(default_factory=dict)

    @classmethod
    def of(
        cls, given: Any, frame: FrameType, dialect: str, known: Callable[[ast.FunctionDef], Sequence[str] | None],
        names: Sequence[str],
    ) -> Translation:  # fmt: skip
        """Read a class. `known` gives the arguments that a function may ask for, None for one that there is not.

        `names` are the functions that an error offers.
        """
        if not isinstance(given, type):
            raise UsageError(f"@af.{dialect} stands above {given!r}", expected="a class")
        made = cls(given, find_source(given, frame), dialect)
        for node in made.source.tree.body:
            if not isinstance(node, ast.FunctionDef):
                made.rest.append(node)
                continue
            allowed = known(node)
            if allowed is None:
                raise made.refusal(node, f"a program of af.{dialect} has no function {node.name!r}",
                                   "use one of: " + ", ".join(names))  # fmt: skip
            for argument in node.args.args:
                if argument.arg not in allowed:
                    raise made.refusal(node, f"{node.name} cannot have an argument {argument.arg!r}",
                                       f"{node.name} may ask for: {', '.join(allowed)}")  # fmt: skip
            made.functions[node.name] = node
        return made

    def require(self, name: str, *arguments: str) -> None:
        """Refuse a class that has not a function."""
        if name not in self.functions:
            raise self.refusal(self.source.tree, f"the function {name} is missing",
                               f"add `def {name}({', '.join(arguments)}): ...`")  # fmt: skip

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

    def promises(self, name: str) -> bool:
        """Whether the class makes a promise, such as ``sparse = True``."""
        return bool(vars(self.cls).get(name, False))

    def fields(self) -> dict[str, FieldType]:
        """The vertex fields that the class declares."""
        found = {}
        for node in self.rest:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None:
                kind = self.evaluate(node.annotation)
                if isinstance(kind, FieldType):
                    found[node.target.id] = kind
        return found

    def evaluate(self, node: ast.expr) -> Any:
        """What an expression means where the class stands; None for what means nothing yet."""
        around = {**self.source.names, **self.source.scope, **vars(self.cls)}
        try:
            return eval(compile(ast.Expression(node), self.source.path, "eval"), around)  # noqa: S307 - the user's own
        except (NameError, AttributeError, TypeError):
            return None

    def refuse_writes(self, name: str, taker: str) -> None:
        """Refuse a function that makes messages and writes more than names of its own; `taker` may write fields."""
        for node in (n for part in self.body(name) for n in ast.walk(part)):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
                raise self.refusal(node, f"{name} writes {ast.unparse(node)}, and all that it does is make a message",
                                   f"send what is to be written, and write it in {taker}")  # fmt: skip

    # --- what is made

    def add(self, name: str, arguments: Sequence[str], body: list[ast.stmt], like: str) -> None:
        """Add a native function; what has no line of its own stands on that of the function it is made of."""
        (made,) = parse(f"def {name}({', '.join(arguments)}): pass").body
        assert isinstance(made, ast.FunctionDef)
        for node in ast.walk(made):
            ast.copy_location(node, self.functions[like])
        made.body = body or made.body
        place(made, self.functions[like].lineno)
        self.made.native.append(made)
        self.made.words[name] = like

    def keep(self, *names: str) -> None:
        """Take over functions that the native form has, too, if they are there."""
        self.made.native += [self.functions[name] for name in names if name in self.functions]

    @contextmanager
    def phase(self, name: str, edges: str | None) -> Iterator[None]:
        """What is added within becomes a phase of the program."""
        around, self.made = self.made, _Group(edges=edges)
        try:
            yield
        finally:
            self.phases[name], self.made = self.made, around

    def program(self, promises: Sequence[str] = ()) -> Program:
        """The program that was made, read as any other."""
        tree = copy.copy(self.source.tree)
        phases_made = [self._phase(name, group) for name, group in self.phases.items()]
        tree.body = [*self.rest, *phases_made, *self.made.in_order()]
        calls = _compiled(self.cls, self.made.native, self.source)
        made = read_class(self.cls, replace(self.source, tree=tree), calls, dict(self.own_fields))
        phases = {name: replace(each, words=self.phases[name].words) for name, each in made.phases.items()}
        made = replace(made, words=self.made.words, phases=MappingProxyType(phases))
        return made.promising(*promises) if promises else made

    def _phase(self, name: str, group: _Group) -> ast.ClassDef:
        """A phase as the native form has it: a class within the class, and the mark that it is one."""
        calls = _compiled(self.cls, group.native, self.source)
        setattr(self.cls, name, PhaseClass(type(name, (), dict(calls)), group.edges))
        (made,) = parse(f"class {name}: pass").body
        assert isinstance(made, ast.ClassDef)
        made.body = list(group.in_order())
        return ast.copy_location(made, group.native[0])


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
    (around,) = parse(outer).body
    assert isinstance(around, ast.FunctionDef)
    around.body += functions
    code = compile(ast.Module([around], []), source.path, "exec").co_consts[0]
    made = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            closure = tuple(cells[name] for name in inner.co_freevars)
            made[inner.co_name] = FunctionType(inner, own[0].__globals__, inner.co_name, None, closure)
    return made
