"""A program as text for another process: the source of its class, and of the names that it uses.

A daemon has not imported the user's module, and must not: a script would run. The text includes what the class names in
its module: modules become imports, numbers and text become literals, helper functions and inherited programs are
included as text. Anything else is refused here, by name, before anything is sent. The daemon executes this text, so it
accepts it only from its own user with the token (daemon.py).
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math
import sys
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from types import FunctionType, ModuleType
from typing import Any

import arcflux
from arcflux.class_source import find_function, names_around
from arcflux.compile.cache import one_at_a_time
from arcflux.errors import ProgramError
from arcflux.parsing import parse
from arcflux.program import Program

__all__ = ["program_of", "text_of"]


def text_of(program: Program) -> str:
    """The text from which :func:`program_of` creates the same program.

    Examples
    --------
    >>> print(text_of(arcflux.algorithms.BFS).splitlines()[0])
    import arcflux as arcflux
    """
    pieces: dict[str, str] = {"arcflux": "import arcflux as arcflux"}
    with one_at_a_time:
        _add_class(program, pieces)
    return "\n\n".join(pieces.values()) + "\n"


def program_of(text: str, name: str) -> Program:
    """The program of a name in a text."""
    path = f"<program {sha256(text.encode()).hexdigest()[:16]}>"
    with one_at_a_time:
        module = sys.modules.get(path)
        if module is None:
            module = ModuleType(path)
            lines = text.splitlines(keepends=True)
            linecache.cache[path] = (len(text), None, lines, path)  # where the source of a class is looked up
            exec(compile(text, path, "exec"), vars(module))
            sys.modules[path] = module
    found = vars(module).get(name)
    if not isinstance(found, Program):
        raise ProgramError(f"the text has no program {name!r}", program=name)
    return found


def _add_class(program: Program, pieces: dict[str, str]) -> None:
    if program.name in pieces:
        return
    tree = _class(program)
    text = "".join(program.text[_first(tree) - 1 : tree.end_lineno])
    _add_names(tree, program.names, program, pieces)
    pieces[program.name] = textwrap.dedent(text)


def _class(program: Program) -> ast.ClassDef:
    """The class in its file: the one that contains the lines of its own functions and fields."""
    lines = [int(one.line) for one in program.functions.values() if getattr(one.line, "path", "") == program.path]
    lines += [int(line) for line in program.lines.values() if getattr(line, "path", "") == program.path]
    for node in ast.walk(parse("".join(program.text))):
        if isinstance(node, ast.ClassDef) and node.name == program.name:
            inside = range(_first(node), (node.end_lineno or 0) + 1)
            if not lines or any(line in inside for line in lines):
                return node
    raise ProgramError("the source of the class cannot be found again", program=program.name, path=program.path,
                       remedy="load the file again: it was edited in between")  # fmt: skip


def _first(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _add_names(tree: ast.AST, names: Mapping[str, Any], program: Program, pieces: dict[str, str]) -> None:
    """Add what a text names of its module."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound):
        if name in pieces or hasattr(builtins, name) or name not in names:
            continue
        _add(name, names[name], program, pieces)


def _add(name: str, value: Any, program: Program, pieces: dict[str, str]) -> None:
    if isinstance(value, ModuleType):
        pieces[name] = f"import {value.__name__} as {name}"
    elif isinstance(value, Program):
        _add_class(value, pieces)
        if value.name != name:
            pieces[name] = f"{name} = {value.name}"
    elif getattr(arcflux, name, None) is value:
        pieces[name] = f"from arcflux import {name}"
    elif isinstance(value, FunctionType):
        _add_function(name, value, program, pieces)
    elif (literal := _literal(value)) is not None:
        pieces[name] = f"{name} = {literal}"
    else:
        _add_found(name, value, program, pieces)


def _add_found(name: str, value: Any, program: Program, pieces: dict[str, str]) -> None:
    """An object of an installed module that is neither a number nor a Python function, such as math.exp."""
    home = sys.modules.get(getattr(value, "__module__", None) or "")
    known = getattr(value, "__name__", "")
    if home is None or home.__name__ == "__main__" or getattr(home, known, None) is not value:
        raise ProgramError(
            f"{name} is a {type(value).__name__}, which a daemon cannot be told", program=program.name,
            expected="numbers, text, modules, helper functions and programs around a class",
            remedy=f"make {name} a parameter of the program, or a number",
        )  # fmt: skip
    pieces[name] = f"from {home.__name__} import {known} as {name}"


def _add_function(name: str, value: FunctionType, program: Program, pieces: dict[str, str]) -> None:
    if value.__module__.partition(".")[0] == "arcflux":
        pieces[name] = f"from {value.__module__} import {value.__name__} as {name}"
        return
    found = find_function(value)
    if found is None:
        raise ProgramError(f"the source of {name} cannot be found", program=program.name,
                           remedy="write it in a file, a notebook or IPython")  # fmt: skip
    pieces[name] = ""  # it may be recursive
    _add_names(found.tree, names_around(value), program, pieces)
    del pieces[name]
    text = "".join(found.lines[_first(found.tree) - 1 : found.tree.end_lineno])
    pieces[name] = textwrap.dedent(text) + (f"\n{name} = {value.__name__}" if value.__name__ != name else "")


def _literal(value: Any) -> str | None:
    """A number, text, or a tuple or list of them, as a Python literal; None for anything else."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        parts = [_literal(one) for one in value]
        if all(part is not None for part in parts):
            inside = "".join(f"{part}, " for part in parts)
            return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        inner = _literal(value.tolist())
        return None if inner is None else f"__import__('numpy').array({inner}, {str(value.dtype)!r})[()]"
    return None
