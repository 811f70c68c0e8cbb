"""What a program has without saying it: functions of the program that it inherits from, and defaults."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from arcflux.parsing import parse
from arcflux.phase import check_phases
from arcflux.program.contract import FUNCTIONS
from arcflux.program.model import Function, Program

__all__ = ["base_of", "inherited", "with_defaults", "with_phases", "written"]

# What a program has from the one that it inherits from, unless it says otherwise.
_INHERITED = ("fields", "parameters", "totals", "mails", "edge_fields", "functions", "lines", "phases")


def base_of(read: Program, first: int, cls: type) -> Program | None:
    """The program that a class inherits from; None for one that inherits nothing."""
    bases = cls.__dict__.get("__orig_bases__", ())
    if type(cls) is type and cls.__bases__ == (object,) and len(bases) < 2:
        return bases[0] if bases else None
    other = next((base.__name__ for base in cls.__bases__ if base is not object), type(cls).__name__)
    several = len(bases) > 1 and all(isinstance(base, Program) for base in bases)
    reason = "from several programs" if several else f"from {other}, which is no program"
    raise read.refusal(
        first, f"{cls.__name__} inherits {reason}", f"write `class {cls.__name__}:`, or inherit from one program"
    )


def inherited(made: Program, base: Program) -> Program:
    """A program with all of its base that it does not have itself."""
    for name, line in made.lines.items():
        here, there = (
            next((each for each in _INHERITED[:4] if name in getattr(one, each)), "") for one in (made, base)
        )
        if there and here != there:
            what = f"{name} is one of the {here} here, and one of the {there} of {base.name}"
            raise made.refusal(line, what, "choose another name")
    if base.phases:  # its update is not the user's
        own = {name: each for name, each in base.functions.items() if name == "start"}
        base = replace(base, functions=MappingProxyType(own))
    merged: dict[str, Any] = {
        each: MappingProxyType({**getattr(base, each), **getattr(made, each)}) for each in _INHERITED
    }
    return replace(made, doc=made.doc or base.doc, iteration=made.iteration or base.iteration, **merged)


def with_defaults(made: Program) -> Program:
    """A program whose start and update stand for what they are by default.

    Without start every vertex is active at first; without update v has changed when a field has that compute reduces,
    or around writes; where mail alone wakes vertices, none stays awake.
    """
    functions = dict(made.functions)
    along = functions.get("compute") or functions.get("around") or (functions.get("receive") if made.mails else None)
    if along is None:
        return made
    line = along.line
    if "start" not in functions:
        functions["start"] = written("def start(v):\n    return True\n", line)
    if "update" not in functions:
        rests = along.name == "receive"
        functions["update"] = written("def update(v):\n    return False\n" if rests else _changed(made, along), line)
    order = [name for name in FUNCTIONS if name in functions]
    if len(functions) > len(made.functions):
        functions = {name: functions[name] for name in order}
    edges = None if along.name == "receive" else made.edges
    return replace(made, functions=MappingProxyType(functions), edges=edges)


def _changed(made: Program, along: Function) -> str:
    """The text of an update that answers whether a field has changed that compute reduces, or around writes."""
    reduced = {
        node.attr: None for statement in along.body for target in _targets(statement) for node in ast.walk(target)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "v" and node.attr in made.fields
    }  # fmt: skip
    loops, tests = "", []
    for name in reduced:
        length = made.fields[name].length
        if length is None:
            tests.append(f"v.{name} != old.{name}")
        else:
            until = f"p.{length}" if isinstance(length, str) else length
            loops += (
                f"    for k in range({until}):\n        if v.{name}[k] != old.{name}[k]:\n            return True\n"
            )
    return f"def update(v, old, p):\n{loops}    return {' or '.join(tests) or False}\n"


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement, or one within it, assigns to."""
    found: list[ast.expr] = []
    for node in ast.walk(statement):
        found += (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
    return found


def written(text: str, line: int) -> Function:
    """A function that Arcflux writes for a program, as if it stood on a line of it."""
    (tree,) = parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = int(line)  # type: ignore[attr-defined]
    names: dict[str, Any] = {}
    exec(compile(text, "<written by arcflux>", "exec"), names)
    return Function(tree.name, tuple(one.arg for one in tree.args.args), tree.body, line, names[tree.name])


def with_phases(made: Program, first: int) -> Program:
    """A program whose phases are programs over its fields, and which is itself on no edges: what starts them."""
    check_phases(made, first)
    phases = {}
    for name, each in made.phases.items():
        norm = made.norm if "residual" in each.functions else "sum"
        known = replace(
            each, fields=made.fields, parameters=made.parameters, totals=made.totals, edge_fields=made.edge_fields,
            norm=norm, names=made.names, is_phase=True,
        )  # fmt: skip
        line = next(iter(each.functions.values())).line
        start = each.functions.get("start", written("def start(v):\n    return True\n", line))
        phases[name] = with_defaults(replace(known, functions=MappingProxyType({"start": start, **each.functions})))
    starts = {
        "start": made.functions.get("start", written("def start(v):\n    return True\n", first)),
        "update": written("def update(v):\n    return False\n", first),
    }
    measured = any("residual" in each.functions for each in phases.values())
    return replace(
        made, functions=MappingProxyType(starts), phases=MappingProxyType(phases), edges=None,
        norm="sum" if measured else made.norm,
    )  # fmt: skip
