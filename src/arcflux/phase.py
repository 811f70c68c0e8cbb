"""Phases: several groups of functions in one program, each along, against or on both directions of edges, or on none.

``@af.phase`` leaves a mark in the class body; :func:`arcflux.program` reads the class behind it into a program of its
own, over the fields and parameters of the one around it. Here stand the mark, and what a program with phases has to
have.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from arcflux.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from arcflux.program.model import Function, Program

__all__ = ["EDGES", "RUN", "PhaseClass", "check_phase", "check_phases", "phase", "refuse_namesake"]

EDGES = ("along", "against", "both", None)
# What `run` has besides the phases.
RUN = ("iterations", "changed")
_IN_PHASES = ("start", "init", "along", "compute", "around", "update", "wants", "residual")
_DEGREES = ("in_degree", "out_degree")


@dataclass(frozen=True)
class PhaseClass:
    """A class that is a phase of the program around it."""

    cls: type
    edges: str | None


@overload
def phase(cls: type, /) -> PhaseClass: ...


@overload
def phase(*, edges: str | None = "along") -> Callable[[type], PhaseClass]: ...


def phase(cls: type | None = None, /, *, edges: str | None = "along") -> PhaseClass | Callable[[type], PhaseClass]:
    """Make a class within a program one of its phases; see docs/how-to/program.md.

    `edges`: "along" them, as programs without phases; "against" them, so that u are the vertices that v points to;
    "both", each edge in both directions; or None: no messages, and update alone.

    Examples
    --------
    >>> import arcflux as af
    >>> @af.program
    ... class Reach:
    ...     seen: af.flag
    ...     def start(v):
    ...         v.seen = v.number == 0
    ...         return True
    ...     @af.phase
    ...     class spread:
    ...         def compute(v, u):
    ...             v.seen |= u.seen
    ...         def update(v, old):
    ...             return v.seen != old.seen
    ...     def iteration(run, g, p):
    ...         run.spread(until="quiet")
    ...         return False
    >>> af.run(Reach, "path:4")["seen"].tolist()
    [True, True, True, True]
    """
    if not (edges is None or isinstance(edges, str)) or edges not in EDGES:
        raise UsageError(
            f"a phase has edges={edges!r}", expected=", ".join(map(repr, EDGES)),
            remedy=did_you_mean(str(edges), [name for name in EDGES if name]),
        )  # fmt: skip
    if cls is None:
        return lambda decorated: _mark(decorated, edges)
    return _mark(cls, edges)


def _mark(cls: Any, edges: str | None) -> PhaseClass:
    if not isinstance(cls, type):
        raise UsageError(f"@af.phase stands above {cls!r}", expected="a class", remedy="class spread: with functions")
    return PhaseClass(cls, edges)


def refuse_namesake(read: Program, tree: ast.ClassDef, node: ast.ClassDef) -> None:
    """Refuse a phase of whose name there is another: Python would keep the last one only."""
    others = [part for part in tree.body if isinstance(part, ast.ClassDef) and part.name == node.name]
    if others[-1] is not node:
        raise read.refusal(others[-1].lineno, f"two phases are called {node.name}", "give each phase a name of its own")


def check_phase(read: Program, node: ast.ClassDef, functions: Mapping[str, Function], edges: str | None) -> None:
    """Whether a phase has what it needs, and nothing that has no place there."""
    line, name = node.lineno, node.name
    for other, function in functions.items():
        if other not in _IN_PHASES:
            raise read.refusal(
                function.line, f"the phase {name} has a function {other}",
                f"a phase has {', '.join(_IN_PHASES)}" + (
                    "; iteration stands in the program" if other == "iteration" else ""
                ),
            )  # fmt: skip
    if edges is None and "update" not in functions:
        raise read.refusal(
            line,
            f"the phase {name} is on no edges, and has no update",
            "add `def update(v): ...`, which is all that it does",
        )
    if edges is None:
        for other in ("compute", "around", "wants", "init"):
            if other in functions:
                raise read.refusal(
                    functions[other].line, f"the phase {name} is on no edges, and has {other}",
                    "write it into update" if other == "init" else
                    "let update return False for vertices that it leaves as they are" if other == "wants" else
                    "leave edges=None out, so that v takes messages",
                )  # fmt: skip
    elif "compute" not in functions and "around" not in functions:
        raise read.refusal(
            line, f"the phase {name} has no compute, and would take no messages",
            "add `def compute(v, u): ...` or `def around(v, edges): ...`, or write @af.phase(edges=None)",
        )  # fmt: skip
    if "compute" in functions and "around" in functions:
        raise read.refusal(
            functions["around"].line, f"compute and around stand in one phase, {name}",
            "compute takes edges one by one, around all at once: make two phases of them",
        )  # fmt: skip
    if edges == "both":
        _refuse_degrees(read, name, functions)


def _refuse_degrees(read: Program, name: str, functions: Mapping[str, Function]) -> None:
    """On both directions of edges, no edge is one that comes in or goes out."""
    for function in functions.values():
        for part in (node for statement in function.body for node in ast.walk(statement)):
            if isinstance(part, ast.Attribute) and part.attr in _DEGREES:
                raise read.refusal(
                    part.lineno, f"the phase {name} is on both directions of edges, and reads {part.attr}",
                    f"keep it in a field: v.degree = v.{part.attr} in the program's start",
                )  # fmt: skip


def check_phases(made: Program, first: int) -> None:
    """Whether phases and the function that calls them fit together."""
    phases, names = made.phases, [*made.fields, *made.parameters]
    if made.iteration is None:
        called = "; ".join(f"run.{name}()" for name in phases)
        raise made.refusal(
            first, "the program has phases, and no function that calls them",
            f"add `def iteration(run, g, p): {called}; return run.changed > 0`",
        )  # fmt: skip
    if not phases:
        raise made.refusal(
            made.iteration.line, "iteration calls phases, and the program has none",
            "write @af.phase above a class with compute and update, within the program",
        )  # fmt: skip
    for name, function in made.functions.items():
        if name != "start":
            raise made.refusal(
                function.line, f"{name} stands outside of the phases",
                f"move it into a phase, such as {next(iter(phases))}; besides phases there are start and iteration",
            )  # fmt: skip
    if made.promises:
        raise made.refusal(
            first, f"the promise {min(made.promises)} stands outside of the phases",
            f"write it into the phases that keep it, such as {next(iter(phases))}",
        )  # fmt: skip
    for name in phases:
        if name in names or name in RUN:
            what = "a field or a parameter" if name in names else f"run.{name}, which every run has"
            raise made.refusal(first, f"the phase {name} has the name of {what}", "choose another name for the phase")
    _check_calls(made, made.iteration, list(phases))


def _check_member(read: Program, node: ast.Attribute, owner: str) -> None:
    """Whether iteration reads what there is of g or p, and writes nothing there."""
    known = ["vertices", "edges", "arcs", *read.totals] if owner == "g" else list(read.parameters)
    if node.attr not in known:
        where = "totals" if owner == "g" else "parameters"
        raise read.refusal(
            node.lineno, f"{owner} has no {node.attr!r}",
            did_you_mean(node.attr, known, f"{owner} has {', '.join(known)}: {where} are declared in the program"),
        )  # fmt: skip
    if isinstance(node.ctx, ast.Store):
        remedy = "contribute to it in update, for every vertex" if owner == "g" else "use a local name, or a total"
        raise read.refusal(node.lineno, f"iteration writes {owner}.{node.attr}", remedy)


def _owner(node: ast.expr) -> str:
    """The name of which an attribute is asked, such as run; "" for anything else."""
    return node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""


def _check_until(read: Program, call: ast.Call) -> None:
    """Whether a phase is called as phases are, as far as its text says."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    known = [value.value for value in given if isinstance(value, ast.Constant)]
    named = {keyword.arg for keyword in call.keywords}
    if len(given) > 1 or named - {"until"} or any(value not in (None, "quiet") for value in known):
        raise read.refusal(
            call.lineno, f"a phase is called as {ast.unparse(call)}",
            f"write {ast.unparse(call.func)}(until='quiet'), or {ast.unparse(call.func)}() for one superstep",
        )  # fmt: skip


def _check_calls(read: Program, iteration: Function, phases: list[str]) -> None:
    """Whether iteration calls phases that there are, and can answer."""
    if "run" not in iteration.arguments:
        raise read.refusal(
            iteration.line, "iteration does not take run, and so cannot call a phase",
            "write `def iteration(run, g, p): ...`",
        )  # fmt: skip
    nodes = [node for statement in iteration.body for node in ast.walk(statement)]
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "run":
            if node.attr not in (*phases, *RUN):
                raise read.refusal(
                    node.lineno, f"there is no phase {node.attr}",
                    did_you_mean(node.attr, [*phases, *RUN], f"call one of: {', '.join(phases)}"),
                )  # fmt: skip
            if isinstance(node.ctx, ast.Store):
                raise read.refusal(node.lineno, f"run.{node.attr} is assigned", "use a local name, or a field")
        if isinstance(node, ast.Call) and _owner(node.func) == "run":
            _check_until(read, node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("g", "p"):
            _check_member(read, node, node.value.id)
    if not any(isinstance(node, ast.Return) and node.value is not None for node in nodes):
        raise read.refusal(
            iteration.line, "iteration returns nothing",
            "return True to be called again, False to end: `return run.changed > 0`",
        )  # fmt: skip
