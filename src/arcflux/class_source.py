"""Where a class is written, found by the code of its own functions: in a file, a notebook's cell, a shell, or `exec`.

A class does not know where it comes from: `inspect` asks its module in sys.modules, which a cell has not, nor a module
that importlib has loaded under no name. Its functions do: their code has the file name under which linecache keeps the
source, and the line at which each begins. These lines also tell classes of one name apart.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from arcflux.errors import ProgramError
from arcflux.parsing import parse

__all__ = ["ClassSource", "FunctionSource", "find_function", "find_source", "names_around"]


@dataclass(frozen=True)
class ClassSource:
    """A class as it is written.

    `path` is the file, or the name of a cell; `lines` are all of its lines, and `tree` counts in them. `names` is what
    the functions of the class see around them; `scope` is where its annotations were evaluated.
    """

    path: str
    lines: list[str]
    tree: ast.ClassDef
    names: Mapping[str, Any]
    scope: Mapping[str, Any]

    @property
    def first(self) -> int:
        """The line at which the class begins, decorators included."""
        return _first_line(self.tree)


@dataclass(frozen=True)
class FunctionSource:
    """A function of a module as it is written: the file, or the name of a cell, and all of its lines."""

    path: str
    lines: list[str]
    tree: ast.FunctionDef


def find_function(function: FunctionType) -> FunctionSource | None:
    """The source of a function, found by the line at which its code begins; None where there is none."""
    code = function.__code__
    lines = _lines(code, function.__globals__) or _command([code])
    try:
        known = _definitions("".join(lines))
    except SyntaxError:  # it was edited since it was loaded
        return None
    here = (code.co_name, code.co_firstlineno)
    tree = next((node for node in known if (node.name, _first_line(node)) == here), None)
    return FunctionSource(_shown(code.co_filename), lines, tree) if tree else None


def names_around(function: Any) -> Mapping[str, Any]:
    """The names that a function sees around it: of enclosing functions, and of its module."""
    if function.__closure__ is None:
        around: Mapping[str, Any] = function.__globals__
        return around
    return ChainMap(_Closure([function]), function.__globals__)  # type: ignore[arg-type]  # which is only read


def find_source(cls: type, caller: FrameType) -> ClassSource:
    """The source of a class; `caller` is who asks, for a class that has no functions to be found by."""
    functions = _own_functions(cls)
    around = functions[0].__globals__ if functions else caller.f_globals
    frame = _frame_of(around, caller)
    names = ChainMap(_Closure(functions), around)  # type: ignore[arg-type]
    scope: Mapping[str, Any] = frame.f_locals if frame else {}
    codes = [f.__code__ for f in functions] or [caller.f_code]
    for code in codes:
        lines = _lines(code, around) or _command(codes)
        tree = _class_in(lines, cls.__name__, code if functions else caller)
        if tree is not None:
            return ClassSource(_shown(code.co_filename), lines, tree, names, scope)
    raise _unknown(cls.__name__, functions[0].__code__.co_filename if functions else caller.f_code.co_filename)


def _own_functions(cls: type) -> list[FunctionType]:
    """The functions of a class, under whatever decorators they have."""
    bare = [inspect.unwrap(getattr(member, "__func__", member)) for member in vars(cls).values()]
    return [function for function in bare if isinstance(function, FunctionType)]


def _frame_of(around: Mapping[str, Any], frame: FrameType | None) -> FrameType | None:
    """The frame in which a class is made: the nearest with its globals, behind decorators of other modules."""
    while frame is not None and frame.f_globals is not around:
        frame = frame.f_back
    return frame


def _lines(code: CodeType, around: dict[str, Any]) -> list[str]:
    """All lines of the file, or of what stands for one, from which a function was compiled."""
    if os.path.exists(code.co_filename):
        linecache.checkcache(code.co_filename)  # it may have been edited; of anything else this would lose the source
    found = linecache.getlines(code.co_filename, around)
    keeps_code = getattr(linecache, "_getlines_from_code", None)  # the prompt of Python 3.13 and newer
    if not found and keeps_code is not None:
        found = keeps_code(code)
    return found or _cell_of_magic(around)


def _command(codes: list[CodeType]) -> list[str]:
    """The text that ``python -c`` was given, if all these are of it: what exec runs has the same file name."""
    for text in sys.orig_argv[1:] if codes[0].co_filename == "<string>" else ():
        with suppress(SyntaxError, ValueError):
            known = set(_codes(compile(text, "<string>", "exec", dont_inherit=True)))
            if known.issuperset(codes):
                return text.splitlines(keepends=True)
    return []


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _cell_of_magic(around: Mapping[str, Any]) -> list[str]:
    """The cell that is running, without its first line: %%time and others compile the rest, and keep no source."""
    shell = around["get_ipython"]() if callable(around.get("get_ipython")) else None
    cells = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or [""]
    magic, _, rest = cells[-1].partition("\n")
    return shell.transform_cell(rest).splitlines(keepends=True) if shell and magic.startswith("%%") else []


def _class_in(lines: list[str], name: str, place: CodeType | FrameType) -> ast.ClassDef | None:
    """The class of a name that has a function which begins where this code does, or the last above a frame's line."""
    try:
        known = [tree for tree in _classes("".join(lines)) if tree.name == name]
    except SyntaxError:  # it was edited since it was loaded
        return None
    if isinstance(place, FrameType):
        above = [tree for tree in known if _first_line(tree) <= place.f_lineno]
        return max(above, key=_first_line, default=None)
    here = (place.co_name, place.co_firstlineno)
    return next((tree for tree in known if here in _functions(tree)), None)


@lru_cache(maxsize=8)
def _classes(source: str) -> tuple[ast.ClassDef, ...]:
    """All classes of a file; remembered, since a file often has several programs."""
    return tuple(node for node in ast.walk(parse(source)) if isinstance(node, ast.ClassDef))


@lru_cache(maxsize=8)
def _definitions(source: str) -> tuple[ast.FunctionDef, ...]:
    """All functions of a file."""
    return tuple(node for node in ast.walk(parse(source)) if isinstance(node, ast.FunctionDef))


def _functions(tree: ast.ClassDef) -> set[tuple[str, int]]:
    return {(node.name, _first_line(node)) for node in tree.body if isinstance(node, ast.FunctionDef)}


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _shown(path: str) -> str:
    """A file by its path, a cell by the number that its notebook shows."""
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook else None
    format_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    label = format_name(path) if format_name else None
    return " ".join(label) if label else path


def _unknown(name: str, path: str) -> ProgramError:
    if os.path.exists(path):
        return ProgramError(
            f"{path} does not have the source of this class where it was loaded from",
            program=name,
            expected="the file as it was when it was loaded",
            remedy="load it again: it was edited in between; or write the class out, if code has made it",
        )
    return ProgramError(
        f"the source of the class cannot be found: {path} keeps none",
        program=name,
        remedy="write the program in a file, a notebook or IPython; the prompt before Python 3.13 and standard input "
        "keep no source, and code for exec needs an entry in linecache.cache",
    )


class _Closure(Mapping[str, Any]):
    """The names of enclosing functions that functions use, with the values that they have now."""

    def __init__(self, functions: list[FunctionType]) -> None:
        self._cells: dict[str, CellType] = {
            name: cell
            for function in functions
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        }

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name].cell_contents
        except ValueError:  # it is not assigned yet
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)
